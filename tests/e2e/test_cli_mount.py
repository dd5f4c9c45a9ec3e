"""A mount's life as the command line sees it: start, start errors, status, umount, signals, a killed daemon, mount(8) forms."""

import json
import os
import pathlib
import signal
import socket
import stat
import subprocess

import pytest

from harness import BIN, Mount, MountError, eventually, random_body, seconds, store_like_lmcache
from harness.mount import mounted_at
from harness.program import is_alive, run

SIZE = 64 * 1024
NAME = "m@1@0@ab12@half.data"
KV = ("--chunk-bytes", SIZE)


def status_of(mount):
    mounts = json.loads(mount.hfkv("status", mount.path, "--json").text)["mounts"]
    assert len(mounts) == 1
    return mounts[0]


@pytest.fixture
def background(server, work):
    """Runs `hfkv mount` without -f in its own directories; whatever it leaves is taken away."""
    started = []

    def start(*arguments, mountpoint=None, program=None, **environment):
        mountpoint = mountpoint or work / "background"
        mountpoint.mkdir(exist_ok=True)
        started.append(mountpoint)
        command = [program or BIN, *(["mount"] if program is None else []), *map(str, arguments)]
        return subprocess.run([part if part != "MOUNTPOINT" else str(mountpoint) for part in command], capture_output=True, text=True,
                              env=server.environment(**environment), timeout=seconds(60), check=False), mountpoint

    yield start
    for mountpoint in started:
        run(["umount", "--force", mountpoint], server.environment())
        if mounted_at(mountpoint):
            subprocess.run(["umount", "-l", mountpoint], check=False, timeout=seconds(20))


# ---- start ----

def test_background_start_returns_when_the_mount_answers(background, url, server):
    ended, mountpoint = background(url, "MOUNTPOINT", *KV)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "", "")
    assert mounted_at(mountpoint) == (url, "fuse.hfkv")
    body = random_body(SIZE, 1)
    store_like_lmcache(mountpoint, NAME, body)
    assert (mountpoint / NAME).read_bytes() == body
    found = json.loads(run(["status", mountpoint, "--json"], server.environment()).text)["mounts"][0]
    assert found["state"] == "running" and is_alive(found["pid"])
    assert run(["umount", mountpoint], server.environment()).code == 0
    assert mounted_at(mountpoint) is None and not is_alive(found["pid"])


def test_empty_prefix_mounts_and_takes_the_first_chunk(mount, server, bucket, url):
    kv = mount(f"{url}/never/used", *KV)
    assert os.listdir(kv.path) == []
    store_like_lmcache(kv.path, NAME, random_body(SIZE, 2))
    assert server.object_paths(bucket) == ["never/used/m%401%400%40ab12%40half"]
    kv.unmount()


@pytest.mark.parametrize("foreground", [True, False])
@pytest.mark.parametrize("change,words", [
    ({"url": "hf://buckets/demo/absent"}, ["demo/absent"]),
    ({"HF_TOKEN": "hf_wrong"}, ["token"]),
    ({"HF_TOKEN": None}, ["token"]),
    ({"url": "hf://demo/kv"}, ["hf://buckets/"]),
    ({"url": "demo/kv"}, ["hf://buckets/"]),
    ({"url": "hf://models/demo/kv"}, ["hf://buckets/"]),
    ({"HF_ENDPOINT": "http://127.0.0.1:1", "options": ["--timeout", "2"]}, ["127.0.0.1:1"]),
    ({"options": ["--layout", "kv"], "sized": False}, ["--chunk-bytes"]),
    ({"options": ["--layout", "plain"]}, ["plain"]),
    ({"options": ["--layout", "tree"]}, ["kv or plain"]),
    ({"options": ["--commit", "later"]}, ["sync or writeback"]),
    ({"options": ["-o", "frobnicate=1"]}, ["frobnicate"]),
    ({"options": ["-o", "ro=1"]}, ["--read-only", "no value"]),
    ({"options": ["--umask", "9"]}, ["--umask"]),
    ({"options": ["--timeout", "0"]}, ["--timeout", "above 0"]),
    ({"options": ["--tmp-dir", "/abs"]}, ["tmp dir", "'/abs'"]),
    ({"options": ["--tmp-dir", "a/../b"]}, ["tmp dir", "'a/../b'"]),
    ({"options": ["--chunk-table", "/nonexistent"]}, ["one of"]),
])
def test_start_errors_are_one_line(background, url, change, words, foreground):
    environment = {name: value for name, value in change.items() if name.startswith("HF_")}
    ended, mountpoint = background(change.get("url", url), "MOUNTPOINT", *(KV if change.get("sized", True) else ()),
                                   *change.get("options", ()), *(["-f"] if foreground else []), **environment)
    assert ended.returncode not in (0, None) and ended.stdout == ""
    assert ended.stderr.startswith("hfkv: ") and ended.stderr.count("\n") == 1, ended.stderr
    for word in words:
        assert word in ended.stderr
    assert mounted_at(mountpoint) is None


