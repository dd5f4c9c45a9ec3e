"""kv layout: directories are sub-prefixes, or local until a chunk lands in them."""

import errno
import os

import pytest

from mount_files import NAME, OBJECT, SIZE, body, chunk_name, read_whole, refused, run, write_whole


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE)


@pytest.fixture
def objects(server, bucket):
    return lambda: server.object_paths(bucket)


def test_mkdir_is_local_until_a_chunk_lands(kv, objects, mount, url):
    os.makedirs(kv / "a/b")
    other = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--negative-ttl", "0")
    assert objects() == [] and os.listdir(kv.path) == ["a"] and os.listdir(kv / "a") == ["b"]
    assert not (other / "a").exists()
    write_whole(kv / "a/b" / NAME, body(1))
    assert objects() == [f"prod/a/b/{OBJECT}"]
    assert read_whole(other / "a/b" / NAME) == body(1)


def test_rmdir(kv, objects):
    os.makedirs(kv / "a/b")
    write_whole(kv / "a/b" / NAME, body(1))
    for directory in ["a", "a/b"]:
        with refused(errno.ENOTEMPTY):
            os.rmdir(kv / directory)
    os.unlink(kv / "a/b" / NAME)
    assert os.listdir(kv / "a/b") == []
    write_whole(kv / "a/b/scratch", b"")
    with refused(errno.ENOTEMPTY):
        os.rmdir(kv / "a/b")
    os.unlink(kv / "a/b/scratch")
    os.rmdir(kv / "a/b")
    os.rmdir(kv / "a")
    assert not (kv / "a").exists() and os.listdir(kv.path) == []
    with refused(errno.ENOENT):
        os.rmdir(kv / "a")


def test_a_sub_prefix_of_another_writer_is_a_directory(kv, mount, url):
    writer = mount(f"{url}/prod/deep/er", "--chunk-bytes", SIZE)
    write_whole(writer / NAME, body(1))
    assert read_whole(kv / "deep/er" / NAME) == body(1)
    assert os.listdir(kv.path) == ["deep"] and os.stat(kv / "deep").st_mode & 0o777 == 0o755
    run("rm", "-r", kv / "deep")
    assert os.listdir(kv.path) == []


def test_large_listing_is_complete_and_in_one_call_a_page(kv, server, hfkv, url, work):
    source = work / "many"
    source.mkdir()
    names = [f"m%401%400%40{number:x}%40half" for number in range(3000)]
    for name in names:
        (source / name).write_bytes(body(1))
    assert hfkv("put", *sorted(source.iterdir()), f"{url}/prod/").code == 0
    server.reset_requests()
    found = os.listdir(kv.path)
    assert sorted(found) == sorted(chunk_name(number) for number in range(3000))
    found = sum(os.stat(entry.path).st_size for entry in os.scandir(kv.path))
    assert found == 3000 * SIZE
    assert server.requests()["tree"] <= 3 and server.requests()["paths-info"] == 0


def test_rewinding_sees_what_is_new(kv):
    write_whole(kv / chunk_name(1), body(1))
    fd = os.open(kv.path, os.O_RDONLY)
    assert os.listdir(fd) == [chunk_name(1)]
    write_whole(kv / chunk_name(2), body(2))
    assert sorted(os.listdir(fd)) == [chunk_name(1), chunk_name(2)]
    os.close(fd)


def test_fsync_of_directories(kv):
    for directory in [kv.path, kv / "a"]:
        directory.mkdir(exist_ok=True)
        fd = os.open(directory, os.O_RDONLY)
        os.fsync(fd)
        os.close(fd)
