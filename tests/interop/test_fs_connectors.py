"""Our fs connector and LMCache's FSConnector on the same directories: each reads what the other wrote."""

import pytest
import torch
from lmcache.v1.memory_management import MemoryFormat

from in_process import ours

pytestmark = pytest.mark.needs_hfkv

VARIANTS = {
    "plain": {},
    "meta": {"save_chunk_meta": True},
    "tmp_dir": {"extra": {"fs_connector_relative_tmp_dir": "tmp"}},
    "read_ahead": {"extra": {"fs_connector_read_ahead_size": 4096}},
    "odirect": {"extra": {"fs_connector_use_odirect": True}},
}


@pytest.fixture(params=[1, 3], ids=["one-path", "three-paths"])
def paths(request, work):
    directories = [work / f"d{number}" for number in range(request.param)]
    for directory in directories:
        directory.mkdir()  # LMCache's O_DIRECT asks their block size before it makes them
    return directories


def open_both(engine, paths, named, **own):
    base_path = ", ".join(map(str, paths))
    lm = engine({"fs.theirs": {"base_path": base_path}, **ours({"hfkv_fs.ours": {"base_path": base_path, **own}})}, **named)
    mine, theirs = lm.connector("hfkv_fs.ours"), lm.connector("fs.theirs")
    assert type(mine.getWrappedConnector()).__module__.startswith("hfkv.")
    assert type(theirs.getWrappedConnector()).__module__.startswith("lmcache.")
    return lm, mine, theirs


def data_files(paths):
    return {path.name: directory.name for directory in paths for path in directory.glob("*.data")}


@pytest.mark.parametrize("named", VARIANTS.values(), ids=VARIANTS)
def test_each_reads_what_the_other_wrote(engine, paths, named):
    lm, mine, theirs = open_both(engine, paths, named)
    keys = [lm.key(number) for number in (1, 2, 3, 0xFFFF_FFFF_FFFF_FFFF, -1, -2, -3, -0xABCDEF)]
    keys.append(lm.key(7, tags={"user": "42"}))
    for seed, key in enumerate(keys):
        lm.put(mine if seed % 2 else theirs, key, seed)
    for seed, key in enumerate(keys):
        for connector in (mine, theirs):
            assert lm.run(connector.exists(key)) and connector.exists_sync(key)
            assert lm.get(connector, key) == lm.body(seed)
    listed = {name.replace("-SEP-", "/") for name in lm.run(theirs.list())}
    assert set(lm.run(mine.list())) == listed == {key.to_string() for key in keys}
    assert not list(path for directory in paths for path in directory.rglob("*.tmp*") if path.is_file())


def exchange(lm, mine, theirs, chunks):
    """`chunks` are (key, shape, format): written by each in turn, read by both as LMCache reads what it wrote itself."""
    for number, (key, shape, form) in enumerate(chunks):
        obj = lm.memory.allocate([shape], lm.metadata.get_dtypes(), form, busy_loop=False)
        body = lm.body(number, shape.numel() * obj.get_dtype().itemsize)
        obj.byte_array.cast("B")[:] = body
        lm.run((theirs if number % 2 else mine).put(key, obj))  # gives the reference back
        expected = lm.run(theirs.get(key))
        loaded = lm.run(mine.get(key))
        assert lm.run(mine.exists(key)) and lm.run(theirs.exists(key))
        for each in (expected, loaded):
            assert bytes(each.byte_array) == body and each.tensor.shape == shape
        assert (loaded.get_shapes(), loaded.get_dtypes(), loaded.get_memory_format()) == \
            (expected.get_shapes(), expected.get_dtypes(), expected.get_memory_format())
        expected.ref_count_down()
        loaded.ref_count_down()
    assert set(lm.run(mine.list())) == {key.to_string() for key, _shape, _form in chunks}
    assert lm.memory_in_use() == 0


@pytest.mark.parametrize("meta", [True, False], ids=["meta", "plain"])
def test_chunks_that_are_not_full(engine, paths, meta):
    """full_chunks: false follows LMCache: the last tokens of a prompt go round in their shape."""
    lm, mine, theirs = open_both(engine, paths, {"save_chunk_meta": meta, "save_unfull_chunk": True}, full_chunks=False)
    chunks = [(lm.key(tokens), lm.metadata.get_shapes(tokens)[0], MemoryFormat.KV_2LTD) for tokens in (1, 5, 15, 16, 7, 3)]
    exchange(lm, mine, theirs, chunks)


