"""The same chunk, stored through the mount, a backend on it, or a bucket backend, is the same object: in each key family, between
ours and LMCache's own."""

import itertools

import pytest

from harness import eventually, store_like_lmcache
from in_process import Engine, ours
from multi_process import body, plugin
from multi_process import key as mp_key

pytestmark = pytest.mark.needs_hfkv

SIZE = 16384
WAYS = ["mount", "hfkv_fs on the mount", "fs on the mount", "hfkv_bucket", "hfbucket"]


class World:
    def __init__(self, engine, mount, bucket, staging, work):
        self.mount = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE, "--metadata-ttl", 0, "--negative-ttl", 0)
        base = {"base_path": str(self.mount.path)}
        handle = {"bucket_handle": f"hf://buckets/{bucket}/kv", "download_tmp_dir": str(staging), "metadata_cache_ttl_secs": 0}
        self.lm = engine({"fs.theirs": base, "hfbucket.theirs": {**handle, "download_tmp_dir": str(work / "tmp")},
                          **ours({"hfkv_fs.ours": base, "hfkv_bucket.ours": handle})})
        assert self.lm.chunk_bytes == SIZE

    def connector(self, way):
        return self.lm.connector({"hfkv_fs on the mount": "hfkv_fs.ours", "fs on the mount": "fs.theirs",
                                  "hfkv_bucket": "hfkv_bucket.ours", "hfbucket": "hfbucket.theirs"}[way])

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
def test_same_object_in_all_directions(engine, mount, bucket, staging, work, server, key_form):
    world = World(engine, mount, bucket, staging, work)
    for number, (writer, reader) in enumerate(itertools.product(WAYS, WAYS), 1):
        key = world.lm.key(number, tags={"user": "42"} if key_form == "tag" else None)
        before = len(server.object_paths(bucket))
        world.put(writer, key, number)
        assert len(server.object_paths(bucket)) == before + 1
        assert world.get(reader, key) == world.lm.body(number), f"{writer} -> {reader}"
        world.put(reader, key, 1000 + number)
        assert len(server.object_paths(bucket)) == before + 1, f"{writer} and {reader} name the object differently"


# ---- multi-process ----


def mp_documents(on_mount, bucket, staging, work):
    """{way: the JSON of its L2 adapter}: LMCache's own adapters and ours, on the mount and on its bucket."""
    base = {"base_path": str(on_mount)}
    handle = {"bucket_handle": f"hf://buckets/{bucket}/kv", "metadata_cache_ttl_secs": 0}
    own = {**handle, "download_tmp_dir": str(staging)}
    return {
        "fs": {"type": "fs", **base},
        "fs_native": {"type": "fs_native", **base},
        "hfbucket": {"type": "hfbucket", **handle, "download_tmp_dir": str(work / "tmp")},
        "FsL2Adapter": plugin("FsL2Adapter", base),
        "FsNativeClient": plugin("FsNativeClient", base, "native_plugin"),
        "BucketL2Adapter": plugin("BucketL2Adapter", own),
        "BucketNativeClient": plugin("BucketNativeClient", own, "native_plugin"),
    }


@pytest.mark.parametrize("salt", ["", "tenant b#?%"], ids=["unsalted", "salted"])
def test_same_object_in_all_directions_multi_process(l2, mount, bucket, staging, work, server, salt):
    """Each way's store is every other way's hit, and one object; each way deletes what another stored."""
    mounted = mount(f"hf://buckets/{bucket}/kv", "--chunk-bytes", SIZE, "--metadata-ttl", 0, "--negative-ttl", 0)
    ways = {name: l2(document) for name, document in mp_documents(mounted.path, bucket, staging, work).items()}
    names = list(ways)
    keys = {name: mp_key(number, group=number, salt=salt) for number, name in enumerate(names, 0x10)}
    bodies = {name: body(number) for number, name in enumerate(names)}
    for count, name in enumerate(names, 1):
        assert ways[name].lookup([keys[name]]) == [False]
        assert ways[name].store({keys[name]: bodies[name]}), name
        assert len(server.object_paths(bucket)) == count, name
        file = f"org-SEP-m@0x01000100@{keys[name].object_group_id:x}@{keys[name].chunk_hash.hex()}"
        file += f"@{salt}.data" if salt else ".data"
        assert (mounted / file).read_bytes() == bodies[name], name
    for reader in names:
        assert ways[reader].lookup([*keys.values(), mp_key(0x99, salt=salt)]) == [True] * len(names) + [False], reader
        assert ways[reader].load(list(keys.values())) == list(bodies.values()), reader
    for count, (writer, remover) in enumerate(zip(names, names[1:] + names[:1]), 1):
        ways[remover].adapter.delete([keys[writer]])
        eventually(lambda left=len(names) - count: len(server.object_paths(bucket)) == left, 20, f"{remover}'s delete")
        for each in names:
            assert ways[each].lookup([keys[writer]]) == [False], f"{each} finds what {remover} deleted"


def test_the_geometry_gives_the_size_of_the_mount():
    layers, planes, tokens, heads, head_size = Engine.SHAPE
    assert layers * planes * tokens * heads * head_size * 2 == SIZE
