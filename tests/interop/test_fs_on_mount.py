"""LMCache's own FSConnector with its base path on our mount."""

import os

import pytest
import torch
from lmcache.v1.storage_backend.remote_backend import RemoteBackend

from harness import eventually
from in_process import Engine

META_BYTES = 28


@pytest.fixture(params=["plain", "meta", "tmp_dir", "read_ahead", "odirect"])
def variant(request):
    """(mount options, Engine arguments)"""
    return {
        "plain": ([], {}),
        "meta": (["--chunk-meta"], {"save_chunk_meta": True}),
        "tmp_dir": (["--tmp-dir", "tmp"], {"extra": {"fs_connector_relative_tmp_dir": "tmp"}}),
        "read_ahead": ([], {"extra": {"fs_connector_read_ahead_size": 4096}}),
        "odirect": ([], {"extra": {"fs_connector_use_odirect": True}}),
    }[request.param]


def chunk_bytes():
    layers, planes, tokens, heads, head_size = Engine.SHAPE
    return layers * planes * tokens * heads * head_size * torch.bfloat16.itemsize


def open_both(mount, engine, bucket, variant):
    options, named = variant
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", chunk_bytes(), *options)
    return mounted, engine({"fs.mount": {"base_path": str(mounted.path)}}, **named)


def test_put_exists_get_list_remove(mount, engine, bucket, server, variant):
    mounted, lm = open_both(mount, engine, bucket, variant)
    connector = lm.connector("fs.mount")
    assert type(connector.getWrappedConnector()).__name__ == "FSConnector"
    keys = [lm.key(0x10 + n) for n in range(5)] + [lm.key(-0x77), lm.key(0x99, tags={"user": "42"})]
    for seed, key in enumerate(keys):
        assert not lm.run(connector.exists(key))
        lm.put(connector, key, seed)
    for seed, key in enumerate(keys):
        assert lm.run(connector.exists(key))
        assert lm.get(connector, key) == lm.body(seed)
    assert sorted(lm.run(connector.list())) == sorted(key.to_string().replace("/", "-SEP-") for key in keys)
    assert len(server.object_paths(bucket)) == len(keys)
    assert connector.remove_sync(keys[0])
    assert not connector.remove_sync(keys[0])
    assert not lm.run(connector.exists(keys[0]))
    assert lm.get(connector, keys[0]) is None


def test_read_on_a_fresh_mount(mount, engine, bucket, variant):
    mounted, lm = open_both(mount, engine, bucket, variant)
    keys = [lm.key(n) for n in range(1, 9)]
    for seed, key in enumerate(keys):
        lm.put(lm.connector("fs.mount"), key, seed)
    mounted.unmount()
    _, again = open_both(mount, engine, bucket, variant)
    connector = again.connector("fs.mount")
    results = again.run(connector.batched_get_non_blocking("lookup", keys))
    assert [again.take(obj) for obj in results] == [again.body(seed) for seed in range(len(keys))]
    assert again.run(connector.batched_async_contains("lookup", [*keys, again.key(0xABC)])) == len(keys)


@pytest.mark.parametrize("tokens", [8, 32], ids=["short", "long"])
def test_wrong_size_put_fails_and_leaves_nothing(mount, engine, bucket, server, variant, tokens):
    options, named = variant
    layers, planes, _tokens, heads, head_size = Engine.SHAPE
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", chunk_bytes(), *options)
    lm = engine({"fs.mount": {"base_path": str(mounted.path)}}, shape=(layers, planes, tokens, heads, head_size), **named)
    connector = lm.connector("fs.mount")
    key, obj = lm.key(1), lm.chunk(1)
    obj.ref_count_up()
    with pytest.raises(OSError):
        lm.run(connector.put(key, obj))
    obj.ref_count_down()
    assert not lm.run(connector.exists(key))
    assert lm.get(connector, key) is None
    assert lm.run(connector.list()) == []
    assert not [path for path in mounted.path.rglob("*") if path.is_file()], "a temporary is left"
    assert server.object_paths(bucket) == []


def test_o_direct_is_what_lmcache_uses_there(mount, engine, bucket):
    """LMCache asks statvfs for the block size, and goes back to normal I/O without a word when a size does not fit it."""
    mounted, lm = open_both(mount, engine, bucket, ([], {"extra": {"fs_connector_use_odirect": True}}))
    wrapped = lm.connector("fs.mount").getWrappedConnector()
    assert wrapped.use_odirect and wrapped.os_disk_bs == 4096 and lm.chunk_bytes % 4096 == 0
    lm.put(lm.connector("fs.mount"), lm.key(1), 1)
    file = wrapped._get_file_path(lm.key(1))
    descriptor = os.open(file, os.O_RDONLY | os.O_DIRECT)
    try:
        assert os.fstat(descriptor).st_size == lm.chunk_bytes
    finally:
        os.close(descriptor)


def test_batches(mount, engine, bucket, server, variant):
    _mounted, lm = open_both(mount, engine, bucket, variant)
    backend = RemoteBackend(lm.config, lm.metadata, lm.loop, lm.memory, dst_device="cpu", plugin_name="fs.mount")
    try:
        assert type(backend.connection.getWrappedConnector()).__name__ == "FSConnector"
        keys = [lm.key(number) for number in range(-4, 9) if number]
        objects, done = [lm.chunk(seed) for seed in range(len(keys))], []
        backend.batched_submit_put_task(keys, objects, on_complete_callback=done.append)
        eventually(lambda: len(done) == len(keys), 30, "the put")
        assert set(done) == set(keys) and len(server.object_paths(bucket)) == len(keys)
        absent = lm.key(0xABC)
        assert backend.batched_contains([*keys[:3], absent, keys[3]]) == 3
        asked = [keys[5], absent, *keys]
        loaded = [lm.take(obj) for obj in backend.batched_get_blocking(asked)]
        assert loaded == [lm.body(5), None, *(lm.body(seed) for seed in range(len(keys)))]
        assert backend.remove(keys[0]) and not backend.contains(keys[0])
        assert len(server.object_paths(bucket)) == len(keys) - 1
        for obj in objects:
            assert obj.get_ref_count() == 1
            obj.ref_count_down()
    finally:
        backend.close()


def test_several_base_paths_inside_the_mount(mount, engine, bucket, server):
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", chunk_bytes())
    paths = ", ".join(str(mounted / name) for name in "abc")
    lm = engine({"fs.mount": {"base_path": paths}})
    connector = lm.connector("fs.mount")
    keys = [lm.key(number) for number in (1, 2, 3, -1, -2, -3)]
    for seed, key in enumerate(keys):
        lm.put(connector, key, seed)
    folders = {path.rsplit("/", 2)[-2] for path in server.object_paths(bucket)}
    assert folders == set("abc")
    mounted.unmount()
    mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", chunk_bytes(), name=mounted.path.name)
    for seed, key in enumerate(keys):
        assert lm.get(connector, key) == lm.body(seed)
    assert sorted(lm.run(connector.list())) == sorted(key.to_string().replace("/", "-SEP-") for key in keys)
