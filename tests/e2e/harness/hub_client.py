"""The public huggingface_hub client, run in a Python that has it: the peer of the interop tests."""

import json
import os
import subprocess
import sys

from .waiting import seconds

PROBE = "import huggingface_hub, hf_xet, sys; huggingface_hub.HfApi.batch_bucket_files; print(huggingface_hub.__version__)"


def find_python():
    """A Python that can import huggingface_hub with buckets, or None."""
    for python in (os.environ.get("HFKV_HF_PYTHON"), sys.executable):
        if python and subprocess.run([python, "-c", PROBE], capture_output=True, timeout=seconds(60), check=False).returncode == 0:
            return python
    return None


class HubClient:
    """Runs snippets with `api` (a HfApi), `bucket` and `arguments` defined; a snippet sets `result`, which must be JSON."""

    def __init__(self, python, server, bucket):
        self.python, self.server, self.bucket = python, server, bucket

    def run(self, code, within=120.0, **arguments):
        script = ("import json, sys\nfrom huggingface_hub import HfApi\n"
                  "bucket, arguments = json.loads(sys.stdin.read())\napi, result = HfApi(), None\n"
                  f"{code}\njson.dump(result, open(arguments['_result'], 'w'))\n")
        result_file = self.server.directory / "hub-client-result.json"
        ended = subprocess.run([self.python, "-c", script], input=json.dumps([self.bucket, {**arguments, "_result": str(result_file)}]),
                               env=self.server.environment(HF_HUB_DISABLE_TELEMETRY="1", HF_HUB_DISABLE_PROGRESS_BARS="1"),
                               capture_output=True, text=True, timeout=seconds(within), check=False)
        assert ended.returncode == 0, f"the huggingface_hub client failed: {ended.stderr[-3000:]}"
        return json.loads(result_file.read_text())

    def upload(self, files):
        """Stores {object path: local file} as one batch."""
        self.run("api.batch_bucket_files(bucket, add=[(source, path) for path, source in arguments['files'].items()])",
                 files={path: str(source) for path, source in files.items()})

    def download(self, files):
        """Fetches {object path: local file}."""
        self.run("api.download_bucket_files(bucket, [(path, target) for path, target in arguments['files'].items()])",
                 files={path: str(target) for path, target in files.items()})

    def paths(self):
        return sorted(self.run("result = [entry.path for entry in api.list_bucket_tree(bucket, recursive=True)]"))
