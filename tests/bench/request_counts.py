"""How many requests the main flows cost, counted by the server."""

import collections
import json
import os
from urllib.parse import quote

from harness import Mount, at_once
from measure import write_random
from report import Row

TITLE = "Requests"

MEBIBYTE = 1 << 20
SMALL = 4096


def key_of(number):
    return f"org/m@1@0@{number:x}@half"


def file_name(number):
    return key_of(number).replace("/", "-SEP-") + ".data"


def put_small(context, prefix, count):
    source = context.directory / f"small-{prefix}"
    source.mkdir()
    for number in range(count):
        (source / quote(key_of(number), safe="")).write_bytes(os.urandom(SMALL))
    result = context.server.hfkv("put", *sorted(source.iterdir()), context.url(prefix) + "/")
    assert result.code == 0, result.err


def shards(counts):
    return counts.get("shard-v1", 0) + counts.get("shard-v2", 0)


def exists_through_the_cache(context, prefix, count):
    """`hfkv kv exists` asks the cache's batch call, as the connectors do."""
    config = context.directory / "kv.yaml"
    config.write_text("chunk_size: 256\nremote_storage_plugins: [\"hfbucket\"]\nextra_config:\n"
                      f"  remote_storage_plugin.hfbucket.bucket_handle: \"{context.url(prefix)}\"\n"
                      f"  remote_storage_plugin.hfbucket.chunk_bytes: {SMALL}\n"
                      "  save_chunk_meta: false\n")
    context.server.reset_requests()
    result = context.server.hfkv("kv", "--config", config, "exists", *[key_of(number) for number in range(count)])
    assert result.code == 0, result.err
    return context.server.requests()


def mount_rows(context, prefix):
    with Mount(context.server, context.url(prefix), context.directory, "--chunk-bytes", SMALL, "--negative-ttl", 60) as mount:
        context.server.reset_requests()
        sizes = at_once(1000, lambda number: os.stat(mount / file_name(number)).st_size)
        assert sizes == [SMALL] * 1000
        calls = context.server.requests().get("paths-info", 0)
        yield Row("1000 concurrent cold stats through the mount: paths-info calls", str(calls), "at most 10", 1 <= calls <= 10)

        before = asked(mount)
        context.server.reset_requests()
        for number in range(1000):
            os.stat(mount / file_name(number))
        calls, daemon = sum(context.server.requests().values()), asked(mount) - before
        yield Row("1000 stats of cached names: requests, daemon calls", f"{calls}, {daemon}", "0, 0", calls == 0 and daemon == 0)

        context.server.reset_requests()
        for _ in range(1000):
            assert not os.path.exists(mount / file_name(5000))
        counts = context.server.requests()
        calls = counts.get("paths-info", 0) + counts.get("tree", 0)
        yield Row("an absent name asked 1000 times within its limit: calls", str(calls), "1", calls == 1)
        mount.unmount()


def asked(mount):
    requests = json.loads(mount.hfkv("status", mount.path, "--json").text)["mounts"][0]["requests"]
    return requests["lookup"] + requests["getattr"]


def batch_row(context):
    source = context.directory / "batch"
    source.mkdir()
    for number in range(32):
        write_random(source / f"chunk-{number}", 4 * MEBIBYTE)
    context.server.reset_requests()
    result = context.server.hfkv("put", *sorted(source.iterdir()), context.url(context.fresh_prefix()) + "/", within=300)
    assert result.code == 0, result.err
    counts = context.server.requests()
    yield Row("batch put of 32 × 4 MiB: xorb uploads, shards, batch calls",
              f"{counts.get('xorb-put', 0)}, {shards(counts)}, {counts.get('batch', 0)}", "2 or 3, 1, 1",
              counts.get("xorb-put") in (2, 3) and shards(counts) == 1 and counts.get("batch") == 1)


def cold_read_row(context):
    prefix, size = context.fresh_prefix(), 32 * MEBIBYTE
    body = context.directory / "large"
    write_random(body, size)
    assert context.server.hfkv("put", body, context.url(f"{prefix}/{quote(key_of(1), safe='')}")).code == 0
    with Mount(context.server, context.url(prefix), context.directory, "--chunk-bytes", size) as mount:
        context.server.reset_requests()
        assert (mount / file_name(1)).read_bytes() == body.read_bytes()
        counts = context.server.requests()
        log = collections.Counter((entry["method"], entry["path"], entry.get("range")) for entry in context.server.request_log())
        mount.unmount()
    plans = counts.get("reconstruction-v1", 0) + counts.get("reconstruction-v2", 0)
    twice = sum(1 for count in log.values() if count > 1)
    yield Row("cold read of a 32 MiB chunk: reconstructions, ranges, requests made twice",
              f"{plans}, {counts.get('xorb-data', 0)}, {twice}", "1, its ranges, 0", plans == 1 and twice == 0)


def run(context):
    prefix = context.fresh_prefix()
    put_small(context, prefix, 1000)
    counts = exists_through_the_cache(context, prefix, 1000)
    yield Row("exists of 1000 cold names in one batch: paths-info calls", str(counts.get("paths-info", 0)), "1",
              counts.get("paths-info") == 1)
    yield from mount_rows(context, prefix)
    yield from batch_row(context)
    yield from cold_read_row(context)
