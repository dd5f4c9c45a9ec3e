"""hfkv serve, the Hub's side: tokens and scopes, buckets, listings, look-ups, batches, resolve, over plain sockets."""

import http.client
import json
import os
import stat
import time
import urllib.parse

import pytest

from harness import Server, clean_environment
from harness.program import run
from harness.xet_wire import Cas, ZERO_HASH, add_file, batch_lines, delete_file, recorded_upload

KV = "/api/buckets/demo/kv"


def call(server, method, path, body=None, token=None, **headers):
    if token:
        headers["Authorization"] = f"Bearer {token}"
    return server.http(method, path, body, headers)


def batch(server, *operations, bucket="demo/kv", expect=(200,)):
    return json.loads(checked(server, "POST", f"/api/buckets/{bucket}/batch", batch_lines(*operations), expect=expect))


def checked(server, method, path, body=None, expect=(200,)):
    status, _, answer = call(server, method, path, body, server.token)
    assert status in expect, (status, answer)
    return answer


def read_token(server):
    return (server.data / "read-token").read_text().strip()


def tree(server, query, prefix="", bucket="demo/kv"):
    """Every page: the entries, and how many pages there were."""
    path = f"/api/buckets/{bucket}/tree" + (f"/{prefix}" if prefix else "") + (f"?{query}" if query else "")
    entries, pages = [], 0
    while path:
        status, headers, answer = call(server, "GET", path, token=server.token)
        assert status == 200, answer
        entries += json.loads(answer)
        pages += 1
        link = headers.get("Link")
        assert link is None or link.startswith(f"<{server.endpoint}/") and link.endswith('>; rel="next"')
        path = link and link[1:link.index(">")][len(server.endpoint):]
    return entries, pages


def names(entries):
    return [entry["path"] + ("/" if entry["type"] == "directory" else "") for entry in entries]


# ---- who may ----

def test_token_files_are_made_once_and_private(server):
    for name in ("write-token", "read-token", "signing-key"):
        assert stat.S_IMODE(os.stat(server.data / name).st_mode) == 0o600
    assert {name for name in os.listdir(server.data) if os.stat(server.data / name).st_mode & 0o077} == set()
    before = server.token, read_token(server)
    server.stop()
    server.start()
    assert (server.token, read_token(server)) == before


@pytest.mark.parametrize("method, path, body", [
    ("GET", KV, None), ("GET", KV + "/tree", None), ("POST", KV + "/paths-info", {"paths": ["a"]}),
    ("GET", "/buckets/demo/kv/resolve/a", None), ("POST", KV + "/batch", b"{}"), ("DELETE", KV, None),
    ("POST", "/api/buckets/demo/other", {}), ("GET", KV + "/xet-read-token", None), ("GET", "/api/whoami-v2", None),
    ("GET", "/api/buckets/demo", None), ("GET", "/api/buckets/demo/no-such-bucket", None),
])
def test_private_buckets_want_a_token(server, bucket, method, path, body):
    status, headers, answer = call(server, method, path, body)
    assert status == 401 and json.loads(answer)["error"] and headers["X-Request-Id"]
    status, headers, _ = call(server, method, path, body, token="hf_wrong")
    assert status == 401
    assert headers["X-Error-Message"] == "Invalid credentials in Authorization header"


def test_public_buckets_are_read_without_a_token_and_not_written(server):
    server.api("POST", "/api/buckets/demo/open", {"visibility": "public"})
    batch(server, add_file("a"), bucket="demo/open")
    assert call(server, "GET", "/api/buckets/demo/open")[0] == 200
    assert call(server, "GET", "/buckets/demo/open/resolve/a")[0] == 200
    assert call(server, "GET", "/api/buckets/demo/open/xet-read-token")[0] == 200
    assert call(server, "GET", "/api/buckets/demo/open/xet-write-token")[0] == 401
    assert call(server, "POST", "/api/buckets/demo/open/batch", batch_lines(delete_file("a")))[0] == 401
    checked(server, "PUT", "/api/buckets/demo/open/settings", json.dumps({"private": True}).encode())
    assert call(server, "GET", "/api/buckets/demo/open")[0] == 401