def test_layers(engine, paths):
    """use_layerwise (with full_chunks: false): a chunk a layer, in a format of its own, that the header tells."""
    lm, mine, theirs = open_both(engine, paths, {"use_layerwise": True}, full_chunks=False)
    planes, layers, tokens, hidden = lm.metadata.get_shapes()[0]
    chunks = [(key, torch.Size((tokens, planes, hidden)), MemoryFormat.KV_T2D)
              for number in (1, -2) for key in lm.key(number).split_layers(layers)]
    exchange(lm, mine, theirs, chunks)


def test_a_header_that_cannot_be_right_is_a_miss(engine, paths):
    lm, mine, theirs = open_both(engine, paths, {"save_chunk_meta": True})
    keys = [lm.key(number) for number in (3, 6, 9)]
    for seed, key in enumerate(keys):
        lm.put(theirs, key, seed)
    for number, at in ((6, 8), (9, 12)):  # the type code, a dimension
        (file,) = [path for directory in paths for path in directory.glob(f"*@{number:x}@*.data")]
        body = bytearray(file.read_bytes())
        body[at:at + 4] = (0x7777).to_bytes(4, "little")
        file.write_bytes(body)
    assert lm.batched_get(mine, keys) == [lm.body(0), None, None]
    assert lm.memory_in_use() == 0


def test_same_names_and_same_directories(engine, paths):
    lm, mine, theirs = open_both(engine, paths, {})
    keys = [lm.key(number) for number in [*range(1, 13), *range(-12, 0)]]
    for key in keys:
        lm.put(mine, key, 1)
    by_us = data_files(paths)
    for key in keys:
        assert theirs.remove_sync(key)
        lm.put(theirs, key, 1)
    assert data_files(paths) == by_us
    assert len(set(by_us.values())) == len(paths)


def test_batches_keep_their_order(engine, paths):
    lm, mine, _theirs = open_both(engine, paths, {})
    keys = [lm.key(number) for number in range(1, 7)]
    lm.batched_put(mine, keys, range(6))
    asked = [keys[4], lm.key(0x999), keys[0], keys[5]]
    assert lm.batched_get(mine, asked) == [lm.body(4), None, lm.body(0), lm.body(5)]
    assert mine.batched_contains([*keys[:3], lm.key(0x999), keys[3]]) == 3
    assert lm.run(mine.batched_async_contains("id", [*keys, lm.key(0x999)])) == 6
    loaded = lm.run(mine.batched_get_non_blocking("id", [keys[0], keys[1], lm.key(0x999), keys[2]]))
    assert [lm.take(obj) for obj in loaded] == [lm.body(0), lm.body(1)]


def test_remove_tells_whether_it_was_there(engine, paths):
    lm, mine, theirs = open_both(engine, paths, {})
    lm.put(theirs, lm.key(1), 1)
    assert mine.remove_sync(lm.key(1))
    assert not mine.remove_sync(lm.key(1))
    assert not lm.run(theirs.exists(lm.key(1)))


def test_a_file_of_the_wrong_size_is_absent_and_heals(engine, paths):
    lm, mine, _theirs = open_both(engine, paths, {})
    key = lm.key(3)
    lm.put(mine, key, 1)
    (file,) = [path for directory in paths for path in directory.glob("*.data")]
    file.write_bytes(b"x" * 100)
    assert not lm.run(mine.exists(key))
    assert lm.get(mine, key) is None
    assert lm.run(mine.list()) == []
    lm.put(mine, key, 2)
    assert lm.get(mine, key) == lm.body(2)


def test_keys_that_lmcache_confuses_are_two_files(engine, paths):
    """org/m-SEP-x and org/m/x share a file in LMCache's connector, never in ours."""
    lm, mine, _theirs = open_both(engine, paths, {})
    one, two = lm.key(1, model="org/m-SEP-x"), lm.key(1, model="org/m/x")
    lm.put(mine, one, 1)
    assert not lm.run(mine.exists(two))
    lm.put(mine, two, 2)
    assert lm.get(mine, one) == lm.body(1)
    assert lm.get(mine, two) == lm.body(2)
    assert set(lm.run(mine.list())) == {one.to_string(), two.to_string()}
