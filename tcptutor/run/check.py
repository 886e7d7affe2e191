"""Limits that every run must satisfy, from any source, so that later code can trust its numbers.

Run files, recordings, parts, stored cells of a sweep and imports all pass `check`: numbers are finite and
within a kernel's counters, times increase, columns have equal lengths, and texts are safe to show in a
terminal.
"""

from __future__ import annotations

import math
import re
from array import array
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from operator import gt
from typing import Any

import msgspec

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.base.printable import is_printable
from tcptutor.run.bounds import LONGEST, MOST_COUNT, MOST_RATE, MOST_TIME, bounds
from tcptutor.run.record import TABLES, CapturedAt, FlowResult, Run, UdpResult
from tcptutor.run.tables import Table

FLOW_SECONDS = 4e6
"""Largest number of flows times seconds, so that a loop over both ends in time."""
TEXT = 2000
"""Characters of a sentence about a run, such as its note."""
_MAX_NAME = 200
"""Characters of a name, such as that of a kernel."""
_MAX_ENTRIES = 1024
"""Largest number of flows, and of entries in a list."""
_LATEST_YEAR = 2200
"""Latest year: 64 bits of nanoseconds since 1970, as in packet files, hold it."""
_ID = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,127}")
_INTERFACE = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,31}")
_OWNER_COLUMNS = {"flow", "host"}
"""Columns that name the owner of a row."""


def check(run: Run) -> None:
    """Raise ValueError, in a few words, if `run` breaks a limit."""
    check_frame(run)
    rows = RowsCheck(run.experiment)
    for name in TABLES:
        rows.check(name, getattr(run, name))


def check_frame(run: Run) -> None:
    """Check everything except the tables, see `check`."""
    try:
        spec.check_plausible(run.experiment)
    except ParameterError as error:
        raise ValueError(str(error)) from None
    _id(run.id)
    _started(run.started)
    _within("time of the experiment", run.experiment.seconds, 0.0, LONGEST)
    _flow_seconds(run.experiment.total_streams, run.experiment.seconds)
    where = run.environment
    for what, text in (("backend", where.backend), ("clock", where.clock), ("kernel", where.kernel)):
        _text(what, text, _MAX_NAME)
    _texts("environment", (*where.algorithms, *where.qdiscs, *where.versions, *where.versions.values()))
    _texts("lab", (*where.lab, *where.lab.values()))
    _within("hz", where.hz, 0, MOST_COUNT)
    _texts("supplied", run.supplied)
    _texts("sentences", (where.reason, run.note, *run.fidelity.reasons))
    _checks(run.fidelity.checks)
    _within("wall_s", run.wall_s, 0.0, MOST_TIME)
    _within("experiment_s", run.experiment_s, 0.0, MOST_TIME)
    _flows(run.flows, run.experiment.total_streams)
    _udp(run.udp)
    _captured(run.captured)


class RowsCheck:
    """Checks the tables of a run, each at once or in consecutive pieces."""

    def __init__(self, experiment: spec.Experiment, *, are_bounded: bool = False) -> None:
        """Prepare for the tables of a run of `experiment`; `are_bounded` if a decoder has checked their `bounds`."""
        self._streams, self._are_bounded = experiment.total_streams, are_bounded
        self._latest: dict[tuple[str, int], float] = {}

    def check(self, name: str, table: Table[Any]) -> None:
        """Raise ValueError if the rows cannot be the next rows of the table `name`."""
        if not len(table):
            return
        fields = table.row.__struct_fields__
        for field in () if self._are_bounded else fields:
            _column(f"{name}: {field}", field, table)
        owners = next((table.column(field) for field in fields if field in _OWNER_COLUMNS), None)
        most = self._streams if name in ("samples", "acks", "retransmissions") else _MAX_ENTRIES
        if owners is not None and max(owners) >= most:
            raise ValueError(f"{name}: a row of flow {max(owners)}, of {most}")
        latest = _rising(name, table.column("t"), owners, self._latest)
        _flow_seconds(len(latest), max(latest.values()))
        self._latest.update({(name, owner): t for owner, t in latest.items()})


def _column(what: str, field: str, table: Table[Any]) -> None:
    limits = bounds(field, table.kind(field))
    if limits is None:
        return
    column: Sequence[float] = table.column(field)
    if table.is_optional(field):
        column = [x for x in column if x == x]  # noqa: PLR0124  # NaN represents None and fails every comparison
    elif table.kind(field) is float and math.isnan(math.fsum(column)):
        raise ValueError(f"{what} is not a number")
    _extremes(what, column, *limits)


