"""Fixtures of the end-to-end tests. What a test starts through them is ended and checked when the test ends."""

import os
import pathlib
import shutil
import tempfile

import pytest

from harness import BIN, HubClient, Server, mounting
from harness.hub_client import find_python

KV_BUCKET = "demo/kv"


def pytest_configure(config):
    config.addinivalue_line("markers", "interop: needs the public huggingface_hub client (set by the fixtures used)")


def pytest_collection_modifyitems(items):
    """Marks tests with the public client; those that mount are skipped by name where there is no FUSE device."""
    has_fuse = os.access("/dev/fuse", os.R_OK | os.W_OK)
    for item in items:
        fixtures = getattr(item, "fixturenames", ())
        if "hub_python" in fixtures:
            item.add_marker(pytest.mark.interop)
        if "mount" in fixtures and not has_fuse:
            item.add_marker(pytest.mark.skip(reason="no usable /dev/fuse here"))


@pytest.fixture(scope="session", autouse=True)
def program_is_built():
    if not os.access(BIN, os.X_OK):
        pytest.exit(f"no program at {BIN}: build it, or name one in HFKV_BIN", 3)


@pytest.fixture
def work():
    """A short-named directory of the test's own, removed afterwards."""
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-e2e-"))
    yield directory
    shutil.rmtree(directory, ignore_errors=True)


@pytest.fixture
def server(work):
    """A fresh local bucket server."""
    server = Server(work)
    yield server
    if server.program.running:
        server.stop()
    else:
        server.kill()


@pytest.fixture
def bucket(server):
    """The handle of an empty bucket on it."""
    return server.create_bucket(KV_BUCKET)


@pytest.fixture
def url(bucket):
    """hf://buckets/<the bucket>."""
    return f"hf://buckets/{bucket}"


@pytest.fixture
def hfkv(server):
    """Runs the command line against the server: hfkv("ls", url) -> Result(code, out, err)."""
    return server.hfkv


@pytest.fixture
def mount(server, work):
    """Mounts: mount(url, "--chunk-bytes", 4096) -> Mount, several at once if asked; all ended afterwards."""
    with mounting(server, work) as open_mount:
        yield open_mount


@pytest.fixture(scope="session")
def hub_python():
    python = find_python()
    if not python:
        pytest.skip("huggingface_hub with buckets cannot be imported (HFKV_HF_PYTHON names a Python that can)")
    return python


@pytest.fixture
def hub(hub_python, server, bucket):
    """The public client on the test's bucket."""
    return HubClient(hub_python, server, bucket)
