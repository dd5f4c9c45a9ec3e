"""`hfkv kv` with the fs connector and the fs L2 adapter on ordinary directories."""

import json
import os
import struct

import pytest
from kv_config import fs_yaml, l2_json, yaml_file

from harness import clean_environment, random_body
from harness.program import run

SIZE = 8192
KEY = "org/model@1@0@ab12@bfloat16"
FILE = "org-SEP-model@1@0@ab12@bfloat16.data"
MP_KEY = "org/model@01000100@0@ab12"
MP_FILE = "org-SEP-model@0x01000100@0@ab12.data"


@pytest.fixture
def kv():
    """Runs `hfkv kv --config FILE ...` without any server."""
    return lambda config, *arguments, stdin=b"": run(["kv", "--config", config, *arguments], clean_environment(), stdin)


@pytest.fixture
def body(work):
    path = work / "body"
    path.write_bytes(random_body(SIZE, 1))
    return path


def test_a_chunk_goes_round(kv, work, body):
    config = fs_yaml(work, work / "new" / "base", chunk_bytes=SIZE)
    assert kv(config, "exists", KEY).code == 3
    assert kv(config, "put", KEY, body).code == 0
    assert os.listdir(work / "new" / "base") == [FILE]
    assert kv(config, "list").lines == [KEY]
    got = kv(config, "get", KEY, "-")
    assert got.code == 0 and got.out == body.read_bytes()
    found = kv(config, "exists", "--json", KEY, "m@1@0@ff@half")
    assert found.code == 3
    assert json.loads(found.text) == [{"key": KEY, "exists": True, "bytes": SIZE},
                                      {"key": "m@1@0@ff@half", "exists": False, "bytes": 0}]
    assert kv(config, "rm", KEY).code == 0
    assert kv(config, "rm", KEY).code == 3
    missing = kv(config, "get", KEY, work / "out")
    assert missing.code == 3 and KEY in missing.err
    assert not (work / "out").exists()


def test_other_sizes_are_refused(kv, work, body):
    config = fs_yaml(work, work / "base")
    refused = kv(config, "--chunk-bytes", SIZE + 1, "put", KEY, body)
    assert refused.code == 4 and KEY in refused.err and f"which has {SIZE + 1}" in refused.err
    assert not os.listdir(work / "base")
    assert kv(config, "--chunk-bytes", SIZE, "put", KEY, body).code == 0
    assert kv(config, "--chunk-bytes", SIZE * 2, "exists", KEY).code == 3
    assert kv(config, "--chunk-bytes", SIZE * 2, "list").lines == []


def test_a_chunk_table_decides_by_key(kv, work, body):
    table = work / "table"
    table.write_text(f"# sizes\norg/model@* {SIZE}\nother@* 100\n")
    config = fs_yaml(work, work / "base", chunk_table=str(table))
    assert kv(config, "put", KEY, body).code == 0
    assert kv(config, "put", "other@1@0@1@half", body).code == 4
    unmatched = kv(config, "put", "nobody@1@0@1@half", body)
    assert unmatched.code == 4 and "no line of the chunk table" in unmatched.err


def test_the_hash_picks_one_of_several_paths(kv, work, body):
    paths = [work / name for name in ("a", "b", "c")]
    config = fs_yaml(work, " , ".join(map(str, paths)))
    for chunk_hash in ("0", "1", "-2", "ab12", "-ffffffffffffffffffff"):
        key = f"m@1@0@{chunk_hash}@half"
        assert kv(config, "put", key, body).code == 0
        assert (paths[abs(int(chunk_hash, 16)) % 3] / f"{key}.data").stat().st_size == SIZE
    assert len(kv(config, "list").lines) == 5


