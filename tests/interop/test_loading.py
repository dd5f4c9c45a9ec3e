"""LMCache loads our classes through its own configuration; what is configured wrongly is said at start."""

import json
import os
import subprocess
import sys

import pytest
from lmcache.v1.exceptions import IrrecoverableException
from lmcache.v1.storage_backend.remote_backend import RemoteBackend

from harness import seconds
from in_process import ours
from multi_process import body, key, plugin

pytestmark = pytest.mark.needs_hfkv


def test_two_instances_of_one_type(engine, server, work, staging):
    one, two = server.create_bucket("interop/us"), server.create_bucket("interop/eu")
    lm = engine(ours({
        "hfkv_bucket.us": {"bucket_handle": f"hf://buckets/{one}/kv", "download_tmp_dir": str(staging)},
        "hfkv_bucket.eu": {"bucket_handle": f"hf://buckets/{two}/kv", "download_tmp_dir": str(staging)},
        "hfkv_fs.a": {"base_path": str(work / "a")},
        "hfkv_fs.b": {"base_path": str(work / "b")},
    }))
    for number, name in enumerate(["hfkv_bucket.us", "hfkv_bucket.eu", "hfkv_fs.a", "hfkv_fs.b"], 1):
        connector = lm.connector(name)
        assert type(connector.getWrappedConnector()).__module__ == "hfkv.lmcache_connector"
        lm.put(connector, lm.key(number), number)
        assert lm.run(connector.list()) == [lm.key(number).to_string()]
        assert lm.get(connector, lm.key(number)) == lm.body(number)


def test_round_trip_through_lmcache_remote_backend(engine, bucket, staging):
    lm = engine(ours({"hfkv_bucket": {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging)}}))
    backend = RemoteBackend(lm.config, lm.metadata, lm.loop, lm.memory, dst_device="cpu", plugin_name="hfkv_bucket")
    try:
        assert type(backend.connection.getWrappedConnector()).__module__ == "hfkv.lmcache_connector"
        keys = [lm.key(number) for number in range(1, 17)]
        objects = [lm.chunk(number) for number in range(1, 17)]
        done = []
        backend.batched_submit_put_task(keys, objects, on_complete_callback=done.append)
        from harness import eventually
        eventually(lambda: len(done) == 16, 30, "the put")
        assert backend.batched_contains(keys) == 16
        loaded = backend.batched_get_blocking(keys)
        assert [lm.take(obj) for obj in loaded] == [lm.body(number) for number in range(1, 17)]
        for obj in objects:
            assert obj.get_ref_count() == 1
            obj.ref_count_down()
    finally:
        backend.close()


@pytest.mark.parametrize("kind, name, params", [
    ("plugin", "BucketL2Adapter", "bucket"), ("native_plugin", "BucketNativeClient", "bucket"),
    ("plugin", "FsL2Adapter", "fs"), ("native_plugin", "FsNativeClient", "fs"),
])
def test_random_bytes_through_the_loaded_plugin(l2, bucket, staging, work, kind, name, params):
    given = {"base_path": str(work / "kv")} if params == "fs" else \
        {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging)}
    adapter = l2(plugin(name, given, kind))
    loaded = adapter.adapter if kind == "plugin" else adapter.adapter._client
    assert type(loaded).__module__.startswith("hfkv.")
    for first in (0, 32):
        bodies = {key(first + number): body(first + number) for number in range(32)}
        assert adapter.store(bodies)
        assert adapter.lookup(list(bodies)) == [True] * 32
        assert adapter.load(list(bodies)) == list(bodies.values())


@pytest.mark.parametrize("kind, name", [("plugin", "BucketL2Adapter"), ("native_plugin", "BucketNativeClient"),
                                        ("plugin", "FsL2Adapter"), ("native_plugin", "FsNativeClient")])
def test_lmcache_bench_l2_verifies(bucket, staging, work, kind, name):
    given = {"base_path": str(work / "kv")} if name.startswith("Fs") else \
        {"bucket_handle": f"hf://buckets/{bucket}/bench", "download_tmp_dir": str(staging)}
    document = json.dumps(plugin(name, given, kind))
    command = [sys.executable, "-m", "lmcache.cli.main", "bench", "l2", "--l2-adapter", document, "--num-keys", "8",
               "--data-size-kb", "64", "--rounds", "2", "--lookup-max-hit-rate", "1.0", "--no-skip-verify"]
    ended = subprocess.run(command, capture_output=True, text=True, timeout=seconds(120), env=dict(os.environ), check=False)
    assert ended.returncode == 0, ended.stdout[-2000:] + ended.stderr[-2000:]
    assert "keys data verified OK" in ended.stdout
    assert "success_keys=8/8" in ended.stdout


# ---- what is configured wrongly ----

HANDLE = "hf://buckets/a/b/kv"