def test_mountpoint_errors(server, url, work):
    (work / "file").write_text("")
    for mountpoint, word in [(work / "absent", "mkdir"), (work / "file", "not a directory")]:
        result = run(["mount", url, mountpoint, *KV], server.environment())
        assert result.code != 0 and word in result.err and result.err.count("\n") == 1
    for command in ["umount", "status"]:
        result = run([command, work / "absent"], server.environment())
        assert result.code == 3 and "does not exist" in result.err and "mkdir" not in result.err


def test_mountpoint_that_is_not_empty_is_fine(mount, url, work):
    (work / "mnt0").mkdir()
    (work / "mnt0" / "below").write_text("covered")
    kv = mount(url, *KV)
    assert os.listdir(kv.path) == []
    kv.unmount()
    assert (kv.path / "below").read_text() == "covered"


def test_second_mount_on_the_same_place_is_refused(mount, url, server):
    kv = mount(url, *KV)
    result = run(["mount", url, kv.path, *KV, "-f"], server.environment())
    assert result.code == 1 and "umount" in result.err and result.err.count("\n") == 1
    assert status_of(kv)["state"] == "running"


def test_create_bucket_if_missing_waits_for_the_first_write(mount, server):
    kv = mount("hf://buckets/demo/later", *KV, "--create-bucket-if-missing")
    assert server.http("GET", "/api/buckets/demo/later", headers={"Authorization": f"Bearer {server.token}"})[0] == 404
    store_like_lmcache(kv.path, NAME, random_body(SIZE, 4))
    assert server.object_paths("demo/later") == ["m%401%400%40ab12%40half"]


def test_mounts_in_two_layouts_show_the_same_object(mount, url):
    kv, plain = mount(url, *KV), mount(url)
    body = random_body(SIZE, 5)
    store_like_lmcache(kv.path, NAME, body)
    assert (plain / "m%401%400%40ab12%40half").read_bytes() == body
    assert (status_of(kv)["layout"], status_of(plain)["layout"]) == ("kv", "plain")


# ---- options in mount(8)'s forms ----

def test_o_options(mount, url):
    kv = mount(url, "-o", f"chunk_bytes={SIZE},ro,metadata_ttl=5,nosuid,nodev,_netdev,x-systemd.automount,umask=027,uid=1234")
    about = kv.path.stat()
    assert (stat.S_IMODE(about.st_mode), about.st_uid) == (0o750, 1234)
    assert status_of(kv)["read_only"] is True
    with pytest.raises(OSError):
        (kv / NAME).write_bytes(b"x")


def test_mount_helper_name(background, url, work, server):
    """As mount(8) calls /sbin/mount.fuse.hfkv: SOURCE TARGET -n -o OPTIONS -t TYPE."""
    helper = work / "mount.fuse.hfkv"
    helper.symlink_to(pathlib.Path(BIN).resolve())
    options = f"rw,nofail,user,chunk_bytes={SIZE}"
    ended, mountpoint = background(url, "MOUNTPOINT", "-n", "-o", options, "-t", "fuse.hfkv", program=str(helper))
    assert ended.returncode == 0, ended.stderr
    assert mounted_at(mountpoint) == (url, "fuse.hfkv")
    assert run(["umount", mountpoint], server.environment()).code == 0