def test_bodies_carry_lmcaches_header(kv, work):
    config = fs_yaml(work, work / "base", save_chunk_meta=True, chunk_bytes=SIZE)
    data = random_body(SIZE, 2)
    stored = work / "stored"
    stored.write_bytes(struct.pack("=7i", SIZE, 2, 3, 2, 4, 16, 64) + data)
    assert kv(config, "put", KEY, stored).code == 0
    assert (work / "base" / FILE).stat().st_size == SIZE + 28
    assert kv(config, "get", KEY, "-").out == stored.read_bytes()
    stored.write_bytes(struct.pack("=7i", SIZE - 1, 2, 3, 2, 4, 16, 64) + data)
    assert kv(config, "put", "m@1@0@1@half", stored).code != 0
    stored.write_bytes(data)
    assert kv(config, "put", "m@1@0@1@half", stored).code == 4


def test_direct_io_read_ahead_and_a_temporary_directory(kv, work, body):
    config = fs_yaml(work, work / "base", fs_connector_use_odirect="true", fs_connector_read_ahead_size="1000",
                     fs_connector_relative_tmp_dir="tmp")
    assert kv(config, "put", KEY, body).code == 0
    assert kv(config, "get", KEY, "-").out == body.read_bytes()
    assert sorted(os.listdir(work / "base")) == sorted([FILE, "tmp"])
    assert not os.listdir(work / "base" / "tmp")


def test_an_instance_is_picked_by_name(kv, work, body):
    config = yaml_file(work, ["fs", "hfkv_fs.backup"], {
        "remote_storage_plugin.fs.base_path": str(work / "one"),
        "remote_storage_plugin.hfkv_fs.backup.base_path": str(work / "two"), "save_chunk_meta": False})
    assert kv(config, "put", KEY, body).code == 0
    assert kv(config, "--plugin", "hfkv_fs.backup", "exists", KEY).code == 3
    assert kv(config, "--plugin", "hfkv_fs.backup", "put", KEY, body).code == 0
    assert (work / "two" / FILE).exists()


def test_the_legacy_url_names_the_path(kv, work, body):
    config = work / "legacy.yaml"
    config.write_text(f"remote_url: fs://localhost:65432{work}/legacy\nextra_config: {{save_chunk_meta: false}}\n")
    assert kv(config, "put", KEY, body).code == 0
    assert (work / "legacy" / FILE).exists()


@pytest.mark.parametrize("kind", ["fs", "fs_native"])
def test_the_l2_adapter_has_the_names_of_lmcaches(kv, work, body, kind):
    config = l2_json(work, type=kind, base_path=str(work / "base"), num_workers=2)
    assert kv(config, "put", MP_KEY, body).code == 0
    assert os.listdir(work / "base") == [MP_FILE]
    assert kv(config, "list").lines == [MP_KEY]
    refused = kv(config, "put", KEY, body)
    assert refused.code != 0 and KEY in refused.err
    (work / "base" / MP_FILE).write_bytes(b"poison")
    assert kv(config, "put", MP_KEY, body).code == 0
    assert kv(config, "get", MP_KEY, "-").out == body.read_bytes()


@pytest.mark.parametrize("kind", ["plugin", "native_plugin"])
def test_plugin_forms_are_taken(kv, work, body, kind):
    config = l2_json(work, type=kind, module_path="hfkv.lmcache", class_name="FsL2Adapter",
                     adapter_params={"base_path": str(work / "base")})
    assert kv(config, "--chunk-bytes", SIZE, "put", MP_KEY, body).code == 0
    assert (work / "base" / MP_FILE).exists()


def test_bench_verifies_and_cleans_up(kv, work):
    for config in (fs_yaml(work, work / "base"), l2_json(work, type="fs", base_path=str(work / "base"))):
        result = kv(config, "--json", "bench", "--size", "64K", "--count", "8", "--rounds", "2")
        assert result.code == 0, result.err
        figures = json.loads(result.text)
        assert figures["keys"] == 8 and figures["bytes"] == 65536
        assert all(figures[step]["median_ms"] > 0 for step in ("store", "lookup", "load"))
        assert not os.listdir(work / "base")


# ---- what is wrong is said ----


def test_unknown_keys_are_named_with_the_nearest(kv, work):
    config = fs_yaml(work, work / "base", **{"remote_storage_plugin.fs.base_pth": "/x", "somebody_elses": 1})
    warned = kv(config, "list")
    assert warned.code == 0
    assert "remote_storage_plugin.fs.base_pth" in warned.err and "remote_storage_plugin.fs.base_path" in warned.err
    assert "somebody_elses" not in warned.err


