"""Limiting cause of a flow or run, with its sentence and the time span of the sentence.

Unless one cause takes nearly all the time, the sentence describes its longest episode: "from 2 to 6 s ...".
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from tcptutor.analysis.compared.clauses import cause, clause
from tcptutor.analysis.compared.episodes import Episode, longest, notable_episodes
from tcptutor.analysis.compared.findings import Findings, conclude
from tcptutor.analysis.observed.facts import Facts
from tcptutor.base.causes import LimitedBy

MOST_TURNS = 3
"""Largest number of successive causes in a sentence."""

_WHOLE: frozenset[LimitedBy] = frozenset({"application", "timeout"})
"""Causes judged by their total time, because they may not fill any single second."""

_ENOUGH = 0.2
"""Least share of the time for a cause that is not the overall cause."""

_NEARLY_ALL = 0.8
"""Share of the time from which a cause may describe all of it."""

_AS_GOOD = 0.8
"""Share of the longest cause's time from which the cause after a change of the path replaces it."""

Between = Callable[[float, float], Facts | None]
"""Function from start and end, s, to facts; None without measurements."""


@dataclass(frozen=True)
class ShownLimit:
    """Cause supported by the samples of a time span."""

    limited_by: LimitedBy
    reason: str
    """Sentence; empty if the evidence does not support any."""
    findings: Findings
    """Findings of the time span that the reason describes."""
    episode: Episode | None = None
    """Time span of the reason; None for all the time."""


def find_limit(
    facts: Facts, shares: Mapping[LimitedBy, float], turns: Sequence[Episode], between: Between
) -> ShownLimit:
    """Return the cause of the most time that the evidence supports; `unexplained` without any.

    Timeouts and an idle application count by their total time.

    Args:
        facts: Facts over all the time.
        shares: Share of the time of each cause, the first candidate first.
        turns: Episodes in order of time.
        between: Function that returns the facts of a time span.
    """
    whole = conclude(facts)
    overall = cause(whole)
    ranked = [name for name, share in shares.items() if share >= _ENOUGH or name == overall]
    names = [overall, *ranked] if overall in _WHOLE or not ranked else [*ranked, overall]
    if names[0] == "timeout" and overall == "random-loss":
        # With few timeouts, they are part of the cost of the losses.
        names.insert(0, overall)
    story = 2 <= len(notable_episodes(turns)) <= MOST_TURNS
    for name in names:
        tries = [_over_all(name, whole), _over(longest(turns, name), between)]
        if story and name not in _WHOLE and shares.get(name, 1.0) < _NEARLY_ALL:
            tries.reverse()
        if (limit := next(filter(None, tries), None)) is not None:
            return limit
    return ShownLimit("unexplained", "", whole)


def _over_all(name: LimitedBy, whole: Findings) -> ShownLimit | None:
    """Return the limit if a clause of its cause holds over all the time."""
    text = clause(name, whole)
    return ShownLimit(name, text, whole) if text else None


def _over(episode: Episode | None, between: Between) -> ShownLimit | None:
    """Return the limit if a clause of its cause holds over its longest episode."""
    facts = between(episode.start, episode.end) if episode is not None else None
    if episode is None or facts is None:
        return None
    findings = conclude(facts)
    text = clause(episode.limited_by, findings)
    if not text:
        return None
    times = f"from {moment(episode.start)} to {moment(episode.end)} s"
    return ShownLimit(episode.limited_by, f"{times} {text}", findings, episode)


def favor_after(
    shares: Mapping[LimitedBy, float], after: Mapping[LimitedBy, float]
) -> dict[LimitedBy, float]:
    """Return `shares` with the leading cause after a change of the path in front, if it took nearly as much."""
    top = max(shares.values(), default=0.0)
    favored = next((name for name in after if shares.get(name, 0.0) >= _AS_GOOD * top), None)
    if favored is None or favored != next(iter(after)):
        return dict(shares)
    return {favored: shares[favored], **{name: share for name, share in shares.items() if name != favored}}


def moment(t: float) -> str:
    """Return a time in seconds with at most two decimals."""
    return f"{round(t, 2):g}"