def test_the_read_token_reads_only(server, bucket):
    token = read_token(server)
    assert token != server.token
    for path in (KV, KV + "/tree", KV + "/xet-read-token", "/api/whoami-v2"):
        assert call(server, "GET", path, token=token)[0] == 200
    assert call(server, "POST", KV + "/paths-info", {"paths": []}, token)[0] == 200
    for method, path, body in (("GET", KV + "/xet-write-token", None), ("DELETE", KV, None), ("POST", KV + "/batch", b""),
                               ("POST", "/api/buckets/demo/new", {}), ("PUT", KV + "/settings", {"private": False})):
        assert call(server, method, path, body, token)[0] == 403


def test_cas_tokens_are_bound_to_right_bucket_and_server(server, bucket):
    upload = recorded_upload("mixed")
    reader, writer = Cas(server, bucket, "read"), Cas(server, bucket)
    assert reader.put_xorb(upload.xorb_hash, upload.xorb)[0] == 403
    assert reader.put_shard(upload.shard)[0] == 403
    writer.store(upload)
    assert reader.reconstruction(upload.files[0][0])[0] == 200
    assert writer.reconstruction(upload.files[0][0])[0] == 200
    for token in (server.token, "", "x", reader.token.replace(".r.", ".w."), reader.token[:-1] + "_", reader.token + "0"):
        reader.token = token
        assert reader.reconstruction(upload.files[0][0])[0] == 401, token
        assert reader.put_xorb(upload.xorb_hash, upload.xorb)[0] == 401, token
    checked(server, "DELETE", KV)
    assert writer.reconstruction(upload.files[0][0])[0] == 401
    server.create_bucket(bucket)
    assert writer.reconstruction(upload.files[0][0])[0] == 401, "a token outlived its bucket"


def test_cas_tokens_and_urls_end(work):
    server = Server(work, options=["--token-seconds", "1", "--url-seconds", "1"])
    try:
        upload, cas = recorded_upload("mixed"), Cas(server, server.create_bucket("demo/kv"))
        answer = server.api("GET", KV + "/xet-read-token")
        assert 0 <= answer["exp"] - time.time() <= 2 or answer["exp"] <= time.time()
        cas.token = server.api("GET", KV + "/xet-write-token")["accessToken"]
        cas.store(upload)
        entry = next(iter(json.loads(cas.reconstruction(upload.files[0][0])[2])["xorbs"].values()))[0]
        end = time.monotonic() + 10
        while cas.reconstruction(upload.files[0][0])[0] != 401 and time.monotonic() < end:
            pass
        assert cas.reconstruction(upload.files[0][0])[0] == 401
        span = entry["ranges"][0]["bytes"]
        while cas.fetch(entry["url"], (span["start"], span["end"]))[0] != 403 and time.monotonic() < end:
            pass
        assert cas.fetch(entry["url"], (span["start"], span["end"]))[0] == 403
    finally:
        server.stop()


# ---- buckets ----

def test_a_bucket_from_birth_to_death(server):
    made = server.api("POST", "/api/buckets/demo/kv", {"private": True})
    assert made["url"] == f"{server.endpoint}/buckets/demo/kv"
    again = server.api("POST", "/api/buckets/demo/kv", {}, expect=(409,))
    assert again["url"] == made["url"]
    info = server.api("GET", KV)
    assert (info["id"], info["private"], info["size"], info["totalFiles"]) == ("demo/kv", True, 0, 0)
    assert info["createdAt"].endswith("Z") and info["updatedAt"] >= info["createdAt"]
    server.api("POST", "/api/buckets/demo/kv2", {})
    server.api("POST", "/api/buckets/me/mine", {"visibility": "private"})
    assert [each["id"] for each in server.api("GET", "/api/buckets/demo")] == ["demo/kv", "demo/kv2"]
    assert [each["id"] for each in server.api("GET", "/api/buckets/demo?search=v2")] == ["demo/kv2"]
    assert [each["id"] for each in server.api("GET", "/api/buckets/me")] == ["local/mine"]
    server.api("POST", "/api/repos/move", {"fromRepo": "demo/kv2", "toRepo": "demo/kv3", "type": "bucket"})
    assert server.api("GET", "/api/buckets/demo/kv3")["id"] == "demo/kv3"
    server.api("POST", "/api/repos/move", {"fromRepo": "demo/kv3", "toRepo": "demo/kv", "type": "bucket"}, expect=(409,))
    server.api("DELETE", KV)
    for method, path in (("GET", KV), ("DELETE", KV), ("GET", KV + "/tree"), ("DELETE", "/api/buckets/demo/kv2")):
        status, headers, _ = call(server, method, path, token=server.token)
        assert (status, headers["X-Error-Code"]) == (404, "RepoNotFound")
    assert call(server, "DELETE", "/api/buckets/demo", token=server.token)[0] == 404


