"""In-process LMCache as its engine sets it up: configuration, metadata, CPU memory, an event loop on a thread."""

import asyncio
import random
import threading

import torch
from lmcache.utils import CacheEngineKey
from lmcache.v1.config import LMCacheEngineConfig
from lmcache.v1.metadata import LMCacheMetadata
from lmcache.v1.storage_backend.connector import CreateConnector
from lmcache.v1.storage_backend.local_cpu_backend import LocalCPUBackend

MODULE = "hfkv.lmcache"
CLASSES = {"hfkv_fs": "FsConnectorAdapter", "hfkv_bucket": "BucketConnectorAdapter"}
WITHIN = 60.0


def ours(plugins):
    """The settings that make LMCache load our class, in front of each plugin's own."""
    return {name: {"module_path": MODULE, "class_name": CLASSES[name.split(".")[0]], **settings}
            for name, settings in plugins.items()}


class Engine:
    """`plugins` is {plugin name: {key: value}}; `extra` goes to extra_config as it is."""

    # (layers, K and V, tokens, heads, head size): 16 KiB of bfloat16, a multiple of the allocator's 4096.
    SHAPE = (4, 2, 16, 2, 32)

    def __init__(self, plugins, save_chunk_meta=False, shape=SHAPE, cpu_gb=0.05, extra=None, model="org/m", **config):
        settings = {f"remote_storage_plugin.{name}.{key}": value
                    for name, own in plugins.items() for key, value in own.items()}
        if save_chunk_meta is not None:
            settings["save_chunk_meta"] = save_chunk_meta
        settings.update(extra or {})
        config.setdefault("save_unfull_chunk", False)
        config.setdefault("blocking_timeout_secs", 30)
        self.config = LMCacheEngineConfig.from_defaults(
            chunk_size=shape[2], max_local_cpu_size=cpu_gb, remote_storage_plugins=list(plugins), extra_config=settings,
            **config)
        self.metadata = LMCacheMetadata(model, 1, 1, 0, 0, torch.bfloat16, shape, chunk_size=shape[2])
        self.memory = LocalCPUBackend(self.config, self.metadata)
        self.chunk_bytes = self.memory.get_full_chunk_size_bytes()
        self.connectors = {}
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self._thread.start()

    def connector(self, name):
        """Made by LMCache's own connector manager."""
        if name not in self.connectors:
            self.connectors[name] = CreateConnector(
                f"plugin://{name}", self.loop, self.memory, self.config, self.metadata, plugin_name=name)
        return self.connectors[name]

    def submit(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def run(self, coroutine, within=WITHIN):
        return self.submit(coroutine).result(within)

    def key(self, number, model=None, tags=None):
        configs = {f"lmcache.tag.{name}": value for name, value in (tags or {}).items()}
        return CacheEngineKey(model or self.metadata.model_name, 1, 0, number, torch.bfloat16, configs)

    def allocate(self):
        obj = self.memory.allocate(self.metadata.get_shapes(), self.metadata.get_dtypes(), busy_loop=False)
        assert obj is not None, "no memory left in the test's CPU backend"
        return obj

    def body(self, seed, size=None):
        return random.Random(seed).randbytes(size or self.chunk_bytes)

    def chunk(self, seed):
        """A full MemoryObj of random bytes; the caller releases it."""
        obj = self.allocate()
        obj.byte_array.cast("B")[:] = self.body(seed)
        return obj

    def put(self, connector, key, seed):
        """As RemoteBackend does: one reference for the connector, which LMCache's wrapper gives back."""
        obj = self.chunk(seed)
        obj.ref_count_up()
        try:
            self.run(connector.put(key, obj))
        finally:
            references = obj.get_ref_count()
            obj.ref_count_down()
        assert references == 1, "put touched the reference count"

    def batched_put(self, connector, keys, seeds):
        objects = [self.chunk(seed) for seed in seeds]
        for obj in objects:
            obj.ref_count_up()
        self.run(connector.batched_put(keys, objects))
        for obj in objects:
            assert obj.get_ref_count() == 1, "put touched the reference count"
            obj.ref_count_down()

    def get(self, connector, key):
        """The body, or None for a miss."""
        return self.take(self.run(connector.get(key)))

    def batched_get(self, connector, keys):
        return [self.take(obj) for obj in self.run(connector.batched_get(keys))]

    @staticmethod
    def take(obj):
        if obj is None:
            return None
        assert obj.get_ref_count() == 1
        body = bytes(obj.byte_array)
        obj.ref_count_down()
        return body

    def memory_in_use(self):
        """Bytes of CPU memory that somebody holds."""
        return self.memory.memory_allocator.pin_allocator.total_allocated_size

    def close(self):
        for connector in self.connectors.values():
            self.run(connector.close())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(WITHIN)
        self.loop.close()
        self.memory.memory_allocator.close()
