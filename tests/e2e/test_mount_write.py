"""kv layout: files written in place. FLUSH is the commit; one inode is one body; no size but the full one reaches the bucket."""

import errno
import os
import subprocess
import sys
import threading

import pytest

from harness import at_once, eventually
from mount_files import NAME, OBJECT, SIZE, body, counters, read_whole, refused, run, write_whole


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE)


@pytest.fixture
def objects(server, bucket):
    return lambda: server.object_paths(bucket)


def test_close_commits(kv, objects):
    write_whole(kv / NAME, body(1))
    assert objects() == [f"prod/{OBJECT}"]
    assert read_whole(kv / NAME) == body(1)


def test_a_second_writer_replaces(kv, objects, mount, url):
    write_whole(kv / NAME, body(1))
    write_whole(kv / NAME, body(2))
    assert read_whole(kv / NAME) == body(2) and objects() == [f"prod/{OBJECT}"]
    assert read_whole(mount(f"{url}/prod", "--chunk-bytes", SIZE) / NAME) == body(2)


@pytest.mark.parametrize("size", [1, SIZE - 1, SIZE // 2])
def test_a_partial_chunk_is_einval_and_reaches_nothing(kv, objects, size):
    with refused(errno.EINVAL):
        write_whole(kv / NAME, body(1, size))
    assert objects() == [] and not (kv / NAME).exists() and os.listdir(kv.path) == []
    assert counters(kv)["refusals"]["partial"] >= 1


def test_a_write_past_the_full_size_is_efbig_and_cuts_nothing_off(kv, objects):
    with refused(errno.EFBIG):
        write_whole(kv / NAME, body(1, SIZE + 1))
    assert objects() == [] and not (kv / NAME).exists()
    # cp writes block by block: the first blocks fit, and their sum is the full size by chance.
    with open(kv / NAME, "wb", buffering=0) as stream:
        assert stream.write(body(1)) == SIZE
        with refused(errno.EFBIG):
            stream.write(b"x")
        with refused(errno.EFBIG):
            os.close(os.dup(stream.fileno()))
        with refused(errno.EFBIG):
            stream.close()
    assert objects() == []
    assert counters(kv)["refusals"]["oversize"] == 2, "each file counts once"


def test_touch_succeeds_and_publishes_nothing(kv, objects):
    run("touch", kv / NAME)
    run("sh", "-c", ': > "$0"', kv / NAME)
    assert objects() == [] and not (kv / NAME).exists()


def test_flush_before_the_first_write_is_harmless(kv, objects):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.close(os.dup(fd))
    os.write(fd, body(1))
    assert objects() == []
    os.close(fd)
    assert objects() == [f"prod/{OBJECT}"]


def test_fsync_of_an_unpublished_body_does_nothing(kv, objects):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.write(fd, body(1)[:100])
    os.fsync(fd)
    os.fdatasync(fd)
    assert objects() == []
    os.write(fd, body(1)[100:])
    os.close(fd)
    assert read_whole(kv / NAME) == body(1)


def test_a_write_after_a_commit_is_a_new_body(kv):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.write(fd, body(1))
    os.close(os.dup(fd))
    with open(kv / NAME, "rb", buffering=0) as reader:
        assert reader.read(1000) == body(1)[:1000]
        os.pwrite(fd, body(2), 0)
        reader.seek(0)
        assert reader.readall() == body(1)
        assert read_whole(kv / NAME) == body(1)
        os.close(fd)
        assert read_whole(kv / NAME) == body(2)
        reader.seek(0)
        assert reader.readall() == body(1)


def test_readers_see_the_old_chunk_or_the_new(kv):
    write_whole(kv / NAME, body(1))
    old = open(kv / NAME, "rb", buffering=0)
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, body(2)[:1000])
    assert read_whole(kv / NAME) == body(1)
    assert os.stat(kv / NAME).st_size == SIZE
    assert run("cat", kv / NAME).stdout == body(1)
    os.write(fd, body(2)[1000:])
    assert read_whole(kv / NAME) == body(1)
    os.close(fd)
    assert run("cat", kv / NAME).stdout == body(2)
    assert old.readall() == body(1)
    old.close()


def test_two_creators_of_one_name_and_the_last_commit_wins(kv):
    first = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    second = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    assert os.fstat(first).st_ino != os.fstat(second).st_ino
    os.write(first, body(1))
    os.write(second, body(2))
    os.close(second)
    assert read_whole(kv / NAME) == body(2)
    os.close(first)
    assert read_whole(kv / NAME) == body(1)


def test_an_unfinished_file_is_seen_by_its_own_process_only(kv):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.write(fd, b"unfinished")
    assert os.stat(kv / NAME).st_size == len(b"unfinished")
    assert subprocess.run(["test", "-e", kv / NAME], check=False).returncode == 1
    assert os.listdir(kv.path) == []
    os.write(fd, b"more")
    with refused(errno.ENOENT):
        os.open(kv / NAME, os.O_RDONLY)
    with refused(errno.EINVAL):
        os.close(fd)
    assert not (kv / NAME).exists()


def test_a_name_removed_while_open_is_never_committed(kv, objects):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.write(fd, body(1))
    os.unlink(kv / NAME)
    os.close(fd)
    assert objects() == [] and not (kv / NAME).exists()

    write_whole(kv / NAME, body(1))
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_TRUNC)
    os.write(fd, body(2))
    run("rm", kv / NAME)
    os.close(fd)
    assert objects() == [] and not (kv / NAME).exists()


