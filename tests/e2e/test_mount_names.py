"""Names: keys of every kind, odd objects, limits, extended attributes, the hidden status file."""

import errno
import json
import os

import pytest

from mount_files import NAME, OBJECT, SIZE, body, chunk_name, counters, read_whole, refused, write_whole

HARD_KEYS = ["a#b", "a?b", "a%b", "a%2Fb", "a b", "a+b", "a&b", "it's", 'say "x"', "schlüssel", "键", "a\\b", "*", "a:b", "-dash",
             "m@1@0@ab@bfloat16@user%42", "m@1@0@ab@half@tag%a b"]


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE)


@pytest.fixture
def objects(server, bucket):
    return lambda: server.object_paths(bucket)


@pytest.fixture
def store(hfkv, url, work):
    """Puts an object from outside of the mount."""
    def put(path, data):
        (work / "object").write_bytes(data)
        assert hfkv("put", work / "object", f"{url}/{path}").code == 0
    return put


def test_hard_keys_open_their_own_bytes(kv, mount, url):
    for number, key in enumerate(HARD_KEYS):
        write_whole(kv / f"{key}.data", body(number))
    again = mount(f"{url}/prod", "--chunk-bytes", SIZE)
    assert sorted(os.listdir(again.path)) == sorted(f"{key}.data" for key in HARD_KEYS)
    for number, key in enumerate(HARD_KEYS):
        assert read_whole(again / f"{key}.data") == body(number), key
        assert os.getxattr(again / f"{key}.data", "user.hfkv.key") == key.encode()


def test_a_shorter_name_is_absent_and_no_directory(kv):
    write_whole(kv / "sess.json.data", body(1))
    for name in ["sess.jso.data", "sess.json", "sess.jso", "sess"]:
        assert not (kv / name).exists()


def test_sep_names_are_two_files(kv, objects):
    """The `/` key has LMCache's own file name; the key that holds -SEP- itself is written escaped."""
    slash, sep = "org-SEP-m-SEP-x@1@0@ab@half.data", "@org%2Fm-SEP-x%401%400%40ab%40half.data"
    write_whole(kv / slash, body(1))
    write_whole(kv / sep, body(2))
    assert objects() == ["prod/org%2Fm%2Fx%401%400%40ab%40half", "prod/org%2Fm-SEP-x%401%400%40ab%40half"]
    assert (read_whole(kv / slash), read_whole(kv / sep)) == (body(1), body(2))
    assert sorted(os.listdir(kv.path)) == sorted([slash, sep])


def test_mp_names_carry_the_rank_as_0x(kv, objects):
    write_whole(kv / "m@0x01000100@0@ab.data", body(1))
    assert objects() == ["prod/m%4001000100%400%40ab"]
    assert os.listdir(kv.path) == ["m@0x01000100@0@ab.data"]
    with refused(errno.EINVAL):
        write_whole(kv / "m@01000100@0@ab.data", body(1))


def test_odd_objects_never_break_a_listing(kv, store, server, bucket):
    """Case 17, kv: what is no key's encoding, or not of the full size, is not shown; nothing escapes the prefix."""
    for path in ["prod/a", "prod/a/b", "prod/%41", "prod/A", "prod/%zz", "prod/white space", "prod/deep/er/x", "other/secret",
                 "prod/.hidden/x", "prod/x.tmp/y", "prod/dir.data/y", "prod2/near"]:
        store(path, body(len(path)))
    store("prod/short", b"100 bytes")
    assert sorted(os.listdir(kv.path)) == ["A.data", "a", "a.data", "deep"]
    assert sorted(os.listdir(kv / "a")) == ["b.data"] and os.listdir(kv / "deep") == ["er"]
    assert read_whole(kv / "deep/er/x.data") == body(len("prod/deep/er/x"))
    for name in ["%41.data", "short.data", "..data", "dir.data", "x.tmp", ".hidden"]:
        assert not (kv / name).exists(), name
    write_whole(kv / "%41.data", body(3))
    assert "prod/%2541" in server.object_paths(bucket)
    assert read_whole(kv / "%41.data") == body(3) and read_whole(kv / "A.data") == body(len("prod/A"))


