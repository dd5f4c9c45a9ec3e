"""kv layout: look-ups and reads. Who is asked, how long answers hold, what a changed or wrong object looks like."""

import errno
import mmap
import os
import threading
import time

import pytest

from harness import eventually
from mount_files import NAME, OBJECT, SIZE, body, chunk_name, counters, object_name, read_whole, refused, requests, write_whole


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE)


@pytest.fixture
def store(hfkv, url, work):
    def put(path, data):
        (work / "object").write_bytes(data)
        assert hfkv("put", work / "object", f"{url}/{path}").code == 0
    return put


def test_reads_of_every_shape(kv):
    write_whole(kv / NAME, body(1))
    fd = os.open(kv / NAME, os.O_RDONLY)
    for offset, length in [(0, 1), (1, 4096), (4095, 2), (SIZE - 1, 10), (SIZE, 10), (SIZE + 5, 1), (0, 2 * SIZE)]:
        assert os.pread(fd, length, offset) == body(1)[offset:offset + length]
    with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as memory:
        assert memory[:] == body(1)
    os.close(fd)


def test_a_cold_read_is_one_download(mount, url, store, server):
    store(f"prod/{OBJECT}", body(1))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    server.reset_requests()
    threads = [threading.Thread(target=read_whole, args=(kv / NAME,)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert read_whole(kv / NAME) == body(1)
    found = server.requests()
    assert found["paths-info"] == 1 and found["reconstruction-v1"] + found["reconstruction-v2"] == 1
    assert counters(kv)["counters"]["downloads"] == 1


def test_cached_stat_causes_no_daemon_call(kv):
    write_whole(kv / NAME, body(1))
    os.stat(kv / NAME)
    before = requests(kv)
    for _ in range(200):
        os.stat(kv / NAME)
    after = requests(kv)
    for operation in ("lookup", "getattr", "open", "getxattr"):  # a few are of reading the status file
        assert after[operation] - before[operation] <= 8, operation


def test_a_listing_answers_the_stats_after_it(mount, url, store, server):
    for number in range(5):
        store(f"prod/{object_name(number)}", body(number))
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    server.reset_requests()
    assert sorted(os.listdir(kv.path)) == sorted(chunk_name(number) for number in range(5))
    assert all(os.stat(kv / chunk_name(number)).st_size == SIZE for number in range(5))
    found = server.requests()
    assert (found["tree"], found["paths-info"]) == (1, 0)


def test_absence_is_asked_once_within_its_limit(kv, server):
    server.reset_requests()
    before = requests(kv)["lookup"]
    end = time.monotonic() + 1
    for _ in range(1000):
        assert not (kv / NAME).exists()
    assert time.monotonic() < end, "the machine is too slow for the limit of 2 s"
    assert server.requests()["paths-info"] == 1
    assert requests(kv)["lookup"] - before <= 3


def test_absence_ends_with_its_limit(mount, url, store):
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--negative-ttl", "1")
    assert not (kv / NAME).exists()
    store(f"prod/{OBJECT}", body(1))
    eventually((kv / NAME).exists, 3, "the object stored elsewhere to be seen")
    assert read_whole(kv / NAME) == body(1)


def test_a_local_create_ends_absence_at_once(kv):
    assert not (kv / NAME).exists() and not (kv / chunk_name(7)).exists()
    write_whole(kv / NAME, body(1))
    assert (kv / NAME).exists()
    write_whole(kv / "k.tmp", body(2))
    os.rename(kv / "k.tmp", kv / chunk_name(7))
    assert read_whole(kv / chunk_name(7)) == body(2)


def test_a_wrong_size_object_is_absent_until_stored_again(kv, store):
    """Case 5."""
    store(f"prod/{OBJECT}", b"x" * 100)
    assert not (kv / NAME).exists() and os.listdir(kv.path) == []
    with refused(errno.ENOENT):
        os.open(kv / NAME, os.O_RDONLY)
    write_whole(kv / NAME, body(1))
    assert read_whole(kv / NAME) == body(1) and os.listdir(kv.path) == [NAME]


def test_an_object_replaced_elsewhere_shows_within_the_limit(mount, url, store):
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--metadata-ttl", "1")
    store(f"prod/{OBJECT}", body(1))
    old = open(kv / NAME, "rb", buffering=0)
    inode = os.stat(kv / NAME).st_ino
    store(f"prod/{OBJECT}", body(2))
    eventually(lambda: read_whole(kv / NAME) == body(2), 5, "the new content")
    assert os.stat(kv / NAME).st_ino != inode
    assert old.readall() == body(1)
    old.close()


def test_a_shorter_object_leaves_no_tail(mount, url, store, work):
    """Case 9: a plain mount, as a kv chunk has one size only."""
    plain = mount(f"{url}/p", "--metadata-ttl", "1")
    store("p/x", body(1, 8192))
    assert read_whole(plain / "x") == body(1, 8192)
    store("p/x", body(2, 4096))
    eventually(lambda: os.stat(plain / "x").st_size == 4096, 5, "the new size")
    assert read_whole(plain / "x") == body(2, 4096)


def test_an_object_removed_elsewhere_goes(mount, url, store, hfkv):
    kv = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--metadata-ttl", "1")
    store(f"prod/{OBJECT}", body(1))
    assert (kv / NAME).exists()
    assert hfkv("rm", f"{url}/prod/{OBJECT}").code == 0
    eventually(lambda: not (kv / NAME).exists(), 5, "the removal to be seen")


def test_passthrough_serves_staged_reads_where_it_is_granted(kv):
    write_whole(kv / NAME, body(1))
    first, before = counters(kv), counters(kv)
    if not before["passthrough"]:
        pytest.skip("libfuse, the kernel or our privilege does not grant passthrough")
    assert read_whole(kv / NAME) == body(1)
    after = counters(kv)
    assert after["files"]["passthrough_opens"] > before["files"]["passthrough_opens"]
    of_the_status_file = before["requests"]["read"] - first["requests"]["read"]
    assert after["requests"]["read"] - before["requests"]["read"] == of_the_status_file


def test_page_cache_serves_the_reader_after_the_writer(kv):
    write_whole(kv / NAME, body(1))
    before = requests(kv)["read"]
    assert read_whole(kv / NAME) == body(1)
    assert requests(kv)["read"] - before <= 2  # the status file, and at most one of the chunk
