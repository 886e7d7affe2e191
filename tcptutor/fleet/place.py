"""Where many experiments run, all of them in the same place, and how many at a time."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Sequence
from typing import NamedTuple

from tcptutor.analysis import expect
from tcptutor.backends.choice import choose
from tcptutor.backends.guest import sizes
from tcptutor.base.errors import KernelLacks, UsageError
from tcptutor.spec import Experiment

_START = 2.5
"""Seconds that a run takes beside its traffic; measured."""
_SEGMENT = 0.5e-3
"""Seconds of a core for each segment in an emulated guest, its acknowledgement included; measured."""
_PAYLOAD = 1448


class Place(NamedTuple):
    """A backend and clock, resolved from "auto"."""

    backend: str
    clock: str
    at_once: int
    why: str
    """Why that many at a time."""


async def find(experiments: Sequence[Experiment], backend: str, clock: str, jobs: int | None) -> Place:
    """The place that can run all of `experiments`: the guest as soon as one of them needs it.

    Raises LabUnavailable or KernelLacks when none can run here, UsageError for `jobs` in real time.
    """
    chosen, lacking = None, None
    for experiment in {(one.qdiscs, one.congestion_controls): one for one in experiments}.values():
        try:
            found = await choose(experiment, backend, clock)
        except KernelLacks as error:
            lacking = error  # only this experiment fails
            continue
        if chosen is None or found.name == "guest":
            chosen = found
    if chosen is None:
        assert lacking is not None
        raise lacking
    if chosen.clock == "virtual":
        at_once = jobs or min(len(os.sched_getaffinity(0)), _fitting(experiments))
        why = f"{at_once} guests at a time" if at_once > 1 else "one guest at a time"
        return Place(chosen.name, chosen.clock, at_once, why)
    if jobs is not None and jobs > 1:
        raise UsageError(
            "--jobs: runs in real time disturb each other: leave it out, or take --backend guest --clock virtual"
        )
    return Place(chosen.name, chosen.clock, 1, "one run at a time, as runs in real time disturb each other")


def _fitting(experiments: Sequence[Experiment]) -> int:
    """How many guests the free memory holds, each as large as the largest that is needed; at least one."""
    largest = sizes.DEFAULT_SIZE
    for experiment in experiments:
        with contextlib.suppress(KernelLacks):  # only this experiment fails
            largest = max(largest, sizes.size(experiment))
    return sizes.guests_that_fit(largest)


def expected_seconds(experiments: Sequence[Experiment], place: Place) -> float:
    """About how long they will take, s: by the time that a segment costs, or by the clock in real time."""
    return sum(_expected(experiment, place.clock) for experiment in experiments) / place.at_once


def _expected(experiment: Experiment, clock: str) -> float:
    flows = clock == "virtual" and experiment.total_streams
    return run_seconds(experiment, clock, expect(experiment).binding.throughput_bps if flows else 0.0)


def run_seconds(experiment: Experiment, clock: str, throughput: float) -> float:
    """About how long one run takes, s, when all its TCP flows together are expected to carry `throughput` bit/s."""
    if clock != "virtual":
        return _START + experiment.seconds
    flows = experiment.flows
    rate = throughput + experiment.pairs * flows.udp_streams * flows.udp_rate
    return _START + _SEGMENT * rate * experiment.seconds / 8 / _PAYLOAD
