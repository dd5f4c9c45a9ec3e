"""hfkv serve --test-controls: every way in which it can be told to misbehave, and what it remembers of requests."""

import http.client
import json
import socket
import time

import pytest

from harness import Program, clean_environment, eventually, seconds
from harness.xet_wire import Cas, add_file, batch_lines, delete_file, recorded_upload

KV = "/api/buckets/demo/kv"
MIXED = recorded_upload("mixed")


def call(server, method, path, body=None, **headers):
    return server.http(method, path, body, {"Authorization": f"Bearer {server.token}", **headers})


def batch(server, *operations):
    return call(server, "POST", KV + "/batch", batch_lines(*operations))


def paths(server):
    return server.object_paths("demo/kv")


class Raw:
    """One plain connection; what comes back is read by hand, with a short patience."""

    def __init__(self, server):
        host, port = server.endpoint.split("//")[1].split(":")
        self.socket = socket.create_connection((host, int(port)), timeout=seconds(20))
        self.token = server.token

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, method, path, body=b"", headers=()):
        lines = [f"{method} {path} HTTP/1.1", "Host: x", f"Authorization: Bearer {self.token}", f"Content-Length: {len(body)}", *headers]
        self.socket.sendall("\r\n".join(lines).encode() + b"\r\n\r\n" + body)

    def read_until_silence(self, silence=0.3):
        """(bytes received, whether the server closed)."""
        got = b""
        self.socket.settimeout(seconds(20))
        while True:
            try:
                piece = self.socket.recv(1 << 16)
            except (TimeoutError, socket.timeout):
                return got, False
            except ConnectionResetError:
                return got, True
            if not piece:
                return got, True
            got += piece
            if b"\r\n\r\n" in got:
                self.socket.settimeout(silence)


def body_of(answer):
    return answer.split(b"\r\n\r\n", 1)[1]


# ---- the journal ----

def test_requests_are_counted_and_listed(server, bucket):
    server.reset_requests()
    assert set(server.requests().values()) == {0}
    call(server, "GET", KV)
    call(server, "GET", KV + "/tree?limit=3")
    call(server, "POST", KV + "/paths-info", {"paths": ["a"]})
    call(server, "HEAD", "/buckets/demo/kv/resolve/a%2Fb", Range="bytes=0-0")
    server.http("GET", "/nowhere")
    counts = {route: count for route, count in server.requests().items() if count}
    assert counts == {"bucket-info": 1, "tree": 1, "paths-info": 1, "resolve": 1, "other": 1}
    assert server.request_log()[-5:] == [
        {"route": "bucket-info", "method": "GET", "path": KV, "range": None, "status": 200},
        {"route": "tree", "method": "GET", "path": KV + "/tree?limit=3", "range": None, "status": 200},
        {"route": "paths-info", "method": "POST", "path": KV + "/paths-info", "range": None, "status": 200},
        {"route": "resolve", "method": "HEAD", "path": "/buckets/demo/kv/resolve/a%2Fb", "range": "bytes=0-0", "status": 404},
        {"route": "other", "method": "GET", "path": "/nowhere", "range": None, "status": 404}]


def test_every_route_has_its_name(server, bucket):
    server.reset_requests()
    cas = Cas(server, bucket)
    cas.store(MIXED)
    cas.put_shard(MIXED.shard, 1)
    for version in (1, 2):
        answer = json.loads(cas.reconstruction(MIXED.files[0][0], version=version)[2])
    entry = next(iter(answer["xorbs"].values()))[0]
    cas.fetch(entry["url"], tuple(entry["ranges"][0]["bytes"].values()))
    cas.call("GET", f"/v1/chunks/default/{MIXED.xorb_hash}")
    cas.call("POST", f"/v1/xorb-grants/default/{MIXED.xorb_hash}", {})
    Cas(server, bucket, "read")
    batch(server, add_file("a"))
    for method, path in (("POST", "/api/buckets/demo/x"), ("GET", "/api/buckets/demo"), ("DELETE", "/api/buckets/demo/x"), ("GET", KV),
                         ("GET", KV + "/tree"), ("GET", "/api/whoami-v2"), ("GET", "/buckets/demo/kv/resolve/a")):
        assert call(server, method, path)[0] == 200
    call(server, "POST", KV + "/paths-info", {"paths": []})
    assert {route: count for route, count in server.requests().items() if count != 1} == {"other": 0}
    logged = server.request_log()[-100:]
    assert any(each["route"] == "xorb-data" and each["range"] and "signature" not in each["path"] for each in logged)


