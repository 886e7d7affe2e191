"""Changes of the path that the agent does not know of before their time.

On the virtual clock everything that the agent does takes time of the guest's, reading a longer request too. Two runs
that differ only in what changes later are equal to the byte before that: the request is the same, and what changes
waits in memory, where one number says when to look.
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
"""Of each change: its time in s, the place of its name, its value."""
MOST = 100
"""Changes that can wait."""
LENGTH = _NUMBERS * MOST + 1
"""Numbers that they take at most, with the end."""
_BY_NETEM = {"delay", "jitter", "loss"}


class LaterChanges:
    """Those that still wait, in order of time."""

    def __init__(self, numbers: Numbers | None = None) -> None:
        """numbers: as `put` has left them; none wait without."""
        self._numbers = array("d", [math.inf]) if numbers is None else numbers
        self._at = 0

    @property
    def due(self) -> float:
        """When the next one is, s after the traffic began; infinite for none.

        Looking takes the same number of instructions whatever there is.
        """
        return self._numbers[self._at]

    def take(self) -> Change:
        """The next one, which then waits no more."""
        at, name, value = (self._numbers[self._at + place] for place in range(_NUMBERS))
        self._at += _NUMBERS
        return Change(at, _NAMES[int(name)], value)


def put(numbers: Numbers, changes: Iterable[Change]) -> None:
    """Leave `changes`, MOST at most and in order of time, in `numbers`, which has room for LENGTH."""
    place = 0
    for change in changes:
        for number in (change.at, _NAMES.index(change.name), change.value):
            numbers[place] = float(number)
            place += 1
    numbers[place] = math.inf


def parted(experiment: Experiment) -> tuple[Experiment, tuple[Change, ...]]:
    """What the agent has to know at first, and what may wait until its time.

    Nothing waits where the hosts or the path have to be set up for it: a netem that stands ready, larger buffers.
    """
    path = experiment.path
    before = msgspec.structs.replace(experiment, path=msgspec.structs.replace(path, changes=()))
    shaped = plan.chain(plan.forward(path), experiment.hosts.mtu, experiment.seed)
    netem = any(qdisc.kind == "netem" for qdisc in shaped)
    alike = netem or not _BY_NETEM & {change.name for change in path.changes}
    if len(path.changes) > MOST or not alike or largest_buffer(before) != largest_buffer(experiment):
        return experiment, ()
    return before, path.changes
