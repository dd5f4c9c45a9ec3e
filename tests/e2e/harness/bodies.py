"""Bodies to store, and the way LMCache's fs backend stores them."""

import dataclasses
import json
import os
import pathlib
import random

from .program import CHECKOUT

SAMPLES = CHECKOUT / "tests" / "kv-samples"


@dataclasses.dataclass(frozen=True)
class KvSample:
    """One real KV chunk of tests/kv-samples."""

    key: str
    file_name: str
    path: pathlib.Path
    size: int
    sha256: str

    @property
    def body(self):
        return self.path.read_bytes()


def kv_samples():
    manifest = json.loads((SAMPLES / "manifest.json").read_text())
    return [KvSample(entry["key"], entry["file"], SAMPLES / entry["file"], entry["bytes"], entry["sha256"])
            for entry in manifest["chunks"]]


def random_body(size, seed):
    """`size` random bytes, the same for the same seed."""
    return random.Random(seed).randbytes(size)


def store_like_lmcache(directory, file_name, body, temporary_directory=None):
    """As LMCache's fs connector does: a temporary file, the whole body in one write, a rename."""
    final = pathlib.Path(directory) / file_name
    if temporary_directory is None:
        temporary = final.with_suffix(".tmp")
    else:
        temporary = pathlib.Path(temporary_directory) / file_name
    with open(temporary, "wb", buffering=0) as stream:
        written = stream.write(body)
        assert written == len(body), f"a short write: {written} of {len(body)}"
    os.replace(temporary, final)
    return final
