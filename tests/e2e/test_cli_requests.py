"""How many requests the main flows cost: the figures of the project, as tests."""

import collections
import os

import pytest

from harness import at_once, random_body, store_like_lmcache

SIZE = 4096
MEBIBYTE = 1 << 20


def key_file(number, model="m"):
    return f"{model}@1@0@{number:x}@half.data"


def object_name(number, model="m"):
    return f"{model}%401%400%40{number:x}%40half"


@pytest.fixture
def thousand(hfkv, url, work):
    """1000 chunks in the bucket, put there by the command line."""
    source = work / "thousand"
    source.mkdir()
    for number in range(1000):
        (source / object_name(number)).write_bytes(random_body(SIZE, number))
    assert hfkv("put", *sorted(source.iterdir()), f"{url}/").code == 0


@pytest.mark.usefixtures("thousand")
def test_stat_of_1000_names_is_one_call(hfkv, server, url):
    server.reset_requests()
    result = hfkv("stat", "--json", *[f"{url}/{object_name(number)}" for number in range(1000)])
    assert result.code == 0 and len(result.lines) == 1000
    assert server.requests().get("paths-info") == 1


@pytest.mark.usefixtures("thousand")
def test_1000_cold_stats_through_the_mount_share_calls(mount, server, url):
    kv = mount(url, "--chunk-bytes", SIZE)
    server.reset_requests()
    assert at_once(1000, lambda number: os.stat(kv / key_file(number)).st_size) == [SIZE] * 1000
    assert 1 <= server.requests().get("paths-info", 0) <= 10


@pytest.mark.usefixtures("thousand")
def test_cached_stat_asks_nobody(mount, server, url):
    kv = mount(url, "--chunk-bytes", SIZE)
    os.stat(kv / key_file(1))
    before = kv.hfkv("status", kv.path, "--json").text
    server.reset_requests()
    for _ in range(1000):
        os.stat(kv / key_file(1))
    assert sum(server.requests().values()) == 0
    after = kv.hfkv("status", kv.path, "--json").text
    assert _asked(before) == _asked(after), "a cached stat reached the daemon"


def _asked(status_text):
    import json
    requests = json.loads(status_text)["mounts"][0]["requests"]
    return requests["lookup"] + requests["getattr"]


def test_absent_name_asked_1000_times_costs_one_call(mount, server, url):
    kv = mount(url, "--chunk-bytes", SIZE, "--negative-ttl", 60)
    server.reset_requests()
    for _ in range(1000):
        assert not os.path.exists(kv / key_file(1))
    counts = server.requests()
    assert counts.get("paths-info", 0) + counts.get("tree", 0) == 1, counts


def test_batch_put_of_32_chunks(hfkv, server, url, work):
    files = []
    for number in range(32):
        files.append(work / f"chunk{number}")
        files[-1].write_bytes(os.urandom(4 * MEBIBYTE))
    server.reset_requests()
    assert hfkv("put", *files, f"{url}/batch/", within=120).code == 0
    counts = server.requests()
    assert 2 <= counts["xorb-put"] <= 3, counts
    assert counts.get("shard-v1", 0) + counts.get("shard-v2", 0) == 1 and counts["batch"] == 1, counts


def test_cold_read_of_a_large_chunk(mount, hfkv, server, url, work):
    size = 32 * MEBIBYTE
    body = os.urandom(size)
    (work / "body").write_bytes(body)
    assert hfkv("put", work / "body", f"{url}/{object_name(7)}").code == 0
    kv = mount(url, "--chunk-bytes", size)
    server.reset_requests()
    assert (kv / key_file(7)).read_bytes() == body
    counts = server.requests()
    assert counts.get("reconstruction-v1", 0) + counts.get("reconstruction-v2", 0) == 1, counts
    asked = collections.Counter((entry["method"], entry["path"], entry.get("range")) for entry in server.request_log())
    twice = {request: count for request, count in asked.items() if count > 1}
    assert not twice, twice
    server.reset_requests()
    assert (kv / key_file(7)).read_bytes() == body
    assert sum(server.requests().values()) == 0, "a staged chunk needs no request"


def test_listing_costs_one_call_per_page(mount, hfkv, server, url, work):
    """2500 names are three pages of 1000 or one of 5000; a second listing within the limit is free."""
    source = work / "many"
    source.mkdir()
    for number in range(2500):
        (source / object_name(number)).write_bytes(number.to_bytes(2, "big") * (SIZE // 2))
    assert hfkv("put", *sorted(source.iterdir()), f"{url}/", within=120).code == 0
    kv = mount(url, "--chunk-bytes", SIZE)
    server.reset_requests()
    assert sorted(os.listdir(kv.path)) == sorted(key_file(number) for number in range(2500))
    assert 1 <= server.requests()["tree"] <= 3
    assert sum(count for route, count in server.requests().items() if route != "tree") == 0
    os.listdir(kv.path)
    assert server.requests()["tree"] <= 3


def test_store_through_the_mount_is_one_upload(mount, server, url):
    kv = mount(url, "--chunk-bytes", MEBIBYTE)
    store_like_lmcache(kv.path, key_file(1), random_body(MEBIBYTE, 1))
    server.reset_requests()
    store_like_lmcache(kv.path, key_file(2), random_body(MEBIBYTE, 2))
    counts = server.requests()
    assert counts["xorb-put"] == 1 and counts["batch"] == 1
    assert counts.get("shard-v1", 0) + counts.get("shard-v2", 0) == 1
