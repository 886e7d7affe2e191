"""Export of a run for spreadsheets (CSV) and programs (JSON), and of its packets for Wireshark (pcapng)."""

from __future__ import annotations

import csv
import io
import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from msgspec.structs import asdict

from tcptutor.analysis import document, is_imported
from tcptutor.base import files
from tcptutor.base.errors import TutorError
from tcptutor.exchange.captured import captured_rtts
from tcptutor.exchange.foreign import foreign_column
from tcptutor.run import CA_STATES, SSTHRESH_INFINITE, TABLES, Run, Table, UdpSample
from tcptutor.runs import packets

NUMBERED = ("flow", "source")
"""Columns of numbers that run files count from 0, and screens, plots and exports from 1."""

UNITS: dict[str, str] = {
    "t": "s",
    "cwnd": "segments",
    "ssthresh": "segments",
    "mss": "bytes",
    "rtt": "s",
    "rttvar": "s",
    "min_rtt": "s",
    "bytes_acked": "bytes",
    "segs_out": "segments",
    "retransmits": "segments",
    "delivery_rate": "bit/s",
    "pacing_rate": "bit/s",
    "snd_wnd": "bytes",
    "busy": "s",
    "rwnd_limited": "s",
    "sndbuf_limited": "s",
    "rto": "s",
    "bytes_retrans": "bytes",
    "delivered": "segments",
    "delivered_ce": "segments",
    "unacked": "segments",
    "lost": "segments",
    "notsent": "bytes",
    "bytes_received": "bytes",
    "bytes": "bytes",
    "packets": "packets",
    "drops": "packets",
    "sent": "bytes",
    "received": "bytes",
    "jitter": "s",
    "acked": "bytes",
    "window": "bytes",
    "first": "bytes",
    "last": "bytes",
    "seconds": "s",
}
"""Units of columns; other columns are counts, states and flow numbers."""


def tables(run: Run) -> dict[str, Table[Any]]:
    """Return the run's measured tables by name; the flows' TCP state always, others only if not empty."""
    found: dict[str, Table[Any]] = {name: getattr(run, name) for name in TABLES}
    return {name: table for name, table in found.items() if name == "samples" or len(table)}


def as_csv(table: Table[Any], run: Run | None = None) -> str:
    """Return a row per instant (and flow); the header has each column's unit, as in "rtt (s)".

    Flows are counted from 1. A cell is empty for a value that an imported run lacks.
    """
    names = table.row.__struct_fields__
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    units = UNITS | ({"lost": "datagrams"} if table.row is UdpSample else {})
    writer.writerow(f"{name} ({units[name]})" if name in units else name for name in names)
    writer.writerows(zip(*(_cells(name, table, run) for name in names), strict=True))
    return text.getvalue()


def _cells(name: str, table: Table[Any], run: Run | None) -> Iterator[object]:
    if run is not None and table is run.samples and is_imported(run):
        return ("" if value is None else value for value in foreign_column(run, name))
    write: dict[str, Callable[[Any], object]] = {
        # ssthresh is infinite before the first loss: a number would ruin every mean and chart.
        "ssthresh": lambda value: "" if value == SSTHRESH_INFINITE else value,
        **dict.fromkeys(NUMBERED, lambda value: value + 1),
        "ca_state": lambda value: CA_STATES[value] if 0 <= value < len(CA_STATES) else value,
    }
    column = table.column(name)
    if column.typecode == "d":
        return ("" if math.isnan(value) else f"{value:.9g}" for value in column)
    return map(write.get(name, lambda value: value), column)


def as_json(run: Run, file: str | None) -> str:
    """Return the document of `tcptutor run --json` with every measured column."""
    document_fields = document(run, file, captured_rtts(run, Path(file) if file else None))
    document_fields["title"], document_fields["started"] = run.experiment.title, run.started
    document_fields["udp"] = [asdict(one) | {"flow": one.flow + 1, "pair": one.pair + 1} for one in run.udp]
    document_fields["units"] = UNITS
    for name, table in tables(run).items():
        columns = table.to_columns()
        if name == "samples" and is_imported(run):
            columns = {column: foreign_column(run, column) for column in columns}
        for numbered in NUMBERED:
            if numbered in columns and not (name == "samples" and is_imported(run)):
                columns[numbered] = [number + 1 for number in columns[numbered]]
        if "ssthresh" in columns:
            columns["ssthresh"] = [
                None if value == SSTHRESH_INFINITE else value for value in columns["ssthresh"]
            ]
        document_fields[name] = columns
    return json.dumps(document_fields, allow_nan=False)


@dataclass(frozen=True)
class ExportedFile:
    """A file to be written."""

    path: Path
    content: Callable[[], str | Iterable[bytes]]
    """Computes the content when it is needed."""

    def write(self) -> Path:
        """Write the file and return its path. Raises TutorError."""
        with files.atomic(self.path, "give another place with -o") as temporary:
            content = self.content()
            if isinstance(content, str):
                temporary.write_text(content)
            else:
                with temporary.open("wb") as file:
                    file.writelines(content)
        return self.path


def export_files(run: Run, source: Path, kind: str, target: Path | None) -> list[ExportedFile]:
    """Return the files of an export.

    Args:
        run: The run.
        source: Its file.
        kind: csv (with further files for the queue and ACKs), json or pcapng (with a file per interface).
        target: The first file; by default next to `source`.

    Raises:
        TutorError: The run has no packets.
    """
    target = target or source.with_suffix(f".{kind}")
    if kind == "json":
        return [ExportedFile(target, partial(as_json, run, str(source)))]
    if kind == "pcapng":
        names = captured_interfaces(source)
        return [
            ExportedFile(
                target if len(names) == 1 else target.with_stem(f"{target.stem}-{name}"),
                partial(packets.of_interface, run, source, name),
            )
            for name in names
        ]
    return [
        ExportedFile(
            target if name == "samples" else target.with_stem(f"{target.stem}-{name}"),
            partial(as_csv, table, run),
        )
        for name, table in tables(run).items()
    ]


def captured_interfaces(source: Path) -> list[str]:
    """Return the interfaces with captured packets. Raises TutorError without any."""
    if not packets.file_of(source).is_file():
        raise TutorError(
            f"{source} has no captured packets: `tcptutor run EXPERIMENT --set capture=on` makes a run with packets"
        )
    return packets.interfaces(source)
