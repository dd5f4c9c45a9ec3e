"""Our L2 adapters and LMCache's HFBucketL2Adapter on one bucket, salted and unsalted, with object groups."""

import pytest

from multi_process import body, key, plugin

pytestmark = pytest.mark.needs_hfkv

KEYS = [
    key(1), key(2, group=1), key(3, group=0x1F), key(4, salt="tenant-a"), key(5, group=2, salt="tenant b#?%"),
    key(6, rank=0), key(7, model="single"), key(8, model="org/m-SEP-x"),
]


def params(bucket, staging, **more):
    return {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging),
            "metadata_cache_ttl_secs": 0, **more}


@pytest.fixture(params=["plugin", "native_plugin"])
def ours(request, l2, bucket, staging):
    name = {"plugin": "BucketL2Adapter", "native_plugin": "BucketNativeClient"}[request.param]
    return l2(plugin(name, params(bucket, staging), request.param))


@pytest.fixture
def theirs(l2, bucket, work):
    return l2({"type": "hfbucket", **params(bucket, work / "tmp")})


def test_each_loads_what_the_other_stored(ours, theirs, server, bucket):
    for writer, reader, first in ((ours, theirs, 0), (theirs, ours, 100)):
        bodies = {each: body(first + number) for number, each in enumerate(KEYS)}
        assert writer.store(bodies)
        absent = key(0xABCDEF + first)
        assert reader.lookup([*KEYS, absent]) == [True] * len(KEYS) + [False]
        assert reader.load(KEYS) == list(bodies.values())
        assert writer.load(KEYS) == list(bodies.values())
        writer.adapter.delete(KEYS)
        assert reader.lookup(KEYS) == [False] * len(KEYS)
        assert server.object_paths(bucket) == []


def test_one_store_is_one_batch_call(ours, server):
    server.reset_requests()
    assert ours.store({each: body(number) for number, each in enumerate(KEYS)})
    assert server.requests()["batch"] == 1


def test_a_load_of_the_wrong_size_fails_and_leaves_the_others(ours, server, bucket, work):
    assert ours.store({key(1): body(1), key(2): body(2)})
    path = next(path for path in server.object_paths(bucket) if path.endswith("01"))
    short = work / "short"
    short.write_bytes(b"x" * 100)
    assert server.hfkv("put", short, f"hf://buckets/{bucket}/{path}").code == 0
    assert ours.load([key(1), key(2)]) == [None, body(2)]
    assert ours.load([key(2), key(3)]) == [body(2), None]


def test_the_three_descriptors_are_distinct(ours):
    adapter = ours.adapter
    assert len({adapter.get_store_event_fd(), adapter.get_lookup_and_lock_event_fd(), adapter.get_load_event_fd()}) == 3


def test_empty_capacity_gives_no_eviction_signal(ours):
    assert ours.adapter.get_usage().usage_fraction == -1.0


# ---- locks, partial stores, usage: through native_plugin these are LMCache's own ----


@pytest.fixture
def adapter(l2, bucket, staging):
    return l2(plugin("BucketL2Adapter", params(bucket, staging, max_capacity_gb=1)))


def test_a_lock_blocks_delete_and_is_counted(adapter):
    assert adapter.store({key(1): body(1), key(2): body(2)})
    assert adapter.lookup([key(1)], unlock=False) == [True]
    assert adapter.lookup([key(1)], unlock=False) == [True]
    for _ in range(2):
        adapter.adapter.delete([key(1), key(2)])
        assert adapter.lookup([key(1), key(2)]) == [True, False]
        adapter.adapter.submit_unlock([key(1)])
    adapter.adapter.delete([key(1)])
    assert adapter.lookup([key(1)]) == [False]
    adapter.adapter.submit_unlock([key(1), key(0x777)])


def test_what_a_failed_batch_landed_is_counted(adapter, server):
    server.faults({"route": "batch", "apply_first": 2, "status": 500, "times": 1}, {"route": "batch", "status": 403})
    keys = [key(number) for number in range(1, 5)]
    assert not adapter.store({each: body(number) for number, each in enumerate(keys)})
    server.faults()
    assert adapter.adapter.get_usage().total_bytes_used == 2 * 16384
    assert sum(adapter.lookup(keys)) == 2


def test_usage_by_salt(adapter):
    assert adapter.store({key(1): body(1), key(2, salt="a"): body(2), key(3, salt="a"): body(3)})
    usage = adapter.adapter.get_usage()
    assert usage.total_bytes_used == 3 * 16384
    assert dict(usage.bytes_by_cache_salt) == {"": 16384, "a": 2 * 16384}
    assert 0 < usage.usage_fraction < 0.001
    adapter.adapter.delete([key(2, salt="a")])
    assert dict(adapter.adapter.get_usage().bytes_by_cache_salt) == {"": 16384, "a": 16384}
    assert adapter.store({key(1): body(9)}), "storing again"
    assert adapter.adapter.get_usage().total_bytes_used == 2 * 16384


def test_listing_in_pages(adapter):
    keys = [key(number) for number in range(1, 8)] + [key(1, model="other")]
    assert adapter.store({each: body(number) for number, each in enumerate(keys)})
    seen, cursor = [], None
    while True:
        page = adapter.adapter.list_l2_keys(model_name="org/m", page_size=3, cursor=cursor)
        seen += [entry.key.to_object_key() for entry in page.entries]
        assert all(entry.size_bytes == 16384 for entry in page.entries)
        cursor = page.next_page_token
        if cursor is None:
            break
        assert len(page.entries) == 3
    assert sorted(seen, key=str) == sorted(keys[:7], key=str)
    for wrong in ({"page_size": 0}, {"cursor": "nonsense"}):
        with pytest.raises(ValueError):
            adapter.adapter.list_l2_keys(**wrong)


def test_what_lmcache_stored_is_listed_and_counted_after_a_start(l2, theirs, bucket, staging):
    assert theirs.store({each: body(number) for number, each in enumerate(KEYS)})
    adapter = l2(plugin("BucketL2Adapter", params(bucket, staging, max_capacity_gb=1))).adapter
    page = adapter.list_l2_keys()
    assert {entry.key.to_object_key(): entry.size_bytes for entry in page.entries} == dict.fromkeys(KEYS, 16384)
    usage = adapter.get_usage()
    assert usage.total_bytes_used == len(KEYS) * 16384
    assert dict(usage.bytes_by_cache_salt) == {"": (len(KEYS) - 2) * 16384, "tenant-a": 16384, "tenant b#?%": 16384}


def test_status(adapter):
    assert adapter.store({key(1): body(1)})
    status = adapter.adapter.report_status()
    assert status["is_healthy"] and status["stored_object_count"] == 1
    adapter.close()
    assert not adapter.adapter.report_status()["is_healthy"]
