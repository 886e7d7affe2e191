"""Run files, parts, and what other programs have measured; and all that is done with a run that was let in."""

from __future__ import annotations

import contextlib
import io
import json
import shutil
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import msgspec
from click import unstyle

from tcptutor import analysis
from tcptutor.backends import replay
from tcptutor.base import places
from tcptutor.base.errors import TutorError
from tcptutor.base.printable import is_printable
from tcptutor.commands.report import report_lines
from tcptutor.commands.runs import _lines, _stored_run
from tcptutor.course.experiments import Catalogue
from tcptutor.exchange import curves, export, import_runs
from tcptutor.history.listing import ListedRun
from tcptutor.history.summary import summarize
from tcptutor.run import TABLES, Finished, Run, load, save
from tcptutor.run.files import text_lines
from tcptutor.runs import packets, parts
from tcptutor.runs.parts import PartHead
from tcptutor.sweep.results import run_row
from tcptutor.wire import protocol
from tests.exchange.test_packets import pieces
from tests.fuzz.reader import Reader
from tests.ui import lives

_ROOT = Path(__file__).parents[2]
_LARGEST = 40_000
"""Bytes of a recording that is mutated: more of one tells nothing more."""


@cache
def kept_runs() -> list[Path]:
    """Some of every kind: tables of ACKs, of UDP, of senders; several flows."""
    recorded = sorted((places.assets() / "recorded").rglob("*.tcprun"))
    small = [path for path in recorded if path.stat().st_size < _LARGEST]
    real = sorted((_ROOT / "analysis" / "runs").glob("*.tcprun"))
    return [*small[:: max(1, len(small) // 12)], *real[:6], _ROOT / "run" / "files" / "two-flows.tcprun"]


def _runs() -> list[bytes]:
    return [path.read_bytes() for path in kept_runs()]


def _plain_runs() -> list[bytes]:
    """Few samples, so that every number has its turn."""
    found = []
    for path in kept_runs():
        run = load(path)
        for name in TABLES:
            setattr(run, name, getattr(run, name)[-20:])
        found.append(b"".join(text_lines(run)))
    return found


def _parts() -> list[bytes]:
    found = [(_ROOT / "run" / "files" / "cut.tcprun.part").read_bytes()]
    for path in kept_runs()[::4]:
        run = load(path)
        head = PartHead(run.id, run.experiment, run.environment, run.started)
        events: Iterator[protocol.Event] = iter(
            [
                *list(replay.playback(run))[:15],
                Finished(tuple(run.flows), run.fidelity, run.experiment_s, run.complete, tuple(run.udp)),
            ]
        )
        found.append(msgspec.json.encode(head) + b"\n" + b"".join(map(protocol.line, events)))
    return found


def _imports(*patterns: str) -> list[bytes]:
    folder = _ROOT / "exchange" / "files"
    return [path.read_bytes() for pattern in patterns for path in sorted(folder.glob(pattern))]


@cache
def _catalogue() -> Catalogue:
    return Catalogue(places.lessons())


def use(run: Run, file: Path) -> None:
    """What the program does with a run. Raises TutorError only; asserts that what it says can be shown."""
    whole = json.dumps(analysis.document(run, str(file)), allow_nan=False)
    assert is_printable(whole), "the document has control characters"
    result = analysis.report(run)
    lines = [] if result.is_empty else report_lines(run, result, file, True)
    with contextlib.suppress(TutorError):
        kept = _stored_run(ListedRun(file, None), summarize(run, _catalogue()))
        lines += [*_lines([kept]), str(msgspec.json.encode(kept))]
    for line in lines:
        assert is_printable(unstyle(str(line))), f"a line has control characters: {str(line)!r}"
    for table in export.tables(run).values():
        export.as_csv(table)
    export.as_json(run, str(file))
    with contextlib.suppress(TutorError):
        run_row(run)
    for quantity in (curves.cwnd, curves.rtt, curves.throughput, curves.retransmissions, curves.acknowledged):
        for overlaid in (True, False):
            quantity(run, overlaid)
    curves.queue(run, False)
    throughput = analysis.Throughput()
    throughput.add(run.samples)
    throughput.points  # noqa: B018
    for _ in replay.playback(run):
        pass
    replay.provenance(run)
    _draw(run)
    packets.begin_ns(run)


def _draw(run: Run) -> None:
    """The app's picture of it, and what it tells of an instant and a part of the time."""
    live = lives.live_of(run)
    for width, height in ((80, 24), (40, 10)):
        lives.screen(live, width, height)
    seen = analysis.Instants(run)
    for t in (0.0, run.experiment.seconds / 2, run.sampled_until):
        seen.at(t, 0.2)
    analysis.insight(run)


def _read_run(path: Path) -> None:
    use(load(path), path)


def _read_part(path: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="tcptutor-fuzz-part-") as name:
        folder = Path(name)
        part = folder / "x.tcprun.part"
        shutil.copy(path, part)
        told: list[str] = []
        runs = parts.recover(folder, told.append)
        # That of a newer tcptutor is left for it.
        newer = path.read_bytes().partition(b"\n")[0].rpartition(b"format_version")[2] not in (b'":3}', b"")
        assert newer or not part.exists(), "the part is still there"
        for line in told:
            assert is_printable(line), f"says what is not printable: {line!r}"
        for run in runs:
            use(load(folder / "x.tcprun"), folder / "x.tcprun")
            assert run.id
        assert len(told) <= 1 and len(runs) <= 1


def _read_import(path: Path) -> None:
    with contextlib.redirect_stdout(io.StringIO()):
        for number, run in enumerate(import_runs(path)):
            kept = path.with_name(f"imported-{number}.tcprun")
            save(run, kept)
            use(load(kept), kept)


def _captures() -> list[bytes]:
    """The packets of a run of one flow, at both of its ends."""
    with tempfile.TemporaryDirectory(prefix="tcptutor-fuzz-packets-") as name:
        file = Path(name, "x.tcprun")
        packets.save(_captured_run(), [pieces("h2-eth0"), pieces("h1-eth0")], file, "")
        return [packets.file_of(file).read_bytes()]


@cache
def _captured_run() -> Run:
    run = load(_ROOT / "analysis" / "runs" / "slow-start.tcprun")
    flows = msgspec.structs.replace(run.experiment.flows, capture=True)
    run.experiment = msgspec.structs.replace(run.experiment, flows=flows)
    return run


def _read_capture(path: Path) -> None:
    run, file = _captured_run(), path.with_name("x.tcprun")
    path.rename(packets.file_of(file))
    for name in packets.interfaces(file):
        for _ in packets.of_interface(run, file, name):
            pass
    export.export_files(run, file, "pcapng", None)
    analysis.sequence_of_packets(run, 0, packets.load(run, file))


READERS: tuple[Reader, ...] = (
    Reader("run files", ".tcprun", _runs, _read_run),
    Reader("run files as text", ".tcprun", _plain_runs, _read_run),
    Reader("parts", ".part", _parts, _read_part),
    Reader("captures", ".pcapng", _captures, _read_capture),
    Reader("iperf3", ".json", lambda: _imports("iperf3-*.json", "iperf3-*.jsonl"), _read_import),
    Reader("flent", ".flent.gz", lambda: _imports("flent-*"), _read_import),
)
