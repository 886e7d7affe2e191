"""The points of a table: each place of the grid with what its seeds say together."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from tcptutor.sweep.confidence import Summary, summarise
from tcptutor.sweep.row import Row

_NUMBER = re.compile(r"\d[\d.]*")

QUANTITIES = {
    "throughput": "throughput_bps",
    "loss_rate": "loss_rate",
    "losses": "losses",
    "retransmits": "retransmits",
    "rtt": "mean_rtt_s",
    "cwnd": "mean_cwnd_segments",
    "jain": "jain_index",
    "completion": "completion_s",
}
"""What can be drawn, with the row's field of each."""


class PointModel(msgspec.Struct, frozen=True, kw_only=True):
    """What one model said of a point, and how the runs compare with it."""

    label: str
    throughput_bps: float
    """Mean over the runs: a model may take the segment size as measured."""
    ratio: Summary


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All runs with the same settings."""

    point: dict[str, str]
    values: dict[str, float | str | None]
    seeds: tuple[int, ...]
    measured: dict[str, Summary]
    """By the row's field; without those that no run has."""
    models: dict[str, PointModel]
    """By the model's name; the one that was binding in the first run comes first."""
    limited_by: dict[str, int]
    """How many runs have which verdict, the most frequent first."""
    doubtful: int
    """Runs whose fidelity is not valid."""
    doubt: str = ""
    """The reason that most of these give first, whatever its numbers, as one has it; empty where none is known."""


def points(rows: Sequence[Row]) -> list[Point]:
    """The points in the order in which the rows have them first."""
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.point.items()), []).append(row)
    return [point(group) for group in groups.values()]


def point(rows: Sequence[Row]) -> Point:
    """One or more rows with the same settings together."""
    measured = {}
    for field in QUANTITIES.values():
        values = [value for row in rows if (value := getattr(row, field)) is not None]
        if values:
            measured[field] = summarise(values)
    doubtful = [row for row in rows if row.fidelity != "valid"]
    doubts: dict[str, list[str]] = {}
    for row in doubtful:
        for reason in row.reasons[:1]:
            doubts.setdefault(_NUMBER.sub("", reason), []).append(reason)
    return Point(
        point=rows[0].point,
        values=rows[0].values,
        seeds=tuple(row.seed for row in rows),
        measured=measured,
        models={name: _model(name, rows) for name in _predicted(rows)},
        limited_by=dict(Counter(row.limited_by for row in rows).most_common()),
        doubtful=len(doubtful),
        doubt=max(doubts.values(), key=len, default=[""])[0],
    )


def _predicted(rows: Sequence[Row]) -> list[str]:
    """The models of the first run that has any, each once: beside an invalid one stands none."""
    first = next((row.predictions for row in rows if row.predictions), ())
    return list(dict.fromkeys(one.model for one in first))


def _model(name: str, rows: Sequence[Row]) -> PointModel:
    ones = [one for row in rows for one in row.predictions if one.model == name]
    return PointModel(
        label=ones[0].label,
        throughput_bps=summarise([one.throughput_bps for one in ones]).mean,
        ratio=summarise([one.ratio for one in ones]),
    )
