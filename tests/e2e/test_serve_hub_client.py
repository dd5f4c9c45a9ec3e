"""The public huggingface_hub and hf_xet clients on hfkv serve, unchanged, through HF_ENDPOINT."""

import hashlib
import json

import pytest

from harness import random_body
from harness.xet_wire import Cas

KIB, MIB = 1024, 1024 * 1024
SIZES = [0, 1, 8 * KIB - 1, 8 * KIB, 8 * KIB + 1, 128 * KIB - 1, 128 * KIB, 128 * KIB + 1, 5 * MIB, 70 * MIB]
HARD = ["a#b", "a?b", "a%b", "a%2Fb", "d/b", "sp ace", "pl+us", "am&p", 'quo"te', "quo'te", "na\u00efve-\u65e5\u672c",
        "k@1@0@ab@half%40.data", "n" * 1024]


def sha(body):
    return hashlib.sha256(body).hexdigest()


def round_trip(hub, work, bodies):
    """Stores {path: body} from files in one batch, lists them, fetches them into other files, compares."""
    sources, targets = work / "sources", work / "targets"
    sources.mkdir()
    targets.mkdir()
    for number, body in enumerate(bodies.values()):
        (sources / str(number)).write_bytes(body)
    hub.upload({path: sources / str(number) for number, path in enumerate(bodies)})
    listed = hub.run("result = {entry.path: entry.size for entry in api.list_bucket_tree(bucket, recursive=True)}")
    assert listed == {path: len(body) for path, body in bodies.items()}
    hub.download({path: targets / str(number) for number, path in enumerate(bodies)})
    for number, body in enumerate(bodies.values()):
        assert sha((targets / str(number)).read_bytes()) == sha(body), list(bodies)[number]


def test_a_bucket_from_birth_to_death(server, hub):
    said = hub.run("""
first = api.create_bucket("demo/new", private=True)
again = api.create_bucket("demo/new", exist_ok=True)
info = api.bucket_info("demo/new")
listed = [each.id for each in api.list_buckets(namespace="demo")]
try:
    api.create_bucket("demo/new")
    refused = None
except Exception as error:
    refused = error.response.status_code
api.delete_bucket("demo/new")
api.delete_bucket("demo/new", missing_ok=True)
try:
    api.bucket_info("demo/new")
    gone = None
except Exception as error:
    gone = type(error).__name__
result = [first.url, again.url, info.id, info.private, info.size, info.total_files, sorted(listed), refused, gone]
""")
    url = f"{server.endpoint}/buckets/demo/new"
    assert said == [url, url, "demo/new", True, 0, 0, ["demo/kv", "demo/new"], 409, "BucketNotFoundError"]


def test_sizes(hub, work):
    round_trip(hub, work, {f"size/{size}": random_body(size, size) for size in SIZES})


def test_hard_names(hub, work):
    round_trip(hub, work, {name: random_body(1000, number) for number, name in enumerate(HARD)})


def test_duplicate_content(server, hub, work):
    body = random_body(3 * MIB, 7)
    round_trip(hub, work, {"one": body, "two": body, "in itself": body + body})
    kept = sum(path.stat().st_size for path in (server.data / "xorbs").rglob("*") if path.is_file())
    assert kept < 9.5 * MIB, "the client's own deduplication inside a file was lost"


def test_files_that_fill_xorbs_exactly(hub, work):
    round_trip(hub, work, {f"k{number:02}": random_body(4 * MIB, number) for number in range(32)})


