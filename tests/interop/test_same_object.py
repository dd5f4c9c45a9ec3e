"""The same chunk, stored through the mount, the fs connector on it, or the bucket connector, is the same object."""

import itertools

import pytest

from harness import store_like_lmcache
from in_process import Engine, ours

pytestmark = pytest.mark.needs_hfkv

SIZE = 16384
WAYS = ["mount", "hfkv_fs on the mount", "fs on the mount", "hfkv_bucket"]


class World:
    def __init__(self, engine, mount, bucket, staging):
        self.mount = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE, "--metadata-ttl", 0, "--negative-ttl", 0)
        base = {"base_path": str(self.mount.path)}
        handle = {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging), "metadata_cache_ttl_secs": 0}
        self.lm = engine({"fs.theirs": base, **ours({"hfkv_fs.ours": base, "hfkv_bucket.ours": handle})})
        assert self.lm.chunk_bytes == SIZE

    def connector(self, way):
        return self.lm.connector({"hfkv_fs on the mount": "hfkv_fs.ours", "fs on the mount": "fs.theirs",
                                  "hfkv_bucket": "hfkv_bucket.ours"}[way])

    def file(self, key):
        return key.to_string().replace("/", "-SEP-") + ".data"

    def put(self, way, key, seed):
        if way == "mount":
            store_like_lmcache(self.mount.path, self.file(key), self.lm.body(seed))
        else:
            self.lm.put(self.connector(way), key, seed)

    def get(self, way, key):
        if way == "mount":
            return (self.mount / self.file(key)).read_bytes()
        return self.lm.get(self.connector(way), key)


@pytest.mark.parametrize("key_form", ["plain", "tag"])
def test_same_object_in_all_directions(engine, mount, bucket, staging, server, key_form):
    world = World(engine, mount, bucket, staging)
    for number, (writer, reader) in enumerate(itertools.product(WAYS, WAYS), 1):
        key = world.lm.key(number, tags={"user": "42"} if key_form == "tag" else None)
        before = len(server.object_paths(bucket))
        world.put(writer, key, number)
        assert len(server.object_paths(bucket)) == before + 1
        assert world.get(reader, key) == world.lm.body(number), f"{writer} -> {reader}"
        world.put(reader, key, 1000 + number)
        assert len(server.object_paths(bucket)) == before + 1, f"{writer} and {reader} name the object differently"


def test_the_geometry_gives_the_size_of_the_mount():
    layers, planes, tokens, heads, head_size = Engine.SHAPE
    assert layers * planes * tokens * heads * head_size * 2 == SIZE
