"""An ordinary user mounts through fusermount3, and meets the same rules."""

import os
import pathlib
import pwd
import shutil
import stat
import subprocess
import tempfile

import pytest

from harness import BIN, eventually, seconds
from harness.mount import mounted_at
from mount_files import NAME, OBJECT, SIZE, body, run

pytestmark = pytest.mark.skipif(os.getuid() != 0 or not shutil.which("setpriv") or not shutil.which("fusermount3"),
                                reason="needs root (to become nobody), setpriv and fusermount3")


@pytest.fixture
def as_user():
    """Runs a command as nobody, or starts it."""
    user = pwd.getpwnam("nobody")
    command = ["setpriv", f"--reuid={user.pw_uid}", f"--regid={user.pw_gid}", "--clear-groups", "--"]

    def start(*arguments, wait=True, **options):
        whole = [*command, *map(str, arguments)]
        if wait:
            return subprocess.run(whole, capture_output=True, timeout=seconds(60), check=False, **options)
        return subprocess.Popen(whole, stderr=subprocess.PIPE, **options)
    return start


@pytest.fixture
def place():
    """A directory that nobody owns, which others may enter."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-user-"))
    os.chown(directory, pwd.getpwnam("nobody").pw_uid, -1)
    directory.chmod(0o755)
    yield directory
    subprocess.run(["umount", "-l", directory / "mnt"], capture_output=True, check=False)
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def open_device():
    """/dev/fuse as distributions have it, open to every user; some containers close it."""
    mode = stat.S_IMODE(os.stat("/dev/fuse").st_mode)
    os.chmod("/dev/fuse", 0o666)
    yield
    os.chmod("/dev/fuse", mode)


@pytest.mark.usefixtures("open_device")
def test_a_user_mounts_stores_and_reads(server, bucket, url, as_user, place):
    program = place / "hfkv"
    shutil.copy(BIN, program)
    program.chmod(0o755)
    for name in ["mnt", "staging", "run"]:
        assert as_user("mkdir", "-m", "700", place / name).returncode == 0
    environment = {**server.environment(), "XDG_RUNTIME_DIR": str(place / "run"), "HOME": str(place)}
    daemon = as_user(program, "mount", f"{url}/prod", place / "mnt", "-f", "--chunk-bytes", SIZE, "--staging-dir",
                     place / "staging", wait=False, env=environment)
    try:
        eventually(lambda: mounted_at(place / "mnt") or daemon.poll() is not None, 20, "the user's mount")
        assert daemon.poll() is None, daemon.stderr.read()
        (place / "body").write_bytes(body(1))
        (place / "body").chmod(0o644)
        script = 'cp "$0" "$1/k.tmp" && mv "$1/k.tmp" "$1/$2" && cmp "$0" "$1/$2" && ls -l "$1"'
        done = as_user("sh", "-c", script, place / "body", place / "mnt", NAME)
        assert done.returncode == 0, done.stderr
        assert server.object_paths(bucket) == [f"prod/{OBJECT}"]
        assert b"nobody" in done.stdout
        assert run("ls", place / "mnt", check=False).returncode != 0, "only the mounting user may look"
        assert as_user("fusermount3", "-u", place / "mnt").returncode == 0
        assert daemon.wait(seconds(20)) == 0
    finally:
        if daemon.poll() is None:
            daemon.terminate()
            daemon.wait(seconds(20))
        daemon.stderr.close()
    assert mounted_at(place / "mnt") is None


@pytest.mark.usefixtures("open_device")
def test_a_refused_mount_is_one_line_with_the_reason(server, url, as_user, place):
    program = place / "hfkv"
    shutil.copy(BIN, program)
    program.chmod(0o755)
    assert as_user("mkdir", "-m", "700", place / "run").returncode == 0
    environment = {**server.environment(), "XDG_RUNTIME_DIR": str(place / "run"), "HOME": str(place)}
    (place / "mnt").mkdir() # not the user's
    (place / "mnt").chmod(0o755)
    ended = as_user(program, "mount", url, place / "mnt", "--chunk-bytes", SIZE, env=environment)
    assert ended.returncode == 1 and ended.stderr.count(b"\n") == 1, ended.stderr
    assert ended.stderr.startswith(b"hfkv: ") and b"no write access" in ended.stderr
