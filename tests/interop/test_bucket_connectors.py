"""Our bucket connector and LMCache's HFBucketConnector on one bucket: each reads, lists, deletes what the other wrote."""

import time

import pytest

from in_process import ours

pytestmark = pytest.mark.needs_hfkv


def open_both(engine, bucket, work, staging, **named):
    lm = engine({
        "hfbucket.theirs": {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(work / "tmp"),
                            "metadata_cache_ttl_secs": 0},
        **ours({"hfkv_bucket.ours": {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging),
                                     "metadata_cache_ttl_secs": 0}}),
    }, **named)
    mine, theirs = lm.connector("hfkv_bucket.ours"), lm.connector("hfbucket.theirs")
    assert type(mine.getWrappedConnector()).__module__.startswith("hfkv.")
    assert type(theirs.getWrappedConnector()).__name__ == "HFBucketConnector"
    return lm, mine, theirs


def test_each_reads_lists_and_deletes_what_the_other_wrote(engine, bucket, work, staging):
    lm, mine, theirs = open_both(engine, bucket, work, staging)
    keys = [lm.key(number) for number in (1, 2, -3, 4)] + [lm.key(5, tags={"user": "42"}), lm.key(6, model="m-SEP-x")]
    for seed, key in enumerate(keys):
        lm.put(mine if seed % 2 else theirs, key, seed)
    for seed, key in enumerate(keys):
        for connector in (mine, theirs):
            assert lm.run(connector.exists(key))
            assert lm.get(connector, key) == lm.body(seed)
    assert set(lm.run(mine.list())) == set(lm.run(theirs.list())) == {key.to_string() for key in keys}
    for seed, key in enumerate(keys):
        assert (theirs if seed % 2 else mine).remove_sync(key)
    for key in keys:
        assert not lm.run(mine.exists(key))
        assert not lm.run(theirs.exists(key))
    assert mine.remove_sync(keys[0]), "removing what is not there succeeds"


def test_batches(engine, bucket, work, staging, server):
    lm, mine, theirs = open_both(engine, bucket, work, staging)
    keys = [lm.key(number) for number in range(1, 9)]
    server.reset_requests()
    lm.batched_put(mine, keys, range(8))
    counts = server.requests()
    assert counts.get("batch") == 1, counts
    asked = [keys[6], lm.key(0x999), keys[0]]
    for connector in (mine, theirs):
        assert lm.batched_get(connector, asked) == [lm.body(6), None, lm.body(0)]
        assert connector.batched_contains([keys[0], keys[1], lm.key(0x999), keys[2]]) == 2
        loaded = lm.run(connector.batched_get_non_blocking("id", [keys[0], lm.key(0x999), keys[1]]))
        assert [lm.take(obj) for obj in loaded] == [lm.body(0)]
    assert lm.run(mine.batched_async_contains("id", keys)) == 8


def test_an_object_of_the_wrong_size_is_absent(engine, bucket, work, staging, server):
    lm, mine, _theirs = open_both(engine, bucket, work, staging)
    key = lm.key(1)
    lm.put(mine, key, 1)
    (path,) = server.object_paths(bucket)
    short = work / "short"
    short.write_bytes(b"x" * 100)
    assert server.hfkv("put", short, f"hf://buckets/{bucket}/{path}").code == 0
    assert not lm.run(mine.exists(key))
    assert lm.get(mine, key) is None
    assert lm.run(mine.list()) == []
    lm.put(mine, key, 2)
    assert lm.get(mine, key) == lm.body(2)


def test_ping(engine, bucket, work, staging, server):
    lm, mine, _theirs = open_both(engine, bucket, work, staging)
    assert mine.support_ping() and lm.run(mine.ping()) == 0
    server.faults({"route": "*", "status": 503})
    assert lm.run(mine.ping(), within=30) != 0
    server.faults({"route": "*", "delay_ms": 8000})
    begun = time.monotonic()
    assert lm.run(mine.ping(), within=30) != 0
    assert time.monotonic() - begun < 5, "LMCache's health check waits 5 s"


def test_create_bucket_if_missing(engine, server, staging):
    settings = {"bucket_handle": "hf://buckets/interop/made-late/kv", "download_tmp_dir": str(staging),
                "create_bucket_if_missing": True}
    lm = engine(ours({"hfkv_bucket": settings}))
    connector = lm.connector("hfkv_bucket")
    assert lm.get(connector, lm.key(1)) is None
    lm.put(connector, lm.key(1), 1)
    assert server.object_paths("interop/made-late") != []


def test_a_failed_put_raises_and_the_rest_is_found(engine, bucket, work, staging, server):
    lm, mine, _theirs = open_both(engine, bucket, work, staging, blocking_timeout_secs=3)
    server.faults({"route": "batch", "status": 403})
    obj = lm.chunk(1)
    obj.ref_count_up()
    with pytest.raises(RuntimeError):
        lm.run(mine.put(lm.key(1), obj))
    assert obj.get_ref_count() == 1
    obj.ref_count_down()
    server.faults()
    assert not lm.run(mine.exists(lm.key(1)))
