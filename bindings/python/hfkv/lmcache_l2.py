"""LMCache's multi-process L2 adapters (`plugin`): L2AdapterInterface over libhfkv's L2 core.

Tasks, locks, usage and the three eventfds are the core's. LMCache's controllers take results on their own threads, and
listeners hear of them there. Memory: the core's task holds LMCache's objects until its result is popped.

Eviction is LMCache's: it asks the usage fraction and knows keys from listeners. So each listener is told the keys that are
in the bucket since before this start, oldest first and one by one (LMCache's LRU takes the keys of one call in reverse).
"""

import json
import threading
from types import MappingProxyType

from lmcache.lmcache_native import Bitmap
from lmcache.logging import init_logger
from lmcache.v1.distributed.api import KeyEntry, KeyListPage, ObjectKey
from lmcache.v1.distributed.internal_api import L2StoreResult
from lmcache.v1.distributed.l2_adapters.base import AdapterUsage, L2AdapterInterface
from lmcache.v1.distributed.l2_adapters.config import L2AdapterConfigBase

from . import _hfkv

logger = init_logger(__name__)

REBUILD_RETRY_SECONDS = 30.0


def key_name(key):
    """The MP key string of an ObjectKey."""
    name = f"{key.model_name}@{key.kv_rank:08x}@{key.object_group_id:x}@{key.chunk_hash.hex()}"
    return f"{name}@{key.cache_salt}" if key.cache_salt else name


def object_key(name):
    """The ObjectKey of an MP key string; None for the old form without a group, for anything that is none, and for a string
    that key_name would write otherwise (hex digits in capitals, leading zeros): that one is another object's."""
    model, *fields = name.split("@")
    if len(fields) not in (3, 4):
        return None
    try:
        key = ObjectKey(
            chunk_hash=bytes.fromhex(fields[2]),
            model_name=model,
            kv_rank=int(fields[0], 16),
            object_group_id=int(fields[1], 16),
            cache_salt=fields[3] if len(fields) == 4 else "",
        )
    except ValueError:
        return None
    return key if key_name(key) == name else None


class HfkvL2AdapterConfig(L2AdapterConfigBase):
    """adapter_params as they are: the core checks each field when the adapter is made."""

    fields = ""

    def __init__(self, params):
        self.params = dict(params)

    @classmethod
    def from_dict(cls, d):
        return cls(d)

    @classmethod
    def help(cls):
        return f"{cls.__name__} fields (adapter_params):\n{cls.fields}\n`eviction` stands beside adapter_params."


