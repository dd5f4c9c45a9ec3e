"""put and get of many chunks: `hfkv` against huggingface_hub + hf_xet, fresh processes, alternating, on `hfkv serve`.

The peer's time is that of its call alone (its start-up and imports are left out); hfkv's is that of the whole process.
"""

import filecmp
import json
import shutil

from harness import BIN
from measure import run_measured, touch_memory, write_random
from report import Row, mebibytes, median, spread

TITLE = "Put and get against huggingface_hub + hf_xet"

MEBIBYTE = 1 << 20
MEMORY_FLOOR = 24 * MEBIBYTE

PEER = """
import json, sys, time
from huggingface_hub import HfApi
from huggingface_hub.utils import disable_progress_bars
disable_progress_bars()
bucket, what, files = json.load(sys.stdin)
api = HfApi()
begun = time.monotonic()
if what == "put":
    api.batch_bucket_files(bucket, add=[(local, path) for path, local in files])
else:
    api.download_bucket_files(bucket, [(path, local) for path, local in files])
print(time.monotonic() - begun)
"""


class Peer:
    """One side of the comparison: put(files) and get(files), files being [(object path, local file)]."""

    def __init__(self, context):
        self.context = context

    def environment(self, run):
        """A HF_HOME of its own for each run: no cache survives."""
        home = self.context.directory / f"home-{run}"
        home.mkdir(exist_ok=True)
        return self.context.server.environment(HF_HOME=home, HF_HUB_DISABLE_TELEMETRY="1")


class Hfkv(Peer):
    name = "hfkv"

    def put(self, files, prefix, run):
        measured = run_measured([BIN, "put", *[local for _, local in files], self.context.url(prefix) + "/"], self.environment(run))
        return measured.seconds, measured

    def get(self, files, prefix, target, run):
        urls = [self.context.url(f"{prefix}/{local.name}") for _, local in files]
        measured = run_measured([BIN, "get", *urls, target], self.environment(run))
        return measured.seconds, measured


class HubClientPeer(Peer):
    name = "huggingface_hub"

    def _run(self, what, files, run):
        request = json.dumps([self.context.bucket, what, [[path, str(local)] for path, local in files]])
        measured = run_measured([self.context.hub_python, "-c", PEER], self.environment(run), stdin=request)
        return float(measured.out), measured

    def put(self, files, prefix, run):
        return self._run("put", files, run)

    def get(self, files, prefix, target, run):
        return self._run("get", [(f"{prefix}/{local.name}", target / local.name) for _, local in files], run)


def one_run(context, peer, count, size, run, results):
    """Fresh bytes, fresh prefix; put, get, compare, remove."""
    prefix = context.fresh_prefix()
    source, target = context.directory / "source", context.directory / "target"
    for directory in (source, target):
        directory.mkdir()
    files = [(f"{prefix}/chunk-{number}", source / f"chunk-{number}") for number in range(count)]
    touch_memory(context.directory, 3 * count * size)
    for _, local in files:
        write_random(local, size)
    put_seconds, put = peer.put(files, prefix, run)
    get_seconds, get = peer.get(files, prefix, target, run)
    for _, local in files:
        assert filecmp.cmp(local, target / local.name, shallow=False), f"{peer.name} gave other bytes"
    for flow, seconds, measured in (("put", put_seconds, put), ("get", get_seconds, get)):
        results.setdefault((peer.name, flow), []).append((count * size / seconds / 1e6, measured.peak_bytes, measured.cpu_seconds))
    shutil.rmtree(source)
    shutil.rmtree(target)
    shutil.rmtree(context.directory / f"home-{run}", ignore_errors=True)


def rows_of(results, label):
    for flow in ("put", "get"):
        ours, theirs = results["hfkv", flow], results["huggingface_hub", flow]
        rate, peer_rate = median([run[0] for run in ours]), median([run[0] for run in theirs])
        yield Row(f"{flow} {label}, MB/s: hfkv against huggingface_hub",
                  f"{spread([run[0] for run in ours])} against {spread([run[0] for run in theirs])}: {rate / peer_rate:.2f}×",
                  "not slower", rate >= peer_rate)
        peak, peer_peak = max(run[1] for run in ours), max(run[1] for run in theirs)
        allowed = max(peer_peak / 5, MEMORY_FLOOR)
        yield Row(f"{flow} {label}, peak memory (VmHWM)", f"{mebibytes(peak)} against {mebibytes(peer_peak)}",
                  f"at most {mebibytes(allowed)}", peak <= allowed)
        yield Row(f"{flow} {label}, CPU seconds", f"{median([run[2] for run in ours]):.2f} against "
                  f"{median([run[2] for run in theirs]):.2f} (imports included)")


def run(context):
    peers = [Hfkv(context), HubClientPeer(context)]
    shapes = [(32, 4), (8, 32)]
    number = 0
    for count, size in shapes:
        if context.quick:
            count //= 4
        results = {}
        for _ in range(context.runs(5)):
            for peer in peers:
                number += 1
                one_run(context, peer, count, size * MEBIBYTE, number, results)
        yield from rows_of(results, f"{count} × {size} MiB")
    context.note("The peer's time is its call alone; hfkv's is the whole process from start to exit.")
