"""Memory that LMCache lends: nothing of ours touches it after we said so, and nothing of it is kept."""

import asyncio
import threading
import time

import pytest

from harness import eventually
from in_process import ours
from multi_process import body, key, memory, plugin

pytestmark = pytest.mark.needs_hfkv


def bucket_engine(engine, bucket, staging, **named):
    lm = engine(ours({"hfkv_bucket": {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging)}}),
                **named)
    return lm, lm.connector("hfkv_bucket")


def fresh_reader(engine, bucket, staging, **named):
    """A connector that staged nothing yet."""
    return bucket_engine(engine, bucket, staging, **named)


def test_a_cancelled_get_leaves_new_bytes_alone(engine, bucket, staging, server):
    writer, connector = bucket_engine(engine, bucket, staging)
    keys = [writer.key(number) for number in range(1, 5)]
    writer.batched_put(connector, keys, range(1, 5))

    lm, reader = fresh_reader(engine, bucket, staging, blocking_timeout_secs=4)
    unused = lm.memory_in_use()
    server.faults({"route": "xorb-data", "delay_ms": 1500})
    future = lm.submit(reader.batched_get(keys))
    eventually(lambda: lm.memory_in_use() > unused, 10, "the allocation of the get")
    future.cancel()
    with pytest.raises(BaseException):
        future.result(10)
    eventually(lambda: lm.memory_in_use() == unused, 30, "the release of the cancelled get's memory")
    # All memory is taken anew, the get's former place with it.
    objects = []
    while True:
        obj = lm.memory.allocate(lm.metadata.get_shapes(), lm.metadata.get_dtypes(), busy_loop=False)
        if obj is None or len(objects) == 64:
            break
        obj.byte_array.cast("B")[:] = b"\x5A" * lm.chunk_bytes
        objects.append(obj)
    server.faults()
    time.sleep(2.5)  # longer than the delayed answer: what would be written late is written by now
    assert all(bytes(obj.byte_array) == b"\x5A" * lm.chunk_bytes for obj in objects)
    for obj in objects:
        obj.ref_count_down()
    assert lm.batched_get(reader, keys) == [lm.body(seed) for seed in range(1, 5)]


def test_lmcache_timeout_of_a_get_is_a_miss_and_the_next_one_works(engine, bucket, staging, server):
    writer, connector = bucket_engine(engine, bucket, staging)
    writer.put(connector, writer.key(1), 1)
    lm, reader = fresh_reader(engine, bucket, staging, blocking_timeout_secs=4)
    unused = lm.memory_in_use()
    server.faults({"route": "xorb-data", "stall_after_bytes": 1})

    async def with_timeout():
        return await asyncio.wait_for(reader.get(lm.key(1)), 0.5)

    with pytest.raises(TimeoutError):
        lm.run(with_timeout())
    server.faults()
    eventually(lambda: lm.memory_in_use() == unused, 60, "the release of the memory")
    assert lm.get(reader, lm.key(1)) == lm.body(1)


def test_no_memory_left_is_a_miss_at_once(engine, bucket, staging):
    lm, connector = bucket_engine(engine, bucket, staging)
    lm.put(connector, lm.key(1), 1)
    held = []
    while True:
        obj = lm.memory.allocate(lm.metadata.get_shapes(), lm.metadata.get_dtypes(), busy_loop=False)
        if obj is None:
            break
        held.append(obj)
    begun = time.monotonic()
    assert lm.get(connector, lm.key(1)) is None
    assert time.monotonic() - begun < 5
    for obj in held:
        obj.ref_count_down()
    assert lm.get(connector, lm.key(1)) == lm.body(1)


@pytest.mark.parametrize("offset", [4, 8], ids=["format", "dtype"])
def test_a_header_that_is_none_is_a_miss_of_its_chunk_alone(engine, work, offset):
    lm = engine(ours({"hfkv_fs": {"base_path": str(work)}}), save_chunk_meta=True)
    connector = lm.connector("hfkv_fs")
    keys = [lm.key(number) for number in (0x11, 0x22, 0x33)]
    lm.batched_put(connector, keys, [1, 2, 3])
    (file,) = work.glob("*@22@*.data")
    unused = lm.memory_in_use()
    raw = bytearray(file.read_bytes())
    raw[offset:offset + 4] = (99).to_bytes(4, "little")  # no format and no dtype of LMCache
    file.write_bytes(raw)
    assert lm.batched_get(connector, keys) == [lm.body(1), None, lm.body(3)]
    assert lm.memory_in_use() == unused


