"""hfkv serve, killed at any moment: what was acknowledged is there, what was half-written never is."""

import http.client
import json
import os
import threading
import time

import pytest

from harness import eventually, seconds
from harness.xet_wire import Cas, add_file, batch_lines, delete_file, recorded_upload

KV = "/api/buckets/demo/kv"
MIXED, SELFDUP = recorded_upload("mixed"), recorded_upload("selfdup")


def restart(server):
    server.kill()
    server.start()


def test_everything_acknowledged_is_there_after_a_kill(server, bucket):
    cas = Cas(server, bucket)
    cas.store(MIXED)
    operations = [add_file(f"f/{number}", each[0]) for number, each in enumerate(MIXED.files)]
    assert server.http("POST", KV + "/batch", batch_lines(*operations), {"Authorization": f"Bearer {server.token}"})[0] == 200
    token, info = server.token, server.api("GET", KV)
    restart(server)
    assert (server.token, server.api("GET", KV)) == (token, info)
    assert cas.reconstruction(MIXED.files[0][0])[0] == 200, "a CAS token did not outlive the process"
    for number, (_, body) in enumerate(MIXED.files):
        got = server.http("GET", f"/buckets/demo/kv/resolve/f/{number}", None, {"Authorization": f"Bearer {server.token}"})
        assert got[::2] == (200, body)


def test_a_xorb_without_its_end_is_nothing(server, bucket):
    cas = Cas(server, bucket)
    connection = http.client.HTTPConnection(server.endpoint.split("//")[1], timeout=seconds(20))
    connection.putrequest("POST", f"/v1/xorbs/default/{SELFDUP.xorb_hash}")
    connection.putheader("Authorization", f"Bearer {cas.token}")
    connection.putheader("Content-Length", str(len(SELFDUP.xorb)))
    connection.endheaders()
    connection.send(SELFDUP.xorb[:-1])
    incoming = server.data / "incoming"
    eventually(lambda: os.listdir(incoming), 10, "the half-written xorb")
    restart(server)
    connection.close()
    assert os.listdir(incoming) == []
    assert cas.put_shard(SELFDUP.shard)[0] == 400
    cas.store(SELFDUP)


def test_an_abandoned_upload_leaves_nothing(server, bucket):
    cas = Cas(server, bucket)
    connection = http.client.HTTPConnection(server.endpoint.split("//")[1], timeout=seconds(20))
    connection.putrequest("POST", f"/v1/xorbs/default/{SELFDUP.xorb_hash}")
    connection.putheader("Authorization", f"Bearer {cas.token}")
    connection.putheader("Content-Length", str(len(SELFDUP.xorb)))
    connection.endheaders()
    connection.send(SELFDUP.xorb[:50_000])
    eventually(lambda: os.listdir(server.data / "incoming"), 10, "the half-written xorb")
    connection.close()
    eventually(lambda: not os.listdir(server.data / "incoming"), 10, "the clean-up")


def test_a_stop_does_not_wait_for_an_upload_that_stands_still(server, bucket):
    cas = Cas(server, bucket)
    connection = http.client.HTTPConnection(server.endpoint.split("//")[1], timeout=seconds(20))
    connection.putrequest("POST", f"/v1/xorbs/default/{SELFDUP.xorb_hash}")
    connection.putheader("Authorization", f"Bearer {cas.token}")
    connection.putheader("Content-Length", str(len(SELFDUP.xorb)))
    connection.endheaders()
    connection.send(SELFDUP.xorb[:50_000])
    eventually(lambda: os.listdir(server.data / "incoming"), 10, "the half-written xorb")
    begun = time.monotonic()
    server.stop()
    assert time.monotonic() - begun < seconds(5)
    assert os.listdir(server.data / "incoming") == []
    connection.close()
    server.start()


@pytest.mark.parametrize("round_number", range(3))
def test_killed_under_load(server, bucket, round_number):
    """Writers add and delete objects and upload xorbs until the server dies; each remembers what it was told is done."""
    acknowledged, deleted, stored, lock = set(), set(), set(), threading.Lock()
    cas = Cas(server, bucket)
    token = server.token

    def post(path, body, bearer):
        try:
            return server.http("POST", path, body, {"Authorization": f"Bearer {bearer}"}, within=20)[0]
        except (OSError, http.client.HTTPException):
            return 0  # the kill

    def change(writer):
        for number in range(100_000):
            names = [f"w{writer}/{number}/{each}" for each in range(20)]
            if post(KV + "/batch", batch_lines(*[add_file(name) for name in names]), token) != 200:
                return
            with lock:
                acknowledged.update(names)
            if post(KV + "/batch", batch_lines(delete_file(names[0])), token) != 200:
                with lock:
                    acknowledged.discard(names[0])  # unknown: both outcomes are right
                return
            with lock:
                acknowledged.discard(names[0])
                deleted.add(names[0])

    def upload():
        for each in (MIXED, SELFDUP) * 1000:
            if post(f"/v1/xorbs/default/{each.xorb_hash}", each.xorb, cas.token) != 200:
                return
            if post("/v1/shards", each.shard, cas.token) != 200:
                return
            with lock:
                stored.add(each)

    threads = [threading.Thread(target=change, args=(writer,)) for writer in range(3)] + [threading.Thread(target=upload)]
    for thread in threads:
        thread.start()
    eventually(lambda: len(deleted) > 10 + 15 * round_number and len(stored) > 0, 60, "some work")
    server.kill()
    for thread in threads:
        thread.join(seconds(60))
        assert not thread.is_alive()
    server.start()
    present = all_paths(server)
    assert acknowledged <= present
    assert not deleted & present
    info = server.api("GET", KV)
    assert (info["totalFiles"], info["size"]) == (len(present), 0)
    for each in stored:
        assert all(cas.reconstruction(file_hash)[0] == 200 for file_hash, body in each.files if body)
    assert os.listdir(server.data / "incoming") == []


def all_paths(server):
    paths, query = set(), "?recursive=true&limit=5000"
    while query:
        status, headers, answer = server.http("GET", KV + "/tree" + query, None, {"Authorization": f"Bearer {server.token}"})
        assert status == 200
        paths |= {entry["path"] for entry in json.loads(answer)}
        query = "?" + headers["Link"].split(">")[0].split("?", 1)[1] if "Link" in headers else None
    return paths
