"""`lmcache bench l2`, 32 keys: our adapters against LMCache's own, alternating, and random bytes beside it.

A fresh prefix or base path for each run, memory touched before it, 12 rounds after 3 warm-ups, lookups that hit; cold loads
in a new process with empty scratch. `bench l2` stores one repeated byte a key, the same each round, so deduplication leaves
little to upload: the random rows are the ones that move bytes.
"""

import json
import re

from lmcache_peers import Run, lmcache_python, plugin
from measure import touch_memory
from report import Row, median

TITLE = "L2 adapters inside LMCache (lmcache bench l2, 32 keys)"

KEYS, ROUNDS, WARMUP = 32, 12, 3
ROUND_LINE = re.compile(r"\[(Store|Lookup|Load)\] Round (\d+): ([0-9.]+) ms, \w+=(\d+)/(\d+)")

BUCKET_SIDES = {
    "hfbucket of LMCache": lambda run: {"type": "hfbucket", **run.bucket_params()},
    "plugin": lambda run: plugin("BucketL2Adapter", run.bucket_params()),
    "native_plugin": lambda run: plugin("BucketNativeClient", run.bucket_params(), "native_plugin"),
}
FS_SIDES = {
    "fs of LMCache": lambda run: {"type": "fs", **run.fs_params()},
    "fs_native of LMCache": lambda run: {"type": "fs_native", **run.fs_params()},
    "plugin": lambda run: plugin("FsL2Adapter", run.fs_params()),
    "native_plugin": lambda run: plugin("FsNativeClient", run.fs_params(), "native_plugin"),
}


def bench_l2(run, document, kib, rounds, only=None):
    """{operation: [ms of each measured round]}; every key of every round must have succeeded."""
    command = [lmcache_python(), "-m", "lmcache.cli.main", "bench", "l2", "--l2-adapter", json.dumps(document), "--num-keys", KEYS,
               "--data-size-kb", kib, "--rounds", rounds, "--warmup-rounds", WARMUP, "--lookup-max-hit-rate", "1.0"]
    out = run.command(command + (["--only", only] if only else ["--no-skip-verify"]))
    times = {}
    for operation, number, ms, good, all_keys in ROUND_LINE.findall(out):
        assert good == all_keys, f"{operation} round {number}: {good} of {all_keys}"
        if int(number) > WARMUP:
            times.setdefault(operation.lower(), []).append(float(ms))
    return times


def one_run(context, make, kib, rounds, results):
    run = Run(context)
    try:
        touch_memory(context.directory, min((rounds + WARMUP) * KEYS * kib << 10, 2 << 30))
        for operation, times in bench_l2(run, make(run), kib, rounds).items():
            results.setdefault(operation if operation != "load" else "warm load", []).extend(times)
        results.setdefault("cold load", []).extend(bench_l2(run, make(run), kib, rounds, "load")["load"])
    finally:
        run.close()


def random_run(context, make, kib, rounds, results):
    run = Run(context)
    try:
        touch_memory(context.directory, (rounds + 1) * KEYS * kib << 10)
        for flow, label in (("store", "store"), ("load", "cold load")):
            answer = run.worker(do="l2", document=make(run), flow=flow, bytes=kib << 10, keys=KEYS, rounds=rounds)
            results.setdefault(label, []).extend(answer["ms"])
    finally:
        run.close()


def measure(context, sides, kib, one, rounds):
    """{side: {operation: median ms}}, sides alternating."""
    results = {side: {} for side in sides}
    for _ in range(context.runs(3) if not context.quick else 1):
        for side, make in sides.items():
            one(context, make, kib, rounds, results[side])
    return {side: {operation: median(times) for operation, times in by_operation.items()} for side, by_operation in results.items()}


def rows(medians, label, ours, peer, wanted):
    """A row an operation: ours against one peer; wanted[operation] is the least ratio."""
    for operation, theirs in medians[peer].items():
        mine = medians[ours][operation]
        least = wanted.get(operation)
        yield Row(f"{label}, {operation}: {ours} against {peer}", f"{mine:.2f} ms against {theirs:.2f} ms: {theirs / mine:.2f}×",
                  f"{least}×" if least else "", None if least is None else theirs / mine >= least)


BUCKET_WANTED = {256: {"store": 3, "cold load": 3, "lookup": 2}, 4096: {"store": 2, "cold load": 1.5, "lookup": 2}}
FS_WANTED = {256: {"store": 5, "warm load": 5, "cold load": 5}, 4096: {}}
FS_NATIVE_WANTED = dict.fromkeys(["store", "lookup", "warm load", "cold load"], 0.9)


def run(context):
    lmcache_python()
    rounds = 4 if context.quick else ROUNDS
    for kib, size in ((256, "256 KiB"), (4096, "4 MiB")):
        medians = measure(context, BUCKET_SIDES, kib, one_run, rounds)
        for ours in ("plugin", "native_plugin"):
            yield from rows(medians, f"bucket, {size}", ours, "hfbucket of LMCache", BUCKET_WANTED[kib])
        medians = measure(context, FS_SIDES, kib, one_run, rounds)
        for ours in ("plugin", "native_plugin"):
            yield from rows(medians, f"fs on tmpfs, {size}", ours, "fs of LMCache", FS_WANTED[kib])
            yield from rows(medians, f"fs on tmpfs, {size}", ours, "fs_native of LMCache", FS_NATIVE_WANTED)
        medians = measure(context, BUCKET_SIDES, kib, random_run, 2 if context.quick else 5)
        for ours in ("plugin", "native_plugin"):
            yield from rows(medians, f"bucket, random bytes, {size}", ours, "hfbucket of LMCache", {})
    context.note("Median of all rounds of all runs of a side. Warm loads follow the store in its process, cold ones start a new one.")
