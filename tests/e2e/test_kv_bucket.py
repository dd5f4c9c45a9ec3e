"""`hfkv kv` with the hfbucket connector and L2 adapter over a real bucket server."""

import json

import pytest
from kv_config import bucket_l2, bucket_yaml

from harness import clean_environment, random_body
from harness.program import run

SIZE = 8192
KEY = "org/m@1@0@ab12@bfloat16"
OBJECT = "org%2Fm%401%400%40ab12%40bfloat16"
MP_KEY = "org/m@01000100@0@ab12"
MP_OBJECT = "org%2Fm%4001000100%400%40ab12"


@pytest.fixture
def kv(server):
    return lambda config, *arguments, **more: server.hfkv("kv", "--config", config, *arguments, **more)


@pytest.fixture
def alone():
    """Runs `hfkv kv` without a server, for what is refused before anybody is asked."""
    return lambda config, *arguments: run(["kv", "--config", config, *arguments], clean_environment())


@pytest.fixture
def body(work):
    path = work / "body"
    path.write_bytes(random_body(SIZE, 1))
    return path


def test_a_chunk_goes_round(kv, hfkv, work, url, body):
    config = bucket_yaml(work, f"  {url}//pre/fix/ ", chunk_bytes=SIZE)
    assert kv(config, "exists", KEY).code == 3
    assert kv(config, "put", KEY, body).code == 0
    assert hfkv("ls", url).lines == [f"pre/fix/{OBJECT}"]
    assert kv(config, "list").lines == [KEY]
    assert kv(config, "get", KEY, "-").out == body.read_bytes()
    assert kv(config, "rm", KEY).code == 0
    assert kv(config, "rm", KEY).code == 0 # true also when it was not there
    assert kv(config, "get", KEY, "-").code == 3


def test_instances_have_buckets_of_their_own(kv, server, work, body):
    one, two = (server.create_bucket(f"demo/{name}") for name in ("us", "eu"))
    config = work / "two.yaml"
    config.write_text(json.dumps({"remote_storage_plugins": ["hfbucket.us", "hfkv_bucket.eu"], "extra_config": {
        "remote_storage_plugin.hfbucket.us.bucket_handle": f"hf://buckets/{one}",
        "remote_storage_plugin.hfkv_bucket.eu.bucket_handle": f"hf://buckets/{two}"}}))
    assert kv(config, "--plugin", "hfkv_bucket.eu", "put", KEY, body).code == 0
    assert server.object_paths(one) == [] and server.object_paths(two) == [OBJECT]
    assert kv(config, "exists", KEY).code == 3


def test_objects_of_another_size_are_absent(kv, hfkv, work, url, body):
    small = work / "small"
    small.write_bytes(b"x" * 100)
    assert hfkv("put", small, f"{url}/{OBJECT}").code == 0
    config = bucket_yaml(work, url)
    assert kv(config, "--chunk-bytes", SIZE, "exists", KEY).code == 3
    assert kv(config, "--chunk-bytes", SIZE, "get", KEY, "-").code == 3
    assert kv(config, "--chunk-bytes", SIZE, "list").lines == []
    refused = kv(config, "--chunk-bytes", SIZE, "put", KEY, small)
    assert refused.code == 4 and KEY in refused.err
    assert kv(config, "--chunk-bytes", SIZE, "put", KEY, body).code == 0 # heals
    assert kv(config, "--chunk-bytes", SIZE, "get", KEY, "-").out == body.read_bytes()


def test_mp_keys_have_lmcaches_object_names(kv, hfkv, work, url, body):
    config = bucket_l2(work, url)
    assert kv(config, "put", MP_KEY, body).code == 0
    assert kv(config, "put", f"{MP_KEY}@alice", body).code == 0
    assert hfkv("ls", url).lines == [MP_OBJECT, f"{MP_OBJECT}%40alice"]
    assert kv(config, "list").lines == [MP_KEY, f"{MP_KEY}@alice"]
    assert kv(config, "get", f"{MP_KEY}@alice", "-").out == body.read_bytes()
    in_process = kv(bucket_yaml(work, url), "exists", MP_KEY)
    assert in_process.code != 0 and MP_KEY in in_process.err


def test_a_bucket_is_made_by_the_first_write_only_if_asked(kv, server, work, body):
    url = "hf://buckets/demo/later"
    missing = kv(bucket_yaml(work, url), "put", KEY, body)
    assert missing.code != 0 and "demo/later" in missing.err
    asked = bucket_yaml(work, url, create_bucket_if_missing="true")
    assert kv(asked, "list").code in (0, 3) # constructing and reading make nothing
    assert server.http("GET", "/api/buckets/demo/later", headers={"Authorization": f"Bearer {server.token}"})[0] == 404
    assert kv(asked, "put", KEY, body).code == 0
    assert server.object_paths("demo/later") == [OBJECT]


def bucket_of(url):
    return url.removeprefix("hf://buckets/")