def test_odd_objects_in_the_plain_layout(mount, url, store):
    """Case 17, plain: a file hides a directory of its name."""
    for path in ["a", "a/b", "%41", "A", "e/f", "ü", ".hidden"]:
        store(f"p/{path}", path.encode())
    plain = mount(f"{url}/p")
    assert sorted(os.listdir(plain.path)) == sorted(["a", "%41", "A", "e", "ü", ".hidden"])
    assert read_whole(plain / "a") == b"a" and read_whole(plain / "%41") == b"%41" and read_whole(plain / "A") == b"A"
    with refused(errno.EINVAL):
        write_whole(os.fsencode(plain.path) + b"/\xff\xfe", b"")


def test_names_that_no_chunk_can_have(kv):
    with refused(errno.EINVAL):
        write_whole(os.fsencode(kv.path) + b"/\xff\xfe.data", body(1))
    with refused(errno.EINVAL):
        write_whole(kv / "@plain.data", body(1))
    with refused(errno.EINVAL):
        os.mkdir(kv / "x.data")


def test_long_names(kv, objects):
    assert os.statvfs(kv.path).f_namemax == 1024
    for name in ["x" * 1025, "x" * 1021 + ".tmp", "x" * 1020 + ".data", "@" * 400 + ".data"]:
        with refused(errno.ENAMETOOLONG, errno.EINVAL):
            write_whole(kv / name, body(1))
    long = "m@1@0@ab@half@tag%" + "x" * 700
    write_whole(kv / f"{long}.data", body(1))
    assert read_whole(kv / f"{long}.data") == body(1) and len(objects()) == 1
    write_whole(kv / ("y" * 1020 + ".tmp"), b"1")
    os.makedirs(kv / "/".join(["d" * 200] * 4))
    for ask in (os.stat, os.mkdir, os.listdir, lambda path: write_whole(path, body(1))):
        for last in ("d" * 250, "é" * 100 + ".data"):
            with refused(errno.ENAMETOOLONG):
                ask(kv / "/".join(["d" * 200] * 4) / last)


def test_a_table_refuses_keys_without_a_line(mount, url, work):
    (work / "table").write_text(f"# sizes\nsmall@* {SIZE}\nlarge@* {2 * SIZE}\n")
    kv = mount(f"{url}/prod", "--chunk-table", work / "table")
    write_whole(kv / "small@1@0@ab@half.data", body(1))
    write_whole(kv / "large@1@0@ab@half.data", body(1, 2 * SIZE))
    with refused(errno.EINVAL):
        write_whole(kv / "other@1@0@ab@half.data", body(1))
    with refused(errno.EINVAL):
        write_whole(kv / "large@1@0@cd@half.data", body(1))


def test_extended_attributes(kv, hfkv, url):
    write_whole(kv / NAME, body(1))
    write_whole(kv / "k.tmp", b"")
    found = {name: os.getxattr(kv / NAME, name).decode() for name in os.listxattr(kv / NAME)}
    stated = json.loads(hfkv("stat", "--json", f"{url}/prod/{OBJECT}").text)
    assert found["user.hfkv.key"] == NAME.removesuffix(".data") and found["user.hfkv.object"] == OBJECT
    assert found["user.hfkv.xet_hash"] in json.dumps(stated)
    assert os.getxattr(kv / "k.tmp", "user.hfkv.state") == b"scratch"
    with refused(errno.ENODATA):
        os.getxattr(kv / NAME, "user.other")
    with refused(errno.EOPNOTSUPP):
        os.setxattr(kv / NAME, "user.other", b"1")


def test_status_file(kv):
    write_whole(kv / NAME, body(1))
    assert ".hfkv-status" not in os.listdir(kv.path)
    status = counters(kv)
    assert status["layout"] == "kv" and status["counters"]["commits"] == 1 and status["requests"]["create"] == 1
    with refused(errno.EACCES):
        os.open(kv / ".hfkv-status", os.O_WRONLY)
    with refused(errno.EPERM):
        os.unlink(kv / ".hfkv-status")


def test_what_a_bucket_has_no_place_for(kv):
    write_whole(kv / NAME, body(1))
    for attempt in [lambda: os.symlink("x", kv / "link"), lambda: os.link(kv / NAME, kv / chunk_name(9)), lambda: os.mkfifo(kv / "fifo")]:
        with refused(errno.EPERM):
            attempt()


def test_the_source_is_shown(kv, url):
    with open("/proc/self/mounts", encoding="utf-8") as table:
        line = next(line for line in table if f" {kv.path} " in line).split()
    assert line[0] == f"{url}/prod" and line[2] == "fuse.hfkv"
