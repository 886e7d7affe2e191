"""The lab in words for the screen."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from tcptutor.run import Environment


@dataclass(frozen=True)
class LabState:
    """Whether the lab is there, and where."""

    stage: Literal["starting", "ready", "none"]
    environment: Environment | None = None
    problem: str = ""
    """Why there is none, one line."""

    @property
    def headline(self) -> str:
        """For the header: "guest · virtual clock · ready"."""
        if self.stage == "none":
            return "no lab here"
        if self.environment is None:
            return "the lab is starting"
        return f"{place(self.environment)} · {'ready' if self.stage == 'ready' else 'starting'}"

    @property
    def reason(self) -> str:
        """Why it is this lab, or why there is none."""
        if self.stage == "none":
            return self.problem
        if self.environment is None:
            return "you can read and predict while it starts"
        return self.environment.reason


def place(environment: Environment) -> str:
    """Where and by which clock: "guest · virtual clock"."""
    if environment.backend == "replay":
        return "replay of a recorded run"
    if environment.backend == "imported":
        return environment.reason
    return f"{environment.backend} · {environment.clock} clock"
