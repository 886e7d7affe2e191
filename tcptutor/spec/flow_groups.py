"""Groups of TCP flows with equal settings. Their order decides the flows' source ports."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.spec.definition import Experiment

PORTS_PER_RUN = 512
"""Source ports reserved for the flows of a run."""
PLANNED_PORTS = range(40_000, 40_000 + 48 * PORTS_PER_RUN)
"""Source ports of planned flows; no other connection of a lab host gets one of them."""


class FlowSettings(NamedTuple):
    """Settings of a TCP flow that all flows of its group share."""

    pair: int
    start: float
    end: float | None
    is_reversed: bool
    algorithm: str
    message: int | None
    on_time: float | None
    request: int | None


def flow_groups(experiment: Experiment) -> dict[FlowSettings, tuple[int, ...]]:
    """Return the numbers of the flows of each group; ports are consecutive in the order of all groups."""
    groups: dict[FlowSettings, tuple[int, ...]] = {}
    for flow in range(experiment.total_streams):
        settings = FlowSettings(
            experiment.pair_of(flow),
            experiment.start(flow),
            experiment.end(flow),
            experiment.reversed(flow),
            experiment.algorithm(flow),
            experiment.message(flow),
            experiment.on_time(flow),
            experiment.request(flow),
        )
        groups[settings] = (*groups.get(settings, ()), flow)
    return groups
