"""huggingface_hub + hf_xet on the local server: what either side stores, the other reads byte for byte."""

import hashlib
import os

import pytest

from harness import kv_samples, random_body, store_like_lmcache

HARD_NAMES = ["hash#name", "query?name", "percent%name", "percent%2Fslash", "space name", "plus+name", "amp&name", "quote'name",
              "ünïcode/名前", "org%2Fm%401%400%40ab%40half", "dir/sub/deep"]
SIZES = [0, 1, 8191, 8192, 8193, 131071, 131072, 131073, 5 << 20, 70 << 20]


def bodies():
    """Every size, then the same content once more under another name, then the hard names."""
    result = {f"size/{size}": random_body(size, seed=size) for size in SIZES}
    result["size/duplicate"] = result[f"size/{5 << 20}"]
    result["size/mostly-duplicate"] = result[f"size/{5 << 20}"][:4 << 20] + random_body(1 << 20, seed=77)
    result["size/zeros"] = bytes(3 << 20)
    result.update({name: name.encode() * 100 for name in HARD_NAMES})
    result["kv"] = kv_samples()[0].body
    return result


@pytest.fixture(scope="module")
def local_files(tmp_path_factory):
    """{object path: local file}"""
    directory = tmp_path_factory.mktemp("bodies")
    files = {}
    for number, (path, body) in enumerate(bodies().items()):
        files[path] = directory / f"body-{number}"
        files[path].write_bytes(body)
    yield files
    for file in files.values():
        file.unlink()


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def assert_same(files, downloaded):
    for path, file in files.items():
        assert digest(downloaded[path]) == digest(file), path


def targets(work, files):
    directory = work / "downloaded"
    directory.mkdir()
    return {path: directory / f"target-{number}" for number, path in enumerate(files)}


def test_what_put_stores_the_client_downloads(hub, hfkv, url, local_files, work):
    for path, file in local_files.items():
        assert hfkv("put", file, f"{url}/{path}", within=120).code == 0, path
    assert hub.paths() == sorted(local_files)
    downloaded = targets(work, local_files)
    hub.download(downloaded)
    assert_same(local_files, downloaded)


def test_what_the_client_uploads_get_fetches(hub, hfkv, url, local_files, work):
    hub.upload(local_files)
    assert sorted(hfkv("ls", url).lines) == sorted(local_files)
    downloaded = targets(work, local_files)
    for path, target in downloaded.items():
        assert hfkv("get", f"{url}/{path}", target, within=120).code == 0, path
    assert_same(local_files, downloaded)


def test_both_name_the_same_content_by_the_same_hash(hub, hfkv, url, local_files):
    import json
    hub.upload(local_files)
    ours = {entry["path"]: entry["xetHash"] for entry in json.loads(hfkv("ls", "--json", url).text)}
    for path, file in local_files.items():
        assert hfkv("put", file, f"{url}/{path}", within=120).code == 0
    again = {entry["path"]: entry["xetHash"] for entry in json.loads(hfkv("ls", "--json", url).text)}
    assert ours == again


def test_what_the_mount_stores_the_client_downloads(hub, mount, url, work):
    samples = kv_samples()
    kv = mount(f"{url}/kv/prod", "--chunk-bytes", samples[0].size)
    for sample in samples:
        store_like_lmcache(kv.path, sample.file_name, sample.body)
    kv.unmount()
    names = hub.paths()
    assert len(names) == len(samples)
    downloaded = {name: work / f"sample-{number}" for number, name in enumerate(names)}
    hub.download(downloaded)
    assert sorted(digest(target) for target in downloaded.values()) == sorted(sample.sha256 for sample in samples)


def test_what_the_client_uploads_the_mount_reads(hub, mount, url, work):
    from urllib.parse import quote
    samples = kv_samples()
    hub.upload({f"kv/prod/{quote(sample.key, safe='')}": sample.path for sample in samples})
    kv = mount(f"{url}/kv/prod", "--chunk-bytes", samples[0].size)
    assert sorted(os.listdir(kv.path)) == sorted(sample.file_name for sample in samples)
    for sample in samples:
        assert digest(kv / sample.file_name) == sample.sha256


def test_the_client_sees_what_rm_removed(hub, hfkv, url, work):
    (work / "a").write_bytes(b"a")
    for name in ("x", "y"):
        hfkv("put", work / "a", f"{url}/{name}")
    assert hfkv("rm", f"{url}/x").code == 0
    assert hub.paths() == ["y"]


def test_the_client_manages_buckets_on_the_server(hub):
    assert hub.run("""
api.create_bucket("demo/made", exist_ok=True)
api.create_bucket("demo/made", exist_ok=True)
info = api.bucket_info("demo/made")
api.batch_bucket_files("demo/made", add=[(b"bytes", "a"), (b"more", "d/b")])
before = sorted(entry.path for entry in api.list_bucket_tree("demo/made", recursive=True))
sizes = {entry.path: entry.size for entry in api.get_bucket_paths_info("demo/made", ["a", "absent", "d/b"])}
api.batch_bucket_files("demo/made", delete=["a"])
after = sorted(entry.path for entry in api.list_bucket_tree("demo/made", recursive=True))
api.delete_bucket("demo/made")
result = [info.id, before, sizes, after]
""") == ["demo/made", ["a", "d/b"], {"a": 5, "d/b": 4}, ["d/b"]]
