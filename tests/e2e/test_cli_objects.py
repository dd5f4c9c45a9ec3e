"""put, get, ls, stat, rm on the local server: bytes, names, streams, exit codes, JSON."""

import hashlib
import json
import os
import pty
import re
import subprocess
import termios

import pytest

from harness import BIN, random_body, seconds
from harness.program import run

HARD_NAMES = ["hash#name", "query?name", "percent%name", "percent%2Fslash", "space name", "plus+name", "amp&name", "quote'\"name",
              "ünïcode/名前", "tilde~.name", "a", "%41", "A", "brace{}[]|^`\\", "semi;colon:name", "dir/sub/deep"]


@pytest.fixture
def store(hfkv, url, work):
    """store(path, body): puts it, and it must succeed."""
    def put(path, body):
        source = work / "source"
        source.write_bytes(body)
        result = hfkv("put", source, f"{url}/{path}")
        assert result.code == 0, result.err
        assert (result.out, result.err) == (b"", ""), "silent in a pipe"
    return put


def assert_error(result, code, *words):
    """One line on stderr with all the words in it."""
    assert result.code == code, (result.code, result.err)
    assert result.err.startswith("hfkv: ") and result.err.count("\n") == 1, result.err
    for word in words:
        assert word in result.err, result.err


@pytest.mark.parametrize("size", [0, 1, 8191, 8193, 131071, 131073, 5 << 20])
def test_round_trip(hfkv, store, url, work, size):
    body = random_body(size, seed=size)
    store("some/object", body)
    target = work / "target"
    assert hfkv("get", f"{url}/some/object", target).code == 0
    assert target.read_bytes() == body


def test_hard_names_are_literal(hfkv, store, server, bucket, url):
    bodies = {name: name.encode() * 3 for name in HARD_NAMES}
    for name, body in bodies.items():
        store(name, body)
    assert server.object_paths(bucket) == sorted(bodies)
    assert sorted(hfkv("ls", url).lines) == sorted(bodies)
    for name, body in bodies.items():
        result = hfkv("get", f"{url}/{name}", "-")
        assert (result.code, result.out) == (0, body), name


def test_standard_streams(hfkv, url):
    body = random_body(300_000, seed=1)
    assert hfkv("put", "-", f"{url}/stream", stdin=body).code == 0
    result = hfkv("get", f"{url}/stream", "-")
    assert (result.code, result.out) == (0, body)


def test_get_to_a_redirected_file_keeps_what_stands_before(server, store, url, work):
    store("x", b"12345")
    with open(work / "out", "wb") as out:
        out.write(b"before ")
        out.flush()
        ended = subprocess.run([BIN, "get", f"{url}/x", "-"], env=server.environment(), stdout=out, timeout=seconds(60), check=False)
    assert ended.returncode == 0
    assert (work / "out").read_bytes() == b"before 12345"
    with open(work / "out", "ab") as out:
        subprocess.run([BIN, "get", f"{url}/x", "-"], env=server.environment(), stdout=out, timeout=seconds(60), check=True)
    assert (work / "out").read_bytes() == b"before 1234512345"


def test_several_files_travel_as_one_batch(hfkv, server, url, work):
    files = []
    for number in range(20):
        files.append(work / f"chunk-{number}")
        files[-1].write_bytes(random_body(10_000, seed=number))
    server.reset_requests()
    assert hfkv("put", *files, f"{url}/batch/").code == 0
    counts = server.requests()
    assert counts.get("batch") == 1 and counts.get("xorb-put") == 1
    assert counts.get("shard-v1", 0) + counts.get("shard-v2", 0) == 1
    target = work / "back"
    assert hfkv("get", f"{url}/batch/", target).code == 0
    for file in files:
        assert (target / file.name).read_bytes() == file.read_bytes()


def test_get_of_named_objects_into_a_directory(hfkv, store, url, work):
    store("p/one", b"1")
    store("q/two", b"22")
    (work / "into").mkdir()
    assert hfkv("get", f"{url}/p/one", f"{url}/q/two", work / "into").code == 0
    assert {path.name: path.read_bytes() for path in (work / "into").iterdir()} == {"one": b"1", "two": b"22"}


def test_put_replaces(hfkv, store, url):
    store("x", b"old content")
    store("x", b"new")
    assert hfkv("get", f"{url}/x", "-").out == b"new"


def test_ls_forms(hfkv, store, url):
    for path in ["top", "dir/one", "dir/two", "dir/sub/three", "dirt/no", "dir.txt"]:
        store(path, path.encode())
    assert sorted(hfkv("ls", url).lines) == ["dir.txt", "dir/one", "dir/sub/three", "dir/two", "dirt/no", "top"]
    assert sorted(hfkv("ls", f"{url}/dir").lines) == ["dir/one", "dir/sub/three", "dir/two"]
    assert sorted(hfkv("ls", "--one-level", f"{url}/dir").lines) == ["dir/one", "dir/sub/", "dir/two"]
    assert hfkv("ls", f"{url}/dir/one").lines == ["dir/one"]
    assert hfkv("ls", f"{url}/nothing").lines == []
    entries = json.loads(hfkv("ls", "--json", f"{url}/dir").text)
    assert {entry["path"]: entry["size"] for entry in entries} == {"dir/one": 7, "dir/two": 7, "dir/sub/three": 13}
    assert json.loads(hfkv("ls", "--json", f"{url}/nothing").text) == []
    assert hfkv("ls", "-l", f"{url}/top").text.split()[0] == "3"


