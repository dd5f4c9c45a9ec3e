"""hfkv's classes for LMCache 0.5, to be named in its configuration.

    in-process      remote_storage_plugins: ["hfkv_fs.NAME", "hfkv_bucket.NAME", ...]
                    remote_storage_plugin.<plugin>.module_path: hfkv.lmcache
                    remote_storage_plugin.<plugin>.class_name: FsConnectorAdapter | BucketConnectorAdapter
    multi-process   {"type": "plugin", "module_path": "hfkv.lmcache", "class_name": "BucketL2Adapter" | "FsL2Adapter",
                     "adapter_params": {...}, "eviction": {...}}
                    {"type": "native_plugin", "module_path": "hfkv.lmcache",
                     "class_name": "BucketNativeClient" | "FsNativeClient", "adapter_params": {...}}

LMCache's built-in adapters win for the types "fs" and "hfbucket", hence the names hfkv_fs and hfkv_bucket.
"""

from .lmcache_connector import BucketConnectorAdapter, FsConnectorAdapter
from .lmcache_l2 import BucketL2Adapter, BucketL2AdapterConfig, FsL2Adapter, FsL2AdapterConfig
from .lmcache_native import BucketNativeClient, FsNativeClient

__all__ = [
    "BucketConnectorAdapter",
    "BucketL2Adapter",
    "BucketL2AdapterConfig",
    "BucketNativeClient",
    "FsConnectorAdapter",
    "FsL2Adapter",
    "FsL2AdapterConfig",
    "FsNativeClient",
]
