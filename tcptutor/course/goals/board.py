"""How the goals of a page stand at one moment: frozen, to be shown, kept and told."""

from __future__ import annotations

import msgspec


class NearMiss(msgspec.Struct, frozen=True):
    """Something that was done and is nearly right."""

    kind: str
    """Such as `acks-way`: the same slip has the same name."""
    text: str
    """What it does, and what to do instead: a sentence or two, in one line."""


class GoalState(msgspec.Struct, frozen=True, kw_only=True):
    """One goal."""

    id: str
    text: str
    ticked: bool = False
    due: bool = True
    """Whether its turn has come, where goals are reached one after the other."""
    near: NearMiss | None = None
    """Of one that is due and not ticked."""


class GoalBoard(msgspec.Struct, frozen=True, kw_only=True):
    """All goals of a page, in its order."""

    goals: tuple[GoalState, ...]
    printed: NearMiss | None = None
    """What the last error message that a command printed means; None once something came of another."""

    @property
    def reached(self) -> tuple[int, ...]:
        """Where the ticked ones stand, from 0."""
        return tuple(place for place, goal in enumerate(self.goals) if goal.ticked)

    @property
    def done(self) -> bool:
        """Whether all are ticked."""
        return all(goal.ticked for goal in self.goals)
