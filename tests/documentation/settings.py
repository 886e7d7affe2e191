"""The table of what the five documents set up, from assets/documentation/settings.toml, and its page settings.md."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from tcptutor import spec

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "assets/documentation/settings.toml"
PAGE = ROOT / "assets/documentation/settings.md"
PUBLISHED = ROOT / "assets/published"

Value = str | int


class Row(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one place of a document sets up or measures, and the settings for it. The keys are told in the file."""

    document: str
    where: str
    what: str
    parameters: dict[str, Value] = {}
    pairs: int | None = None
    vary: dict[str, list[Value]] = {}
    paper: dict[str, Value] = {}
    paper_vary: dict[str, list[Value]] = {}
    note: str = ""
    shell: bool = False

    @property
    def table(self) -> dict[str, Any]:
        """It as the table of an experiment file."""
        pairs = {} if self.pairs is None else {"pairs": self.pairs}
        return {"title": self.what, "parameters": self.parameters, "paper": self.paper, **pairs}

    @property
    def scales(self) -> tuple[str, ...]:
        return ("bench", "paper") if self.paper else ("bench",)

    def varied(self, scale: str) -> dict[str, list[Value]]:
        """What takes several values at that scale."""
        return self.paper_vary or self.vary if scale == "paper" else self.vary

    def experiments(self, scale: str) -> Iterator[spec.Experiment]:
        """Every run of it: as it stands, then with each of the varied values. Raises ParameterError or ValueError."""
        varied = self.varied(scale)
        runs = [
            dict(zip(varied, map(str, values), strict=True)) for values in zip(*varied.values(), strict=True)
        ]
        for overrides in ({}, *runs):
            yield spec.build(self.where, self.table, overrides, scale=scale)


def rows() -> list[Row]:
    """The table in the order of the file."""
    return msgspec.convert(tomllib.loads(TABLE.read_text(encoding="utf-8"))["row"], list[Row])


def documents() -> dict[str, str]:
    """The titles of the documents by the names of their files."""
    return {
        path.stem: tomllib.loads(path.read_text(encoding="utf-8"))["title"]
        for path in sorted(PUBLISHED.glob("*.toml"))
    }


def page() -> str:
    """settings.md as the table and the parameters are now."""
    table = rows()
    parts = [
        _HEAD,
        *(_document(name, title, table) for name, title in documents().items()),
        _SCALES,
        _parameters(),
    ]
    return "\n".join(parts)


_HEAD = """# The settings for every step of the documents

Written by `python -m tests.documentation` from settings.toml; edit that one.

Each line is a step, an experiment or a figure of one of the five documents, and the settings that make it here. In a
lesson they stand under `[parameters]` of an experiment file, those at paper scale under `[paper]`; on the command line
each is a `--set`, on any experiment:

    tcptutor run parallel-streams/random-loss --set rate=40Mbit/s --set delay=40ms --set loss=0 --set queue=0.6BDP

What is left out has its default. Host pairs are `pairs` of the experiment file. Where a setting has several values,
each is a run; several lists in one line go together, first with first. *Shell* is what a student types in a shell of a
host (`tcptutor shell h1`) and what sets nothing of an experiment. At paper scale (`--scale paper`) the values in the
last column replace those beside them, the others stay; – where the document prints no values of its own.
"""

_SCALES = """## How the values at bench scale are chosen

Most of the documents' paths have 1 to 100 Gbit/s, more than most machines can emulate packet by packet. What decides
in TCP is counted in segments, so this is what bench scale keeps: the window as a part of the bandwidth-delay product
(BDP), the queue in BDP, the window that random loss allows as a part of the BDP, losses enough in a run for a mean, and
the pacing rate as a part of the link. The rate is then at most 100 Mbit/s and the delay at most 100 ms. A path that was
printed without a delay gets a short one: even on a cable, the RTT times 10 Gbit/s is a BDP of tens of segments.
Segmentation offloads are off, so that one loss is one segment. At paper scale the values are the printed ones and
offloads are on; the run's fidelity check says whether the machine kept up.
"""


def _document(name: str, title: str, table: list[Row]) -> str:
    lines = [
        f"## {title}",
        "",
        f"`{name}`",
        "",
        "| where | what | settings here | at paper scale |",
        "| --- | --- | --- | --- |",
    ]
    for row in table:
        if row.document != name:
            continue
        what = row.what + (f" ({row.note})" if row.note else "")
        here = _settings(row.parameters, row.vary, row.pairs)
        if row.shell:
            here = "*shell*" + (f", on: {here}" if here else "")
        paper = _settings(row.paper, row.paper_vary) or "–"
        lines.append("| " + " | ".join(_cell(text) for text in (row.where, what, here, paper)) + " |")
    return "\n".join([*lines, ""])


