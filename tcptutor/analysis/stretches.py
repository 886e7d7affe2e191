"""The stretches of the measured time in which path and flows stay the same, each as a case."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

from tcptutor.analysis.case import Case, flow_case, goodput
from tcptutor.spec import Experiment, Path


def cases(experiment: Experiment, mss: int | None = None, rto: float | None = None) -> tuple[Case, ...]:
    """In order of time, the forward one first; at least one, unless there is no TCP flow.

    A stretch begins where the path changes or a flow starts. Before the first flow there is nothing to measure.
    """
    whole = experiment.seconds
    begins = sorted({experiment.start(flow) for flow in range(experiment.total_streams)})
    if not begins:
        return ()
    first = min(max(experiment.flows.warmup, begins[0]), whole)
    moments = {*begins, *(change.at for change in experiment.path.changes)}
    edges = [first, *sorted(moment for moment in moments if first < moment < whole), whole]
    found: list[Case] = []
    for start, end in pairwise(edges):
        found += _stretch(experiment, start, end, mss, rto)
    return tuple(found)


def _stretch(
    experiment: Experiment, start: float, end: float, mss: int | None, rto: float | None
) -> Iterator[Case]:
    path, up = _path(experiment, start)
    there = [
        flow for flow in range(experiment.total_streams) if experiment.start(flow) <= max(start, 0.0) + 1e-9
    ]
    for backward in (False, True):
        mine = [flow for flow in there if experiment.reversed(flow) == backward]
        if mine:
            yield Case(
                experiment=experiment,
                path=path,
                flows=tuple(flow_case(experiment, flow, path) for flow in mine),
                mss=mss or experiment.segment,
                ratio=goodput(experiment),
                given_rto=rto,
                seconds=end - start,
                backward=backward,
                down=not up,
            )


def _path(experiment: Experiment, moment: float) -> tuple[Path, bool]:
    """The path at `moment`, and whether its link is up."""
    path, up = experiment.path, True
    for change in experiment.path.changes:
        if change.at > moment + 1e-9:
            break
        if change.name == "link":
            up = bool(change.value)
        else:
            path = path.after(change)
    return path, up
