"""hfkv: LLM KV caches in Hugging Face buckets and directories. The classes for LMCache are in hfkv.lmcache."""

from ._hfkv import Error, version

__all__ = ["Error", "version"]
__version__ = version()
