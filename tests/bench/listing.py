"""Listing a directory of 10,000 chunks that the daemon has never seen."""

import os
import subprocess
import time

from harness import Mount
from report import Row, mebibytes, median, spread

TITLE = "Listing 10,000 chunks"

COUNT = 10_000
SIZE = 4096
MEMORY_LIMIT = 64 << 20
MODEL = "sentence-transformers%2Fall-MiniLM-L6-v2"


def fill(context, prefix, count):
    source = context.directory / "many"
    source.mkdir()
    for number in range(count):
        (source / f"{MODEL}%401%400%40{number:016x}%40bfloat16").write_bytes(number.to_bytes(4, "big") * (SIZE // 4))
    files = sorted(source.iterdir())
    for first in range(0, count, 1000):
        result = context.server.hfkv("put", *files[first:first + 1000], context.url(prefix) + "/", within=300)
        assert result.code == 0, result.err


def measure(context, prefix, count, times):
    """One cold mount: `ls -f`, then `ls -l`."""
    with Mount(context.server, context.url(prefix), context.directory, "--chunk-bytes", SIZE) as mount:
        context.server.reset_requests()
        for name, command in (("ls -f", ["ls", "-f"]), ("ls -l", ["ls", "-l"])):
            begun = time.monotonic()
            out = subprocess.run([*command, mount.path], capture_output=True, text=True, check=True, timeout=120).stdout
            times.setdefault(name, []).append((time.monotonic() - begun) * 1e3)
            assert out.count(".data") == count, f"{name} shows {out.count('.data')} names"
        calls = context.server.requests()
        peak = mount.program.memory_peak_bytes()
        mount.unmount()
    return calls, peak


def run(context):
    prefix, times, peaks, calls = context.fresh_prefix(), {}, [], {}
    fill(context, prefix, COUNT)
    pages = 0
    for _ in range(context.runs(5)):
        calls, peak = measure(context, prefix, COUNT, times)
        peaks.append(peak)
        log = [entry for entry in context.server.request_log() if entry["route"] == "tree"]
        pages = max(pages, len(log))
    others = sum(count for route, count in calls.items() if route != "tree")
    yield Row("requests of `ls` and `ls -l`, cold", f"{calls.get('tree', 0)} tree pages, {others} others",
              "one call a page, nothing else", others == 0 and 1 <= calls.get("tree", 0) <= COUNT // 1000)
    yield Row("`ls -f`, cold, ms", spread(times["ls -f"]))
    yield Row("`ls -l` after it, ms", spread(times["ls -l"]))
    yield Row("daemon's peak memory after it", mebibytes(max(peaks)), "under 64 MiB", max(peaks) < MEMORY_LIMIT)
    yield Row("names a second, `ls -f`", f"{COUNT / (median(times['ls -f']) / 1e3):,.0f}")
    assert os.path.isdir(context.directory)
