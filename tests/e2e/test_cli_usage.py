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


@pytest.mark.parametrize("command", COMMANDS)
def test_unknown_option_is_a_usage_error(command):
    result = hfkv(command, "--no-such-option")
    assert result.code == 2, (result.text, result.err)
