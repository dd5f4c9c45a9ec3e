"""The command line's frame: help, unknown commands, exit codes of usage errors."""

import pytest

from harness import clean_environment
from harness.program import run

COMMANDS = ["mount", "umount", "status", "ls", "stat", "put", "get", "rm", "verify", "chunk-size", "kv", "serve", "doctor"]


def hfkv(*arguments):
    return run(arguments, clean_environment(HF_HOME="/nonexistent"))


def test_help_names_every_command():
    result = hfkv("--help")
    assert result.code == 0
    listed = [line.split()[0] for line in result.lines if line.startswith("  ")]
    assert listed == COMMANDS or sorted(listed) == sorted(COMMANDS)


def test_no_command_is_a_usage_error():
    assert hfkv().code == 2


def test_unknown_command_is_one_line_on_stderr():
    result = hfkv("mnt")
    assert (result.code, result.out) == (2, b"")
    assert result.err == "hfkv: no command 'mnt' (see 'hfkv --help')\n"


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    result = hfkv(command, "--help")
    assert result.code == 0, result.err
    assert f"hfkv {command}" in result.text
    assert not [line for line in result.lines if line and not line.strip()], "a line of blanks"
    for asked in [(command, "-h"), ("help", command)]:
        assert hfkv(*asked).text == result.text


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option_is_a_usage_error(command):
    result = hfkv(command, "--no-such-option")
    assert result.code == 2, (result.text, result.err)


@pytest.mark.parametrize("arguments,named", [
    (["ls", "--frob", "hf://buckets/a/b"], "no option '--frob'"),
    (["ls", "hf://buckets/a/b", "--frob=1"], "no option '--frob'"),
    (["mount", "-x", "hf://buckets/a/b", "/mnt", "--chunk-bytes", "3"], "no option '-x'"),
    (["mount", "-fx", "hf://buckets/a/b", "/mnt"], "no option '-x'"),
    (["mount", "--staging-dir", "--frob", "--bad", "hf://buckets/a/b"], "no option '--bad'"),
    (["mount", "--foreground=1", "hf://buckets/a/b", "/mnt"], "'--foreground' takes no value"),
    (["kv", "list", "-c"], "'-c' needs a value (FILE)"),
    (["kv", "list", "--config"], "'--config' needs a value (FILE)"),
])
def test_a_bad_option_is_named_wherever_it_stands(arguments, named):
    result = hfkv(*arguments)
    assert result.code == 2 and named in result.err and result.err.count("\n") == 1, result.err
