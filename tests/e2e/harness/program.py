"""Running the program under test: once to its end (run), or as a process that stays (Program)."""

import ctypes
import dataclasses
import os
import pathlib
import re
import signal
import subprocess
import tempfile

from .waiting import SANITIZED, seconds

CHECKOUT = pathlib.Path(__file__).resolve().parents[3]
BIN = os.environ.get("HFKV_BIN") or str(CHECKOUT / ("build-asan" if SANITIZED else "build") / "hfkv")

SANITIZER_REPORT = re.compile(r"ERROR: (Address|Leak|Thread)Sanitizer|WARNING: ThreadSanitizer|runtime error:")
PR_SET_PDEATHSIG = 1
_libc = ctypes.CDLL(None, use_errno=True)


def clean_environment(**values):
    """The caller's environment without what would change the program's ways, plus `values` (None: left out)."""
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("HF_", "HUGGING_FACE_"))}
    environment.setdefault("ASAN_OPTIONS", "detect_leaks=1:abort_on_error=0:exitcode=99")
    environment.setdefault("UBSAN_OPTIONS", "print_stacktrace=1:halt_on_error=1:exitcode=99")
    environment.setdefault("TSAN_OPTIONS", "exitcode=99")
    environment.update({name: str(value) for name, value in values.items() if value is not None})
    return environment


@dataclasses.dataclass
class Result:
    """How a run ended."""

    code: int
    out: bytes
    err: str

    @property
    def text(self):
        return self.out.decode()

    @property
    def lines(self):
        return self.text.splitlines()


def is_alive(pid):
    """Whether the process runs; one that has ended and was not waited for by its parent does not."""
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rsplit(") ", 1)[1][0] not in "ZX"
    except (FileNotFoundError, ProcessLookupError):
        return False


def check_sanitizer(text, command):
    if SANITIZER_REPORT.search(text):
        raise AssertionError(f"sanitizer report from {command}:\n{text}")


def run(arguments, environment, stdin=b"", within=60.0, cwd=None):
    """Runs the program to its end."""
    process = subprocess.Popen([BIN, *map(str, arguments)], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, cwd=cwd)
    try:
        out, err = process.communicate(stdin, timeout=seconds(within))
    except subprocess.TimeoutExpired:
        process.kill()
        out, err = process.communicate()
        raise AssertionError(f"hfkv {' '.join(map(str, arguments))} ran longer than {seconds(within)} s; stderr: "
                             f"{err.decode(errors='replace')}") from None
    text = err.decode(errors="replace")
    check_sanitizer(text, arguments)
    return Result(process.returncode, out, text)


class Program:
    """A process of the program that stays until it is told to end. Dies with the test run, whatever happens."""

    def __init__(self, arguments, environment, death_signal=signal.SIGKILL, stdout=subprocess.DEVNULL):
        self.arguments = list(map(str, arguments))
        self._errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [BIN, *self.arguments], env=environment, stdin=subprocess.DEVNULL, stdout=stdout, stderr=self._errors,
            preexec_fn=lambda: _libc.prctl(PR_SET_PDEATHSIG, death_signal, 0, 0, 0))

    @property
    def pid(self):
        return self.process.pid

    @property
    def running(self):
        return self.process.poll() is None

    @property
    def errors(self):
        """Everything it wrote to stderr so far."""
        size = os.fstat(self._errors.fileno()).st_size
        return os.pread(self._errors.fileno(), size, 0).decode(errors="replace")

    def signal(self, number):
        if self.running:
            self.process.send_signal(number)

    def wait(self, within=30.0):
        """Its exit code. Killed, and a failure, when it does not end in time."""
        try:
            code = self.process.wait(seconds(within))
        except subprocess.TimeoutExpired:
            self.kill()
            raise AssertionError(f"hfkv {' '.join(self.arguments)} did not end within {seconds(within)} s; stderr: "
                                 f"{self.errors}") from None
        check_sanitizer(self.errors, self.arguments)
        return code

    def kill(self):
        """SIGKILL, and wait for its end."""
        if self.running:
            self.process.kill()
        self.process.wait()

    def memory_peak_bytes(self):
        """VmHWM of the running process."""
        with open(f"/proc/{self.pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
        raise AssertionError("no VmHWM")

    def cpu_seconds(self):
        """User and system time of the running process so far."""
        with open(f"/proc/{self.pid}/stat") as stat:
            fields = stat.read().rsplit(") ", 1)[1].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def descriptor_count(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))