@pytest.mark.parametrize("name", ["a%20b", ".hidden", "-x", "a%2Fb", "n" * 97, "%C3%A9"])
def test_names_no_bucket_can_have(server, name):
    assert call(server, "POST", f"/api/buckets/demo/{name}", {}, server.token)[0] == 400


@pytest.mark.parametrize("body", [b"[1]", b"{", b'{"visibility": "secret"}', b'{"private": 3}'])
def test_malformed_settings_are_refused(server, body):
    assert call(server, "POST", KV, body, server.token)[0] == 400


def test_who_am_i(server):
    me = server.api("GET", "/api/whoami-v2")
    assert (me["name"], me["type"], me["auth"]["accessToken"]["role"]) == ("local", "user", "write")


# ---- addresses ----

def test_urls_name_the_host_that_was_asked(server, bucket):
    cas = Cas(server, bucket)
    cas.store(recorded_upload("mixed"))
    file_hash = recorded_upload("mixed").files[0][0]
    batch(server, add_file("a", file_hash), add_file("b"))
    port = server.endpoint.rsplit(":", 1)[1]
    host = {"Host": f"some-name:{port}"}
    named = f"http://some-name:{port}/"
    assert json.loads(call(server, "POST", KV, {}, server.token, **host)[2])["url"].startswith(named)
    _, headers, answer = call(server, "GET", KV + "/xet-read-token", token=server.token, **host)
    assert json.loads(answer)["casUrl"] + "/" == named and headers["X-Xet-Cas-Url"] + "/" == named
    assert headers["X-Xet-Access-Token"] == json.loads(answer)["accessToken"]
    assert headers["X-Xet-Token-Expiration"] == str(json.loads(answer)["exp"])
    assert call(server, "GET", KV + "/tree?limit=1", token=server.token, **host)[1]["Link"].startswith("<" + named)
    assert call(server, "HEAD", "/buckets/demo/kv/resolve/a", token=server.token, **host)[1]["Link"].startswith("<" + named)
    answer = json.loads(cas.call("GET", f"/v2/reconstructions/{file_hash}", **host)[2])
    assert all(entry["url"].startswith(named) for entries in answer["xorbs"].values() for entry in entries)
    forged = json.loads(call(server, "POST", KV, {}, server.token, Host='evil"/x')[2])["url"]
    assert forged.startswith(server.endpoint)


def test_a_wildcard_address_shows_as_loopback(work):
    server = Server(work, options=["--listen", "0.0.0.0:0"])
    try:
        assert server.endpoint.startswith("http://127.0.0.1:")
        assert call(server, "GET", "/api/whoami-v2", token=server.token)[0] == 200
    finally:
        server.stop()


def test_unknown_calls_are_404_and_keep_the_connection(server):
    connection = http.client.HTTPConnection(server.endpoint.split("//")[1], timeout=30)
    for method, path, body in (("GET", "/", None), ("POST", "/nowhere", b"x" * 300_000), ("PUT", KV, b"{}"),
                               ("GET", "/api/agent-harnesses", None), ("POST", "/v1/xorb-grants/default/" + ZERO_HASH, b"x")):
        connection.request(method, path, body)
        answer = connection.getresponse()
        answer.read()
        assert answer.status in (404, 401) and not answer.will_close, (method, path)
    connection.close()


def test_no_change_feed(server, bucket):
    assert call(server, "GET", KV + "/events", token=server.token)[0] == 501


def test_one_server_for_a_directory(server):
    result = run(["serve", "--data", server.data], clean_environment())
    assert result.code == 1 and result.out == b""
    assert "served by another" in result.err and result.err.count("\n") == 1


@pytest.mark.parametrize("listen", ["127.0.0.1", ":80", "127.0.0.1:http-no-such", "256.1.1.1:0", "127.0.0.1:99999"])
def test_addresses_that_cannot_be(work, listen):
    result = run(["serve", "--data", work / "d", "--listen", listen], clean_environment())
    assert result.code == 2 and result.err.count("\n") == 1 and f"'{listen}'" in result.err


# ---- names on the wire ----

HARD = ["a#b", "a?b", "a%b", "a%2Fb", "a/b", "sp ace", "pl+us", "am&p", 'quo"te', "quo'te", "na\u00efve-\u65e5\u672c",
        "k@1@0@ab@half%40.data", "\u0001ctl", "back\\slash", "n" * 1024]


