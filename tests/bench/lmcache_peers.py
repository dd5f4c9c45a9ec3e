"""What the LMCache sections share: the Python that has it, the sides that are compared, and running a worker."""

import json
import os
import pathlib
import shutil
import subprocess
import tempfile

from report import Skipped

WORKER = pathlib.Path(__file__).with_name("lmcache_worker.py")
MODULE = "hfkv.lmcache"


def lmcache_python():
    """Raises Skipped where there is none with lmcache and hfkv."""
    python = os.environ.get("HFKV_LMCACHE_PYTHON")
    if not python:
        raise Skipped(f"LMCache: {os.environ.get('HFKV_LMCACHE_SKIPPED', 'HFKV_LMCACHE_PYTHON is not set')}")
    probe = subprocess.run([python, "-c", "import lmcache, hfkv.lmcache"], capture_output=True, text=True, check=False)
    if probe.returncode != 0:
        raise Skipped(f"LMCache: {probe.stderr.strip().splitlines()[-1]}")
    return python


def plugin(class_name, params, kind="plugin"):
    return {"type": kind, "module_path": MODULE, "class_name": class_name, "adapter_params": params}


class Run:
    """A place of its own for one run of one side: prefix, base path, scratch and HF_HOME, removed by close()."""

    def __init__(self, context):
        self.context = context
        self.prefix = context.fresh_prefix()
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="run-", dir=context.directory))

    def environment(self):
        return self.context.server.environment(
            HF_HOME=self.directory / "home", HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1",
            LMCACHE_TRACK_USAGE="false", LMCACHE_LOG_LEVEL="ERROR")

    def scratch(self):
        """An empty directory each time: nothing staged survives."""
        return tempfile.mkdtemp(prefix="scratch-", dir=self.directory)

    def bucket_params(self):
        return {"bucket_handle": self.context.url(self.prefix), "download_tmp_dir": self.scratch()}

    def fs_params(self):
        return {"base_path": str(self.directory / "kv")}

    def command(self, arguments, stdin=None, within=300):
        ended = subprocess.run([str(part) for part in arguments], env=self.environment(), input=stdin, capture_output=True,
                               text=True, timeout=within, check=False)
        assert ended.returncode == 0, f"{arguments[1:4]}: {ended.returncode}\n{ended.stdout[-1500:]}\n{ended.stderr[-1500:]}"
        return ended.stdout

    def worker(self, **request):
        return json.loads(self.command([lmcache_python(), WORKER], json.dumps(request)).splitlines()[-1])

    def close(self):
        shutil.rmtree(self.directory, ignore_errors=True)
