"""`hfkv serve` with its test controls: a bucket server of one test."""

import json
import os
import pathlib
import select
import signal
import subprocess
import time
import urllib.error
import urllib.request

from .program import Program, clean_environment, run
from .waiting import seconds

LOG_ENTRIES = 10000 # what the server keeps


class Server:
    """A local bucket server on a free port, with a data directory and a HF_HOME of its own under `directory`.

    `requests()` counts what reached it by route since the last `reset_requests()`; `faults()` makes it misbehave. Route
    names and rules: docs of `hfkv serve --test-controls`.
    """

    def __init__(self, directory, options=()):
        self.directory = pathlib.Path(directory)
        self.data = self.directory / "server-data"
        self.home = self.directory / "hf-home"
        self.data.mkdir(parents=True, exist_ok=True)
        self.home.mkdir(parents=True, exist_ok=True)
        self.options = list(options)
        self.program = None
        self.endpoint = self.token = None
        self._log_start = 0
        self._listen = "127.0.0.1:0"
        self.start()

    # ---- life ----

    def start(self):
        """Starts it; after a stop or kill on the same port and data."""
        self.program = Program(["serve", "--data", self.data, "--listen", self._listen, "--print-env", "--test-controls",
                                *self.options], clean_environment(HF_HOME=self.home), stdout=subprocess.PIPE)
        lines = dict(line.split("=", 1) for line in self._first_lines(2))
        self.endpoint, self.token = lines["HF_ENDPOINT"], lines["HF_TOKEN"]
        self._listen = self.endpoint.split("//", 1)[1]
        self._log_start = 0

    def _first_lines(self, count, within=20.0):
        pipe, text, end = self.program.process.stdout, b"", time.monotonic() + seconds(within)
        while text.count(b"\n") < count:
            left = end - time.monotonic()
            ready = select.select([pipe], [], [], max(left, 0))[0]
            piece = os.read(pipe.fileno(), 4096) if ready else b""
            if not piece:
                self.program.kill()
                raise AssertionError(f"hfkv serve did not say that it serves; stderr: {self.program.errors}")
            text += piece
        return text.decode().splitlines()[:count]

    def stop(self):
        """SIGTERM, and its exit code must be 0."""
        if self.program and self.program.running:
            self.program.signal(signal.SIGTERM)
            code = self.program.wait(20)
            assert code == 0, f"hfkv serve ended with {code}: {self.program.errors}"
        self._close_pipe()

    def kill(self):
        """SIGKILL: what it acknowledged must be there after start()."""
        self.program.kill()
        self._close_pipe()

    def _close_pipe(self):
        if self.program and self.program.process.stdout:
            self.program.process.stdout.close()

    # ---- how others reach it ----

    def environment(self, **values):
        """For programs that talk to it: HF_ENDPOINT, HF_TOKEN and HF_HOME set, everything else of the kind unset."""
        return clean_environment(**{"HF_ENDPOINT": self.endpoint, "HF_TOKEN": self.token, "HF_HOME": self.home, **values})

    def hfkv(self, *arguments, stdin=b"", within=60.0, cwd=None, **environment):
        """Runs the command line against it."""
        return run(arguments, self.environment(**environment), stdin, within, cwd)

    def http(self, method, path, body=None, headers=None, within=30.0):
        """One plain request: (status, headers, body). Errors of HTTP are results here, not exceptions."""
        request = urllib.request.Request(self.endpoint + path, method=method, headers=dict(headers or {}),
                                         data=body if body is None or isinstance(body, bytes) else json.dumps(body).encode())
        try:
            with urllib.request.urlopen(request, timeout=seconds(within)) as answer:
                return answer.status, dict(answer.headers), answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, dict(error.headers), error.read()

    def api(self, method, path, body=None, expect=(200,)):
        """One request with the write token; the JSON of the answer."""
        status, _, answer = self.http(method, path, body, {"Authorization": f"Bearer {self.token}",
                                                           "Content-Type": "application/json"})
        assert status in expect, f"{method} {path}: {status} {answer[:300]}"
        return json.loads(answer) if answer else None

    # ---- buckets, straight over the API: no code of the clients under test ----

    def create_bucket(self, bucket):
        self.api("POST", f"/api/buckets/{bucket}", {"private": True}, expect=(200, 201, 409))
        return bucket

    def object_paths(self, bucket, prefix=""):
        """Every object path of the bucket (below 1000 objects)."""
        where = f"/api/buckets/{bucket}/tree" + (f"/{prefix}" if prefix else "")
        return sorted(entry["path"] for entry in self.api("GET", f"{where}?recursive=true&limit=1000"))

    # ---- test controls ----

    def requests(self):
        """Requests by route since the last reset, the controls themselves left out."""
        return json.loads(self.http("GET", "/_control/requests")[2])

    def reset_requests(self):
        assert self.http("DELETE", "/_control/requests")[0] in (200, 204)
        self._log_start = len(self._whole_log())

    def request_log(self):
        """The requests since the last reset, oldest first: dictionaries of route, method, path, range, status."""
        log = self._whole_log()
        assert self._log_start == 0 or len(log) < LOG_ENTRIES, "the server's log wrapped around: what was before the reset is unknown"
        return log[self._log_start:]

    def _whole_log(self):
        return json.loads(self.http("GET", "/_control/log")[2])

    def faults(self, *rules):
        """Replaces the fault rules; without any, clears them."""
        answer = self.http("PUT", "/_control/faults", list(rules)) if rules else self.http("DELETE", "/_control/faults")
        assert answer[0] in (200, 204), answer
