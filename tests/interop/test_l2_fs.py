"""L2 adapters on directories: LMCache's fs and fs_native and ours, on tmpfs and on our mount over a bucket."""

import pytest

from multi_process import body, key, plugin

SIZE = 16384
KEYS = [key(1), key(2, group=3), key(3, rank=0xFFFFFFFF), key(4, salt="tenant-a"), key(5, model="single"),
        key(6, group=2, salt="tenant b#?%"), key(7, rank=0)]
BODIES = {each: body(number) for number, each in enumerate(KEYS)}


def fs_document(kind, path):
    if kind in ("fs", "fs_native"):
        return {"type": kind, "base_path": str(path)}
    name = {"plugin": "FsL2Adapter", "native_plugin": "FsNativeClient"}[kind]
    return plugin(name, {"base_path": str(path)}, kind)


@pytest.mark.needs_hfkv
@pytest.mark.parametrize("ours", ["plugin", "native_plugin"])
@pytest.mark.parametrize("theirs", ["fs", "fs_native"])
def test_each_loads_what_the_other_stored(l2, work, ours, theirs):
    mine, other = l2(fs_document(ours, work / "kv")), l2(fs_document(theirs, work / "kv"))
    half = len(KEYS) // 2
    assert mine.store({each: BODIES[each] for each in KEYS[:half]})
    assert other.store({each: BODIES[each] for each in KEYS[half:]})
    for adapter in (mine, other):
        assert adapter.lookup([*KEYS, key(0x99)]) == [True] * len(KEYS) + [False]
        assert adapter.load(KEYS) == list(BODIES.values())
    assert len(list((work / "kv").glob("*.data"))) == len(KEYS)
    mine.adapter.delete(KEYS)
    assert not list((work / "kv").glob("*.data"))


@pytest.mark.needs_hfkv
def test_a_file_of_the_wrong_size_is_replaced(l2, work):
    mine = l2(fs_document("plugin", work / "kv"))
    assert mine.store({KEYS[0]: BODIES[KEYS[0]]})
    (file,) = (work / "kv").glob("*.data")
    file.write_bytes(b"x" * 100)
    assert mine.lookup([KEYS[0]]) == [False]
    assert mine.load([KEYS[0]]) == [None]
    assert mine.store({KEYS[0]: BODIES[KEYS[0]]})
    assert mine.load([KEYS[0]]) == [BODIES[KEYS[0]]]


@pytest.mark.needs_hfkv
def test_names_that_lmcache_writes_otherwise_are_no_keys_of_it(l2, work):
    (work / "kv").mkdir()
    for name in ("m@0x00000001@0@AB", "m@0x00000001@00@ab", "m@0x00000001@0@abc", "m@0x00000001@0@ab"):
        (work / "kv" / f"{name}.data").write_bytes(b"x" * SIZE)
    mine = l2(fs_document("plugin", work / "kv"))
    page = mine.adapter.list_l2_keys()
    assert [entry.key.chunk_hash_hex for entry in page.entries] == ["ab"]
    assert mine.adapter.get_usage().total_bytes_used == 4 * SIZE


@pytest.mark.parametrize("theirs", ["fs", "fs_native"])
def test_lmcache_adapter_on_our_mount(l2, mount, bucket, server, theirs):
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE)
    writer = l2(fs_document(theirs, mounted.path))
    assert writer.store(BODIES)
    assert len(server.object_paths(bucket)) == len(KEYS)
    assert not [path for path in server.object_paths(bucket) if "0x" in path]
    again = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE)
    reader = l2(fs_document(theirs, again.path))
    assert reader.lookup([*KEYS, key(0x99)]) == [True] * len(KEYS) + [False]
    assert reader.load(KEYS) == list(BODIES.values())


@pytest.mark.needs_hfkv
@pytest.mark.parametrize("ours", ["plugin", "native_plugin"])
@pytest.mark.parametrize("theirs", ["fs", "fs_native"])
def test_their_adapter_on_the_mount_and_ours_on_the_bucket(l2, mount, bucket, staging, theirs, ours):
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE)
    on_mount = l2(fs_document(theirs, mounted.path))
    name = {"plugin": "BucketL2Adapter", "native_plugin": "BucketNativeClient"}[ours]
    on_bucket = l2(plugin(name, {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging),
                                 "metadata_cache_ttl_secs": 0}, ours))
    half = len(KEYS) // 2
    assert on_mount.store({each: BODIES[each] for each in KEYS[:half]})
    assert on_bucket.store({each: BODIES[each] for each in KEYS[half:]})
    for adapter in (on_bucket, on_mount):
        assert adapter.lookup(KEYS) == [True] * len(KEYS)
        assert adapter.load(KEYS) == list(BODIES.values())


@pytest.mark.parametrize("given", [{"relative_tmp_dir": "tmp"}, {"read_ahead_size": 4096}, {"use_odirect": True}],
                         ids=["tmp_dir", "read_ahead", "odirect"])
@pytest.mark.parametrize("theirs", ["fs", "fs_native"])
def test_settings_of_lmcache_adapters_on_our_mount(l2, mount, bucket, server, theirs, given):
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE, "--tmp-dir", "tmp")
    document = {**fs_document(theirs, mounted.path), **given}
    assert l2(document).store(BODIES)
    assert len(server.object_paths(bucket)) == len(KEYS)
    again = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE, "--tmp-dir", "tmp")
    reader = l2({**document, "base_path": str(again.path)})
    assert reader.lookup([*KEYS, key(0x99)]) == [True] * len(KEYS) + [False]
    assert reader.load(KEYS) == list(BODIES.values())
    reader.adapter.delete(KEYS)
    assert reader.lookup(KEYS) == [False] * len(KEYS)
    assert server.object_paths(bucket) == []


@pytest.mark.parametrize("theirs", ["fs", "fs_native"])
@pytest.mark.parametrize("size", [SIZE // 2, SIZE * 2])
def test_a_wrong_size_on_our_mount_fails_and_leaves_nothing(l2, mount, bucket, server, theirs, size):
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE)
    adapter = l2(fs_document(theirs, mounted.path))
    assert not adapter.store({KEYS[0]: body(1, size)})
    assert adapter.lookup([KEYS[0]]) == [False]
    assert server.object_paths(bucket) == []
    assert not list(mounted.path.glob("*.data"))
