"""State of the lab in words that need no knowledge of guests and clocks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from tcptutor.backends.lab_turn import LabPlace
    from tcptutor.run import Environment

_WHERE = {
    "guest": "in a virtual machine",
    "host": "on this computer's own Linux kernel",
}


@dataclass(frozen=True)
class LabState:
    """Availability of the lab, and its environment."""

    stage: Literal["starting", "ready", "none"]
    environment: Environment | None = None
    problem: str = ""
    """Reason why no lab is available."""
    is_building: bool = False
    """True while an update has the virtual machine rebuilt."""
    place: LabPlace | None = None
    """Place in the queue for the labs of a server, while a run or session waits."""

    def headline(self, shown: Environment | None = None) -> str:
        """Return the header's words, like "virtual machine · ready", on a page that shows a run from `shown`."""
        if self.stage == "none":
            return "no lab here"
        if self.place is not None:
            return f"waiting for a lab · {self.place}"
        if self.environment is None:
            return f"the lab is {'being rebuilt' if self.is_building else 'starting'}"
        return f"{place(shown or self.environment)} · {'ready' if self.stage == 'ready' else 'starting'}"

    @property
    def sentence(self) -> str:
        """Sentence for the home screen: "Experiments run in a virtual machine. Ready."."""
        if self.stage == "none":
            return "No experiment can run here."
        if self.place is not None:
            return f"All labs are in use. You are waiting for one: {self.place}."
        if self.environment is None:
            return f"The lab is {'being rebuilt after an update: a minute or two' if self.is_building else 'starting'}."
        where = _WHERE.get(self.environment.backend)
        if where is None:
            return "Experiments are replayed from recordings."
        pace = ", in real time" if self.environment.clock == "real" else ""
        return f"Experiments run {where}{pace}. {'Ready' if self.stage == 'ready' else 'Starting'}."

    @property
    def reason(self) -> str:
        """Reason for the choice of this lab, or for its absence."""
        if self.stage == "none":
            return self.problem
        if self.environment is None:
            return "you can read and predict while it starts"
        return self.environment.reason


def place(environment: Environment) -> str:
    """Return where a run took place: "virtual machine", "this computer"."""
    match environment.backend:
        case "replay":
            return "replay of a recorded run"
        case "imported":
            return environment.reason
        case "host":
            return "this computer, real time"
        case _:
            return "virtual machine" + (", real time" if environment.clock == "real" else "")
