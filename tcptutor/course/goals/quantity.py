"""Quantities in which goals are written."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tcptutor.course.goals.lab_view import ALGORITHM, LabView

SYSCTL = re.compile(r"sysctl\.(?:(?P<host>[hs]\d)\.)?(?P<name>tcp_[a-z0-9_]{1,60}|ip_forward|[rw]mem_max)")


class GoalQuantity(NamedTuple):
    """Quantity of the lab or of a run."""

    name: str
    kind: str
    """units.Kind, `algorithm`, `sysctl` or `address`."""
    value: Callable[[LabView], Any]
    """Value in base units, or None; a tuple for several hosts."""
    choices: tuple[str, ...] = ()
    about_run: bool = False
    at_end: bool = False
    """True if only a finished run has it."""
    host: str = ""
    """Host of a sysctl; empty for all hosts and for other quantities."""

    @property
    def sysctl(self) -> str:
        """Name of the sysctl behind the quantity, or empty."""
        found = SYSCTL.fullmatch(self.name)
        return found["name"] if found else ALGORITHM if self.name == "hosts.algorithm" else ""