def test_stat(hfkv, store, url):
    store("x", b"12345")
    store("empty", b"")
    result = hfkv("stat", f"{url}/x", "--json")
    found = json.loads(result.text)
    assert (found["path"], found["size"], len(found["xetHash"])) == ("x", 5, 64) and "mtime" in found
    assert json.loads(hfkv("stat", f"{url}/empty", "--json").text)["xetHash"] == "0" * 64
    assert "size:     5" in hfkv("stat", f"{url}/x").text
    several = hfkv("stat", f"{url}/x", f"{url}/absent", f"{url}/empty", "--json")
    assert several.code == 3 and [json.loads(line)["path"] for line in several.lines] == ["x", "empty"]


def test_missing_objects_exit_3(hfkv, store, url, work):
    store("there", b"x")
    assert_error(hfkv("stat", f"{url}/absent"), 3, "absent")
    assert_error(hfkv("get", f"{url}/absent", work / "target"), 3, "absent")
    assert not (work / "target").exists()
    assert_error(hfkv("get", f"{url}/absent/", work / "target"), 3, "absent")
    assert_error(hfkv("rm", f"{url}/absent"), 3, "absent")
    assert_error(hfkv("rm", f"{url}/there", f"{url}/absent"), 3, "absent")
    assert hfkv("ls", url).lines == [], "the one that was there is removed all the same"


def test_rm(hfkv, store, server, bucket, url):
    for path in ["a", "d/1", "d/2", "d/e/3", "d2"]:
        store(path, path.encode())
    assert hfkv("rm", f"{url}/a").code == 0
    assert_error(hfkv("rm", f"{url}/d/"), 2, "--recursive")
    assert hfkv("rm", "-r", f"{url}/d").code == 0
    assert server.object_paths(bucket) == ["d2"]


@pytest.mark.parametrize("text", ["hf:/buckets/a/b", "hf://buckets/a", "hf://models/a/b", "demo/kv", "hf://buckets/a/b c",
                                  "hf://buckets/a/b/../c", "hf://demo/kv", "s3://bucket/x", ""])
def test_malformed_urls_are_usage_errors(hfkv, text):
    assert_error(hfkv("ls", text), 2)


def test_wrong_use(hfkv, url, work):
    (work / "a").write_bytes(b"a")
    (work / "b").write_bytes(b"b")
    assert_error(hfkv("put", work / "a", work / "b", f"{url}/name"), 2, "ends in /")
    assert_error(hfkv("put", work / "absent", f"{url}/name"), 3, "absent")
    assert_error(hfkv("put", work, f"{url}/name"), 2, "directory")
    assert_error(hfkv("put", work / "a"), 2)
    assert_error(hfkv("get", url), 2)
    assert_error(hfkv("get", f"{url}/", "-"), 2)
    assert_error(hfkv("get", f"{url}/a", "hf://buckets/other/bucket/b", work), 2, "bucket")


def test_a_bucket_is_no_object(hfkv, url):
    assert_error(hfkv("stat", url), 2, url, "not an object")


def test_a_missing_local_directory_is_no_missing_object(hfkv, store, url, work):
    store("x", b"1")
    assert_error(hfkv("get", f"{url}/x", work / "absent" / "x"), 1, "absent/x")


def test_a_directory_url_may_hold_spaces(hfkv, server, bucket, url, work):
    (work / "a").write_bytes(b"a")
    assert hfkv("put", work / "a", f"{url}/of two words/").code == 0
    assert server.object_paths(bucket) == ["of two words/a"]
    assert hfkv("get", f"{url}/of two words/", work / "into").code == 0
    assert (work / "into" / "a").read_bytes() == b"a"
    assert_error(hfkv("rm", f"{url}/of two words/"), 2, "--recursive")


@pytest.mark.parametrize("endpoint", ["127.0.0.1:8080", "ftp://127.0.0.1", "huggingface.co"])
def test_a_malformed_endpoint_is_named(hfkv, url, endpoint):
    assert_error(hfkv("ls", url, HF_ENDPOINT=endpoint), 2, f"'{endpoint}'", "HF_ENDPOINT")
    assert "secret" not in hfkv("ls", url, HF_ENDPOINT="http://user:secret@127.0.0.1").err


def test_names_the_hub_refuses(hfkv, url, work):
    (work / "a").write_bytes(b"a")
    for name in ["x" * 1025, "a/./b", "trailing/../x"]:
        result = hfkv("put", work / "a", f"{url}/{name}")
        assert result.code != 0 and result.err.count("\n") == 1


