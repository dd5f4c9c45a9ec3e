"""Runs the benchmark sections and writes the report. See scripts/bench.

A section is a module of this folder with TITLE (a heading), and run(context), which yields report.Row values and may write
notes to context. To add one, name it in SECTIONS.
"""

import argparse
import importlib
import os
import pathlib
import shutil
import sys
import tempfile
import time

CHECKOUT = pathlib.Path(__file__).resolve().parents[2]
sys.path[:0] = [str(CHECKOUT / "tests" / "e2e"), str(pathlib.Path(__file__).parent)]

from harness import Server # noqa: E402
from report import Report, Skipped # noqa: E402

SECTIONS = ["request_counts", "hub_transfer", "staged_read", "listing", "lmcache_l2", "lmcache_connector"]


class Context:
    """What a section gets: a server of its own on tmpfs, a scratch directory on tmpfs, and how thorough to be."""

    def __init__(self, quick):
        self.quick = quick
        self.directory = pathlib.Path(tempfile.mkdtemp(prefix="hfkv-bench-", dir="/dev/shm"))
        self.server = Server(self.directory)
        self.bucket = self.server.create_bucket("bench/kv")
        self.notes = []
        self._prefixes = 0

    def runs(self, full):
        """How often to measure: `full` times, or three for a look."""
        return 3 if self.quick else full

    def fresh_prefix(self):
        """A prefix that nothing lies under."""
        self._prefixes += 1
        return f"run{self._prefixes}"

    def url(self, prefix):
        return f"hf://buckets/{self.bucket}/{prefix}"

    def note(self, text):
        self.notes.append(text)

    @property
    def hub_python(self):
        """A Python with huggingface_hub; raises Skipped when there is none."""
        if "HFKV_HF_PYTHON" not in os.environ:
            raise Skipped(f"huggingface_hub: {os.environ.get('HFKV_HUB_SKIPPED', 'HFKV_HF_PYTHON is not set')}")
        return os.environ["HFKV_HF_PYTHON"]

    def close(self):
        self.server.kill()
        shutil.rmtree(self.directory, ignore_errors=True)


def run_section(name, quick, report):
    section = importlib.import_module(name)
    print(f"== {section.TITLE}", flush=True)
    context = Context(quick)
    rows, begun = [], time.monotonic()
    try:
        for row in section.run(context):
            rows.append(row)
            print(f"   {row.text()}", flush=True)
    except Skipped as skipped:
        context.note(f"Skipped: {skipped}")
        print(f"   skipped: {skipped}", flush=True)
    finally:
        context.close()
    context.note(f"{time.monotonic() - begun:.0f} s.")
    report.add(section.TITLE, rows, context.notes)


def main():
    parser = argparse.ArgumentParser(prog="scripts/bench", description="Measure hfkv against its peers; write a report.")
    parser.add_argument("--quick", action="store_true", help="fewer and smaller runs")
    parser.add_argument("--only", action="append", choices=SECTIONS, metavar="SECTION", help="only this section")
    parser.add_argument("--list", action="store_true", help="name the sections")
    parser.add_argument("--output", default="bench/report.md")
    options = parser.parse_args()
    if options.list:
        print("\n".join(SECTIONS))
        return 0
    report = Report(options.quick)
    for name in options.only or SECTIONS:
        run_section(name, options.quick, report)
    path = pathlib.Path(options.output)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(report.markdown())
    print(f"\n{report.verdict()}; wrote {path}")
    return 1 if report.missed() else 0


if __name__ == "__main__":
    sys.exit(main())
