"""hfkv doctor: findings a person can act on; exit code 1 when something is bad."""

import json


def findings(result):
    return {entry["subject"]: entry for entry in json.loads(result.text)["findings"]}


def test_a_bucket_that_can_be_used(hfkv, url):
    result = hfkv("doctor", url, "--json")
    found = findings(result)
    assert found["bucket"]["finding"] == "ok"
    assert {"/dev/fuse", "fusermount3", "passthrough", "/dev/shm"} <= set(found)


def test_a_wrong_token_is_bad(hfkv, url):
    result = hfkv("doctor", url, "--json", HF_TOKEN="hf_wrong")
    assert result.code == 1 and findings(result)["bucket"]["finding"] == "BAD"
    assert "hf_wrong" not in result.text


def test_without_a_bucket_the_hub_is_asked(hfkv):
    assert findings(hfkv("doctor", "--json"))["Hub"]["finding"] == "ok"
    result = hfkv("doctor", "--json", HF_ENDPOINT="http://127.0.0.1:1")
    assert result.code == 1 and findings(result)["Hub"]["finding"] == "BAD"


def test_lines_for_people(hfkv, url):
    lines = hfkv("doctor", url).lines
    assert all(line.split()[0] in ("ok", "note", "BAD") for line in lines) and len(lines) == 5
