"""batched_put and batched_get of 8 × 32 MiB random bytes: our bucket connector against LMCache's, fresh processes."""

from lmcache_peers import MODULE, Run, lmcache_python
from measure import touch_memory
from report import Row, mebibytes, median, spread

TITLE = "In-process bucket connector inside LMCache (8 × 32 MiB)"

KEYS = 8
SHAPE = [32, 2, 256, 8, 128]  # of bfloat16: 32 MiB
CPU_GB = 0.6
MEMORY_LIMIT = 64 << 20
SIDES = {"hfkv": "hfkv_bucket.bench", "LMCache": "hfbucket.bench"}


def one_run(context, side, results):
    run = Run(context)
    try:
        touch_memory(context.directory, 3 * KEYS * 32 << 20)
        for flow in ("put", "get"):
            settings = run.bucket_params()
            if side == "hfkv":
                settings.update(module_path=MODULE, class_name="BucketConnectorAdapter")
            answer = run.worker(do="connector", plugin=SIDES[side], plugins={SIDES[side]: settings}, flow=flow, keys=KEYS,
                                shape=SHAPE, cpu_gb=CPU_GB)
            results.setdefault((side, flow), []).append((answer["total_bytes"] / answer["seconds"] / 1e6, answer["grown_bytes"]))
    finally:
        run.close()


def run(context):
    lmcache_python()
    results = {}
    for _ in range(1 if context.quick else 5):
        for side in SIDES:
            one_run(context, side, results)
    for flow in ("put", "get"):
        ours, theirs = results["hfkv", flow], results["LMCache", flow]
        rates, peer_rates = [each[0] for each in ours], [each[0] for each in theirs]
        ratio = median(rates) / median(peer_rates)
        yield Row(f"batched {flow}, MB/s: hfkv against LMCache", f"{spread(rates)} against {spread(peer_rates)}: {ratio:.2f}×",
                  "2.5×", ratio >= 2.5)
        grown, peer_grown = max(each[1] for each in ours), max(each[1] for each in theirs)
        yield Row(f"batched {flow}, memory above the caller's buffers", f"{mebibytes(grown)} against {mebibytes(peer_grown)}",
                  f"at most {mebibytes(MEMORY_LIMIT)} beside staging", grown <= MEMORY_LIMIT)
