"""The interop-lmcache suite: hfkv against real LMCache. Run it in a Python that has lmcache 0.5, hfkv and pytest:

    $HFKV_LMCACHE_PYTHON -m pytest tests/interop       (scripts/test --only lmcache prepares one)

One bucket server serves the whole run, because huggingface_hub reads HF_ENDPOINT when it is imported; each test has a
bucket of its own.
"""

import importlib.util
import itertools
import os
import pathlib
import shutil
import sys
import tempfile

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "e2e"))

from harness import BIN, Server, mounting  # noqa: E402

_state = {}


def pytest_configure(config):
    if importlib.util.find_spec("lmcache") is None:
        pytest.exit("no lmcache in this Python", 0)
    if not os.access(BIN, os.X_OK):
        pytest.exit(f"no program at {BIN}: build it, or name one in HFKV_BIN", 3)
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-interop-"))
    server = Server(directory)
    _state.update(directory=directory, server=server)
    os.environ.update(
        HF_ENDPOINT=server.endpoint,
        HF_TOKEN=server.token,
        HF_HOME=str(server.home),
        HF_HUB_DISABLE_TELEMETRY="1",
        HF_HUB_DISABLE_PROGRESS_BARS="1",
        LMCACHE_TRACK_USAGE="false",
        LMCACHE_LOG_LEVEL="WARNING",
    )


def pytest_unconfigure(config):
    server = _state.pop("server", None)
    if server:
        server.stop()
        shutil.rmtree(_state.pop("directory"), ignore_errors=True)


def pytest_collection_modifyitems(items):
    """Tests of pieces that are not there are skipped by name."""
    has_hfkv = importlib.util.find_spec("hfkv") is not None
    has_fuse = os.access("/dev/fuse", os.R_OK | os.W_OK)
    for item in items:
        if item.get_closest_marker("needs_hfkv") and not has_hfkv:
            item.add_marker(pytest.mark.skip(reason="the Python package hfkv is not installed here"))
        if "mount" in item.fixturenames and not has_fuse:
            item.add_marker(pytest.mark.skip(reason="no usable /dev/fuse here"))


@pytest.fixture
def server():
    """The run's server, without faults and with its counts at zero."""
    server = _state["server"]
    server.faults()
    server.reset_requests()
    yield server
    server.faults()


_numbers = itertools.count(1)


@pytest.fixture
def bucket(server):
    return server.create_bucket(f"interop/b{next(_numbers)}")


@pytest.fixture
def work():
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-interop-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def staging():
    """A directory on tmpfs for staged downloads; nothing of ours may be left in it."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-interop-", dir="/dev/shm"))
    yield directory
    left = [path for path in directory.rglob("*") if path.is_file()]
    shutil.rmtree(directory, ignore_errors=True)
    assert not left, f"left in staging: {left}"


@pytest.fixture
def mount(server, work):
    """Mounts: mount(url, "--chunk-bytes", N) -> Mount."""
    with mounting(server, work) as open_mount:
        yield open_mount


@pytest.fixture
def engine(staging):
    """In-process LMCache: engine({plugin name: its settings}, **named) -> Engine, several at once if asked. Closed before
    staging is looked at."""
    from in_process import Engine

    engines = []

    def make(plugins, **named):
        engines.append(Engine(plugins, **named))
        return engines[-1]

    yield make
    for each in reversed(engines):
        each.close()


@pytest.fixture
def l2(staging):
    """Multi-process LMCache: l2({"type": ..., ...}) -> L2, made from its JSON as LMCache does."""
    from multi_process import L2

    adapters = []

    def make(document):
        adapters.append(L2(document))
        return adapters[-1]

    yield make
    for each in reversed(adapters):
        each.close()
