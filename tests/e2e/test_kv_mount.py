"""One object, whichever face stored it: the mount, the fs connector on it, the hfbucket connector, the L2 adapters."""

import pytest
from kv_config import bucket_l2, bucket_yaml, fs_yaml, l2_json

from harness import random_body, store_like_lmcache

SIZE = 65536
KEY = "org/m@1@0@ab12@bfloat16"
FILE = "org-SEP-m@1@0@ab12@bfloat16.data"
MP_KEY = "org/m@01000100@0@ab12"
MP_FILE = "org-SEP-m@0x01000100@0@ab12.data"


@pytest.fixture
def kv(server):
    return lambda config, *arguments, **more: server.hfkv("kv", "--config", config, "--chunk-bytes", SIZE, *arguments, **more)


@pytest.fixture
def body(work):
    path = work / "body"
    path.write_bytes(random_body(SIZE, 3))
    return path


@pytest.mark.parametrize("key, file, mp", [(KEY, FILE, False), (MP_KEY, MP_FILE, True)])
def test_a_chunk_stored_by_any_face_is_a_hit_for_the_others(kv, mount, work, url, body, key, file, mp):
    mounted = mount(url, "--chunk-bytes", SIZE, "--metadata-ttl", "0", "--negative-ttl", "0") # nothing known from before
    faces = {
        "fs": l2_json(work, "fs-l2.json", type="fs", base_path=str(mounted.path)) if mp else fs_yaml(work, mounted.path),
        "bucket": bucket_l2(work, url) if mp else bucket_yaml(work, url),
    }
    for writer in ("mount", "fs", "bucket"):
        if writer == "mount":
            store_like_lmcache(mounted.path, file, body.read_bytes())
        else:
            assert kv(faces[writer], "put", key, body).code == 0
        assert (mounted.path / file).read_bytes() == body.read_bytes()
        for config in faces.values():
            assert kv(config, "get", key, "-").out == body.read_bytes()
            assert kv(config, "list").lines == [key]
        other = "bucket" if writer == "fs" else "fs"
        assert kv(faces[other], "rm", key).code == 0
        if writer != "bucket":
            (mounted.path / file).unlink(missing_ok=True)


def test_the_fs_connector_on_a_mount_refuses_partial_chunks(kv, mount, work, url):
    mounted = mount(url, "--chunk-bytes", SIZE)
    config = fs_yaml(work, mounted.path)
    small = work / "small"
    small.write_bytes(b"x" * (SIZE - 1))
    assert kv(config, "put", KEY, small).code == 4
    # Also when only the mount knows the full size.
    refused = mounted.hfkv("kv", "--config", config, "put", KEY, small)
    assert refused.code != 0
    assert not list(mounted.path.iterdir())


def test_bench_through_the_mount(kv, mount, work, url):
    mounted = mount(url, "--chunk-bytes", SIZE)
    result = kv(fs_yaml(work, mounted.path, fs_connector_relative_tmp_dir="tmp"), "bench", "--count", "16", "--rounds", "1")
    assert result.code == 0, result.err


def test_direct_io_on_the_mount(kv, mount, work, url, body):
    mounted = mount(url, "--chunk-bytes", SIZE)
    config = fs_yaml(work, mounted.path, fs_connector_use_odirect=True)
    assert kv(config, "put", KEY, body).code == 0
    assert kv(config, "get", KEY, "-").out == body.read_bytes()


def test_any_size_is_for_ordinary_directories_only(kv, mount, work, url):
    mounted = mount(url, "--chunk-bytes", SIZE)
    refused = kv(fs_yaml(work, mounted.path, full_chunks=False), "list")
    assert refused.code != 0 and "full_chunks" in refused.err and str(mounted.path) in refused.err
