"""A chunk that is staged already: reading it through the mount against reading a tmpfs file."""

import os
import time

from harness import Mount
from measure import touch_memory, write_random
from report import Row, median, spread

TITLE = "Reading a staged chunk through the mount"

SIZE = 32 << 20
OBJECT = "m%401%400%40ab%40half"
FILE = "m@1@0@ab@half.data"
PASSTHROUGH_WANTED = 0.6


def read_rate(path, buffer):
    """One open, the whole file in one read into a warm buffer, close. GB/s."""
    begun = time.monotonic()
    with open(path, "rb", buffering=0) as stream:
        done = 0
        while done < SIZE:
            got = stream.readinto(buffer[done:])
            assert got, "a short file"
            done += got
    return SIZE / (time.monotonic() - begun) / 1e9


def passthrough_of(mount):
    import json
    return json.loads(mount.hfkv("status", mount.path, "--json").text)["mounts"][0]["passthrough"]


def compare(mount, plain, runs):
    buffer = memoryview(bytearray(SIZE))
    read_rate(mount / FILE, buffer)
    assert bytes(buffer) == plain.read_bytes(), "the mount gave other bytes"
    through, direct = [], []
    for _ in range(runs):
        direct.append(read_rate(plain, buffer))
        through.append(read_rate(mount / FILE, buffer))
    return through, direct


def run(context):
    prefix = context.fresh_prefix()
    plain = context.directory / "plain"
    touch_memory(context.directory, 4 * SIZE)
    write_random(plain, SIZE)
    assert context.server.hfkv("put", plain, context.url(f"{prefix}/{OBJECT}")).code == 0
    for extra in ([], ["--no-passthrough"]):
        with Mount(context.server, context.url(prefix), context.directory, "--chunk-bytes", SIZE, *extra) as mount:
            passthrough = passthrough_of(mount)
            if not extra and not passthrough:
                context.note("FUSE passthrough is not available here (it needs libfuse 3.17, a kernel that has it, root).")
                continue
            through, direct = compare(mount, plain, context.runs(15))
            ratio = median(through) / median(direct)
            yield Row(f"32 MiB, one open, whole read, {'passthrough' if passthrough else 'page cache'}, GB/s: mount against tmpfs",
                      f"{spread(through, '{:.2f}')} against {spread(direct, '{:.2f}')}: {ratio:.2f}×",
                      f"{PASSTHROUGH_WANTED}×" if passthrough else "", ratio >= PASSTHROUGH_WANTED if passthrough else None)
            mount.unmount()
    os.unlink(plain)