@pytest.mark.parametrize("settings, named, word", [
    ({}, {}, "bucket_handle"),
    ({"bucket_handle": "hf:/buckets/a/b"}, {}, "bucket_handle"),
    ({"bucket_handle": "hf://buckets/a"}, {}, "bucket_handle"),
    ({"bucket_handle": "hf://buckets/a/b c"}, {}, "bucket_handle"),
    ({"bucket_handle": "hf://buckets/a/b/../c"}, {}, "bucket_handle"),
    ({"bucket_handle": HANDLE, "metadata_cache_ttl_secs": -1}, {}, "metadata_cache_ttl_secs"),
    ({"bucket_handle": HANDLE, "create_bucket_if_missing": "maybe"}, {}, "create_bucket_if_missing"),
    ({"bucket_handle": HANDLE}, {"save_unfull_chunk": True}, "save_unfull_chunk"),
    ({"bucket_handle": HANDLE}, {"save_chunk_meta": True}, "save_chunk_meta"),
])
def test_bucket_settings_that_cannot_be_right(engine, settings, named, word):
    lm = engine(ours({"hfkv_bucket.x": settings}), **named)
    with pytest.raises(IrrecoverableException, match=word):
        lm.connector("hfkv_bucket.x")


def test_chunk_meta_unset_is_fine_for_a_bucket(engine, staging):
    lm = engine(ours({"hfkv_bucket": {"bucket_handle": HANDLE, "download_tmp_dir": str(staging), "token": "none",
                                      "metadata_cache_ttl_secs": "30", "create_bucket_if_missing": "true"}}),
                save_chunk_meta=None)
    lm.connector("hfkv_bucket")


@pytest.mark.parametrize("settings, named, word", [
    ({}, {}, "base_path"),
    ({"base_path": "/dev/null/x"}, {}, "/dev/null"),
    ({"base_path": "/etc/hostname"}, {}, "/etc/hostname"),
    ({"base_path": "WORK"}, {"extra": {"fs_connector_relative_tmp_dir": "/abs"}}, "tmp_dir"),
    ({"base_path": "WORK"}, {"extra": {"fs_connector_relative_tmp_dir": "../up"}}, "tmp_dir"),
    ({"base_path": "WORK"}, {"save_unfull_chunk": True}, "save_unfull_chunk"),
])
def test_fs_settings_that_cannot_be_right(engine, work, settings, named, word):
    settings = {name: value.replace("WORK", str(work / "kv")) for name, value in settings.items()}
    lm = engine(ours({"hfkv_fs.x": settings}), **named)
    with pytest.raises(IrrecoverableException, match=word):
        lm.connector("hfkv_fs.x")


@pytest.mark.parametrize("kind, name", [("plugin", "BucketL2Adapter"), ("native_plugin", "BucketNativeClient")])
@pytest.mark.parametrize("params, word", [
    ({}, "bucket_handle"),
    ({"bucket_handle": "hf://buckets/a"}, "bucket_handle"),
    ({"bucket_handle": HANDLE, "num_workers": 0}, "num_workers"),
    ({"bucket_handle": HANDLE, "num_workers": "4"}, "num_workers"),
    ({"bucket_handle": HANDLE, "metadata_cache_ttl_secs": -1}, "metadata_cache_ttl_secs"),
    ({"bucket_handle": HANDLE, "max_capacity_gb": -1}, "max_capacity_gb"),
    ({"bucket_handle": HANDLE, "create_bucket_if_missing": "true"}, "create_bucket_if_missing"),
])
def test_l2_settings_that_cannot_be_right(l2, kind, name, params, word):
    with pytest.raises(ValueError, match=word):
        l2(plugin(name, params, kind))


def test_a_token_that_lmcache_would_log_is_refused(l2):
    with pytest.raises(ValueError, match="token_env"):
        l2(plugin("BucketNativeClient", {"bucket_handle": HANDLE, "token": "secret-text"}, "native_plugin"))


def test_a_token_among_the_parameters_of_a_directory_is_refused_too(l2, work):
    with pytest.raises(ValueError, match="token_env"):
        l2(plugin("FsNativeClient", {"base_path": str(work), "token": "hf_x"}, "native_plugin"))


@pytest.mark.parametrize("value", [float("inf"), 2**70, "a\0b", "\ud800", {1: None}, [[]]], ids=ascii)
def test_settings_of_others_are_not_ours_to_judge(engine, work, value):
    lm = engine(ours({"hfkv_fs": {"base_path": str(work / "kv")}}), extra={"of_another": value, 5: 1})
    connector = lm.connector("hfkv_fs")
    lm.put(connector, lm.key(1), 1)
    assert lm.get(connector, lm.key(1)) == lm.body(1)


def test_each_adapter_parses_exactly_its_own_type():
    from hfkv.lmcache import BucketConnectorAdapter, FsConnectorAdapter

    for adapter, own in ((FsConnectorAdapter(), "hfkv_fs"), (BucketConnectorAdapter(), "hfkv_bucket")):
        assert adapter.can_parse(f"plugin://{own}") and adapter.can_parse(f"plugin://{own}.primary")
        for other in (f"plugin://{own}x", "plugin://fs", "plugin://hfbucket", f"{own}://host:1/", "fs://h:1/p"):
            assert not adapter.can_parse(other)


def test_config_classes_have_help():
    from hfkv.lmcache import BucketL2AdapterConfig, FsL2AdapterConfig

    assert "bucket_handle" in BucketL2AdapterConfig.help()
    assert "base_path" in FsL2AdapterConfig.help()
