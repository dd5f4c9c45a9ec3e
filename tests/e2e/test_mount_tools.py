"""Ordinary tools on a kv mount: exit 0, right bytes, and metadata accepted quietly."""

import os
import shutil

import pytest

from mount_files import SIZE, body, chunk_name, read_whole, run


@pytest.fixture
def kv(mount, url):
    return mount(f"{url}/prod", "--chunk-bytes", SIZE)


@pytest.fixture
def source(work):
    directory = work / "source"
    directory.mkdir()
    for number in range(3):
        path = directory / chunk_name(number)
        path.write_bytes(body(number))
        os.chmod(path, 0o640)
        os.utime(path, (1000000000 + number, 1100000000 + number))
    return directory


def same(directory):
    return [read_whole(directory / chunk_name(number)) for number in range(3)] == [body(number) for number in range(3)]


def test_cp_and_cp_p(kv, source):
    run("cp", *sorted(source.iterdir()), kv.path)
    assert same(kv.path)
    run("cp", "-p", *sorted(source.iterdir()), kv.path)
    assert same(kv.path)


def test_cp_a_of_a_tree(kv, source):
    run("cp", "-a", source, kv / "tree")
    assert same(kv / "tree")
    run("diff", "-r", source, kv / "tree")


@pytest.mark.skipif(not shutil.which("rsync"), reason="rsync is not installed")
def test_rsync_a(kv, source, server, bucket):
    assert run("rsync", "-a", f"{source}/", f"{kv.path}/").stderr == b""
    assert same(kv.path) and len(server.object_paths(bucket)) == 3
    found = os.stat(kv / chunk_name(1))
    assert (found.st_mode & 0o777, found.st_mtime) == (0o640, 1100000001)
    again = run("rsync", "-a", "--itemize-changes", f"{source}/", f"{kv.path}/")
    assert b">f" not in again.stdout, "unchanged files were sent again"
    # --inplace writes into committed chunks without truncating them: refused, and nothing is changed.
    assert run("rsync", "-a", "--inplace", "--ignore-times", f"{source}/", f"{kv.path}/", check=False).returncode != 0
    assert same(kv.path)


def test_tar_x(kv, source, work):
    run("tar", "-C", source, "-cf", work / "x.tar", ".")
    os.mkdir(kv / "sub")
    assert run("tar", "-C", kv / "sub", "-xpf", work / "x.tar").stderr == b""
    assert same(kv / "sub")


def test_install(kv, source):
    run("install", "-m", "0600", source / chunk_name(0), kv / chunk_name(0))
    assert read_whole(kv / chunk_name(0)) == body(0) and os.stat(kv / chunk_name(0)).st_mode & 0o777 == 0o600


@pytest.mark.parametrize("options", [[], ["oflag=direct"], ["conv=fsync"], ["oflag=append", "conv=notrunc"]])
def test_dd(kv, source, options):
    run("dd", f"if={source / chunk_name(0)}", f"of={kv / chunk_name(0)}", "bs=16k", "status=none", *options)
    assert read_whole(kv / chunk_name(0)) == body(0)


def test_dd_reads_direct(kv, source, work):
    run("cp", source / chunk_name(0), kv.path)
    run("dd", f"if={kv / chunk_name(0)}", f"of={work / 'copy'}", "bs=16k", "iflag=direct", "status=none")
    assert (work / "copy").read_bytes() == body(0)


def test_shell_redirections(kv, source):
    run("sh", "-c", 'cat "$0" > "$1"', source / chunk_name(0), kv / chunk_name(0))
    assert read_whole(kv / chunk_name(0)) == body(0)


def test_cmp_find_ls_rm_df_stat(kv, source):
    run("cp", *sorted(source.iterdir()), kv.path)
    run("cmp", source / chunk_name(0), kv / chunk_name(0))
    found = run("find", kv.path, "-type", "f", "-size", f"{SIZE}c").stdout.split()
    assert len(found) == 3
    listed = run("ls", "-l", kv.path).stdout.decode()
    assert listed.count(f" {SIZE} ") == 3 and run("ls", "-l", kv.path).stderr == b""
    run("df", kv.path)
    assert b"Block size: 4096" in run("stat", "-f", kv.path, env={**os.environ, "LC_ALL": "C"}).stdout
    run("rm", *[kv / chunk_name(number) for number in range(3)])
    assert os.listdir(kv.path) == []