def test_without_controls_there_are_none(server, work):
    plain = Program(["serve", "--data", work / "plain", "--listen", "127.0.0.1:0"], clean_environment())
    try:
        endpoint = eventually(lambda: plain.errors.partition("serving http://")[2].strip(), 20, "the server")
        connection = http.client.HTTPConnection(endpoint, timeout=seconds(20))
        for method, path in (("GET", "/_control/requests"), ("PUT", "/_control/faults"), ("GET", "/_control/log")):
            connection.request(method, path)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 404
        connection.close()
    finally:
        plain.kill()


# ---- which requests ----

def test_rules_choose_by_route_text_and_number(server, bucket):
    rule = {"route": "paths-info", "path_contains": "needle", "skip": 1, "times": 2, "status": 418}
    server.faults(rule)
    asked = [[call(server, "POST", KV + "/paths-info", {"paths": [name]})[0] for name in ("hay", "a needle")] for _ in range(5)]
    assert asked == [[200, 200], [200, 418], [200, 418], [200, 200], [200, 200]]
    assert call(server, "GET", KV + "/tree?x=needle")[0] == 200
    server.faults({"route": "*", "path_contains": "tree", "status": 500}, {"route": "*", "status": 599})
    assert call(server, "GET", KV + "/tree")[0] == 500
    assert call(server, "GET", KV)[0] == 599
    server.faults()
    assert call(server, "GET", KV)[0] == 200


@pytest.mark.parametrize("rules", [{}, [{}], [{"route": 1}], [1], [{"route": "*", "stutas": 500}], [{"route": "*", "skip": -1}],
                                   [{"route": "*", "drop": "later"}], [{"route": "*", "status": 99}], [{"route": "*", "delay_ms": "1"}]])
def test_malformed_rules_are_refused_and_change_nothing(server, bucket, rules):
    server.faults({"route": "bucket-info", "status": 503})
    status, _, answer = server.http("PUT", "/_control/faults", rules)
    assert status == 400 and json.loads(answer)["error"]
    assert call(server, "GET", KV)[0] == 503


# ---- instead of an answer ----

def test_status_headers_and_body(server, bucket):
    server.faults({"route": "batch", "times": 1, "status": 429, "body": "slow down",
                   "headers": {"RateLimit": '"api";r=0;t=3', "Retry-After": "3"}})
    status, headers, answer = batch(server, add_file("a"))
    assert (status, answer) == (429, b"slow down")
    assert (headers["RateLimit"], headers["Retry-After"]) == ('"api";r=0;t=3', "3")
    assert paths(server) == [], "the work was done"
    assert server.request_log()[-2]["status"] == 429


@pytest.mark.parametrize("drop, done", [("before_work", []), ("after_work", ["a"])])
def test_dropped_without_an_answer(server, bucket, drop, done):
    server.faults({"route": "batch", "drop": drop})
    with Raw(server) as raw:
        raw.send("POST", KV + "/batch", batch_lines(add_file("a")))
        assert raw.read_until_silence() == (b"", True)
    assert paths(server) == done
    assert [each["status"] for each in server.request_log() if each["route"] == "batch"] == [0]


def test_a_batch_applied_in_part(server, bucket):
    server.faults({"route": "batch", "times": 1, "apply_first": 3})
    assert batch(server, *[add_file(str(number)) for number in range(8)])[0] == 500
    assert paths(server) == ["0", "1", "2"]
    server.faults({"route": "batch", "times": 1, "apply_first": 1, "status": 504})
    assert batch(server, delete_file("0"), delete_file("1"))[0] == 504
    assert paths(server) == ["1", "2"]
    server.faults({"route": "batch", "times": 1, "apply_first": 9, "status": 200, "body": "{}"})
    assert batch(server, delete_file("1"), delete_file("2"))[::2] == (200, b"{}")
    assert paths(server) == []


# ---- time ----

def test_a_delay_holds_one_request_only(server, bucket):
    server.faults({"route": "bucket-info", "delay_ms": 600})
    with Raw(server) as raw:
        begun = time.monotonic()
        raw.send("GET", KV)
        assert call(server, "GET", "/api/whoami-v2")[0] == 200
        others = time.monotonic() - begun
        answer, _ = raw.read_until_silence()
        assert answer.startswith(b"HTTP/1.1 200") and time.monotonic() - begun >= 0.6
    assert others < seconds(0.5)


