"""What a quantity is that a goal is written in."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, NamedTuple

from tcptutor.course.goals.lab_view import ALGORITHM, LabView

SYSCTL = re.compile(r"sysctl\.(?:(?P<host>[hs]\d)\.)?(?P<name>tcp_[a-z0-9_]{1,60}|ip_forward|[rw]mem_max)")


class GoalQuantity(NamedTuple):
    """One quantity."""

    name: str
    kind: str
    """units.Kind, `algorithm`, `sysctl` or `address`."""
    value: Callable[[LabView], Any]
    """In base units, None where it has none; of several hosts a tuple."""
    choices: tuple[str, ...] = ()
    about_run: bool = False
    at_end: bool = False
    """Whether a run has it only when it has ended."""
    host: str = ""
    """Whose sysctl it is; empty for that of all hosts, and for anything else."""

    @property
    def sysctl(self) -> str:
        """The sysctl that sets it, by the last part of its name; empty for what none does."""
        found = SYSCTL.fullmatch(self.name)
        return found["name"] if found else ALGORITHM if self.name == "hosts.algorithm" else ""
