"""kv layout: scratch files, and the rename that commits one; renames of chunks and directories; removal."""

import errno
import os
import threading

import pytest

from harness import store_like_lmcache
from mount_files import NAME, OBJECT, SIZE, body, chunk_name, counters, object_name, read_whole, refused, run, write_whole

ROUNDS = int(os.environ.get("HFKV_RACE_ROUNDS", "200"))


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE, "--tmp-dir", "tmp-here")


@pytest.fixture
def objects(server, bucket):
    return lambda: server.object_paths(bucket)


# ---- the commit ----

def test_rename_commits(kv, objects):
    store_like_lmcache(kv.path, NAME, body(1))
    assert objects() == [f"prod/{OBJECT}"]
    assert os.listdir(kv.path) == [NAME] and read_whole(kv / NAME) == body(1)


def test_a_commit_costs_one_batch_call_and_no_question_about_the_temporary(kv, server):
    os.listdir(kv.path)
    server.reset_requests()
    store_like_lmcache(kv.path, NAME, body(1))
    found = server.requests()
    assert found["batch"] == 1 and found["tree"] == 0 and found["shard-v1"] + found["shard-v2"] == 1


def test_scratch_never_reaches_the_bucket(kv, objects):
    os.mkdir(kv / ".hidden")
    for name in ["k.tmp", ".x.data.AbC123", "notes.txt", "x.swp", ".hidden/k.data", ".hidden/other"]:
        write_whole(kv / name, body(1))
        assert read_whole(kv / name) == body(1)
    assert objects() == []
    assert sorted(os.listdir(kv.path)) == [".hidden", ".x.data.AbC123", "k.tmp", "notes.txt", "x.swp"]


@pytest.mark.parametrize("directory", ["tmp-here", ".tmp", "base/tmp-here"])
def test_the_same_name_inside_the_tmp_dir_is_scratch_until_renamed(kv, objects, directory):
    os.makedirs(kv / directory)
    write_whole(kv / directory / NAME, body(1))
    assert objects() == []
    os.unlink(kv / directory / NAME)
    target = kv / os.path.dirname(directory) if os.path.dirname(directory) else kv.path
    store_like_lmcache(target, NAME, body(2), temporary_directory=kv / directory)
    assert len(objects()) == 1 and read_whole(target / NAME) == body(2)
    assert os.listdir(kv / directory) == []


@pytest.mark.parametrize("size,number", [(0, errno.EINVAL), (100, errno.EINVAL), (SIZE - 1, errno.EINVAL)])
def test_rename_of_a_wrong_size_leaves_the_temporary(kv, objects, size, number):
    write_whole(kv / "k.tmp", body(1, size))
    with refused(number):
        os.rename(kv / "k.tmp", kv / NAME)
    assert objects() == [] and read_whole(kv / "k.tmp") == body(1, size)
    assert not (kv / NAME).exists()


def test_too_long_a_temporary_is_efbig(kv, objects):
    with refused(errno.EFBIG):
        write_whole(kv / "k.tmp", body(1, SIZE + 1))
        os.rename(kv / "k.tmp", kv / NAME)
    assert objects() == []


def test_readers_keep_what_they_opened(kv):
    store_like_lmcache(kv.path, NAME, body(1))
    with open(kv / NAME, "rb", buffering=0) as old:
        store_like_lmcache(kv.path, NAME, body(2))
        assert old.readall() == body(1) and read_whole(kv / NAME) == body(2)


def test_a_writer_that_is_still_open_changes_nothing_that_was_committed(kv, mount, url):
    fd = os.open(kv / "k.tmp", os.O_RDWR | os.O_CREAT)
    os.write(fd, body(1))
    os.rename(kv / "k.tmp", kv / NAME)
    os.pwrite(fd, body(2), 0)
    assert read_whole(kv / NAME) == body(1)
    os.close(fd)
    assert read_whole(kv / NAME) == body(1)
    assert read_whole(mount(f"{url}/prod", "--chunk-bytes", SIZE) / NAME) == body(1)


def test_no_replace_and_exchange(kv):
    import ctypes
    renameat2 = ctypes.CDLL(None, use_errno=True).renameat2

    def rename2(source, target, flags):
        if renameat2(-100, os.fsencode(kv / source), -100, os.fsencode(kv / target), flags) != 0:
            raise OSError(ctypes.get_errno(), "renameat2")

    write_whole(kv / NAME, body(1))
    write_whole(kv / "k.tmp", body(2))
    with refused(errno.EEXIST):
        rename2("k.tmp", NAME, 1)
    with refused(errno.EINVAL):
        rename2("k.tmp", NAME, 2)
    assert read_whole(kv / NAME) == body(1) and read_whole(kv / "k.tmp") == body(2)
    rename2("k.tmp", chunk_name(7), 1)
    assert read_whole(kv / chunk_name(7)) == body(2)


def test_mv_commits_and_replaces(kv):
    write_whole(kv / "k.tmp", body(1))
    run("mv", kv / "k.tmp", kv / NAME)
    write_whole(kv / "k.tmp", body(2))
    run("mv", "-f", kv / "k.tmp", kv / NAME)
    assert read_whole(kv / NAME) == body(2) and os.listdir(kv.path) == [NAME]