def test_bytes_copy_look_up_and_delete(server, hub):
    said = hub.run("""
body = bytes(range(256)) * 1000
api.batch_bucket_files(bucket, add=[(body, "a/one"), (b"", "a/empty"), (b"x", "b#1")])
info = {each.path: each for each in api.get_bucket_paths_info(bucket, ["a/one", "missing", "b#1", "a"])}
api.copy_files(f"hf://buckets/{bucket}/a/one", f"hf://buckets/{bucket}/c/copy")
meta = api.get_bucket_file_metadata(bucket, "c/copy")
api.batch_bucket_files(bucket, delete=["a/one", "b#1"])
import tempfile, os
target = os.path.join(tempfile.mkdtemp(), "copy")
api.download_bucket_files(bucket, [("c/copy", target)])
one_level = sorted((each.type, each.path) for each in api.list_bucket_tree(bucket, recursive=False))
result = [sorted(info), info["a/one"].size, meta.size, meta.xet_file_data.file_hash == info["a/one"].xet_hash,
          open(target, "rb").read() == body, one_level]
""")
    assert said == [["a/one", "b#1"], 256_000, 256_000, True, True, [["directory", "a"], ["directory", "c"]]]


def test_listings_have_pages(server, hub):
    server.reset_requests()
    count = hub.run("""
api.batch_bucket_files(bucket, add=[(b"", f"p/{number:05}") for number in range(2500)])
result = len({each.path for each in api.list_bucket_tree(bucket, prefix="p", recursive=True)})
""")
    assert count == 2500
    assert server.requests()["tree"] == 3 and server.requests()["batch"] == 3


def test_filesystem_reads_ranges(hub):
    said = hub.run("""
import os
from huggingface_hub import HfFileSystem
body = os.urandom(300_000)
api.batch_bucket_files(bucket, add=[(body, "d/f x"), (b"1", "d/g")])
fs = HfFileSystem(endpoint=api.endpoint, token=api.token)
root = f"hf://buckets/{bucket}"
with fs.open(f"{root}/d/f x", "rb") as stream:
    stream.seek(100_000)
    part = stream.read(5000)
result = [sorted(name.split(bucket + "/")[1] for name in fs.ls(f"{root}/d", detail=False)), part == body[100_000:105_000],
          fs.info(f"{root}/d/f x")["size"], fs.exists(f"{root}/d/none")]
""")
    assert said == [["d/f x", "d/g"], True, 300_000, False]


def test_a_wrong_token_and_a_missing_bucket(hub):
    said = hub.run("""
result = []
for bucket_id, token in ((bucket, "hf_wrong"), ("demo/nothing", None)):
    try:
        api.bucket_info(bucket_id, token=token)
    except Exception as error:
        result.append([type(error).__name__, error.response.status_code])
""")
    assert said[0][1] == 401 and said[1] == ["BucketNotFoundError", 404]


@pytest.mark.parametrize("rule", [
    {"route": "batch", "times": 1, "status": 503}, {"route": "batch", "times": 1, "drop": "after_work"},
    {"route": "shard-v2", "status": 404}, {"route": "reconstruction-v2", "status": 501}, {"route": "xorb-put", "times": 1, "status": 500},
    {"route": "xorb-data", "times": 1, "status": 403}, {"route": "reconstruction-v2", "times": 1, "status": 503},
], ids=json.dumps)
def test_the_client_survives_what_it_promises_to(server, hub, work, rule):
    server.faults(rule)
    round_trip(hub, work, {"a": random_body(2 * MIB, 1), "b": random_body(100, 2)})


def test_ranges_apart_share_one_url(server, bucket, hub, work):
    """The second file is made of two far pieces of the first: one xorb, two ranges, one URL."""
    body = random_body(4 * MIB, 5)
    for name, content in (("whole", body), ("pieces", body[:MIB] + body[3 * MIB:])):
        (work / name).write_bytes(content)
        hub.upload({name: work / name})
    hub.download({"pieces": work / "got"})
    assert (work / "got").read_bytes() == (work / "pieces").read_bytes()
    file_hash = hub.run("result = next(each.xet_hash for each in api.list_bucket_tree(bucket) if each.path == 'pieces')")
    answer = json.loads(Cas(server, bucket, "read").reconstruction(file_hash)[2])
    assert sum(term["unpacked_length"] for term in answer["terms"]) == 2 * MIB
    assert all(len(entries) == 1 for entries in answer["xorbs"].values())
    assert max(len(entry["ranges"]) for entries in answer["xorbs"].values() for entry in entries) > 1
