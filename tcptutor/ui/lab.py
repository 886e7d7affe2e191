"""What the app needs of the lab, and what it says about it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from typing import Literal, Protocol

from tcptutor.lab.protocol import Event
from tcptutor.run import Environment
from tcptutor.spec import Experiment


class LabLike(Protocol):
    """The lab as the app sees it; `tcptutor.backends.lab.Lab` is one."""

    @property
    def environment(self) -> Environment | None:
        """Where it runs; None before it is up."""
        ...

    async def warm(self) -> Environment:
        """Bring it up. Raises LabUnavailable."""
        ...

    def run(self, experiment: Experiment) -> AsyncIterator[Event]:
        """The events of one run; raises LabError or LabUnavailable. Closing it early stops the run."""
        ...

    async def close(self) -> None:
        """Never raises."""
        ...


@dataclass(frozen=True)
class LabState:
    """The lab, in words for the screen."""

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