def test_names_are_decoded_exactly_once(server, bucket):
    assert batch(server, *[add_file(name, contentType="x/y") for name in HARD])["success"]
    assert sorted(names(tree(server, "recursive=true")[0])) == sorted(HARD)
    infos = server.api("POST", KV + "/paths-info", {"paths": HARD + ["a%252Fb", "A"]})
    assert sorted(info["path"] for info in infos) == sorted(HARD)
    for name in HARD:
        for safe in ("", "/"):
            quoted = urllib.parse.quote(name, safe=safe)
            assert call(server, "HEAD", f"/buckets/demo/kv/resolve/{quoted}", token=server.token)[0] == 200, quoted
            assert name in names(tree(server, "recursive=true", quoted)[0])


@pytest.mark.parametrize("path", ["a%00b", "%00", "a%", "a%2", "a%zz"])
def test_paths_that_cannot_be_decoded(server, bucket, path):
    for route in ("/buckets/demo/kv/resolve/", KV + "/tree/"):
        assert call(server, "GET", route + path, token=server.token)[0] == 400


# ---- listings ----

KEYS = ["A", "a", "a/1.manifest", "a/1.manifest#1", "a/b/c", "a/b/d", "a0", "a\u00e9", "logs.json", "logs/x", "logs/y/z",
        "logs_backup/1", "logs_backup/2", "z/z/z/z"]


@pytest.fixture
def listed(server, bucket):
    batch(server, *[add_file(name) for name in reversed(KEYS)])
    return server


def test_a_listing_is_flat_and_in_byte_order(listed):
    everything = sorted(KEYS, key=str.encode)
    for query in ("", "recursive=true", "recursive=True", "limit=5000&expand=true"):
        assert names(tree(listed, query)[0]) == everything
    entry = tree(listed, "")[0][0]
    assert entry == {"type": "file", "path": "A", "size": 0, "xetHash": ZERO_HASH, "mtime": "2023-11-14T22:13:20.000Z",
                     "uploadedAt": entry["uploadedAt"]}


def test_one_level(listed):
    assert names(tree(listed, "recursive=false")[0]) == ["A", "a", "a/", "a0", "a\u00e9", "logs.json", "logs/", "logs_backup/", "z/"]
    assert names(tree(listed, "recursive=false", "a/")[0]) == ["a/1.manifest", "a/1.manifest#1", "a/b/"]
    assert names(tree(listed, "recursive=false", "logs")[0]) == ["logs.json", "logs/x", "logs/y/", "logs_backup/"]
    assert names(tree(listed, "recursive=false", "z/z")[0]) == ["z/z/z/"]


def test_the_prefix_is_a_raw_one(listed):
    assert names(tree(listed, "recursive=true", "a/1.manifest")[0]) == ["a/1.manifest", "a/1.manifest#1"]
    assert names(tree(listed, "recursive=true", "logs")[0]) == [name for name in KEYS if name.startswith("logs")]
    assert tree(listed, "recursive=true", "nothing-here") == ([], 1)
    assert tree(listed, "recursive=false", "nothing-here") == ([], 1)


