"""What the mount tests share: sizes, names, whole writes and expected errnos."""

import contextlib
import errno
import json
import os
import subprocess

from harness import random_body, seconds

SIZE = 64 * 1024  # the full size of the chunks of these tests
NAME = "m@1@0@ab12@half.data"
OBJECT = "m%401%400%40ab12%40half"


def chunk_name(number):
    return f"m@1@0@{number:x}@half.data"


def object_name(number):
    return f"m%401%400%40{number:x}%40half"


def body(seed, size=SIZE):
    return random_body(size, seed)


def write_whole(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    """Every byte, and the close that commits; raises what either answers."""
    fd = os.open(path, flags, 0o666)
    try:
        while data:
            data = data[os.write(fd, data):]
    finally:
        os.close(fd)


def read_whole(path):
    with open(path, "rb", buffering=0) as stream:
        return stream.readall()


@contextlib.contextmanager
def refused(*numbers):
    """The block must raise an OSError with one of these errnos."""
    try:
        yield
    except OSError as error:
        assert error.errno in numbers, f"{errno.errorcode[error.errno]}: {error}"
        return
    raise AssertionError(f"nothing was refused; wanted {[errno.errorcode[number] for number in numbers]}")


def run(*command, within=60, check=True, **options):
    """An ordinary tool."""
    return subprocess.run([str(part) for part in command], capture_output=True, timeout=seconds(within), check=check, **options)


def counters(kv):
    """The status file's content."""
    return json.loads(read_whole(kv / ".hfkv-status"))


def requests(kv):
    return counters(kv)["requests"]
