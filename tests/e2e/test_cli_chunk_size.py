"""hfkv chunk-size: one number from a number, a geometry or a model's config.json."""

import json

import pytest

from harness import clean_environment, kv_samples
from harness.program import run

SAMPLE_GEOMETRY = ["--kv-layers", 6, "--chunk-tokens", 256, "--kv-heads", 12, "--kv-head-size", 32, "--kv-dtype", "bfloat16"]


def chunk_size(*options):
    return run(["chunk-size", *options], clean_environment())


def test_geometry_of_the_samples():
    result = chunk_size(*SAMPLE_GEOMETRY)
    assert (result.code, result.text) == (0, f"{kv_samples()[0].size}\n")


def test_mla_has_one_plane():
    assert chunk_size(*SAMPLE_GEOMETRY, "--kv-planes", 1).text == f"{kv_samples()[0].size // 2}\n"


@pytest.mark.parametrize("groups,header", [(None, 28), (1, 28), (3, 68)])
def test_metadata_header_is_added(groups, header):
    option = "--chunk-meta" if groups is None else f"--chunk-meta={groups}"
    assert chunk_size("--chunk-bytes", 1000, option).text == f"{1000 + header}\n"


@pytest.mark.parametrize("nested", [False, True])
def test_model_config_and_tensor_parallel(tmp_path, nested):
    model = {"num_hidden_layers": 32, "num_attention_heads": 32, "num_key_value_heads": 8, "hidden_size": 4096}
    config = tmp_path / "config.json"
    config.write_text(json.dumps({"text_config": model} if nested else model))
    whole = 2 * 32 * 256 * 8 * 128 * 2
    options = ["--model-config", config, "--chunk-tokens", 256, "--kv-dtype", "bfloat16"]
    assert chunk_size(*options).text == f"{whole}\n"
    assert chunk_size(*options, "--tensor-parallel", 4).text == f"{whole // 4}\n"
    assert chunk_size(*options, "--tensor-parallel", 16).text == f"{whole // 8}\n", "a rank has at least one head"


@pytest.mark.parametrize("options,named", [
    ([], "--chunk-bytes"),
    (["--chunk-bytes", "0"], "--chunk-bytes"),
    (["--chunk-bytes", "-5"], "--chunk-bytes"),
    (["--chunk-bytes", "12x"], "--chunk-bytes"),
    (["--chunk-bytes", "1", "--chunk-table", "t"], "one of"),
    (["--chunk-table", "/nonexistent"], "table"),
    (["--kv-layers", "6"], "--chunk-tokens"),
    (["--model-config", "/nonexistent", "--chunk-tokens", "256", "--kv-dtype", "half"], "/nonexistent"),
    ([*SAMPLE_GEOMETRY[:-1], "float13"], "float13"),
    ([*SAMPLE_GEOMETRY, "more"], "more"),
    ([*SAMPLE_GEOMETRY, "--tensor-parallel", "2"], "--tensor-parallel"),
    (["--chunk-bytes", "4096", "--tensor-parallel", "2"], "--tensor-parallel"),
    (["--chunk-bytes", "4096", "--kv-planes", "1"], "--kv-planes"),
    (["--chunk-bytes", "4096", "--chunk-tokens", "256"], "--chunk-tokens"),
    (["--model-config", "/tmp", "--chunk-tokens", "256", "--kv-dtype", "half"], "directory"),
])
def test_bad_input_is_one_line_that_names_it(options, named):
    result = chunk_size(*options)
    assert result.code != 0 and result.out == b""
    assert named in result.err and result.err.startswith("hfkv: ") and result.err.count("\n") == 1
