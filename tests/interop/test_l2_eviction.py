"""LMCache's L2 eviction controller over our plugin, with a restart in between."""

import time

import pytest
from lmcache.v1.distributed.storage_controllers.eviction_controller import L2AdapterEvictionState, L2EvictionController

from harness import eventually
from multi_process import body, key, plugin

pytestmark = pytest.mark.needs_hfkv

SIZE = 1 << 20
CAPACITY_CHUNKS = 10
CLOCK_REALTIME_COARSE = 5  # linux/time.h: the clock of file times


def store_in_order(adapter, numbers):
    """One store a key, each at a time of its own: a listing knows their order by it, and files have that of the clock's tick."""
    for number in numbers:
        assert adapter.store({key(number): body(number, SIZE)})
        stored_at = clock_ms()
        eventually(lambda before=stored_at: clock_ms() != before, 5, "the clock's next tick")


def clock_ms():
    return time.clock_gettime_ns(CLOCK_REALTIME_COARSE) // 1_000_000


class Recorder:
    """A listener that notes what it hears."""

    def __init__(self):
        self.heard = []

    def on_l2_keys_stored(self, keys, sizes):
        self.heard += [("stored", each, size) for each, size in zip(keys, sizes, strict=True)]

    def on_l2_keys_accessed(self, keys):
        self.heard += [("accessed", each) for each in keys]

    def on_l2_keys_deleted(self, keys):
        self.heard += [("deleted", each) for each in keys]


@pytest.fixture(params=["bucket", "fs"])
def document(request, bucket, staging, work):
    common = {"max_capacity_gb": CAPACITY_CHUNKS * SIZE / 2**30}
    evict = {"eviction_policy": "LRU", "trigger_watermark": 0.85, "eviction_ratio": 0.3}
    if request.param == "bucket":
        params = {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging), **common}
        return plugin("BucketL2Adapter", params, eviction=evict)
    return plugin("FsL2Adapter", {"base_path": str(work / "kv"), **common}, eviction=evict)


def test_old_keys_go_first_across_a_restart(l2, document):
    first = l2(document)
    store_in_order(first, range(1, 6))
    first.close()

    second = l2(document)
    assert second.adapter.supports_global_eviction
    state = L2AdapterEvictionState(0, second.adapter, second.config.eviction_config)
    eventually(lambda: second.adapter.report_status()["usage_is_rebuilt"], 20, "the listing after the start")
    for number in range(6, 10):
        assert second.store({key(number): body(number, SIZE)})
    assert second.adapter.get_usage().total_bytes_used == 9 * SIZE
    assert second.lookup([key(1)], unlock=False) == [True]  # locked, and used last

    controller = L2EvictionController([state])
    controller.start()
    try:
        eventually(lambda: second.adapter.get_usage().usage_fraction < 0.85, 30, "eviction")
    finally:
        controller.stop()
    there = second.lookup([key(number) for number in range(1, 10)])
    assert there[0], "a locked key was evicted"
    gone = [number for number in range(2, 10) if not there[number - 1]]
    assert gone == list(range(2, 2 + len(gone))) and gone, f"not the oldest keys went: {gone}"
    assert second.adapter.get_usage().total_bytes_used == sum(there) * SIZE


def test_listeners_hear_known_keys_oldest_first_and_then_events(l2, document):
    first = l2(document)
    store_in_order(first, range(1, 4))
    first.close()
    second = l2(document)
    early, late = Recorder(), Recorder()
    second.adapter.register_listener(early)
    eventually(lambda: len(early.heard) == 3, 20, "the replay")
    assert second.store({key(4): body(4, SIZE)})
    assert second.store({key(4): body(5, SIZE)}), "stored again: no news"
    second.lookup([key(2), key(0x99)])
    second.adapter.register_listener(late)
    second.adapter.delete([key(1)])
    replayed = [("stored", key(number), SIZE) for number in range(1, 4)]
    assert early.heard == [*replayed, ("stored", key(4), SIZE), ("accessed", key(2)), ("deleted", key(1))]
    assert {entry[1] for entry in late.heard[:4]} == {key(number) for number in range(1, 5)}
    assert late.heard[4:] == [("deleted", key(1))]


def test_a_start_without_network_needs_none(l2, document, server):
    if "bucket_handle" not in document["adapter_params"]:
        pytest.skip("a directory needs no network")
    server.faults({"route": "*", "status": 503})
    adapter = l2(document)
    assert adapter.adapter.report_status()["is_healthy"]