def _extremes(what: str, column: Sequence[float], low: float, high: float) -> None:
    if len(column):
        _within(what, min(column), low, high)
        _within(what, max(column), low, high)


def _rising(
    name: str, times: array[float], owners: array[int] | None, before: Mapping[tuple[str, int], float]
) -> dict[int, float]:
    """Return the last time of each owner. Raises ValueError if its times decrease."""
    latest = {owner: t for (table, owner), t in before.items() if table == name}
    if owners is None:
        if any(map(gt, times, times[1:])) or times[0] < latest.get(0, 0.0):
            raise ValueError(f"{name}: its times do not rise")
        return {0: times[-1]}
    if not any(map(gt, times, times[1:])) and times[0] >= max(latest.values(), default=0.0):
        return {**latest, **dict(zip(owners, times, strict=True))}  # in order of time, whosoever they are
    for owner, t in zip(owners, times, strict=True):
        if t < latest.get(owner, 0.0):
            raise ValueError(f"{name}: the times of {owner} do not rise")
        latest[owner] = t
    return latest


def _flow_seconds(flows: int, seconds: float) -> None:
    if flows * seconds > FLOW_SECONDS:
        raise ValueError(f"{flows} flows over {seconds:g} s exceed the limit of a run")


def _within(what: str, value: float, low: float, high: float) -> None:
    if not low <= value <= high:  # False for NaN
        raise ValueError(f"{what} is out of bounds")


def _text(what: str, text: str, most: int = TEXT) -> None:
    if len(text) > most:
        raise ValueError(f"{what}: {len(text)} characters, at most {most} allowed")
    if not is_printable(text):
        raise ValueError(f"{what}: control characters")


def _texts(what: str, texts: tuple[str, ...]) -> None:
    if len(texts) > _MAX_ENTRIES:
        raise ValueError(f"{what}: {len(texts)} texts, at most {_MAX_ENTRIES} allowed")
    for text in texts:
        _text(what, text)


def _id(text: str) -> None:
    if not _ID.fullmatch(text):
        raise ValueError("the id is not a plain name")


def _started(text: str) -> None:
    try:
        when = datetime.fromisoformat(text)
        fit = when.tzinfo is not None and 1970 <= when.astimezone(UTC).year <= _LATEST_YEAR
    except (ValueError, OverflowError):
        fit = False
    if not fit:
        raise ValueError("started: not a date with a time and a time zone")


def _checks(checks: Mapping[str, float | int | str | bool]) -> None:
    _texts("checks", (*checks, *(each for each in checks.values() if isinstance(each, str))))
    for name, value in checks.items():
        if not isinstance(value, str):
            _within(f"checks: {name}", value, -MOST_RATE, MOST_RATE)


def _check_numbers(what: str, result: msgspec.Struct) -> None:
    for name in result.__struct_fields__:
        value = getattr(result, name)
        if isinstance(value, str):
            _text(f"{what}: {name}", value, _MAX_NAME)
        elif value is not None:
            most = MOST_COUNT if isinstance(value, int) else MOST_RATE if name.endswith("_bps") else MOST_TIME
            _within(f"{what}: {name}", value, 0, most)


def _flows(flows: Iterable[FlowResult], streams: int) -> None:
    seen = []
    for flow in flows:
        _check_numbers("flows", flow)
        seen.append(flow.flow)
    if len(set(seen)) < len(seen) or max(seen, default=-1) >= streams:
        raise ValueError(f"flows: results do not match the {streams} flows of the experiment")


def _udp(flows: Iterable[UdpResult]) -> None:
    count = 0
    for count, flow in enumerate(flows, 1):  # noqa: B007
        _check_numbers("udp", flow)
    if count > _MAX_ENTRIES:
        raise ValueError(f"udp: {count} flows, at most {_MAX_ENTRIES} allowed")


def _captured(captured: Iterable[CapturedAt]) -> None:
    for each in captured:
        _check_numbers("captured", each)
        check_interface(each.interface)


def check_interface(name: str) -> None:
    """Raise ValueError for an invalid interface name: it becomes a part of a file name."""
    if not _INTERFACE.fullmatch(name):
        raise ValueError("captured: not an interface name")
