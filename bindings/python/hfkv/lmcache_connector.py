"""LMCache's in-process connectors: RemoteConnector over libhfkv's connector.

Memory. A get allocates its MemoryObjs, and the core writes into them: they are released only after the core has handed
the batch back, also when LMCache cancelled the get at its timeout. A put borrows its caller's MemoryObjs and never
touches their reference count: it returns, or raises, only when the core is done with them.
"""

import asyncio
import json

from lmcache.logging import init_logger
from lmcache.v1.exceptions import IrrecoverableException
from lmcache.v1.protocol import RemoteMetadata
from lmcache.v1.storage_backend.connector import ConnectorAdapter, extract_plugin_type
from lmcache.v1.storage_backend.connector.base_connector import RemoteConnector

from . import _hfkv

logger = init_logger(__name__)

# What libhfkv reads of LMCache's configuration beside extra_config.
TOP_LEVEL_SETTINGS = (
    "chunk_size", "local_cpu", "remote_serde", "blocking_timeout_secs", "save_unfull_chunk", "use_layerwise",
    "remote_storage_plugins",
)
# What it reads of extra_config: these, and what starts as one of the prefixes.
EXTRA_SETTINGS = ("save_chunk_meta", "full_chunks", "chunk_bytes", "chunk_table", "fs_base_path")
EXTRA_PREFIXES = ("remote_storage_plugin.hfkv_", "fs_connector_")
PLUGIN_SCHEMA = "plugin://"


def settings_text(config):
    """LMCache's configuration as the JSON document that libhfkv parses. Values of others may be what no JSON holds."""
    document = {name: getattr(config, name, None) for name in TOP_LEVEL_SETTINGS}
    document = {name: value for name, value in document.items() if value is not None}
    document["extra_config"] = {
        name: value
        for name, value in (config.extra_config or {}).items()
        if isinstance(name, str) and (name in EXTRA_SETTINGS or name.startswith(EXTRA_PREFIXES))
    }
    return json.dumps(document, default=str)


