"""Rows of figures, and the report made of them."""

import dataclasses
import os
import platform
import statistics
import time


class Skipped(Exception):
    """A section cannot run here; the text says why."""


@dataclasses.dataclass
class Row:
    """One figure: what was measured, what came out, what was asked for. `met` None: nothing was asked."""

    what: str
    value: str
    wanted: str = ""
    met: bool = None

    def text(self):
        verdict = {None: "", True: "  ok", False: "  MISSED"}[self.met]
        return f"{self.what}: {self.value}" + (f" (wanted: {self.wanted})" if self.wanted else "") + verdict


def median(values):
    return statistics.median(values)


def spread(values, form="{:.0f}"):
    """Median with the lowest and highest value."""
    return f"{form.format(median(values))} ({form.format(min(values))} to {form.format(max(values))})"


def mebibytes(size):
    return f"{size / (1 << 20):.1f} MiB"


def machine():
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / (1 << 30)
    with open("/etc/os-release") as release:
        system = dict(line.rstrip().split("=", 1) for line in release if "=" in line).get("PRETTY_NAME", "Linux").strip('"')
    return f"{os.cpu_count()} cores, {memory:.0f} GiB, {system}, kernel {platform.release()}"


class Report:
    """Collects sections, writes Markdown."""

    def __init__(self, quick):
        self.quick = quick
        self.sections = []

    def add(self, title, rows, notes):
        self.sections.append((title, rows, notes))

    def rows(self):
        return [row for _, rows, _ in self.sections for row in rows]

    def missed(self):
        return [row for row in self.rows() if row.met is False]

    def verdict(self):
        asked = [row for row in self.rows() if row.met is not None]
        return f"{len(asked) - len(self.missed())} of {len(asked)} figures reached"

    def markdown(self):
        lines = ["# Benchmark report", "",
                 f"{time.strftime('%Y-%m-%d %H:%M UTC', time.gmtime())}; {machine()}."
                 + (" **A quick look**: fewer and smaller runs." if self.quick else ""), "",
                 "Server, peers and hfkv share the machine. Peers alternate run by run against the same server; every run has a fresh "
                 "prefix, fresh random bytes and touched memory; values are medians (lowest to highest); MB = 10^6 bytes.", "",
                 f"**{self.verdict()}.**"]
        for title, rows, notes in self.sections:
            lines += ["", f"## {title}", ""]
            if rows:
                lines += ["| figure | value | wanted | |", "|---|---|---|---|"]
                lines += [f"| {row.what} | {row.value} | {row.wanted} | {({None: '', True: 'ok', False: '**missed**'})[row.met]} |"
                          for row in rows]
                lines.append("")
            lines += [f"- {note}" for note in notes]
        return "\n".join(lines) + "\n"