def test_a_get_that_is_not_taken_gives_its_memory_back(engine, work, monkeypatch):
    from hfkv import _hfkv

    lm = engine(ours({"hfkv_fs": {"base_path": str(work)}}))
    connector = lm.connector("hfkv_fs")
    lm.put(connector, lm.key(1), 1)
    wrapped = connector.getWrappedConnector()
    submit, taken = wrapped._submit, []

    def refuse_gets(operation, *arguments):
        if operation == _hfkv.GET:
            taken.append(arguments[-1])
            raise RuntimeError("more than 4096 batches wait")
        return submit(operation, *arguments)

    monkeypatch.setattr(wrapped, "_submit", refuse_gets)
    with pytest.raises(RuntimeError):
        lm.get(connector, lm.key(1))
    (objects,) = taken
    assert [obj.get_ref_count() for obj in objects] == [0]


def test_misses_take_no_memory(engine, bucket, staging):
    lm, connector = bucket_engine(engine, bucket, staging)
    unused = lm.memory_in_use()
    assert lm.batched_get(connector, [lm.key(number) for number in range(1, 20)]) == [None] * 19
    assert lm.memory_in_use() == unused


def test_a_cancelled_put_returns_when_its_memory_is_free(engine, bucket, staging, server):
    lm, connector = bucket_engine(engine, bucket, staging)
    server.faults({"route": "batch", "delay_ms": 1000})
    obj = lm.chunk(1)
    wrapped = connector.getWrappedConnector()
    future = lm.submit(wrapped.put(lm.key(1), obj))
    eventually(lambda: server.requests().get("xorb-put"), 10, "the upload")
    future.cancel()
    # The loop's task ends only after the core reported the batch; a task started later on the same loop sees no batch left.
    eventually(lambda: not wrapped._waiting, 40, "the end of the batch")
    assert obj.get_ref_count() == 1, "put touched the reference count"
    obj.ref_count_down()


def test_close_with_work_in_flight(engine, bucket, staging, server):
    writer, connector = bucket_engine(engine, bucket, staging)
    keys = [writer.key(number) for number in range(1, 5)]
    writer.batched_put(connector, keys, range(1, 5))
    lm, reader = fresh_reader(engine, bucket, staging, blocking_timeout_secs=5)
    unused = lm.memory_in_use()
    server.faults({"route": "xorb-data", "stall_after_bytes": 1})
    future = lm.submit(reader.batched_get(keys))
    eventually(lambda: lm.memory_in_use() > unused, 10, "the allocation of the get")
    begun = time.monotonic()
    lm.run(reader.close())
    assert time.monotonic() - begun < 15
    assert future.result(10) == [None] * 4
    assert lm.memory_in_use() == unused
    with pytest.raises(ValueError):
        lm.run(reader.exists(keys[0]))
    lm.run(reader.close())


def test_l2_close_with_tasks_in_flight(l2, bucket, staging, server):
    params = {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging)}
    writer = l2(plugin("BucketL2Adapter", params))
    assert writer.store({key(1): body(1)})
    reader = l2(plugin("BucketL2Adapter", params))
    server.faults({"route": "xorb-data", "stall_after_bytes": 1})
    target = memory(16384)
    reader.adapter.submit_load_task([key(1)], [target])
    begun = time.monotonic()
    reader.close()
    assert time.monotonic() - begun < 45
    server.faults()
    target.byte_array.cast("B")[:] = b"\x5A" * 16384
    time.sleep(0.5)
    assert bytes(target.byte_array) == b"\x5A" * 16384


def test_a_timeout_of_exists_is_kept_to(engine, bucket, staging, server):
    lm, connector = bucket_engine(engine, bucket, staging)
    server.faults({"route": "paths-info", "delay_ms": 3000})

    async def with_timeout():
        return await asyncio.wait_for(connector.batched_async_contains("id", [lm.key(1)]), 0.3)

    begun = time.monotonic()
    with pytest.raises(TimeoutError):
        lm.run(with_timeout())
    assert time.monotonic() - begun < 2.5
    server.faults()
    assert not lm.run(connector.exists(lm.key(2)))


def test_other_threads_run_while_we_wait(engine, bucket, staging, server):
    lm, connector = bucket_engine(engine, bucket, staging)
    server.faults({"route": "paths-info", "delay_ms": 1000})
    ticks = []
    stop = threading.Event()

    def tick():
        while not stop.is_set():
            ticks.append(time.monotonic())
            stop.wait(0.01)

    thread = threading.Thread(target=tick)
    thread.start()
    assert not connector.exists_sync(lm.key(1))
    assert connector.batched_contains([lm.key(2)]) == 0
    stop.set()
    thread.join()
    assert max(b - a for a, b in zip(ticks, ticks[1:])) < 0.5
