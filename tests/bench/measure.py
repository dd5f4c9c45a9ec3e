"""Measuring a process: wall time, CPU time, and the peak of its memory (VmHWM, which belongs to the program alone)."""

import dataclasses
import os
import subprocess
import time

POLL_SECONDS = 0.01


@dataclasses.dataclass
class Measured:
    seconds: float
    cpu_seconds: float
    peak_bytes: int
    out: str


def _peak_of(pid):
    """VmHWM now. It only grows, so the last look before the end is the peak but for the last few milliseconds."""
    try:
        with open(f"/proc/{pid}/status") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        pass
    return 0


def run_measured(command, environment, stdin=None, within=300):
    """Runs `command` to its end. A non-zero exit is a failure of the benchmark."""
    begun = time.monotonic()
    process = subprocess.Popen([str(part) for part in command], env=environment, stdin=subprocess.PIPE if stdin else subprocess.DEVNULL,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    if stdin:
        process.stdin.write(stdin.encode())
        process.stdin.close()
    peak = 0
    while True:
        pid, status, usage = os.wait4(process.pid, os.WNOHANG)
        if pid:
            break
        peak = max(peak, _peak_of(process.pid))
        if time.monotonic() - begun > within:
            process.kill()
            raise AssertionError(f"{command[0]} ran longer than {within} s")
        time.sleep(POLL_SECONDS)
    seconds = time.monotonic() - begun
    process.returncode = os.waitstatus_to_exitcode(status)
    out, err = process.stdout.read().decode(), process.stderr.read().decode()
    process.stdout.close()
    process.stderr.close()
    assert process.returncode == 0, f"{' '.join(map(str, command))[:300]}: {process.returncode} {err[-2000:]}"
    return Measured(seconds, usage.ru_utime + usage.ru_stime, peak, out)


def touch_memory(directory, size):
    """Writes and removes as many tmpfs bytes as a run will need: memory given back to the host makes the first writer slow."""
    path = directory / "touched"
    block = bytes(1 << 20)
    with open(path, "wb", buffering=0) as stream:
        for _ in range(size >> 20):
            stream.write(block)
    path.unlink()


def write_random(path, size):
    with open(path, "wb", buffering=0) as stream:
        left = size
        while left:
            left -= stream.write(os.urandom(min(left, 16 << 20)))
