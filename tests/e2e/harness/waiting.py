"""Bounded waiting."""

import concurrent.futures
import os
import threading
import time

SANITIZED = os.environ.get("HFKV_SANITIZE", "") not in ("", "0")
TIME_SCALE = 5 if SANITIZED else 1


def seconds(bound):
    """A bound as the test means it, stretched for sanitizer builds."""
    return bound * TIME_SCALE


def eventually(condition, within=5.0, what="the condition"):
    """The first true value of condition(), asked again and again for at most `within` seconds."""
    end = time.monotonic() + seconds(within)
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} did not come true within {seconds(within)} s")
        time.sleep(0.01)


def at_once(count, function):
    """[function(0), ...], each in a thread of its own that waited until all were there."""
    gate = threading.Barrier(count)

    def wait_and_run(number):
        gate.wait(seconds(60))
        return function(number)

    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        return list(pool.map(wait_and_run, range(count)))
