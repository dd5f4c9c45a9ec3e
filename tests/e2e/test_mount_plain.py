"""plain layout: any content under its own names."""

import errno
import os
import random

import pytest

from mount_files import body, counters, read_whole, refused, run, write_whole

LARGE = 70 << 20  # over the size up to which files are staged whole


@pytest.fixture
def plain(mount, url):
    return mount(f"{url}/p")


@pytest.fixture
def objects(server, bucket):
    return lambda: server.object_paths(bucket)


@pytest.mark.parametrize("size", [0, 1, 8191, 8193, 5 << 20])
def test_any_size(plain, mount, url, objects, size):
    write_whole(plain / "file", body(size, size))
    assert objects() == ["p/file"] and read_whole(plain / "file") == body(size, size)
    again = mount(f"{url}/p")
    assert os.stat(again / "file").st_size == size and read_whole(again / "file") == body(size, size)


def test_touch_makes_an_empty_object(plain, objects):
    run("touch", plain / "empty")
    assert objects() == ["p/empty"] and os.stat(plain / "empty").st_size == 0


def test_append_update_and_truncate(plain):
    write_whole(plain / "file", b"one")
    with open(plain / "file", "ab", buffering=0) as stream:
        stream.write(b" two")
    with open(plain / "file", "r+b", buffering=0) as stream:
        assert stream.read() == b"one two"
        stream.seek(0)
        stream.write(b"ONE")
    assert read_whole(plain / "file") == b"ONE two"
    run("truncate", "-s", "3", plain / "file")
    assert read_whole(plain / "file") == b"ONE"
    run("sh", "-c", 'echo 1 >> "$0"; echo 2 >> "$0"', plain / "log")
    assert read_whole(plain / "log") == b"1\n2\n"


def test_readers_keep_what_they_opened(plain):
    write_whole(plain / "file", b"old content")
    with open(plain / "file", "rb", buffering=0) as old:
        write_whole(plain / "file", b"new")
        assert old.readall() == b"old content" and read_whole(plain / "file") == b"new"
        assert os.stat(plain / "file").st_size == 3


def test_an_open_without_a_write_commits_nothing(plain, server):
    write_whole(plain / "file", b"1")
    server.reset_requests()
    os.close(os.open(plain / "file", os.O_RDWR))
    assert server.requests()["batch"] == 0


def test_renames(plain, objects):
    write_whole(plain / "a", b"a")
    write_whole(plain / "b", b"b")
    os.rename(plain / "a", plain / "b")
    assert objects() == ["p/b"] and read_whole(plain / "b") == b"a"
    fd = os.open(plain / "open", os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"later")
    os.rename(plain / "open", plain / "renamed")
    os.close(fd)
    assert sorted(objects()) == ["p/b", "p/renamed"] and read_whole(plain / "renamed") == b"later"


def test_directories(plain, objects):
    os.makedirs(plain / "d/e")
    write_whole(plain / "d/e/f", b"1")
    with refused(errno.EXDEV):
        os.rename(plain / "d", plain / "x")
    with refused(errno.ENOTEMPTY):
        os.rmdir(plain / "d")
    run("mv", plain / "d", plain / "x")
    assert objects() == ["p/x/e/f"]
    run("rm", "-r", plain / "x")
    assert objects() == [] and os.listdir(plain.path) == []


def test_tools(plain, work):
    (work / "tree").mkdir()
    for number in range(4):
        (work / "tree" / f"file {number}").write_bytes(body(number, 1000 * number))
    run("cp", "-a", work / "tree", plain / "copy")
    run("diff", "-r", work / "tree", plain / "copy")
    run("sh", "-c", 'cd "$0" && printf "a\\nb\\n" > s && sed -i s/a/z/ s && grep -q z s', plain.path)


def test_a_large_file_is_read_by_range_and_not_staged(plain, mount, url, work, hfkv):
    data = random.Random(7).randbytes(1 << 20) * (LARGE >> 20) + b"tail"
    (work / "large").write_bytes(data)
    assert hfkv("put", work / "large", f"{url}/p/large").code == 0
    fd = os.open(plain / "large", os.O_RDONLY)
    assert os.fstat(fd).st_size == len(data)
    for offset in [0, 12345678, LARGE - 10, LARGE + 2, 40 << 20]:
        assert os.pread(fd, 100000, offset) == data[offset:offset + 100000]
    os.close(fd)
    assert counters(plain)["staging"]["used_bytes"] == 0
    assert read_whole(plain / "large") == data


def test_truncate_by_path_and_foreign_names_are_refused(plain):
    write_whole(plain / "file", b"12345")
    with refused(errno.EPERM):
        os.truncate(plain / "file", 2)
    with refused(errno.EPERM):
        os.symlink("file", plain / "link")
    assert read_whole(plain / "file") == b"12345"
