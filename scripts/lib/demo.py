"""The demonstration behind scripts/demo: real KV chunks stored through a mount, found again, checked, and told in a page."""

import errno
import hashlib
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(CHECKOUT / "tests" / "e2e"))

from harness import HubClient, Server, kv_samples, store_like_lmcache # noqa: E402
from harness.mount import mounted_at # noqa: E402
from harness.program import is_alive # noqa: E402

BUCKET = "demo/kv"
PREFIX = "prod"
URL = f"hf://buckets/{BUCKET}/{PREFIX}"
SHOWN_ROUTES = {"xorb-put": "xorb upload", "shard-v1": "shard", "shard-v2": "shard", "batch": "batch call", "paths-info": "paths-info call",
                "tree": "tree page", "reconstruction-v1": "reconstruction", "reconstruction-v2": "reconstruction",
                "xorb-data": "xorb range"}


class DemoFailure(Exception):
    """Something did not come out as it must."""


def check(condition, message):
    if not condition:
        raise DemoFailure(message)


def megabytes(size):
    return f"{size / 1e6:.1f} MB"


def plural(count, what):
    return f"{count} {what}{'' if count == 1 else ('es' if what.endswith('ch') else 's')}"


class Demo:
    """One run. Steps print as they happen; close() leaves nothing behind."""

    def __init__(self, directory):
        self.directory = directory
        self.samples = kv_samples()
        self.full_size = self.samples[0].size
        self.total = sum(sample.size for sample in self.samples)
        self.server = None
        self.mountpoints = []

    # ---- words ----

    @staticmethod
    def step(title):
        print(f"\n\033[1m{title}\033[0m" if sys.stdout.isatty() else f"\n{title}")

    @staticmethod
    def command(text):
        print(f"  $ {text}")

    @staticmethod
    def say(text):
        print(f"  {text}", flush=True)

    def requests(self):
        """What reached the server since the last call, in words."""
        counts = {}
        for route, count in self.server.requests().items():
            if count and route in SHOWN_ROUTES:
                counts[SHOWN_ROUTES[route]] = counts.get(SHOWN_ROUTES[route], 0) + count
        self.server.reset_requests()
        return ", ".join(plural(count, what) for what, count in counts.items()) or "none"

    def hfkv(self, *arguments):
        result = self.server.hfkv(*arguments)
        check(result.code == 0, f"hfkv {' '.join(map(str, arguments))}: {result.err.strip()}")
        return result

    # ---- steps ----

    def start_server(self):
        self.step("1. A bucket server on this machine")
        self.server = Server(self.directory)
        self.server.create_bucket(BUCKET)
        self.command("hfkv serve --data DIR --print-env")
        self.say(f"serves {self.server.endpoint}; HF_ENDPOINT and HF_TOKEN point the commands below at it")

    def mount(self, name):
        mountpoint = self.directory / name
        staging = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-demo-", dir="/dev/shm"))
        mountpoint.mkdir()
        self.mountpoints.append((mountpoint, staging))
        self.command(f"hfkv mount {URL} {mountpoint} --chunk-bytes {self.full_size}")
        begun = time.monotonic()
        self.hfkv("mount", URL, mountpoint, "--chunk-bytes", self.full_size, "--staging-dir", staging)
        seconds = time.monotonic() - begun
        check(mounted_at(mountpoint), "the mount does not show in /proc/self/mountinfo")
        status = json.loads(self.hfkv("status", "--json", mountpoint).text)["mounts"][0]
        way = "FUSE passthrough: the kernel reads staged chunks without the daemon" if status["passthrough"] else \
            "no FUSE passthrough here (it needs libfuse 3.17, a kernel that has it, root): staged chunks come through the page cache"
        self.say(f"answers after {seconds * 1e3:.0f} ms; {way}")
        self.server.reset_requests()
        return mountpoint

    def store(self, mountpoint):
        self.step(f"3. Store {len(self.samples)} real KV chunks the way LMCache's fs backend does: NAME.tmp, one write, rename")
        begun = time.monotonic()
        for sample in self.samples:
            store_like_lmcache(mountpoint, sample.file_name, sample.body)
        seconds = time.monotonic() - begun
        for sample in self.samples:
            self.say(f"{sample.size:>9,} bytes  {sample.file_name}")
        self.say(f"{megabytes(self.total)} in {seconds:.2f} s ({self.total / seconds / 1e6:.0f} MB/s): "
                 "each rename returned when its chunk was in the bucket")
        self.say(f"requests: {self.requests()}")

    def unmount(self, mountpoint):
        status = json.loads(self.hfkv("status", "--json", mountpoint).text)["mounts"][0]
        self.command(f"hfkv umount {mountpoint}")
        self.hfkv("umount", mountpoint)
        staging = dict(self.mountpoints)[mountpoint]
        left = [path for path in staging.rglob("*") if path.is_file()]
        check(not mounted_at(mountpoint), "the mount is still there")
        check(not is_alive(status["pid"]), "the daemon still runs")
        check(not left, f"staged files are left: {left}")
        self.say("gone: no mount, no process, no staged file")

    def list_chunks(self, mountpoint):
        self.step("5. List")
        self.server.reset_requests()
        begun = time.monotonic()
        names = sorted(os.listdir(mountpoint))
        milliseconds = (time.monotonic() - begun) * 1e3
        check(names == sorted(sample.file_name for sample in self.samples), f"the listing is {names}")
        self.command(f"ls {mountpoint}")
        self.say(f"{len(names)} chunks, in {milliseconds:.1f} ms; requests: {self.requests()}")

    def read_pass(self, mountpoint):
        begun = time.monotonic()
        for sample in self.samples:
            digest = hashlib.sha256((mountpoint / sample.file_name).read_bytes()).hexdigest()
            check(digest == sample.sha256, f"{sample.file_name} came back with other bytes")
        return time.monotonic() - begun

    def read_back(self, mountpoint):
        self.step("6. Read every chunk back and compare SHA-256 hashes with those of the originals")
        self.server.reset_requests()
        seconds = self.read_pass(mountpoint)
        self.say(f"{len(self.samples)} of {len(self.samples)} identical: {megabytes(self.total)} in {seconds:.2f} s from the "
                 "bucket, hashing included")
        self.say(f"requests: {self.requests()}")
        seconds = self.read_pass(mountpoint)
        self.say(f"once more, now staged: {seconds:.3f} s; requests: {self.requests()}")

    def refuse_partial(self, mountpoint):
        self.step("7. A partial chunk is refused")
        size = 1_000_000
        name = "sentence-transformers-SEP-all-MiniLM-L6-v2@1@0@dead@bfloat16.data"
        before = self.server.object_paths(BUCKET)
        try:
            store_like_lmcache(mountpoint, name, self.samples[0].body[:size])
        except OSError as error:
            check(error.errno == errno.EINVAL, f"the rename failed with {error}")
            outcome = os.strerror(error.errno)
        else:
            raise DemoFailure("a partial chunk was taken")
        check(self.server.object_paths(BUCKET) == before, "the bucket changed")
        check(not (mountpoint / name).exists(), "the partial chunk shows")
        (mountpoint / name).with_suffix(".tmp").unlink()
        status = json.loads(self.hfkv("status", "--json", mountpoint).text)["mounts"][0]
        self.say(f"{size:,} of {self.full_size:,} bytes: rename says \"{outcome}\"; the bucket is unchanged; "
                 f"'hfkv status' counts {status['refusals']['partial']} refusal")

    def use_command_line(self):
        self.step("8. The same objects without a mount")
        self.command(f"hfkv ls {URL}")
        paths = self.hfkv("ls", URL).lines
        for path in paths:
            self.say(path)
        check(len(paths) == len(self.samples), "hfkv ls lists something else")
        target = self.directory / "one-chunk"
        self.command(f"hfkv get hf://buckets/{BUCKET}/OBJECT FILE")
        self.hfkv("get", f"hf://buckets/{BUCKET}/{paths[0]}", target)
        check(hashlib.sha256(target.read_bytes()).hexdigest() in {sample.sha256 for sample in self.samples}, "get gave other bytes")
        self.say("identical")

    def use_hub_client(self):
        self.step("9. The same objects with the public huggingface_hub client")
        skipped = os.environ.get("HFKV_HUB_SKIPPED")
        if skipped:
            self.say(f"skipped: {skipped}")
            return f"skipped ({skipped})"
        client = HubClient(os.environ["HFKV_HF_PYTHON"], self.server, BUCKET)
        versions = client.run("import huggingface_hub, importlib.metadata\n"
                              "result = [huggingface_hub.__version__, importlib.metadata.version('hf_xet')]")
        paths = client.paths()
        targets = {path: self.directory / f"hub-{number}" for number, path in enumerate(paths)}
        client.download(targets)
        digests = sorted(hashlib.sha256(target.read_bytes()).hexdigest() for target in targets.values())
        check(digests == sorted(sample.sha256 for sample in self.samples), "the public client got other bytes")
        self.say(f"huggingface_hub {versions[0]} with hf_xet {versions[1]} listed and downloaded {len(paths)} objects: identical")
        return f"huggingface_hub {versions[0]}: {len(paths)} objects identical"

    def run(self):
        begun = time.monotonic()
        self.start_server()
        self.step("2. Mount a bucket prefix in kv layout")
        first = self.mount("mnt-a")
        self.store(first)
        self.step("4. Unmount, and mount again elsewhere with empty staging")
        self.unmount(first)
        second = self.mount("mnt-b")
        self.list_chunks(second)
        self.read_back(second)
        self.refuse_partial(second)
        self.use_command_line()
        client = self.use_hub_client()
        self.step("10. Clean up")
        self.unmount(second)
        self.server.stop()
        self.say("server stopped")
        print(f"\nDone in {time.monotonic() - begun:.1f} s: {len(self.samples)} real KV chunks ({megabytes(self.total)}) stored through "
              f"the mount, read back identical from a second mount; a partial one refused; {client}.")

    def close(self):
        for mountpoint, staging in self.mountpoints:
            if mounted_at(mountpoint):
                self.server.hfkv("umount", "--force", mountpoint)
            if mounted_at(mountpoint):
                subprocess.run(["umount", "-l", str(mountpoint)], check=False)
            shutil.rmtree(staging, ignore_errors=True)
        if self.server and self.server.program:
            self.server.kill()


def main():
    if not os.access("/dev/fuse", os.R_OK | os.W_OK):
        print("demo: /dev/fuse cannot be used here: run as root, and give a container --device /dev/fuse --cap-add SYS_ADMIN",
              file=sys.stderr)
        return 1
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-demo-"))
    demo = Demo(directory)
    try:
        demo.run()
        return 0
    except (DemoFailure, AssertionError, OSError) as failure:
        print(f"\ndemo: FAILED: {failure}", file=sys.stderr)
        return 1
    finally:
        demo.close()
        shutil.rmtree(directory, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