def test_token_and_bucket_errors_say_what_to_do(hfkv, url, server):
    assert_error(hfkv("ls", url, HF_TOKEN="hf_wrong"), 1, "token")
    assert_error(hfkv("ls", url, HF_TOKEN=None), 1, "token")
    assert_error(hfkv("ls", "hf://buckets/demo/absent"), 3, "demo/absent")
    assert "hf_wrong" not in hfkv("ls", url, HF_TOKEN="hf_wrong").err


def test_token_places(hfkv, store, server, url, work):
    store("x", b"1")
    (work / "token").write_text(server.token + "\n")
    assert hfkv("ls", url, "--token-file", work / "token", HF_TOKEN=None).lines == ["x"]
    assert hfkv("ls", url, "--token-env", "OTHER", OTHER=server.token, HF_TOKEN=None).lines == ["x"]
    assert hfkv("ls", url, "--token-env", "OTHER", "--token-file", work / "token", OTHER="hf_wrong", HF_TOKEN=None).code == 1, \
        "the named variable comes first"
    (work / "blank").write_text("\n")
    assert_error(hfkv("ls", url, "--token-file", work / "blank", HF_TOKEN=None), 1, "blank", "is empty")
    (server.home / "token").write_text(server.token)
    assert hfkv("ls", url, HF_TOKEN=None).lines == ["x"], "the file that Hugging Face's tools keep"


def test_unreachable_server_is_one_line(hfkv, url):
    assert_error(hfkv("ls", url, HF_ENDPOINT="http://127.0.0.1:1", within=120), 1, "127.0.0.1:1")


def test_create_bucket_if_missing(hfkv, work, server):
    (work / "a").write_bytes(b"a")
    assert_error(hfkv("put", work / "a", "hf://buckets/demo/fresh/a"), 3, "demo/fresh")
    assert hfkv("put", "--create-bucket-if-missing", work / "a", "hf://buckets/demo/fresh/a").code == 0
    assert server.object_paths("demo/fresh") == ["a"]


def test_get_leaves_the_old_file_when_it_fails(hfkv, store, server, url, work):
    body = random_body(200_000, seed=5)
    store("x", body)
    target = work / "dir" / "target"
    target.parent.mkdir()
    target.write_bytes(b"old")
    server.faults({"route": "xorb-data", "flip_byte_at": 5000})
    result = hfkv("get", f"{url}/x", target, within=120)
    assert result.code == 1 and result.err.count("\n") == 1
    assert target.read_bytes() == b"old" and os.listdir(target.parent) == ["target"]
    server.faults()
    assert hfkv("get", f"{url}/x", target).code == 0
    assert hashlib.sha256(target.read_bytes()).digest() == hashlib.sha256(body).digest()


def test_put_json(hfkv, url, work):
    (work / "a").write_bytes(b"12345")
    stored = json.loads(hfkv("put", "--json", work / "a", f"{url}/j").text)
    found = json.loads(hfkv("stat", "--json", f"{url}/j").text)
    assert {name: stored[name] for name in ("path", "size", "xetHash")} == {name: found[name] for name in ("path", "size", "xetHash")}


@pytest.mark.parametrize("columns", [0, 100, 30])
def test_progress_on_a_terminal_only(server, url, work, columns):
    """stderr is a terminal: a line with bytes and a rate appears, fits, and is wiped at the end."""
    body = random_body(8 << 20, seed=9)
    (work / "big").write_bytes(body)
    server.faults({"route": "xorb-put", "delay_ms": 400})
    outer, inner = pty.openpty()
    termios.tcsetwinsize(inner, (24, columns))
    process = subprocess.Popen([BIN, "put", str(work / "big"), f"{url}/big"], env=server.environment(), stderr=inner)
    os.close(inner)
    seen = b""
    while True:
        try:
            piece = os.read(outer, 4096)
        except OSError: # the last writer is gone
            break
        if not piece:
            break
        seen += piece
    os.close(outer)
    assert process.wait(seconds(60)) == 0
    lines = seen.replace(b"\x1b[K", b"").split(b"\r")
    assert max(map(len, lines)) < (columns or 80) and seen.endswith(b"\r\x1b[K"), seen
    if columns != 30:
        assert re.search(rb"B of 8\.4 MB, [\d.]+ [kMG]?B/s, \d+ (s|min) left", seen), seen


def test_full_disk_is_an_error(server, store, url):
    store("x", random_body(100_000, seed=3))
    with open("/dev/full", "wb") as full:
        ended = subprocess.run([BIN, "get", f"{url}/x", "-"], env=server.environment(), stdout=full, stderr=subprocess.PIPE,
                               timeout=seconds(60), check=False)
    assert ended.returncode == 1 and b"No space" in ended.stderr


def test_every_run_is_without_the_token_in_argv_or_errors(server, url):
    result = run(["ls", url], server.environment(HF_ENDPOINT="http://127.0.0.1:1"), within=120)
    assert server.token not in result.err