def test_stat_of_a_fresh_commit_asks_nobody(kv, server):
    store_like_lmcache(kv.path, NAME, body(1))
    os.stat(kv / NAME)
    server.reset_requests()
    assert read_whole(kv / NAME) == body(1) and os.stat(kv / NAME).st_size == SIZE
    assert sum(server.requests().values()) == 0


# ---- writers of one name ----

def test_eight_writers_of_one_temporary_name(kv, objects):
    """Case 11: every read is one writer's whole chunk; losers see ENOENT or ESTALE and nothing else."""
    bodies = [body(number) for number in range(8)]
    whole = set(bodies)
    wrong, failures = [], []
    start = threading.Barrier(8)

    def write_rename_read(number):
        for _ in range(ROUNDS):
            start.wait()
            try:
                with open(kv / "k.tmp", "wb", buffering=0) as stream:
                    stream.write(bodies[number])
                os.rename(kv / "k.tmp", kv / NAME)
                data = read_whole(kv / NAME)
                if data not in whole:
                    wrong.append(len(data))
            except OSError as error:
                failures.append(error.errno)

    threads = [threading.Thread(target=write_rename_read, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert set(failures) <= {errno.ENOENT, errno.ESTALE}, failures
    assert len(failures) < 8 * ROUNDS
    assert read_whole(kv / NAME) in whole
    assert objects() == [f"prod/{OBJECT}"]


def test_a_second_creator_takes_a_temporary_name_over(kv):
    first = os.open(kv / "k.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(first, body(1))
    second = os.open(kv / "k.tmp", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.write(second, body(2)[:100])
    assert os.fstat(first).st_size == SIZE and os.fstat(second).st_size == 100
    os.write(second, body(2)[100:])
    os.close(first)
    os.close(second)
    os.rename(kv / "k.tmp", kv / NAME)
    assert read_whole(kv / NAME) == body(2)


def test_o_excl_of_a_scratch_file_that_is_there(kv):
    fd = os.open(kv / "lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    with refused(errno.EEXIST):
        os.open(kv / "lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.close(fd)
    with refused(errno.EEXIST):
        os.open(kv / "lock", os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def test_scratch_is_an_ordinary_file(kv):
    write_whole(kv / "log", b"one\n")
    with open(kv / "log", "ab", buffering=0) as stream:
        stream.write(b"two\n")
    with open(kv / "log", "r+b", buffering=0) as stream:
        stream.write(b"ONE")
    assert read_whole(kv / "log") == b"ONE\ntwo\n"
    os.truncate(kv / "log", 3)
    assert read_whole(kv / "log") == b"ONE"
    os.rename(kv / "log", kv / "log.1")
    assert read_whole(kv / "log.1") == b"ONE" and not (kv / "log").exists()
    fd = os.open(kv / "log.1", os.O_RDWR)
    os.unlink(kv / "log.1")
    assert os.pread(fd, 10, 0) == b"ONE"
    os.close(fd)
    assert counters(kv)["staging"]["used_bytes"] == 0


# ---- chunks and directories ----

def test_rename_of_a_chunk(kv, objects):
    write_whole(kv / NAME, body(1))
    os.rename(kv / NAME, kv / chunk_name(7))
    assert objects() == [f"prod/{object_name(7)}"]
    assert not (kv / NAME).exists() and read_whole(kv / chunk_name(7)) == body(1)
    os.mkdir(kv / "sub")
    write_whole(kv / NAME, body(2))
    os.rename(kv / NAME, kv / "sub" / chunk_name(7))
    assert sorted(objects()) == [f"prod/{object_name(7)}", f"prod/sub/{object_name(7)}"]
    assert read_whole(kv / "sub" / chunk_name(7)) == body(2)


def test_a_chunk_becomes_scratch_by_copy_only(kv, objects):
    write_whole(kv / NAME, body(1))
    with refused(errno.EXDEV):
        os.rename(kv / NAME, kv / "k.bak")
    run("mv", kv / NAME, kv / "k.bak")
    assert objects() == [] and read_whole(kv / "k.bak") == body(1)


def test_rename_of_a_directory(kv, objects):
    os.makedirs(kv / "a/b")
    write_whole(kv / "a/b/scratch.txt", b"1")
    os.rename(kv / "a", kv / "c")
    assert read_whole(kv / "c/b/scratch.txt") == b"1" and not (kv / "a").exists()
    write_whole(kv / "c/b" / NAME, body(1))
    with refused(errno.EXDEV):
        os.rename(kv / "c", kv / "d")
    run("mv", kv / "c", kv / "d")
    assert objects() == [f"prod/d/b/{OBJECT}"] and read_whole(kv / "d/b" / NAME) == body(1)
    assert not (kv / "c").exists()


def test_a_directory_does_not_move_into_scratch(kv):
    os.makedirs(kv / "a")
    write_whole(kv / "a/x.txt", b"1")
    for target in [".a", "tmp-here"]:
        with refused(errno.EXDEV):
            os.rename(kv / "a", kv / target)


def test_unlink(kv, objects):
    write_whole(kv / NAME, body(1))
    with open(kv / NAME, "rb", buffering=0) as reader:
        os.unlink(kv / NAME)
        assert objects() == [] and not (kv / NAME).exists()
        assert reader.readall() == body(1)
    with refused(errno.ENOENT):
        os.unlink(kv / NAME)