def _settings(parameters: dict[str, Value], vary: dict[str, list[Value]], pairs: int | None = None) -> str:
    """ "`rate` 40 Mbit/s; `streams` 1, 2, 3": in the order of the parameters, sysctls last."""
    names = list(spec.PARAMETERS)
    every = sorted(
        {**parameters, **vary}, key=lambda name: names.index(name) if name in names else len(names)
    )
    told = [f"`{name}` {', '.join(map(str, vary.get(name, [parameters.get(name, '')])))}" for name in every]
    return "; ".join(([f"{pairs} host pair{'s' * (pairs > 1)}"] if pairs else []) + told)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


_UNITS = {
    "rate": "bit/s, kbit/s, Mbit/s, Gbit/s",
    "time": "µs, ms, s, min",
    "ratio": "%, ‰",
    "size": "bytes, kB, MB, KiB, MiB",
    "window": "bytes, kB, MB, KiB, MiB, BDP",
    "count": "a whole number",
    "number": "a number",
    "name": "a name",
    "changes": "that of what changes",
    "trace": "seconds and a rate",
}
_COMPUTED = {"queue": "1 BDP", "reverse_queue": "1 BDP"}
"""Defaults that `spec.build` makes from other parameters; 64 frames at least."""


def _parameters() -> str:
    lines = [
        "## The parameters",
        "",
        "| name | what it is | unit | bounds | default |",
        "| --- | --- | --- | --- | --- |",
    ]
    plain = spec.Experiment(name="")
    for name, known in spec.PARAMETERS.items():
        default = _COMPUTED.get(name) or known.text(known.of(plain))
        cells = (f"`{name}`", known.help, _UNITS[known.kind], known.bounds, default)
        lines.append("| " + " | ".join(map(_cell, cells)) + " |")
    return "\n".join([*lines, "", _SYSCTLS])


_SYSCTLS = """Any `net.ipv4.tcp_*` setting of the kernel is a parameter, too, by its name from `tcp_` on, for all hosts:
`tcp_sack = "0"`, `tcp_rmem = "4096 87380 6291456"`. Lists have one entry for each pair, or for each flow with one pair.
A size in BDP needs a rate and a delay. The default queue has room for 64 frames at least.

## Traffic that varies

**A rate trace**, `--set rate_trace=FILE`, is a table with a header and a line per step, `seconds,Mbit/s`, or a trace
of mahimahi: a line per packet of 1504 bytes with its millisecond, counted in steps of 0.2 s. Steps begin at 0 s and
are at least 0.2 s apart, at most 1000 in a run; rates below 100 kbit/s become 100 kbit/s in traces of mahimahi and
are refused in tables. The experiment stores the steps of its time, not the name of the file, so run files and
hand-ins are complete. After the last step the rate stays. Each step lets up to two frames pass at once. An experiment
of a course names a file next to its own. The models expect the mean rate; their tolerance covers the time above the
mean.

**Short flows** begin next to the long ones at times of a Poisson process and connect, send `short_size` on average and
end. The seed decides times, sizes and pairs. pareto has the exponent 1.5 and is cut off at 300 times its smallest size.
**Requests** go from the receiving host of a flow: it sends 200 bytes, waits for the answer, thinks for `think_time` and
asks again. For both, a run stores start, payload and seconds of each transfer in its table transfers, which `tcptutor
export` writes to a file of its own: from the call to connect, or from the request, until the last byte has arrived. The
report has their percentiles; a transfer without an end in the run counts up to then (Kaplan-Meier), so percentiles of
the tail are neither too low nor too high. With `on_times` and `off_time` an application writes and pauses; what is in
its send buffer still leaves in the pause. No model covers flows that pause or answer requests. Each flow has one of
`messages`, `on_times` and `requests`.

**Changes during a run**, `--set "changes=5 s algorithm=bbr; 8 s mtu=900"`: the algorithm is set on all open
connections of the long flows. The MTU is set on all interfaces; larger packets on their way are lost, and a
connection never exceeds the segment size of its start.

**Streams that come and go**, `--set "changes=5 s streams=4; 10 s pair 2 streams=1"`: from that time on each pair, or
the named pair, has so many streams. New streams connect then; of too many, the youngest close: what the application
has written still leaves, so a flow ends some round trips later. A closed flow never returns, later streams have
numbers of their own. Means of a flow cover its own time, shares are those of all payload, and Jain's index compares
the flows in the longest time without a change. The models add up their predictions of each stretch between changes;
expected trajectories of cwnd need a constant number of flows and are left out.
"""
