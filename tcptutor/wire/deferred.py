"""Path changes that the agent learns only when they are due.

On the virtual clock all work of the agent takes guest time, even reading a longer request. Two runs that differ only in
deferred changes must be identical to the byte until the first change. So their requests are equal, and the changes
wait in shared memory, where a number gives the time of the next.
"""

from __future__ import annotations

import math
from array import array
from collections.abc import Iterable, MutableSequence
from typing import TypeAlias

import msgspec

from tcptutor.spec import Change, Experiment
from tcptutor.wire import plan
from tcptutor.wire.memory import largest_buffer

Numbers: TypeAlias = "MutableSequence[float] | memoryview[float]"

_NAMES = ("rate", "delay", "jitter", "loss", "queue", "link")
_NUMBERS = 3
"""Numbers per change: time in s, index of the name, value."""
MAX_CHANGES = 100
LENGTH = _NUMBERS * MAX_CHANGES + 1
"""Numbers for MAX_CHANGES changes and the end mark."""
_SET_BY_NETEM = {"delay", "jitter", "loss"}


class DeferredChanges:
    """Queue of path changes, sorted by time, in the format of `store`."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        self._numbers = array("d", [math.inf]) if numbers is None else numbers
        self._at = 0

    @property
    def due(self) -> float:
        """Time of the next change, s after the traffic began; infinite when the queue is empty.

        Reading it takes the same number of instructions in either case.
        """
        return self._numbers[self._at]

    def take(self) -> Change:
        at, name, value = (self._numbers[self._at + place] for place in range(_NUMBERS))
        self._at += _NUMBERS
        return Change(at, _NAMES[int(name)], value)


def store(numbers: Numbers, changes: Iterable[Change]) -> None:
    """Write `changes` into `numbers`.

    Args:
        numbers: Memory for LENGTH numbers.
        changes: At most MAX_CHANGES changes, sorted by time.
    """
    place = 0
    for change in changes:
        for number in (change.at, _NAMES.index(change.name), change.value):
            numbers[place] = float(number)
            place += 1
    numbers[place] = math.inf


def split_deferred(experiment: Experiment) -> tuple[Experiment, tuple[Change, ...]]:
    """Split off the path changes that the agent need not know in advance.

    Returns:
        The experiment for the request, and the changes to defer. No change is deferred if hosts or path must be
        prepared for it, by a netem that is in place from the start or by larger buffers.
    """
    path = experiment.path
    request = msgspec.structs.replace(experiment, path=msgspec.structs.replace(path, changes=()))
    shaped = plan.chain(plan.forward(path), experiment.hosts.mtu, experiment.seed)
    has_netem = any(qdisc.kind == "netem" for qdisc in shaped)
    same_qdiscs = has_netem or not _SET_BY_NETEM & {change.name for change in path.changes}
    same_buffers = largest_buffer(request) == largest_buffer(experiment)
    if len(path.changes) > MAX_CHANGES or not same_qdiscs or not same_buffers:
        return experiment, ()
    return request, path.changes
