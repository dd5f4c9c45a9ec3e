"""put, get, ls and stat while the server misbehaves: what passes by itself, and what a person is told."""

import hashlib
import os
import time

import pytest

BODY = 3_000_000


def bodies(work, count, size=BODY):
    files = []
    for number in range(count):
        file = work / f"k{number}"
        file.write_bytes(os.urandom(size))
        files.append(file)
    return files


def put(hfkv, url, files):
    return hfkv("put", *files, f"{url}/p/")


def fetch(hfkv, url, work, name="k0"):
    result = hfkv("get", f"{url}/p/{name}", work / "out")
    return result, hashlib.sha256((work / "out").read_bytes()).digest() if (work / "out").exists() else None


# Each fails once in every way that may pass, on every route of a put and a get.
PASSING = [{"status": 503}, {"status": 429, "headers": {"Retry-After": "1"}}, {"drop": "before_work"}, {"drop": "after_work"}]
ROUTES = ["xet-write-token", "xorb-put", "shard-v2", "batch", "paths-info", "xet-read-token", "reconstruction-v2", "xorb-data"]


@pytest.mark.parametrize("fault", PASSING, ids=["503", "429", "dropped before", "dropped after"])
def test_passing_failures_of_every_route(server, hfkv, url, work, fault):
    (file,) = bodies(work, 1)
    server.faults(*[{"route": route, "times": 1, **fault} for route in ROUTES])
    server.reset_requests()
    stored = put(hfkv, url, [file])
    assert stored.code == 0, stored.err
    result, digest = fetch(hfkv, url, work)
    assert result.code == 0, result.err
    assert digest == hashlib.sha256(file.read_bytes()).digest()
    counts = server.requests()
    assert not [route for route in ROUTES if counts.get(route, 0) < 2], f"a route was not asked again: {counts}"


@pytest.mark.parametrize("fault", [{"cut_after_bytes": 1000}, {"flip_byte_at": 500_000}, {"expire_urls": True}],
                         ids=["cut", "flipped", "expired URL"])
def test_content_that_fails_once(server, hfkv, url, work, fault):
    (file,) = bodies(work, 1)
    assert put(hfkv, url, [file]).code == 0
    server.faults({"route": "xorb-data", "times": 1, **fault})
    result, digest = fetch(hfkv, url, work)
    if "flip_byte_at" in fault and result.code != 0:
        assert digest is None, "corrupt bytes were left under the asked name"
        return
    assert result.code == 0, result.err
    assert digest == hashlib.sha256(file.read_bytes()).digest()


def test_content_that_is_corrupt_for_good(server, hfkv, url, work):
    (file,) = bodies(work, 1)
    assert put(hfkv, url, [file]).code == 0
    server.faults({"route": "xorb-data", "flip_byte_at": 500_000})
    result, digest = fetch(hfkv, url, work)
    assert result.code == 1 and len(result.err.strip().splitlines()) == 1, result.err
    assert digest is None


def test_expired_access_is_renewed(server, hfkv, url, work):
    (file,) = bodies(work, 1)
    server.faults({"route": "xorb-put", "times": 1, "expire_tokens": True})
    assert put(hfkv, url, [file]).code == 0
    server.faults({"route": "reconstruction-v2", "times": 1, "expire_tokens": True})
    result, _ = fetch(hfkv, url, work)
    assert result.code == 0, result.err


def test_servers_without_version_two(server, hfkv, url, work):
    (file,) = bodies(work, 1)
    for status in (404, 501):
        server.faults({"route": "shard-v2", "status": status}, {"route": "reconstruction-v2", "status": status})
        assert put(hfkv, url, [file]).code == 0
        result, digest = fetch(hfkv, url, work)
        assert result.code == 0, result.err
        assert digest == hashlib.sha256(file.read_bytes()).digest()


def test_half_a_batch(server, hfkv, url, work):
    """What landed is kept, the caller learns of the failure."""
    files = bodies(work, 8, 5000)
    server.faults({"route": "batch", "times": 1, "apply_first": 3, "status": 500})
    result = put(hfkv, url, files)
    assert result.code == 1, result.err
    assert "500" in result.err
    assert len(server.object_paths("demo/kv")) == 3
    server.faults()
    assert put(hfkv, url, files).code == 0
    assert len(server.object_paths("demo/kv")) == 8


def test_lost_answer_of_a_batch(server, hfkv, url, work):
    """Everything landed and nobody was told: it counts as stored."""
    files = bodies(work, 8, 5000)
    server.faults({"route": "batch", "times": 1, "drop": "after_work"})
    result = put(hfkv, url, files)
    assert result.code == 0, result.err
    assert len(server.object_paths("demo/kv")) == 8


def test_answers_in_any_order(server, hfkv, url, work):
    files = bodies(work, 5, 3000)
    assert put(hfkv, url, files).code == 0
    server.faults({"route": "*", "reverse_order": True})
    listing = hfkv("ls", f"{url}/p")
    assert sorted(listing.lines) == [f"p/k{number}" for number in range(5)]
    for number, file in enumerate(files):
        result, digest = fetch(hfkv, url, work, f"k{number}")
        assert result.code == 0 and digest == hashlib.sha256(file.read_bytes()).digest()


def test_rate_limit_is_waited_out(server, hfkv, url, work):
    files = bodies(work, 1, 3000)
    assert put(hfkv, url, files).code == 0
    server.faults({"route": "paths-info", "times": 1, "status": 429, "headers": {"RateLimit": '"api";r=0;t=2'}})
    begun = time.monotonic()
    result, _ = fetch(hfkv, url, work)
    assert result.code == 0, result.err
    assert time.monotonic() - begun >= 2


def test_refusals_are_one_clear_line(server, hfkv, work):
    (file,) = bodies(work, 1, 100)
    wrong = hfkv("ls", "hf://buckets/demo/kv", HF_TOKEN="hf_wrongwrongwrong")
    assert wrong.code == 1 and len(wrong.err.strip().splitlines()) == 1, wrong.err
    assert "HF_TOKEN" in wrong.err and "hf_wrong" not in wrong.err
    missing = hfkv("put", file, "hf://buckets/demo/nothing/k")
    assert missing.code != 0 and "demo/nothing" in missing.err and len(missing.err.strip().splitlines()) == 1, missing.err
    made = hfkv("put", "--create-bucket-if-missing", file, "hf://buckets/demo/nothing/k")
    assert made.code == 0, made.err
    assert server.object_paths("demo/nothing") == ["k"]
