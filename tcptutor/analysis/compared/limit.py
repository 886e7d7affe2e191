"""The cause that limited a flow or a run, what is said of it, and the time that this is said of.

Unless one cause took nearly all of the time, it is told of its own longest episode: "from 2 to 6 s ...".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tcptutor.analysis.compared.clauses import clause
from tcptutor.analysis.compared.episodes import Episode, longest, telling
from tcptutor.analysis.compared.findings import Findings
from tcptutor.analysis.compared.rules import cause
from tcptutor.theory.models import LimitedBy

MOST_TURNS = 3
"""More than that many causes in turn are not a story."""

_WHOLE: frozenset[LimitedBy] = frozenset({"application", "timeout"})
"""What limits a flow by the time that it takes in all, though no single second may be full of it."""

_ENOUGH = 0.2
"""Share of the time from which a cause is worth telling that all the time together does not name."""

_NEARLY_ALL = 0.8
"""Share of the time from which a cause may be told of all of it."""

_AS_GOOD = 0.8
"""Share of the longest cause's time from which the cause after a change of the path is told instead."""

Between = Callable[[float, float], Findings | None]
"""Findings from one time to another, s; None where nothing was measured then."""


@dataclass(frozen=True)
class ShownLimit:
    """One cause, shown by the samples of a time."""

    limited_by: LimitedBy
    reason: str
    """Empty where nothing can be shown."""
    findings: Findings
    """Of the time that the reason is about."""
    episode: Episode | None = None
    """That time; None for all of it."""


def find_limit(
    whole: Findings, shares: Mapping[LimitedBy, float], turns: Sequence[Episode], between: Between
) -> ShownLimit:
    """Return the cause that took the most time and can be shown; `unexplained` where none can.

    Timeouts and an idle application count by the time that they take in all.

    Args:
        whole: Findings of all the time.
        shares: Share of the time of each cause, the most telling first.
        turns: The causes in turn.
        between: Findings of a part of the time.
    """
    first = cause(whole)
    ranked = [name for name, share in shares.items() if share >= _ENOUGH or name == first]
    names = [first, *ranked] if first in _WHOLE or not ranked else [*ranked, first]
    if names[0] == "timeout" and first == "random-loss":
        # Too few timeouts to be the limit of all the time: they are a part of what the losses cost.
        names.insert(0, first)
    story = 2 <= len(telling(turns)) <= MOST_TURNS
    for name in names:
        tries = [_over_all(name, whole), _over(longest(turns, name), between)]
        if story and name not in _WHOLE and shares.get(name, 1.0) < _NEARLY_ALL:
            tries.reverse()
        if (limit := next(filter(None, tries), None)) is not None:
            return limit
    return ShownLimit("unexplained", "", whole)


def _over_all(name: LimitedBy, whole: Findings) -> ShownLimit | None:
    """Return the limit where a clause of its cause holds over all the time."""
    said = clause(name, whole)
    return ShownLimit(name, said, whole) if said else None


def _over(episode: Episode | None, between: Between) -> ShownLimit | None:
    """Return the limit where a clause of its cause holds over its longest episode."""
    found = between(episode.start, episode.end) if episode is not None else None
    if episode is None or found is None or not (said := clause(episode.limited_by, found)):
        return None
    times = f"from {moment(episode.start)} to {moment(episode.end)} s"
    return ShownLimit(episode.limited_by, f"{times} {said}", found, episode)


def favor_after(
    shares: Mapping[LimitedBy, float], after: Mapping[LimitedBy, float]
) -> dict[LimitedBy, float]:
    """Return `shares` with the first cause `after` a change of the path in front, where it took nearly as much."""
    top = max(shares.values(), default=0.0)
    favored = next((name for name in after if shares.get(name, 0.0) >= _AS_GOOD * top), None)
    if favored is None or favored != next(iter(after)):
        return dict(shares)
    return {favored: shares[favored], **{name: share for name, share in shares.items() if name != favored}}


def moment(t: float) -> str:
    """Return a time in seconds with two decimals at most."""
    return f"{round(t, 2):g}"