class HfkvConnector(RemoteConnector):
    """KV chunks of one plugin instance. Coroutines run on LMCache's loop; *_sync and batched_contains on any thread."""

    def __init__(self, plugin_name, context):
        super().__init__(context.config, context.metadata)
        self._name = plugin_name
        self._memory = context.local_cpu_backend
        self._core = _hfkv.Connector(
            settings_text(context.config),
            plugin_name=plugin_name,
            chunk_bytes=self.full_chunk_size_bytes,
            header_groups=context.metadata.get_num_groups(),
        )
        self._header_bytes = self._core.sizes()[1]
        self.save_chunk_meta = self._header_bytes > 0
        self._loop = None
        self._waiting = {}

    def __repr__(self):
        return f"<{type(self).__name__} {self._name}>"

    # ---- batches on the event loop ----

    def _watch(self, loop):
        """Has `loop` hand back the batches that are done."""
        if self._loop is loop:
            return
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._core.event_fd())
        loop.add_reader(self._core.event_fd(), self._hand_back)
        self._loop = loop

    def _hand_back(self):
        for batch, _operation, outcome in self._core.drain():
            future, _count = self._waiting.pop(batch)
            future.set_result(outcome)

    def _submit(self, operation, names, buffers=None, headers=None, owner=None):
        """The batch's number, and the future of its outcome. The future is never cancelled: it tells when memory is free."""
        loop = asyncio.get_running_loop()
        self._watch(loop)
        batch = self._core.submit(operation, names, buffers, headers, owner)
        future = loop.create_future()
        self._waiting[batch] = future, len(names)
        return batch, future

    async def _exist(self, names):
        """The statuses of an exists. No memory of LMCache is in it, so a cancelled one is left to the core."""
        batch, future = self._submit(_hfkv.EXISTS, names)
        try:
            return self._check(await asyncio.shield(future))
        except asyncio.CancelledError:
            self._core.cancel(batch)
            raise

    async def _store(self, names, buffers, headers, owner):
        """The outcome of a put of borrowed memory. Cancelled, it still waits until the core is done with it."""
        batch, future = self._submit(_hfkv.PUT, names, buffers, headers, owner)
        cancelled = None
        while not future.done():
            try:
                await asyncio.shield(future)
            except asyncio.CancelledError as error:
                cancelled = error
                self._core.cancel(batch)
        if cancelled is not None:
            raise cancelled
        return future.result()

    async def _load(self, names, objects):
        """The outcome of a get into `objects`, which are ours. Cancelled, they are released when the core is done."""
        try:
            buffers = [obj.byte_array for obj in objects]
            headers = [bytearray(self._header_bytes) for _ in objects] if self._header_bytes else None
            batch, future = self._submit(_hfkv.GET, names, buffers, headers, objects)
        except BaseException:
            release(objects)
            raise
        try:
            return await asyncio.shield(future), headers
        except asyncio.CancelledError:
            future.add_done_callback(lambda _done: release(objects))
            self._core.cancel(batch)
            raise

    def _check(self, outcome):
        """The item statuses of an outcome, or the core's error."""
        if outcome[0] != _hfkv.OK:
            raise RuntimeError(f"{self._name}: {outcome[5]}")
        return outcome[1]

    # ---- what is there ----

    async def exists(self, key):
        return (await self._exist([key.to_string()]))[0] == _hfkv.OK

    def exists_sync(self, key):
        return self._check(self._core.run(_hfkv.EXISTS, [key.to_string()]))[0] == _hfkv.OK

    def support_batched_contains(self):
        return True

    def batched_contains(self, keys):
        return self._core.contains_prefix([key.to_string() for key in keys])

    async def batched_async_contains(self, lookup_id, keys, pin=False):
        statuses = await self._exist([key.to_string() for key in keys])
        return next((index for index, status in enumerate(statuses) if status != _hfkv.OK), len(statuses))

    async def list(self):
        return [key for key, _bytes in await asyncio.to_thread(self._core.list)]

    # ---- put ----

    async def put(self, key, memory_obj):
        await self.batched_put([key], [memory_obj])

    def support_batched_put(self):
        return True

    async def batched_put(self, keys, memory_objs):
        buffers = [obj.byte_array for obj in memory_objs]
        headers = None
        if self._header_bytes:
            headers = [
                RemoteMetadata(len(buffer), obj.get_shapes(), obj.get_dtypes(), obj.get_memory_format()).serialize()
                for obj, buffer in zip(memory_objs, buffers, strict=True)
            ]
        names = [key.to_string() for key in keys]
        self._check(await self._store(names, buffers, headers, list(memory_objs)))

    # ---- get ----

    async def get(self, key):
        return (await self.batched_get([key]))[0]

    def support_batched_get(self):
        return True

    async def batched_get(self, keys):
        """A MemoryObj a key in order, None for a miss. Memory is asked for hits only, and none left is a miss."""
        names = [key.to_string() for key in keys]
        results = [None] * len(names)
        statuses = await self._exist(names) if names else b""
        wanted, objects = [], []
        try:
            for index, status in enumerate(statuses):
                obj = self._allocate() if status == _hfkv.OK else None
                if obj is not None:
                    wanted.append(index)
                    objects.append(obj)
        except BaseException:
            release(objects)
            raise
        if wanted:
            outcome, headers = await self._load([names[index] for index in wanted], objects)
            self._take_loaded(results, wanted, objects, headers, outcome)
        return results

    def _allocate(self):
        obj = self._memory.allocate(self.meta_shapes, self.meta_dtypes, self.meta_fmt, busy_loop=False)
        if obj is None:
            logger.debug("%s: no memory for a chunk, a miss", self._name)
        return obj

    def _take_loaded(self, results, wanted, objects, headers, outcome):
        status, statuses, sizes, _is_new, _owner, text = outcome
        if status != _hfkv.OK:
            logger.warning("%s: get: %s", self._name, text)
        for position, index in enumerate(wanted):
            obj = objects[position]
            try:
                if statuses[position] == _hfkv.OK:
                    results[index] = self._fit(obj, headers and headers[position], sizes[position])
                else:
                    obj.ref_count_down()
            except (ValueError, KeyError) as error:  # LMCache's, of a header that cannot be right
                logger.warning("%s: get: a chunk that is none: %r", self._name, error)
                obj.ref_count_down()

    def _fit(self, obj, header, size):
        """`obj` holds `size` bytes. What they are, the header tells; without one, a chunk that is not full gets the shape that
        its size tells (full_chunks: false)."""
        if header:
            return narrowed(obj, RemoteMetadata.deserialize(header), size)
        if size == self.full_chunk_size_bytes:
            return obj
        return self.reshape_partial_chunk(obj, size)

    async def batched_get_non_blocking(self, lookup_id, keys):
        """The leading hits; what was loaded behind the first miss is released."""
        results = await self.batched_get(keys)
        hits = next((index for index, obj in enumerate(results) if obj is None), len(results))
        release(obj for obj in results[hits:] if obj is not None)
        return results[:hits]

    # ---- the rest ----

    def remove_sync(self, key):
        status, statuses, _sizes, _is_new, _owner, text = self._core.run(_hfkv.REMOVE, [key.to_string()])
        if status != _hfkv.OK:
            logger.error("%s: remove: %s", self._name, text)
        return statuses[0] == _hfkv.OK

    def support_ping(self):
        return True

    async def ping(self):
        try:
            await asyncio.to_thread(self._core.ping)
        except _hfkv.Error as error:
            logger.warning("%s: ping: %s", self._name, error)
            return 1
        return 0

    async def close(self):
        """Bounded by the core's timeout. Batches under way end as cancelled; then nothing touches their memory."""
        if self._loop is not None and not self._loop.is_closed():
            self._loop.remove_reader(self._core.event_fd())
        self._loop = None
        await asyncio.to_thread(self._core.close)
        waiting, self._waiting = self._waiting, {}
        for future, count in waiting.values():
            future.set_result((_hfkv.CANCELLED, bytes([_hfkv.CANCELLED]) * count, [0] * count, bytes(count), None, "closed"))