def test_fake_mount_checks_only(background, url, work):
    helper = work / "mount.fuse.hfkv"
    helper.symlink_to(pathlib.Path(BIN).resolve())
    ended, mountpoint = background(url, "MOUNTPOINT", "-f", "-o", f"chunk_bytes={SIZE}", program=str(helper))
    assert ended.returncode == 0 and mounted_at(mountpoint) is None
    assert background(url, "MOUNTPOINT", "-f", "-o", "nonsense", program=str(helper))[0].returncode == 2


# ---- status ----

def test_status_tells_what_happened(mount, url):
    kv = mount(url, *KV)
    body = random_body(SIZE, 6)
    store_like_lmcache(kv.path, NAME, body)
    assert (kv / NAME).read_bytes() == body
    (kv / "partial.tmp").write_bytes(b"short")
    with pytest.raises(OSError):
        os.replace(kv / "partial.tmp", kv / "m@1@0@cd@half.data")
    found = status_of(kv)
    assert (found["mountpoint"], found["source"], found["pid"]) == (str(kv.path), url, kv.pid)
    assert found["counters"]["commits"] == 1 and found["counters"]["committed_bytes"] == SIZE
    assert found["refusals"]["partial"] >= 1 and found["counters"]["commits_pending"] == 0
    assert found["staging"]["used_bytes"] >= SIZE and found["staging"]["dir"].startswith(str(kv.staging))
    text = kv.hfkv("status", kv.path).text
    assert str(kv.path) in text and "running" in text and "1 partial" in text
    os.unlink(kv / "partial.tmp")
    kv.unmount()


def test_hidden_status_file(mount, url):
    kv = mount(url, *KV)
    found = json.loads((kv / ".hfkv-status").read_text())
    assert found["source"] == url and found["state"] == "running"


def test_status_of_nothing(server, work):
    result = run(["status", work, "--json"], server.environment())
    assert result.code == 3 and json.loads(result.text) == {"mounts": []}
    assert run(["status", work / "absent"], server.environment()).code == 3


# ---- end ----

def test_umount_leaves_nothing(mount, url):
    kv = mount(url, *KV)
    store_like_lmcache(kv.path, NAME, random_body(SIZE, 7))
    kv.unmount()
    result = kv.hfkv("umount", kv.path)
    assert result.code == 3 and "no hfkv mount" in result.err
    assert kv.hfkv("status", kv.path).code == 3


def test_umount_of_a_mount_in_use_is_refused_and_it_goes_on(mount, url):
    kv = mount(url, *KV)
    body = random_body(SIZE, 8)
    store_like_lmcache(kv.path, NAME, body)
    with open(kv / NAME, "rb") as reader:
        result = kv.hfkv("umount", kv.path)
        assert result.code == 1 and "in use" in result.err
        assert status_of(kv)["state"] == "running" and reader.read() == body
    kv.unmount()


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_signals_end_it_in_order(mount, url, number):
    kv = mount(url, *KV)
    store_like_lmcache(kv.path, NAME, random_body(SIZE, 9))
    kv.program.signal(number)
    assert kv.program.wait(30) == 0, kv.errors
    kv.assert_gone()


def test_unmount_from_outside_ends_the_daemon(mount, url):
    kv = mount(url, *KV)
    subprocess.run(["umount", kv.path], check=True, timeout=seconds(20))
    assert kv.program.wait(30) == 0
    kv.assert_gone()


