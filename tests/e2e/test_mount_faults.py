"""kv layout: a Hub that is slow, down, or busy. Nothing waits past its deadline, nobody waits for a stranger's object."""

import concurrent.futures
import errno
import os
import time

import pytest

from harness import eventually, seconds
from mount_files import NAME, OBJECT, SIZE, body, chunk_name, counters, object_name, read_whole, refused, write_whole


@pytest.fixture
def store(hfkv, url, work):
    def put(path, data):
        (work / "object").write_bytes(data)
        assert hfkv("put", work / "object", f"{url}/{path}").code == 0
    return put


def test_a_dead_hub_leaves_what_needs_no_network(mount, url, store, server):
    """Case 18."""
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "2")
    os.mkdir(kv / "fresh")
    read_whole(kv / NAME)
    assert os.listdir(kv.path)
    server.kill()
    begun = time.monotonic()
    os.statvfs(kv.path)
    assert time.monotonic() - begun < seconds(0.05)
    assert read_whole(kv / NAME) == body(1)
    assert set(os.listdir(kv.path)) == {NAME, "fresh"}, "within its limit a listing is served from the cache"
    begun = time.monotonic()
    try:
        assert os.listdir(kv / "fresh") == []
    except OSError as error:
        assert error.errno in (errno.EIO, errno.ETIMEDOUT)
    with refused(errno.EIO, errno.ETIMEDOUT):
        os.stat(kv / chunk_name(77))
    assert time.monotonic() - begun < seconds(10)


def test_a_failed_question_makes_no_absence(mount, url, store, server):
    """Case 2 in short: errors that pass by themselves are waited for, and never stored as absence."""
    for number in range(20):
        store(f"prod/{object_name(number)}", body(number))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    server.faults({"route": "paths-info", "times": 2, "status": 429, "headers": {"RateLimit": '"api";r=0;t=1'}})
    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        sizes = list(pool.map(lambda number: os.stat(kv / chunk_name(number)).st_size, range(20)))
    assert sizes == [SIZE] * 20


def test_stalled_reads_hold_nobody_else_up(mount, url, store, server):
    """Case 7."""
    for number in range(20):
        store(f"prod/{object_name(number)}", body(number))
    store(f"prod/{OBJECT}", body(99))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "3")
    os.listdir(kv.path)
    good = [entry for entry in os.listdir(kv.path) if entry == NAME]
    assert good == [NAME]
    read_whole(kv / NAME)
    server.faults({"route": "xorb-data", "stall_after_bytes": 1})
    before = len(os.listdir(f"/proc/{kv.pid}/fd"))

    def try_read(number):
        begun = time.monotonic()
        try:
            read_whole(kv / chunk_name(number))
        except OSError as error:
            return error.errno, time.monotonic() - begun
        return 0, time.monotonic() - begun

    with concurrent.futures.ThreadPoolExecutor(20) as pool:
        stalled = [pool.submit(try_read, number) for number in range(20)]
        time.sleep(0.2)
        begun = time.monotonic()
        assert read_whole(kv / NAME) == body(99)
        assert os.stat(kv / NAME).st_size == SIZE
        assert time.monotonic() - begun < seconds(0.5)
        outcomes = [future.result(seconds(30)) for future in stalled]
    assert {number for number, _ in outcomes} <= {errno.ETIMEDOUT, errno.EIO}
    assert max(took for _, took in outcomes) < seconds(6)
    server.faults()
    eventually(lambda: len(os.listdir(f"/proc/{kv.pid}/fd")) <= before + 2, 15, "descriptors of stalled reads to be closed")
    assert read_whole(kv / chunk_name(3)) == body(3)


def test_a_corrupt_download_is_eio_and_heals(mount, url, store, server):
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "5")
    server.faults({"route": "xorb-data", "flip_byte_at": 1000})
    with refused(errno.EIO):
        read_whole(kv / NAME)
    server.faults()
    assert read_whole(kv / NAME) == body(1)