def narrowed(obj, metadata, size):
    """`obj` as if LMCache had allocated it for this header; a layer, or the last tokens of a prompt, are less than it has."""
    ends = [0]
    for shape, dtype in zip(metadata.shapes, metadata.dtypes, strict=True):
        ends.append(ends[-1] + shape.numel() * dtype.itemsize)
    if metadata.length != size or ends[-1] != size:
        raise ValueError(f"its header says {metadata.length} bytes in shapes of {ends[-1]}, it has {size}")
    obj.meta.shapes, obj.meta.dtypes, obj.meta.fmt = metadata.shapes, metadata.dtypes, metadata.fmt
    obj.meta.shape, obj.meta.dtype = metadata.shapes[0], metadata.dtypes[0]
    obj.raw_data, obj.group_prefix_sum = obj.raw_data[:size], ends
    return obj


def release(objects):
    for obj in objects:
        obj.ref_count_down()


class HfkvConnectorAdapter(ConnectorAdapter):
    """What LMCache makes connectors with: no-argument constructor, exactly one plugin type."""

    plugin_type = ""

    def __init__(self):
        super().__init__(PLUGIN_SCHEMA + self.plugin_type)

    def can_parse(self, url):
        return url.startswith(PLUGIN_SCHEMA) and extract_plugin_type(url[len(PLUGIN_SCHEMA):]) == self.plugin_type

    def create_connector(self, context):
        """Needs no network. A setting that cannot be right is irrecoverable: LMCache only warns of other exceptions."""
        plugin_name = context.plugin_name or self.plugin_type
        if context.config is None or context.metadata is None:
            raise IrrecoverableException(f"{plugin_name}: LMCache gave no configuration or no metadata")
        try:
            return HfkvConnector(plugin_name, context)
        except _hfkv.Error as error:
            raise IrrecoverableException(f"{plugin_name}: {error}") from None


class FsConnectorAdapter(HfkvConnectorAdapter):
    """KV chunks as files in directories, the mount among them."""

    plugin_type = "hfkv_fs"


class BucketConnectorAdapter(HfkvConnectorAdapter):
    """KV chunks as objects in a bucket."""

    plugin_type = "hfkv_bucket"