@pytest.mark.parametrize("query", ["recursive=true", "recursive=false", ""])
@pytest.mark.parametrize("prefix", ["", "a", "logs", "a/"])
def test_pages_join_to_the_whole(listed, query, prefix):
    whole = tree(listed, query, prefix)[0]
    for limit in (1, 2, 3, len(whole), len(whole) + 1):
        paged, pages = tree(listed, f"{query}&limit={limit}", prefix)
        assert paged == whole
        assert pages == max(1, -(-len(whole) // limit))


@pytest.mark.parametrize("cursor", ["zz", "abc", "../..", "f" * 5000])
def test_foreign_cursors_are_refused(listed, cursor):
    assert call(listed, "GET", f"{KV}/tree?cursor={cursor}", token=listed.token)[0] == 400


def test_pages_stay_in_step_with_changes(listed):
    _, headers, answer = call(listed, "GET", KV + "/tree?limit=5", token=listed.token)
    first = names(json.loads(answer))
    batch(listed, delete_file(first[-1]), delete_file(KEYS[-1]), add_file("a/b/cc"))
    rest, _ = tree(listed, urllib.parse.urlsplit(headers["Link"][1:headers["Link"].index(">")]).query)
    assert first + names(rest) == sorted([*KEYS[:-1], "a/b/cc"], key=str.encode)


def test_ten_thousand_names_page_quickly(server, bucket):
    for start in range(0, 10_000, 1000):
        batch(server, *[add_file(f"p/m%40{number:08x}.data") for number in range(start, start + 1000)])
    begun = time.monotonic()
    entries, pages = tree(server, "recursive=true", "p%2F")
    assert (len(entries), pages) == (10_000, 10)
    assert tree(server, "recursive=true&limit=5000")[1] == 2
    assert names(tree(server, "recursive=false")[0]) == ["p/"]
    assert time.monotonic() - begun < 5 * 5


# ---- look-ups ----

def test_paths_info_names_what_is_there(listed):
    asked = ["z/z/z/z", "missing", "a/b", "a", "A", "a\u0000x"]
    found = listed.api("POST", KV + "/paths-info", {"paths": asked})
    assert sorted(entry["path"] for entry in found) == ["A", "a", "z/z/z/z"]
    assert all(entry["type"] == "file" and entry["size"] == 0 for entry in found)
    assert listed.api("POST", KV + "/paths-info", {"paths": []}) == []
    assert len(listed.api("POST", KV + "/paths-info", {"paths": ["a"] * 1000})) == 1000


@pytest.mark.parametrize("body", [b"", b"[]", b"{}", b'{"paths": "a"}', b'{"paths": [1]}', b'{"paths": ["a"', b"\xff",
                                  json.dumps({"paths": ["a"] * 1001}).encode()])
def test_malformed_paths_info(server, bucket, body):
    assert call(server, "POST", KV + "/paths-info", body, server.token)[0] == 400


# ---- batches ----

def test_a_batch_counts_and_moves_the_clock(server, bucket):
    cas, upload = Cas(server, bucket), recorded_upload("mixed")
    cas.store(upload)
    infos = [server.api("GET", KV)]
    operations = [add_file(f"f/{number}", file_hash, mtime=123456789) for number, (file_hash, _) in enumerate(upload.files)]
    answer = batch(server, *operations)
    assert answer == {"success": True, "processed": 4, "succeeded": 4, "failed": []}
    infos.append(server.api("GET", KV))
    assert (infos[-1]["size"], infos[-1]["totalFiles"]) == (sum(len(body) for _, body in upload.files), 4)
    batch(server, *operations)  # a replay after a lost answer
    infos.append(server.api("GET", KV))
    assert (infos[-1]["size"], infos[-1]["totalFiles"]) == (infos[1]["size"], 4)
    copy = {"type": "copyFile", "path": "copy", "xetHash": upload.files[0][0], "sourceRepoType": "bucket", "sourceRepoId": "demo/kv"}
    batch(server, copy, delete_file("f/0"), delete_file("f/0"), delete_file("never was"), add_file("f/1", upload.files[2][0]))
    infos.append(server.api("GET", KV))
    assert (infos[-1]["size"], infos[-1]["totalFiles"]) == (30000 + 1 + 1 + 0, 4)
    assert [info["updatedAt"] for info in infos] == sorted({info["updatedAt"] for info in infos})
    entry = {each["path"]: each for each in tree(server, "")[0]}
    assert entry["copy"]["size"] == 30000 and "mtime" not in entry["copy"]
    assert entry["f/2"]["mtime"] == "1970-01-02T10:17:36.789Z"


def test_bad_operations_fail_alone(server, bucket):
    bad = [add_file(path) for path in ("", "/a", "a/", "a//b", "./a", "a/..", "n" * 1025, "a\u0000b")]
    bad += [add_file("x", "1" * 64), add_file("x", "1" * 63), {"type": "addFile", "path": "x"}, {"type": "moveFile", "path": "x"},
            add_file("x", mtime="now"), {"path": "x"}, {"type": "addFile", "xetHash": ZERO_HASH},
            {"type": "copyFile", "path": "x", "xetHash": ZERO_HASH, "sourceRepoType": "model", "sourceRepoId": "demo/kv"},
            {"type": "copyFile", "path": "x", "xetHash": ZERO_HASH, "sourceRepoType": "bucket", "sourceRepoId": "demo/gone"}]
    answer = batch(server, *bad, add_file("good"))
    assert (answer["success"], answer["processed"], answer["succeeded"]) == (False, len(bad) + 1, 1)
    assert len(answer["failed"]) == len(bad) and all(each["error"] for each in answer["failed"])
    assert names(tree(server, "")[0]) == ["good"]
    answer = batch(server, *bad, expect=(422,))
    assert (answer["success"], answer["succeeded"], len(answer["failed"])) == (False, 0, len(bad))


@pytest.mark.parametrize("body", [b"{", b"[]\n", b'{"type":"deleteFile","path":"a"}{"type":"deleteFile","path":"b"}\n', b"\xff\n",
                                  batch_lines(*[delete_file(str(number)) for number in range(1001)])])
def test_malformed_batches_change_nothing(server, bucket, body):
    batch(server, add_file("a"))
    assert call(server, "POST", KV + "/batch", batch_lines(delete_file("a")) + body, server.token)[0] == 400
    assert names(tree(server, "")[0]) == ["a"]


def test_a_batch_may_lack_the_last_newline_and_hold_blank_lines(server, bucket):
    body = batch_lines(add_file("a")) + b"\r\n\n" + json.dumps(add_file("b")).encode()
    assert json.loads(checked(server, "POST", KV + "/batch", body))["succeeded"] == 2
    assert batch(server) == {"success": True, "processed": 0, "succeeded": 0, "failed": []}


def test_bodies_beyond_their_limit_are_refused(server, bucket):
    assert call(server, "POST", KV + "/batch", b" " * (17 << 20), server.token)[0] == 400
    assert call(server, "GET", KV, token=server.token)[0] == 200


# ---- resolve ----

@pytest.fixture
def stored(server, bucket):
    Cas(server, bucket).store(recorded_upload("mixed"))
    batch(server, *[add_file(f"f/{number}", each[0], contentType="text/x") for number, each in enumerate(recorded_upload("mixed").files)])
    return server


def resolve(server, path, method="GET", **headers):
    return call(server, method, f"/buckets/demo/kv/resolve/{path}", None, server.token, **headers)


def test_resolve_tells_and_gives(stored):
    for number, (file_hash, body) in enumerate(recorded_upload("mixed").files):
        for method in ("HEAD", "GET"):
            status, headers, answer = resolve(stored, f"f%2F{number}", method)
            assert (status, answer) == (200, body if method == "GET" else b"")
            assert headers["X-Xet-Hash"] == file_hash and headers["Content-Type"] == "text/x"
            assert headers["Content-Length"] == headers["X-Linked-Size"] == str(len(body))
            assert headers["ETag"] == headers["X-Linked-Etag"] == f'"{file_hash}"'
            assert headers["Last-Modified"] == "Tue, 14 Nov 2023 22:13:20 GMT"
            assert f"<{stored.endpoint}{KV}/xet-read-token>; rel=\"xet-auth\"" in headers["Link"]
            assert f"<{stored.endpoint}/v1/reconstructions/{file_hash}>; rel=\"xet-reconstruction-info\"" in headers["Link"]


@pytest.mark.parametrize("spec, start, end", [("0-0", 0, 1), ("0-", 0, 30000), ("29999-", 29999, 30000), ("-5", 29995, 30000),
                                              ("100-40000", 100, 30000), ("8191-8193", 8191, 8194), ("-40000", 0, 30000)])
def test_resolve_gives_ranges(stored, spec, start, end):
    body = recorded_upload("mixed").files[0][1]
    status, headers, answer = resolve(stored, "f/0", Range=f"bytes={spec}")
    assert (status, answer) == (206, body[start:end])
    assert headers["Content-Range"] == f"bytes {start}-{end - 1}/30000"


def test_resolve_refuses_and_saves_work(stored):
    file_hash = recorded_upload("mixed").files[0][0]
    status, headers, _ = resolve(stored, "f/0", Range="bytes=30000-")
    assert (status, headers["Content-Range"]) == (416, "bytes */30000")
    assert resolve(stored, "f/0", Range="lines=1-2")[0] == 200
    assert resolve(stored, "f/0", **{"If-None-Match": f'"{file_hash}"'})[::2] == (304, b"")
    for path in ("f", "f/", "nothing", "f/0/x"):
        status, headers, _ = resolve(stored, path)
        assert (status, headers["X-Error-Code"]) == (404, "EntryNotFound")
    status, headers, answer = resolve(stored, "f/0", Accept="application/vnd.xet-fileinfo+json, */*", Range="bytes=0-0")
    assert (status, headers["Content-Type"]) == (200, "application/vnd.xet-fileinfo+json")
    assert json.loads(answer) == {"hash": file_hash, "size": 30000, "refreshUrl": f"{stored.endpoint}{KV}/xet-read-token",
                                  "reconstructionUrl": f"{stored.endpoint}/v1/reconstructions/{file_hash}"}