def test_killed_daemon_is_dead_and_replaced(mount, url, server):
    kv, other = mount(url, *KV), mount(url)
    body = random_body(SIZE, 10)
    store_like_lmcache(kv.path, NAME, body)
    kv.kill()
    with pytest.raises(OSError):
        os.listdir(kv.path)
    everything = json.loads(run(["status", "--json"], server.environment()).text)["mounts"]
    states = {found["mountpoint"]: found["state"] for found in everything}
    assert (states[str(kv.path)], states[str(other.path)]) == ("dead", "running")
    kv.start()
    assert (kv / NAME).read_bytes() == body
    assert status_of(kv)["state"] == "running" and status_of(other)["state"] == "running"
    kv.unmount()


def test_a_dead_mount_is_replaced_while_the_kernel_knows_its_attributes(background, url, server):
    """stat(2) of it still succeeds: the new mount must not come to lie above it."""
    _, mountpoint = background(url, "MOUNTPOINT", *KV)
    os.stat(mountpoint)
    found = json.loads(run(["status", mountpoint, "--json"], server.environment()).text)["mounts"][0]
    os.kill(found["pid"], signal.SIGKILL)
    eventually(lambda: not is_alive(found["pid"]), 10, "the daemon's end")
    assert background(url, "MOUNTPOINT", *KV)[0].returncode == 0
    assert pathlib.Path("/proc/self/mounts").read_text().count(f" {mountpoint} ") == 1
    assert run(["umount", mountpoint], server.environment()).code == 0
    assert mounted_at(mountpoint) is None


def test_umount_of_a_killed_mount(mount, url):
    kv = mount(url, *KV)
    kv.kill()
    assert kv.hfkv("umount", kv.path).code == 0
    assert not kv.is_mounted() and kv.hfkv("status", kv.path).code == 3


# ---- for service managers ----

def test_service_manager_is_told(mount, url, work):
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(work / "notify"))
        manager.settimeout(seconds(20))
        kv = mount(url, *KV, environment={"NOTIFY_SOCKET": work / "notify"})
        assert manager.recv(100) == b"READY=1"
        kv.program.signal(signal.SIGTERM)
        assert manager.recv(100) == b"STOPPING=1"
    assert kv.program.wait(30) == 0


def test_sighup_reads_the_token_and_the_log_level_again(mount, url, work, server):
    token, level = work / "token", work / "level"
    token.write_text(server.token)
    level.write_text("warning")
    kv = mount(url, *KV, "--token-file", token, "--log-level", f"@{level}", "--metadata-ttl", 0, environment={"HF_TOKEN": None})
    store_like_lmcache(kv.path, NAME, random_body(SIZE, 11))
    token.write_text("hf_wrong")
    level.write_text("debug")
    kv.program.signal(signal.SIGHUP)
    eventually(lambda: _refused(kv / "m@1@0@fe@half.data"), 10, "the refusal of the wrong token")
    token.write_text(server.token)
    kv.program.signal(signal.SIGHUP)
    eventually(lambda: not _refused(kv / "m@1@0@fd@half.data"), 10, "the return of the right token")
    assert server.token not in kv.errors and "hf_wrong" not in kv.errors


def _refused(path):
    try:
        os.stat(path)
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
    return False


def test_state_is_private(mount, url):
    kv = mount(url, *KV)
    directory = pathlib.Path("/run/hfkv" if os.geteuid() == 0 else os.environ.get("XDG_RUNTIME_DIR", f"/tmp/hfkv-{os.geteuid()}"))
    assert stat.S_IMODE(directory.stat().st_mode) == 0o700
    records = [path for path in directory.glob("*.json") if json.loads(path.read_text()).get("mountpoint") == str(kv.path)]
    assert len(records) == 1
    for path in (records[0], records[0].with_suffix(".sock")):
        assert stat.S_IMODE(path.stat().st_mode) == 0o600
    kv.unmount()
    assert not records[0].exists() and not records[0].with_suffix(".sock").exists()


def test_failed_start_leaves_no_record(server, work):
    with pytest.raises(MountError) as failure:
        Mount(server, "hf://buckets/demo/absent", work, *KV)
    assert "demo/absent" in failure.value.errors
    assert run(["status", work / "mnt"], server.environment()).code == 3