def test_a_batch_is_one_call(kv, server, work, url):
    config = bucket_l2(work, url)
    server.reset_requests()
    result = kv(config, "bench", "--size", "64K", "--count", "32", "--rounds", "1", "--keep")
    assert result.code == 0, result.err
    counts = server.requests()
    assert counts["batch"] == 1
    assert counts["paths-info"] == 1
    assert counts.get("shard-v2", 0) + counts.get("shard-v1", 0) == 1
    assert counts["xorb-put"] <= 2
    assert len(server.object_paths(bucket_of(url))) == 32


@pytest.mark.parametrize("make", [bucket_yaml, bucket_l2])
def test_bench_verifies_every_byte_and_cleans_up(kv, server, work, url, make):
    result = kv(make(work, url), "--json", "bench", "--size", "1M", "--count", "8", "--rounds", "2")
    assert result.code == 0, result.err
    assert json.loads(result.text)["keys"] == 8
    assert server.object_paths(bucket_of(url)) == []


def test_what_landed_of_a_failed_batch_is_kept(kv, server, work, url):
    server.faults({"route": "batch", "apply_first": 3, "status": 500, "times": 50})
    result = kv(bucket_l2(work, url), "--timeout", "5", "bench", "--size", "64K", "--count", "8", "--rounds", "1")
    server.faults()
    assert result.code == 1
    landed = server.object_paths(bucket_of(url))
    assert len(landed) % 3 == 0 or len(landed) == 8
    infos = server.api("POST", f"/api/buckets/{bucket_of(url)}/paths-info", {"paths": landed})
    assert all(info["size"] == 65536 for info in infos)


def test_staging_is_private_and_gone_afterwards(kv, work, url, body):
    staging = work / "staging"
    config = bucket_yaml(work, url)
    assert kv(config, "put", KEY, body).code == 0
    assert kv(config, "get", KEY, "-").code == 0
    assert not [path for path in staging.rglob("*") if path.is_file()]


# ---- tokens ----


def test_the_environment_wins_over_a_configured_token(kv, server, work, url, body):
    wrong = "hf_" + "w" * 30
    config = bucket_yaml(work, url, token=wrong, token_env="MY_TOKEN")
    assert kv(config, "put", KEY, body, HF_TOKEN=None, MY_TOKEN=server.token).code == 0
    refused = kv(config, "exists", KEY, HF_TOKEN=None)
    assert refused.code != 0 and wrong not in refused.err + refused.text
    config = bucket_yaml(work, url, token=server.token, token_env="MY_TOKEN")
    assert kv(config, "exists", KEY, HF_TOKEN=None).code == 0


# ---- what is wrong is said ----


@pytest.mark.parametrize("handle", ["hf:/buckets/a/b", "hf://buckets/a", "hf://buckets/a b/c", "hf://buckets/a/b/../c",
                                    "s3://a/b", "a/b", "hf://models/a/b"])
@pytest.mark.parametrize("make", [bucket_yaml, bucket_l2])
def test_malformed_handles_are_named(alone, work, handle, make):
    result = alone(make(work, handle), "list")
    assert result.code != 0 and "bucket_handle" in result.err and len(result.err.splitlines()) == 1


@pytest.mark.parametrize("settings, words", [
    ({"num_workers": 0}, ["num_workers", "0"]),
    ({"metadata_cache_ttl_secs": -1}, ["metadata_cache_ttl_secs", "-1"]),
    ({"eviction": {"eviction_policy": "FIFO"}}, ["eviction_policy", "FIFO"]),
    ({"eviction": {"eviction_policy": "LRU", "trigger_watermark": 1.5}}, ["trigger_watermark", "1.5"]),
    ({"eviction": {"eviction_policy": "IsolatedLRU"}}, ["IsolatedLRU"]),
    ({"max_capacity_gb": "lots"}, ["max_capacity_gb", "lots"]),
])
def test_bad_l2_values_are_named(alone, work, settings, words):
    result = alone(bucket_l2(work, "hf://buckets/a/b", **settings), "list")
    assert result.code != 0 and all(word in result.err for word in words), result.err


def test_a_missing_handle_and_what_breaks_full_chunks(alone, work):
    config = work / "none.yaml"
    config.write_text(json.dumps({"remote_storage_plugins": ["hfbucket"], "extra_config": {}}))
    result = alone(config, "list")
    assert result.code != 0 and "bucket_handle" in result.err
    config.write_text(json.dumps({"remote_storage_plugins": ["hfbucket"], "save_unfull_chunk": True, "extra_config": {
        "remote_storage_plugin.hfbucket.bucket_handle": "hf://buckets/a/b"}}))
    result = alone(config, "list")
    assert result.code != 0 and "save_unfull_chunk" in result.err


def test_a_server_that_is_gone_is_an_error_not_a_miss(kv, server, work, url):
    config = bucket_yaml(work, url)
    server.stop()
    result = kv(config, "--timeout", "2", "exists", KEY)
    assert result.code == 1 and result.text == ""


def test_a_server_that_never_answers_is_given_up_at_the_deadline(kv, server, work, url, body):
    config = bucket_yaml(work, url)
    assert kv(config, "put", KEY, body).code == 0
    server.faults({"route": "paths-info", "delay_ms": 60000})
    result = kv(config, "--timeout", "1", "exists", KEY, within=10)
    server.faults()
    assert result.code == 1