@pytest.mark.parametrize("flags", [os.O_WRONLY, os.O_RDWR, os.O_WRONLY | os.O_APPEND])
def test_a_write_open_without_truncation_shares_nothing(kv, server, flags):
    write_whole(kv / NAME, body(1))
    reader = open(kv / NAME, "rb", buffering=0)
    server.reset_requests()
    fd = os.open(kv / NAME, flags)
    with refused(errno.EPERM):
        os.write(fd, b"other")
    with refused(errno.EPERM):
        os.ftruncate(fd, 10)
    os.close(fd)
    with refused(errno.EPERM):
        os.truncate(kv / NAME, 0)
    assert reader.readall() == body(1) == read_whole(kv / NAME)
    assert sum(server.requests().values()) == 0
    reader.close()


def test_a_shared_writable_mapping_of_a_chunk_is_refused(kv):
    import mmap
    write_whole(kv / NAME, body(1))
    fd = os.open(kv / NAME, os.O_RDWR)
    with refused(errno.EPERM, errno.ENODEV):
        mmap.mmap(fd, SIZE, mmap.MAP_SHARED, mmap.PROT_READ | mmap.PROT_WRITE)
    os.close(fd)
    assert read_whole(kv / NAME) == body(1)


def test_reading_through_r_plus_downloads_then(kv, mount, url):
    write_whole(kv / NAME, body(1))
    cold = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    fd = os.open(cold / NAME, os.O_RDWR)
    assert counters(cold)["counters"]["downloads"] == 0
    assert os.pread(fd, 1000, 500) == body(1)[500:1500]
    os.close(fd)
    assert counters(cold)["counters"]["downloads"] == 1


def test_modes_owners_and_times_live_with_the_inode(kv, server):
    write_whole(kv / NAME, body(1))
    server.reset_requests()
    run("touch", "-d", "2001-09-09 01:46:40 UTC", kv / NAME)
    os.chmod(kv / NAME, 0o600)
    os.chown(kv / NAME, 12, 34)
    found = os.stat(kv / NAME)
    assert (found.st_mtime, found.st_mode & 0o7777, found.st_uid, found.st_gid) == (1000000000, 0o600, 12, 34)
    assert sum(server.requests().values()) == 0


@pytest.mark.parametrize("shift,length", [(0, SIZE), (1, SIZE), (512, SIZE), (4095, SIZE)])
def test_o_direct_of_any_alignment_is_whole(kv, shift, length):
    import mmap
    memory = mmap.mmap(-1, SIZE + 8192)
    memory[shift:shift + length] = body(1)
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
    assert os.write(fd, memoryview(memory)[shift:shift + length]) == length
    os.close(fd)
    assert read_whole(kv / NAME) == body(1)
    fd = os.open(kv / NAME, os.O_RDONLY | os.O_DIRECT)
    assert os.preadv(fd, [memoryview(memory)[shift:shift + 1003]], 7) in (1003, 1003 - 1003 % 512)
    assert os.preadv(fd, [memoryview(memory)[0:SIZE]], 0) == SIZE and memory[:SIZE] == body(1)
    os.close(fd)


