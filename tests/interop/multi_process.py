"""Multi-process LMCache's side of an L2 adapter: made from JSON as `--l2-adapter` is, driven by its eventfds."""

import argparse
import json
import random

import torch
from lmcache.cli.commands.bench.l2_adapter_bench.data import create_l1_memory_desc, wait_eventfd
from lmcache.v1.distributed.api import ObjectKey
from lmcache.v1.distributed.l2_adapters import create_l2_adapter
from lmcache.v1.distributed.l2_adapters.config import parse_args_to_l2_adapters_config
from lmcache.v1.memory_management import MemoryFormat, MemoryObjMetadata, TensorMemoryObj

WITHIN = 60.0


def plugin(class_name, params, kind="plugin", **top_level):
    """The JSON that makes LMCache load our class."""
    return {"type": kind, "module_path": "hfkv.lmcache", "class_name": class_name, "adapter_params": params, **top_level}


def key(number, model="org/m", rank=0x01000100, group=0, salt=""):
    return ObjectKey(chunk_hash=number.to_bytes(16, "big"), model_name=model, kv_rank=rank, object_group_id=group,
                     cache_salt=salt)


def body(seed, size=16384):
    return random.Random(seed).randbytes(size)


def memory(size, content=None):
    """A MemoryObj of `size` bytes, aligned to pages as LMCache's own are."""
    whole = torch.empty(size + 4096, dtype=torch.uint8)
    start = -whole.data_ptr() % 4096
    tensor = whole[start:start + size]
    if content is not None:
        tensor.copy_(torch.frombuffer(bytearray(content), dtype=torch.uint8))
    else:
        tensor.fill_(0xEE)
    metadata = MemoryObjMetadata(shape=torch.Size([size]), dtype=torch.uint8, address=0, phy_size=size,
                                 fmt=MemoryFormat.KV_2LTD, ref_count=1)
    return TensorMemoryObj(raw_data=tensor, metadata=metadata, parent_allocator=None)


class L2:
    def __init__(self, document):
        parsed = parse_args_to_l2_adapters_config(argparse.Namespace(l2_adapter=[json.dumps(document)]))
        self.config = parsed.adapters[0]
        self._l1 = torch.empty(1 << 20, dtype=torch.uint8)
        self.adapter = create_l2_adapter(self.config, l1_memory_desc=create_l1_memory_desc(self._l1))
        self.adapter.set_backend_identity(document["type"])
        self._is_open = True

    def store(self, bodies):
        """Stores {key: body} as one task; whether it succeeded."""
        objects = [memory(len(content), content) for content in bodies.values()]
        task = self.adapter.submit_store_task(list(bodies), objects)
        return self.stored(task).is_successful()

    def stored(self, task):
        for _ in range(100):
            assert wait_eventfd(self.adapter.get_store_event_fd(), WITHIN), "no sign of a completed store"
            done = self.adapter.pop_completed_store_tasks()
            if task in done:
                assert task not in self.adapter.pop_completed_store_tasks(), "a result was popped twice"
                return done[task]
        raise AssertionError("the store did not complete")

    def lookup(self, keys, unlock=True):
        """Which keys are there; they are unlocked again unless asked otherwise."""
        task = self.adapter.submit_lookup_and_lock_task(keys, {})
        found = self._bits(task, self.adapter.get_lookup_and_lock_event_fd(), self.adapter.query_lookup_and_lock_result,
                           len(keys))
        if unlock:
            self.adapter.submit_unlock([each for each, bit in zip(keys, found) if bit])
        return found

    def load(self, keys, size=16384):
        """The body of each key, None where the load failed."""
        objects = [memory(size) for _ in keys]
        task = self.adapter.submit_load_task(keys, objects)
        loaded = self._bits(task, self.adapter.get_load_event_fd(), self.adapter.query_load_result, len(keys))
        return [bytes(obj.byte_array) if bit else None for obj, bit in zip(objects, loaded)]

    @staticmethod
    def _bits(task, descriptor, query, count):
        for _ in range(100):
            assert wait_eventfd(descriptor, WITHIN), "no sign of a completed task"
            bitmap = query(task)
            if bitmap is not None:
                assert query(task) is None, "a result was popped twice"
                return [bitmap.test(index) for index in range(count)]
        raise AssertionError("the task did not complete")

    def close(self):
        if self._is_open:
            self._is_open = False
            self.adapter.close()
