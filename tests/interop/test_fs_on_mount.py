"""LMCache's own FSConnector with its base path on our mount."""

import pytest
import torch

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


def test_wrong_size_put_fails_and_leaves_nothing(mount, engine, bucket, server):
    layers, planes, tokens, heads, head_size = Engine.SHAPE
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", chunk_bytes())
    lm = engine({"fs.mount": {"base_path": str(mounted.path)}}, shape=(layers, planes, tokens // 2, heads, head_size))
    connector = lm.connector("fs.mount")
    key, obj = lm.key(1), lm.chunk(1)
    obj.ref_count_up()
    with pytest.raises(OSError):
        lm.run(connector.put(key, obj))
    obj.ref_count_down()
    assert not lm.run(connector.exists(key))
    assert lm.run(connector.list()) == []
    assert server.object_paths(bucket) == []