@pytest.mark.parametrize("pieces", [[100], [SIZE - 1], [4096, 1]])
def test_o_direct_of_another_length_is_never_published(kv, objects, pieces):
    with refused(errno.EINVAL):
        fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT | os.O_DIRECT)
        for piece in pieces:
            os.write(fd, body(1)[:piece])
        os.close(fd)
    assert objects() == []


def test_block_size_is_4096(kv):
    write_whole(kv / NAME, body(1))
    assert os.statvfs(kv.path).f_bsize == 4096 and os.stat(kv / NAME).st_blksize == 4096
    assert os.stat(kv.path).st_blksize == 4096


def test_fallocate_and_ftruncate_of_an_own_body(kv):
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.posix_fallocate(fd, 0, SIZE)
    assert os.fstat(fd).st_size == SIZE
    with refused(errno.EFBIG):
        os.ftruncate(fd, SIZE + 1)
    with refused(errno.EFBIG):
        os.close(fd)
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.ftruncate(fd, 10)
    os.pwrite(fd, body(3), 0)
    os.close(fd)
    assert read_whole(kv / NAME) == body(3)


def test_read_only_mount(kv, mount, url):
    write_whole(kv / NAME, body(1))
    read_only = mount(f"{url}/prod", "--chunk-bytes", SIZE, "--read-only")
    assert read_whole(read_only / NAME) == body(1)
    for attempt in [lambda: write_whole(read_only / NAME, body(2)), lambda: write_whole(read_only / "x.tmp", b""),
                    lambda: os.unlink(read_only / NAME), lambda: os.mkdir(read_only / "d"), lambda: os.utime(read_only / NAME)]:
        with refused(errno.EROFS):
            attempt()


def test_staging_returns_after_enospc(mount, url):
    """A write hits the end of staging half-way; the writer sees it, and the space comes back."""
    size = 4 << 20
    kv = mount(f"{url}/prod", "--chunk-bytes", size, "--staging-bytes", 2 * size)
    write_whole(kv / NAME, body(1, size))
    pinned = os.open(kv / NAME, os.O_RDONLY)
    write_whole(kv / "large.tmp", bytes(size // 2))

    def used():
        return counters(kv)["staging"]["used_bytes"], len(os.listdir(f"/proc/{kv.pid}/fd"))

    before = used()
    for name in ("other@1@0@cd@half.data", "k.tmp"):
        with refused(errno.ENOSPC):
            write_whole(kv / name, bytes(size))
        eventually(lambda: used() == before, 1, "the staging bytes and descriptors of the failed write to come back")
        assert not (kv / name).exists()
    os.close(pinned)
    os.unlink(kv / "large.tmp")
    write_whole(kv / "other@1@0@cd@half.data", body(2, size))


def test_many_writers_of_different_names(kv, objects):
    failures = []

    def store(number):
        try:
            write_whole(kv / f"m@1@0@{number:x}@half.data", body(number))
        except OSError as error:
            failures.append(error)

    threads = [threading.Thread(target=store, args=(number,)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures and len(objects()) == 32
    for number in range(32):
        assert read_whole(kv / f"m@1@0@{number:x}@half.data") == body(number)


def test_commits_by_close_share_batches(kv, server):
    """While the first batches are on their way the other closes gather behind them."""
    server.faults({"route": "batch", "delay_ms": 500})
    names = [f"m@1@0@{number:x}@half.data" for number in range(24)]
    fds = [os.open(kv / name, os.O_WRONLY | os.O_CREAT) for name in names]
    for number, fd in enumerate(fds):
        os.write(fd, body(number))
    server.reset_requests()
    at_once(len(fds), lambda number: os.close(fds[number]))
    found = server.requests()
    assert 1 <= found["batch"] <= 12 and found["xorb-put"] <= found["batch"], found
    assert [read_whole(kv / name) for name in names] == [body(number) for number in range(24)]


def test_a_child_that_inherits_the_descriptor_changes_nothing(kv):
    """Its exec or exit closes a copy: a FLUSH in the middle of the writer's work."""
    fd = os.open(kv / NAME, os.O_WRONLY | os.O_CREAT)
    os.write(fd, body(1)[:1000])
    subprocess.run([sys.executable, "-c", "pass"], pass_fds=[fd], check=True)
    os.write(fd, body(1)[1000:])
    os.close(fd)
    assert read_whole(kv / NAME) == body(1)
