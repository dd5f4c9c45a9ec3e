"""What the end-to-end tests stand on: the real program, real sockets, real mounts, and nothing left behind.

    HFKV_BIN        the program under test (default: build/hfkv of this checkout)
    HFKV_SANITIZE   1: the program is build-asan/hfkv unless HFKV_BIN says otherwise, waits are five times longer
    HFKV_HF_PYTHON  a Python that can import huggingface_hub, for the interop tests

Every wait is bounded, every process is known by its id, and every process's error stream is searched for
sanitizer reports when it ends.
"""

from .bodies import KvSample, kv_samples, random_body, store_like_lmcache
from .hub_client import HubClient
from .mount import Mount, MountError, mounting
from .program import BIN, Program, Result, clean_environment
from .server import Server
from .waiting import TIME_SCALE, at_once, eventually, seconds

__all__ = [
    "BIN", "HubClient", "KvSample", "Mount", "MountError", "Program", "Result", "Server", "TIME_SCALE", "at_once",
    "clean_environment", "eventually", "kv_samples", "mounting", "random_body", "seconds", "store_like_lmcache",
]