class HfkvL2Adapter(L2AdapterInterface):
    """One L2 adapter. Thread-safe; submits never block."""

    core_type = ""

    def __init__(self, config, l1_memory_desc=None):
        params = config.params if isinstance(config, HfkvL2AdapterConfig) else dict(config)
        try:
            self._core = _hfkv.L2(json.dumps({**params, "type": self.core_type}), without_own_evictor=True)
        except _hfkv.Error as error:
            raise ValueError(f"{type(self).__name__}: {error}") from None
        super().__init__(max_capacity_bytes=self._core.usage()["capacity_bytes"])
        self._closing = threading.Event()
        # Held while listeners are told, so that a listener hears old keys before newer ones.
        self._telling = threading.RLock()
        self._is_rebuilt = False
        self._rebuild = threading.Thread(target=self._tell_known_keys, name="hfkv-l2-rebuild", daemon=True)
        self._rebuild.start()

    # ---- eventfds ----

    def get_store_event_fd(self):
        return self._core.event_fd(_hfkv.STORE)

    def get_lookup_and_lock_event_fd(self):
        return self._core.event_fd(_hfkv.LOOKUP)

    def get_load_event_fd(self):
        return self._core.event_fd(_hfkv.LOAD)

    # ---- store ----

    def submit_store_task(self, keys, objects):
        return self._submit(_hfkv.STORE, keys, objects)

    def pop_completed_store_tasks(self):
        results = {}
        for task, stored_bytes, outcome in self._core.pop(_hfkv.STORE):
            status, _statuses, sizes, is_new, (keys, _objects), text = outcome
            if status != _hfkv.OK:
                logger.warning("%s: store of %d keys: %s", type(self).__name__, len(keys), text)
            new = [index for index, flag in enumerate(is_new) if flag]
            if new:
                with self._telling:
                    self._notify_keys_stored([keys[index] for index in new], [sizes[index] for index in new])
            results[task] = L2StoreResult(status == _hfkv.OK, stored_bytes)
        return results

    # ---- lookup and lock ----

    def submit_lookup_and_lock_task(self, keys, group_layout_descs):
        return self._submit(_hfkv.LOOKUP, keys, None)

    def query_lookup_and_lock_result(self, task_id):
        keys, good = self._query(_hfkv.LOOKUP, task_id)
        if keys is None:
            return None
        if good:
            with self._telling:
                self._notify_keys_accessed([keys[index] for index in good])
        return bitmap_of(len(keys), good)

    def submit_unlock(self, keys):
        self._core.unlock([key_name(key) for key in keys])

    # ---- load ----

    def submit_load_task(self, keys, objects):
        return self._submit(_hfkv.LOAD, keys, objects)

    def query_load_result(self, task_id):
        keys, good = self._query(_hfkv.LOAD, task_id)
        return None if keys is None else bitmap_of(len(keys), good)

    # ---- tasks ----

    def _submit(self, kind, keys, objects):
        buffers = None if objects is None else [obj.byte_array for obj in objects]
        return self._core.submit(kind, [key_name(key) for key in keys], buffers, (list(keys), objects))

    def _query(self, kind, task_id):
        """(keys, indices of those that are OK) of a task that is done, once; (None, None) otherwise."""
        result = self._core.query(kind, task_id)
        if result is None:
            return None, None
        status, statuses, _sizes, _is_new, (keys, _objects), text = result[2]
        if status != _hfkv.OK:
            logger.warning("%s: %s of %d keys: %s", type(self).__name__, "load" if kind == _hfkv.LOAD else "lookup",
                           len(keys), text)
        return keys, [index for index, item in enumerate(statuses) if item == _hfkv.OK]

    # ---- listeners ----

    def register_listener(self, listener):
        with self._telling:
            super().register_listener(listener)
            if self._is_rebuilt:
                self._tell(listener)

    def _tell_known_keys(self):
        """Waits for the core's listing of what was stored before this start, then tells the listeners of it."""
        has_warned = False
        while not self._closing.is_set():
            try:
                self._core.list()
                break
            except _hfkv.Error as error:
                if not has_warned:
                    logger.warning("%s: the keys stored before are not known yet: %s", type(self).__name__, error)
                has_warned = True
                self._closing.wait(REBUILD_RETRY_SECONDS)
            except ValueError:  # closed meanwhile
                return
        with self._telling:
            self._is_rebuilt = not self._closing.is_set()
            for listener in self._listeners if self._is_rebuilt else ():
                self._tell(listener)

    def _tell(self, listener):
        for name, size in self._core.list():
            key = object_key(name)
            if key is not None:
                listener.on_l2_keys_stored([key], [size])

    # ---- eviction, listing, state ----

    def delete(self, keys):
        if not keys:
            return
        status, statuses, _sizes, _is_new, _owner, text = self._core.delete([key_name(key) for key in keys])
        if status != _hfkv.OK:
            logger.warning("%s: delete of %d keys: %s", type(self).__name__, len(keys), text)
        deleted = [key for key, item in zip(keys, statuses, strict=True) if item == _hfkv.OK]
        if deleted:
            with self._telling:
                # The sizes feed only the base class's own count, which get_usage below replaces by the core's.
                self._notify_keys_deleted(deleted, [0] * len(deleted))

    def get_usage(self):
        usage = self._core.usage()
        return AdapterUsage(
            total_bytes_used=usage["total_bytes"],
            total_capacity_bytes=usage["capacity_bytes"],
            bytes_by_cache_salt=MappingProxyType(dict(usage["by_salt"])),
        )

    def list_l2_keys(self, model_name=None, page_size=500, cursor=None):
        """A page of keys in the order of their strings; the cursor is the last string of the page before."""
        if not isinstance(page_size, int) or page_size <= 0:
            raise ValueError(f"page_size must be positive (got {page_size!r})")
        if cursor is not None and object_key(cursor) is None:
            raise ValueError(f"no cursor of this adapter: {cursor!r}")
        names = sorted(entry for entry in self._core.list() if cursor is None or entry[0] > cursor)
        entries, last = [], None
        for name, size in names:
            key = object_key(name)
            if key is None or (model_name is not None and key.model_name != model_name):
                continue
            if len(entries) == page_size:
                return KeyListPage(entries=tuple(entries), next_page_token=last)
            entries.append(KeyEntry(key=key.to_encoded_object_key(), size_bytes=size))
            last = name
        return KeyListPage(entries=tuple(entries), next_page_token=None)

    def report_status(self):
        if self._closing.is_set():
            return {"is_healthy": False, "type": type(self).__name__}
        usage = self._core.usage()
        return {
            "is_healthy": True,
            "type": type(self).__name__,
            "stored_object_count": usage["keys"],
            "locked_key_count": usage["locked_keys"],
            "current_size_bytes": usage["total_bytes"],
            "max_capacity_bytes": usage["capacity_bytes"],
            "usage_is_rebuilt": usage["rebuilt"],
        }

    def close(self):
        """Bounded by the core's timeout; returns when no thread touches a caller's buffer any more."""
        self._closing.set()
        self._core.close()
        self._rebuild.join()


def bitmap_of(size, indices):
    bitmap = Bitmap(size)
    bitmap.batched_set(indices)
    return bitmap


class BucketL2AdapterConfig(HfkvL2AdapterConfig):
    fields = (
        "- bucket_handle (str, required): hf://buckets/<namespace>/<bucket>[/<prefix>]\n"
        "- token_env (str, HF_TOKEN), token (str): token_env wins\n"
        "- create_bucket_if_missing (bool, false)\n"
        "- download_tmp_dir (str): where downloads are staged\n"
        "- metadata_cache_ttl_secs (number, 30), num_workers (int, 4), max_capacity_gb (number, 0: no limit)\n"
        "- chunk_bytes (int) or chunk_table (file): the full size of a chunk, where it is to be known beforehand"
    )


class BucketL2Adapter(HfkvL2Adapter):
    """KV chunks as objects in a bucket."""

    core_type = "hfbucket"


class FsL2AdapterConfig(HfkvL2AdapterConfig):
    fields = (
        "- base_path (str, required)\n"
        "- relative_tmp_dir (str), read_ahead_size (int), use_odirect (bool, false)\n"
        "- num_workers (int, 4), max_capacity_gb (number, 0: no limit)\n"
        "- chunk_bytes (int) or chunk_table (file): the full size of a chunk, where it is to be known beforehand"
    )


class FsL2Adapter(HfkvL2Adapter):
    """KV chunks as files in a directory, the mount among them. Files of the wrong size are replaced."""

    core_type = "fs"