def test_a_lost_batch_answer_is_one_success_or_one_failure(mount, url, server, bucket):
    """Case 1 through the mount: the drop comes after the work, so the chunk is there and the close succeeds."""
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    server.faults({"route": "batch", "times": 1, "drop": "after_work"})
    write_whole(kv / NAME, body(1))
    assert server.object_paths(bucket) == [f"prod/{OBJECT}"] and read_whole(kv / NAME) == body(1)
    assert counters(kv)["counters"]["commits"] == 1


def test_a_failed_commit_is_reported_by_close_and_rename(mount, url, server, bucket):
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "2")
    server.faults({"route": "batch", "status": 403})
    with refused(errno.EACCES):
        write_whole(kv / NAME, body(1))
    write_whole(kv / "k.tmp", body(2))
    with refused(errno.EACCES):
        os.rename(kv / "k.tmp", kv / NAME)
    assert server.object_paths(bucket) == [] and read_whole(kv / "k.tmp") == body(2)
    server.faults({"route": "batch", "status": 507})
    with refused(errno.ENOSPC):
        os.rename(kv / "k.tmp", kv / NAME)
    server.faults()
    os.rename(kv / "k.tmp", kv / NAME)
    assert read_whole(kv / NAME) == body(2)


@pytest.mark.parametrize("route", ["xet-write-token", "xorb-put", "batch"])
def test_a_bucket_that_goes_away_is_no_successful_close(mount, url, server, bucket, route):
    """404 to a commit: nothing was stored, so neither close nor rename may say so."""
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "2")
    server.faults({"route": route, "status": 404})
    with refused(errno.EIO):
        write_whole(kv / NAME, body(1))
    write_whole(kv / "k.tmp", body(2))
    with refused(errno.EIO):
        os.rename(kv / "k.tmp", kv / NAME)
    assert server.object_paths(bucket) == []
    server.faults()
    os.rename(kv / "k.tmp", kv / NAME)
    assert read_whole(kv / NAME) == body(2)


@pytest.mark.parametrize("fault", [{"status": 400}, {"status": 416}, {"status": 409}, {"status": 302}, {"status": 200, "body": "[[]]"},
                                   {"status": 200, "body": "[1, {\"path\": 5}]"}])
def test_a_refused_or_senseless_answer_is_no_absence(mount, url, store, server, fault):
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--timeout", "1", "--negative-ttl", "30")
    server.faults({"route": "paths-info", **fault})
    with refused(errno.EIO, errno.ETIMEDOUT):
        os.stat(kv / NAME)
    server.faults()
    assert read_whole(kv / NAME) == body(1)


def test_two_mounts_store_one_name_at_once(mount, url, server, bucket):
    """Case 20."""
    mounts = [mount(f"{url}/prod", "--chunk-bytes", SIZE) for _ in range(2)]

    def store_in(kv):
        write_whole(kv / "k.tmp", body(1))
        os.rename(kv / "k.tmp", kv / NAME)

    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for done in [pool.submit(store_in, kv) for kv in mounts]:
            done.result(seconds(30))
    assert server.object_paths(bucket) == [f"prod/{OBJECT}"]
    assert [read_whole(kv / NAME) for kv in mounts] == [body(1)] * 2


def test_a_hidden_bucket_is_no_removal(mount, url, store, server):
    """`rm -f` takes ENOENT for success: a 404 for the whole batch must not look like that."""
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    os.stat(kv / NAME)
    server.faults({"route": "batch", "status": 404})
    with refused(errno.EIO):
        os.unlink(kv / NAME)
    server.faults()
    assert read_whole(kv / NAME) == body(1)


@pytest.mark.parametrize("entry", ['"size": 1.5', '"size": "7"', '"size": 7, "xetHash": "abc"'])
def test_an_entry_without_sense_is_no_absence(mount, url, store, server, entry):
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    answer = f'[{{"type": "file", "path": "prod/{OBJECT}", {entry}}}]'
    server.faults({"route": "paths-info", "status": 200, "headers": {"Content-Type": "application/json"}, "body": answer})
    with refused(errno.EIO):
        os.stat(kv / NAME)
    server.faults()
    assert read_whole(kv / NAME) == body(1)
