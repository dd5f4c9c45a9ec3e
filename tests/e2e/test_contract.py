"""The object store contract (tests/contract) over HTTP: on a local bucket server, and on a person's live bucket."""

import os
import pathlib
import subprocess

import pytest

from harness import BIN, seconds
from harness.program import check_sanitizer

PROGRAM = pathlib.Path(BIN).parent / "tests" / "contract" / "contract_bucket"


def run_contract(what, environment):
    if not PROGRAM.exists():
        pytest.skip(f"no {PROGRAM}: the build has no tests")
    done = subprocess.run([PROGRAM, what], env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, timeout=seconds(240))
    check_sanitizer(done.stdout, what)
    if done.returncode == 77:
        pytest.skip(done.stdout.strip())
    assert done.returncode == 0, done.stdout


def test_contract_on_a_local_server(server):
    run_contract("server", server.environment(HFKV_CONTRACT_ENDPOINT=server.endpoint, HFKV_CONTRACT_BUCKET="demo/contract"))
    assert server.object_paths("demo/contract") == [], "the contract left objects behind"


def test_contract_on_a_live_bucket():
    run_contract("live", dict(os.environ))
