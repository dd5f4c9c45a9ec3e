"""hfkv verify lists what a kv mount hides: wrong sizes, names that are no key, keys without a rule, bad bytes."""

import json

import pytest

from harness import random_body

SIZE = 4096


@pytest.fixture
def mixed(hfkv, url, work):
    bodies = {"good%401%400%40ab%40half": random_body(SIZE, 1), "short%401%400%40ab%40half": b"x" * 100,
              "not a key": random_body(SIZE, 2), "sub/good%401%400%40cd%40half": random_body(SIZE, 3)}
    for name, body in bodies.items():
        (work / "body").write_bytes(body)
        assert hfkv("put", work / "body", f"{url}/{name}").code == 0


@pytest.mark.usefixtures("mixed")
def test_wrong_sizes_and_names_are_listed(hfkv, url):
    result = hfkv("verify", url, "--chunk-bytes", SIZE)
    assert result.code == 4
    assert sorted(result.lines) == ["no-key 4096 - not a key", "wrong-size 100 4096 short%401%400%40ab%40half"]


@pytest.mark.usefixtures("mixed")
def test_a_table_leaves_keys_without_a_rule(hfkv, url, work):
    (work / "table").write_text("# models\ngood* 4096\n")
    result = hfkv("verify", "--json", url, "--chunk-table", work / "table")
    assert result.code == 4
    assert {(entry["problem"], entry["path"]) for entry in map(json.loads, result.lines)} == {
        ("no-key", "not a key"), ("no-rule", "short%401%400%40ab%40half")}


@pytest.mark.usefixtures("mixed")
def test_a_clean_prefix_is_0(hfkv, url):
    result = hfkv("verify", f"{url}/sub", "--chunk-bytes", SIZE)
    assert (result.code, result.out) == (0, b"")


@pytest.mark.usefixtures("mixed")
def test_content_is_checked_on_request(hfkv, url, server):
    server.faults({"route": "xorb-data", "flip_byte_at": 1000})
    assert hfkv("verify", f"{url}/sub", "--chunk-bytes", SIZE).code == 0
    result = hfkv("verify", "--content", f"{url}/sub", "--chunk-bytes", SIZE, within=120)
    assert (result.code, result.lines) == (4, [f"corrupt {SIZE} - sub/good%401%400%40cd%40half"])


def test_a_size_is_needed(hfkv, url):
    result = hfkv("verify", url)
    assert result.code == 2 and "--chunk-bytes" in result.err
