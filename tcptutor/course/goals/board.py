"""Goal board: frozen snapshot of the goals of a page, for display and storage."""

from __future__ import annotations

import msgspec


class NearMiss(msgspec.Struct, frozen=True):
    """Student's action that is almost right."""

    kind: str
    """Name of the slip, such as `acks-way`."""
    text: str
    """Effect of the action and how to correct it: a sentence or two, in one line."""


class GoalState(msgspec.Struct, frozen=True, kw_only=True):
    """State of a goal."""

    id: str
    text: str
    ticked: bool = False
    due: bool = True
    """False while an ordered page still waits for earlier goals."""
    near: NearMiss | None = None
    """Near miss of a goal that is due and not ticked."""


class GoalBoard(msgspec.Struct, frozen=True, kw_only=True):
    """States of all goals of a page, in page order."""

    goals: tuple[GoalState, ...]
    printed: NearMiss | None = None
    """Explanation of the last error message a command printed; None once a later command succeeded."""

    @property
    def reached(self) -> tuple[int, ...]:
        """Indexes of the ticked goals."""
        return tuple(place for place, goal in enumerate(self.goals) if goal.ticked)

    @property
    def done(self) -> bool:
        """True if all goals are ticked."""
        return all(goal.ticked for goal in self.goals)