@pytest.mark.parametrize("extra, words", [
    ({"fs_connector_relative_tmp_dir": "/abs"}, ["fs_connector_relative_tmp_dir", "/abs", "relative"]),
    ({"fs_connector_relative_tmp_dir": "a/../../b"}, ["fs_connector_relative_tmp_dir", ".."]),
    ({"fs_connector_read_ahead_size": "many"}, ["fs_connector_read_ahead_size", "many", "whole number"]),
    ({"chunk_bytes": 0}, ["chunk_bytes", "0"]),
])
def test_bad_values_are_named(kv, work, extra, words):
    result = kv(fs_yaml(work, work / "base", **extra), "list")
    assert result.code != 0
    assert all(word in result.err for word in words), result.err
    assert len(result.err.splitlines()) == 1


@pytest.mark.parametrize("top_level, word", [
    ({"save_unfull_chunk": True}, "save_unfull_chunk"), ({"use_layerwise": True}, "use_layerwise"),
    ({"remote_serde": "cachegen"}, "remote_serde"),
])
def test_what_breaks_full_chunks_is_refused_by_name(kv, work, top_level, word):
    extra = {"remote_storage_plugin.fs.base_path": str(work / "base")}
    result = kv(yaml_file(work, ["fs"], extra, **top_level), "list")
    assert result.code != 0 and word in result.err
    extra["remote_storage_plugin.fs.full_chunks"] = False
    assert kv(yaml_file(work, ["fs"], extra, **top_level), "list").code == 0


def test_a_base_path_that_cannot_be_one(kv, work):
    (work / "file").write_text("x")
    result = kv(fs_yaml(work, work / "file"), "list")
    assert result.code != 0 and "not a directory" in result.err
    result = kv(fs_yaml(work, "/proc/no/such"), "list")
    assert result.code != 0 and "/proc/no/such" in result.err


def test_configurations_that_cannot_be_read(kv, work):
    result = kv(work / "none.yaml", "list")
    assert result.code != 0 and "none.yaml" in result.err
    (work / "bad.yaml").write_text("a: [1\nb: 2\n")
    result = kv(work / "bad.yaml", "list")
    assert result.code != 0 and "bad.yaml" in result.err and "line" in result.err
    (work / "bad.json").write_text('{"type": "fs", }')
    result = kv(work / "bad.json", "list")
    assert result.code != 0 and "bad.json" in result.err and "line 1" in result.err
    (work / "other.yaml").write_text("remote_storage_plugins: [redis]\n")
    assert kv(work / "other.yaml", "list").code != 0


def test_keys_that_are_none_are_named(kv, work, body):
    config = fs_yaml(work, work / "base")
    for key in ("@1@0@ab@half", "m@1@0", "m@@0@ab@half", "m@1@0@xyz@half", MP_KEY):
        result = kv(config, "put", key, body)
        assert result.code != 0 and key in result.err
    config = l2_json(work, type="fs", base_path=str(work / "base"))
    for key in (f"{MP_KEY}@sa/lt", "m@01000100@0@ab@s@t", "m@1@0@ab@half"):
        result = kv(config, "put", key, body)
        assert result.code != 0 and key in result.err
    assert not os.listdir(work / "base")


def test_usage_errors(kv, work, body):
    config = fs_yaml(work, work / "base")
    assert kv(config, "frobnicate").code == 2
    assert kv(config, "put", KEY).code == 2
    assert kv(config, "list", KEY).code == 2
    assert run(["kv", "list"], clean_environment()).code == 2
    assert run(["kv", "--config", config], clean_environment()).code == 2
    assert kv(config, "--chunk-bytes", "many", "list").code == 2


def test_what_a_setting_names_and_is_not_there_is_no_miss(kv, work):
    table = fs_yaml(work, work / "base", chunk_table=str(work / "absent"))
    for config in (work / "absent.yaml", table, fs_yaml(work, "/proc/absent", name="proc.yaml")):
        result = kv(config, "exists", KEY)
        assert result.code == 2 and "absent" in result.err, result.err
