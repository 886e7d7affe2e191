"""Points of a sweep: the statistics over seeds for each combination of settings."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

import msgspec

from tcptutor.base.confidence import Summary, summarize
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
"""Quantities that can be drawn, with the field of a row for each."""


class PointModel(msgspec.Struct, frozen=True, kw_only=True):
    """Prediction of a model for a point, compared with the runs."""

    label: str
    throughput_bps: float
    """Mean over the runs, as a model may use the measured segment size."""
    ratio: Summary


class Point(msgspec.Struct, frozen=True, kw_only=True):
    """All runs with the same settings."""

    point: dict[str, str]
    values: dict[str, float | str | None]
    seeds: tuple[int, ...]
    measured: dict[str, Summary]
    """Statistics by field of a row, without fields that no run has."""
    models: dict[str, PointModel]
    """Predictions by model, starting with the binding model of the first run."""
    limited_by: dict[str, int]
    """Number of runs with each verdict, the most frequent first."""
    doubtful: int
    """Number of runs without valid fidelity."""
    doubt: str = ""
    """Most common first reason of these runs, compared without numbers and quoted from a run; empty if none."""


def points(rows: Sequence[Row]) -> list[Point]:
    """Group rows into points, in the order of their first rows."""
    groups: dict[tuple[tuple[str, str], ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.point.items()), []).append(row)
    return [point(group) for group in groups.values()]


def point(rows: Sequence[Row]) -> Point:
    """Combine rows with the same settings."""
    measured = {}
    for field in QUANTITIES.values():
        values = [value for row in rows if (value := getattr(row, field)) is not None]
        if values:
            measured[field] = summarize(values)
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
        models={name: _model(name, rows) for name in _predicted_models(rows)},
        limited_by=dict(Counter(row.limited_by for row in rows).most_common()),
        doubtful=len(doubtful),
        doubt=max(doubts.values(), key=len, default=[""])[0],
    )


def _predicted_models(rows: Sequence[Row]) -> list[str]:
    first = next((row.predictions for row in rows if row.predictions), ())
    return list(dict.fromkeys(prediction.model for prediction in first))


def _model(name: str, rows: Sequence[Row]) -> PointModel:
    predictions = [each for row in rows for each in row.predictions if each.model == name]
    return PointModel(
        label=predictions[0].label,
        throughput_bps=summarize([each.throughput_bps for each in predictions]).mean,
        ratio=summarize([each.ratio for each in predictions]),
    )