@pytest.mark.parametrize("after", [0, 1, 10, 50_000_000])
def test_a_stall_sends_so_much_and_keeps_silent(server, bucket, after):
    whole = call(server, "GET", KV)[2]
    server.faults({"route": "bucket-info", "stall_after_bytes": after})
    with Raw(server) as raw:
        raw.send("GET", KV)
        answer, closed = raw.read_until_silence()
        assert f"Content-Length: {len(whole)}\r\n".encode() in answer
        assert body_of(answer) == whole[:after] and not closed
    server.faults()
    assert call(server, "GET", KV)[0] == 200


def test_stalled_connections_end_with_client_and_server(server, bucket):
    before = server.program.descriptor_count()
    server.faults({"route": "bucket-info", "stall_after_bytes": 1})
    with Raw(server) as gone, Raw(server) as kept:
        for raw in (gone, kept):
            raw.send("GET", KV)
            assert not raw.read_until_silence(0.1)[1]
        gone.socket.close()
        eventually(lambda: server.program.descriptor_count() <= before + 2, 10, "the stalled connection's end")
        begun = time.monotonic()
        server.stop()
        assert time.monotonic() - begun < seconds(5)


# ---- the body ----

@pytest.mark.parametrize("after", [0, 1, 10])
def test_a_cut_body(server, bucket, after):
    whole = call(server, "GET", KV)[2]
    server.faults({"route": "bucket-info", "cut_after_bytes": after})
    with Raw(server) as raw:
        raw.send("GET", KV)
        answer, closed = raw.read_until_silence(5)
        assert f"Content-Length: {len(whole)}\r\n".encode() in answer
        assert body_of(answer) == whole[:after] and closed


def stored_entry(server, bucket):
    cas = Cas(server, bucket)
    cas.store(MIXED)
    entry = next(iter(json.loads(cas.reconstruction(MIXED.files[0][0])[2])["xorbs"].values()))[0]
    span = entry["ranges"][0]["bytes"]
    return cas, entry["url"], (span["start"], span["end"])


def test_faults_reach_data_bodies(server, bucket):
    cas, url, span = stored_entry(server, bucket)
    good = cas.fetch(url, span)[2]
    server.faults({"route": "xorb-data", "flip_byte_at": 20})
    bad = cas.fetch(url, span)[2]
    assert [at for at in range(len(good)) if good[at] != bad[at]] == [20] and len(good) == len(bad)
    server.faults({"route": "xorb-data", "cut_after_bytes": 30})
    with Raw(server) as raw:
        raw.send("GET", url[len(server.endpoint):], headers=[f"Range: bytes={span[0]}-{span[1]}"])
        answer, closed = raw.read_until_silence(5)
        assert (body_of(answer), closed) == (good[:30], True)
    server.faults({"route": "resolve", "flip_byte_at": 29_999})
    batch(server, add_file("f", MIXED.files[0][0]))
    body = call(server, "GET", "/buckets/demo/kv/resolve/f")[2]
    assert body[:-1] == MIXED.files[0][1][:-1] and body[-1] == MIXED.files[0][1][-1] ^ 1


def test_answers_in_reverse_order(server, bucket):
    keys = [f"k{number}" for number in range(5)]
    batch(server, *[add_file(key) for key in keys])
    ways = [("GET", KV + "/tree", None), ("POST", KV + "/paths-info", {"paths": keys})]
    plain = [json.loads(call(server, *way)[2]) for way in ways]
    server.faults({"route": "*", "reverse_order": True})
    assert [json.loads(call(server, *way)[2]) for way in ways] == [entries[::-1] for entries in plain]
    assert json.loads(call(server, "GET", KV + "/tree/none")[2]) == []


# ---- tokens and URLs ----

def test_tokens_expire_early(server, bucket):
    cas = Cas(server, bucket)
    cas.store(MIXED)
    server.faults({"route": "reconstruction-v2", "times": 1, "expire_tokens": True})
    assert [cas.reconstruction(MIXED.files[0][0])[0] for _ in range(2)] == [401, 200]
    server.faults({"route": "xet-read-token", "times": 1, "expire_tokens": True})
    doomed, good = Cas(server, bucket, "read"), Cas(server, bucket, "read")
    assert (doomed.reconstruction(MIXED.files[0][0])[0], good.reconstruction(MIXED.files[0][0])[0]) == (401, 200)


def test_urls_expire_early(server, bucket):
    cas, url, span = stored_entry(server, bucket)
    server.faults({"route": "xorb-data", "times": 1, "expire_urls": True})
    assert [cas.fetch(url, span)[0] for _ in range(2)] == [403, 206]
    server.faults({"route": "reconstruction-v2", "expire_urls": True})
    entry = next(iter(json.loads(cas.reconstruction(MIXED.files[0][0])[2])["xorbs"].values()))[0]
    assert cas.fetch(entry["url"], span)[0] == 403
