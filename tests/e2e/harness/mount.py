"""`hfkv mount` in the foreground, on a mountpoint and a staging directory of its own."""

import contextlib
import errno
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile

from .program import Program, run
from .waiting import eventually, seconds

MOUNT_WAIT_SECONDS = 20


class MountError(Exception):
    """The mount ended before it answered. `code` and `errors` say how."""

    def __init__(self, code, errors):
        super().__init__(f"hfkv mount ended with {code}: {errors}")
        self.code, self.errors = code, errors


def mounted_at(path):
    """The (source, type) of the topmost mount at exactly `path`, or None."""
    found = None
    with open("/proc/self/mountinfo", encoding="utf-8", errors="surrogateescape") as table:
        for line in table:
            fields, _, rest = line.partition(" - ")
            where = fields.split()[4].encode("utf-8", "surrogateescape").decode("unicode_escape")
            if where == str(path):
                kind, source = rest.split()[:2]
                found = (source, kind)
    return found


class Mount:
    """A mount of `url`, ready when the constructor returns. Use close() (or a with block) in every case."""

    def __init__(self, server, url, directory, *options, environment=None, name="mnt", staging=None):
        self.server, self.url = server, url
        self.path = pathlib.Path(directory) / name
        self.path.mkdir(parents=True, exist_ok=True)
        self._owns_staging = staging is None
        self.staging = pathlib.Path(staging or tempfile.mkdtemp(prefix="hfkv-e2e-", dir="/dev/shm"))
        self.options = [*map(str, options)]
        self.environment = server.environment(**(environment or {}))
        self.program = None
        try:
            self.start()
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __truediv__(self, name):
        return self.path / name

    def start(self):
        self.program = Program(["mount", self.url, self.path, "-f", "--staging-dir", self.staging, *self.options],
                               self.environment, death_signal=signal.SIGTERM)
        eventually(self._answers_or_ended, MOUNT_WAIT_SECONDS, "the mount")
        if not self.program.running:
            raise MountError(self.program.wait(), self.program.errors)

    def _answers_or_ended(self):
        if not self.program.running:
            return True
        try:
            return self.is_mounted() and os.statvfs(self.path) # not stat: the kernel may know the answer of a dead mount
        except OSError as error: # a dead mount that the starting one is about to replace
            if error.errno != errno.ENOTCONN:
                raise
            return False

    def is_mounted(self):
        return mounted_at(self.path) is not None

    @property
    def pid(self):
        return self.program.pid

    @property
    def errors(self):
        return self.program.errors

    def hfkv(self, *arguments, within=60.0):
        """The command line in the mount's environment."""
        return run(arguments, self.environment, within=within)

    def unmount(self, within=60.0):
        """As a user does: `hfkv umount`. Everything must be gone afterwards."""
        result = self.hfkv("umount", self.path, within=within)
        assert result.code == 0, f"hfkv umount: {result.code} {result.err}"
        code = self.program.wait(within)
        assert code == 0, f"the daemon ended with {code}: {self.errors}"
        self.assert_gone()

    def terminate(self, within=60.0):
        """SIGTERM; the exit code."""
        self.program.signal(signal.SIGTERM)
        return self.program.wait(within)

    def kill(self):
        """SIGKILL: leaves a dead mount, as a crash does."""
        self.program.kill()

    def assert_gone(self):
        assert not self.program.running, "the daemon still runs"
        assert not self.is_mounted(), "the mount is still there"
        left = [str(path) for path in self.staging.rglob("*") if path.is_file()]
        assert not left, f"left in staging: {left}"

    def close(self):
        """Ends it by whatever works; never raises for a mount that is gone already."""
        if self.program and self.program.running:
            self.program.signal(signal.SIGTERM)
            try:
                self.program.wait(20)
            except AssertionError:
                self.program.kill()
        for _ in range(3):
            if not self.is_mounted():
                break
            subprocess.run(["umount", "-l", str(self.path)], stderr=subprocess.DEVNULL, timeout=seconds(20), check=False)
        if self._owns_staging:
            for line in open("/proc/self/mounts", encoding="utf-8", errors="surrogateescape"):
                where = line.split()[1]
                if where.startswith(f"{self.staging}/"):
                    subprocess.run(["umount", "-l", where], timeout=seconds(20), check=False)
            shutil.rmtree(self.staging, ignore_errors=True)


@contextlib.contextmanager
def mounting(server, work):
    """Gives open_mount(url, "--chunk-bytes", 4096) -> Mount, several at once if asked; all ended afterwards."""
    mounts = []

    def open_mount(url, *options, **named):
        named.setdefault("name", f"mnt{len(mounts)}")
        mounts.append(Mount(server, url, work, *options, **named))
        return mounts[-1]

    yield open_mount
    for each in reversed(mounts):
        each.close()
    assert not [each.path for each in mounts if each.is_mounted()], "a mount is left"
