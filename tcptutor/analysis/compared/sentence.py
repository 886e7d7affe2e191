"""Sentence about a run: its limit, changes over time, differences among flows, and link utilization."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence

from tcptutor.analysis.compared.clauses import LINK_USED, LINK_USED_THEN
from tcptutor.analysis.compared.episodes import Episode, notable_episodes
from tcptutor.analysis.compared.limit import MOST_TURNS, ShownLimit
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES, LimitedBy
from tcptutor.run import FlowResult
from tcptutor.spec import Change, Experiment

LONGEST = 110
"""Most characters in a sentence; the least important parts are dropped."""

REVERSE = "in the reverse direction "
"""Prefix of a sentence about reverse flows in a run with flows both ways."""

_SHORT_TURN = 0.1
"""Share of the time below which a turn is too short to list the turns."""

_NOTHING = 0.01
"""Share of a fair part below which a flow starves."""


def compose(start: str, limit: ShownLimit, extras: Sequence[str], is_part: bool) -> str:
    """Return `start`, the limit's reason, and as many of `extras` as fit, the utilization last.

    Args:
        start: Text before the reason, such as a change of the path; may be empty.
        limit: The run's limit.
        extras: Further clauses in order, each with its separator; may be empty.
        is_part: True if the limit describes part of the measured time.
    """
    link = (LINK_USED_THEN if is_part else LINK_USED).text_for(limit.findings)
    text = f"{start}{limit.reason}" if len(f"{start}{limit.reason}") <= LONGEST else limit.reason
    for extra in (*extras, link):
        if len(text) + len(extra) <= LONGEST:
            text += extra
    return text


def turns_text(turns: Sequence[Episode], reported: Episode | None) -> str:
    """Return the causes in turn, or those before and after the episode `reported` that the reason describes.

    An example is " (first slow growth, 4 s, then the bottleneck, 6 s)". Empty for one cause, too many, or an
    unexplained one.
    """
    long = notable_episodes(turns)
    total = sum(turn.seconds for turn in long)
    if not 2 <= len(long) <= MOST_TURNS or any(turn.seconds < _SHORT_TURN * total for turn in long):
        return ""
    if any(turn.limited_by == "unexplained" for turn in long):
        return ""
    if reported is None:
        return f" (first {', then '.join(map(_turn, long))})"
    before = [_turn(turn) for turn in long if turn.end <= reported.start]
    after = [_turn(turn) for turn in long if turn.start >= reported.end]
    texts = ([f"first {', then '.join(before)}"] if before else []) + (
        [f"then {', then '.join(after)}"] if after else []
    )
    return f" ({'; '.join(texts)})" if texts else ""


def _turn(turn: Episode) -> str:
    length = turn.seconds
    return f"{CAUSE_NAMES[turn.limited_by]}, {length:.0f} s" if length >= 1 else CAUSE_NAMES[turn.limited_by]


def flows_text(limited_by: LimitedBy, limits: Mapping[int, LimitedBy], results: Sequence[FlowResult]) -> str:
    """Return the starving flows, or flows whose limit differs: "; flow 2: the receiver's window".

    `limits` are the causes by number of flow.
    """
    fair = sum(flow.throughput_bps for flow in results) / max(1, len(results))
    starving = sum(flow.throughput_bps < _NOTHING * fair for flow in results)
    if starving:
        amount = (
            "nothing"
            if not any(0 < result.throughput_bps < _NOTHING * fair for result in results)
            else "next to nothing"
        )
        return f"; {starving} of {len(results)} flows got {amount}"
    different = {flow: limit for flow, limit in limits.items() if limit != limited_by}
    if not different or len(limits) < 2:
        return ""
    common, number = Counter(different.values()).most_common(1)[0]
    subject = f"flow {next(iter(different)) + 1}" if number == 1 else f"{number} of {len(limits)} flows"
    return f"; {subject}: {CAUSE_NAMES[common]}"


def change_text(change: Change) -> str:
    """Return a change of the path as the start of a sentence: "at 4 s the rate became 2 Mbit/s: "."""
    if change.name == "link":
        return f"at {units.seconds(change.at)} the link came up: "
    write = {"rate": units.rate, "loss": units.percent, "queue": units.size}.get(change.name, units.seconds)
    return f"at {units.seconds(change.at)} the {change.name} became {write(change.value)}: "


def cut_text(experiment: Experiment, cut: Change) -> str:
    """Return the duration of a cut: "the link was cut from 2 to 3 s; "."""
    later = (
        change.at
        for change in experiment.path.changes
        if change.name == "link" and change.value and change.at > cut.at
    )
    until = min(next(later, experiment.seconds), experiment.seconds)
    return f"the link was cut from {cut.at:.3g} to {until:.3g} s; "
