"""What limited the flows and what their congestion control did, a line each, on the chart's time axis.

A stretch is written out where its name fits, so that no colour is needed. Where it does not, its mark stands, a letter
for a cause and a sign for a phase, and the marks are explained beside a name or by `key`.

    limited by g random loss (g: growing) ──────── 92 % of time
    flow 1 of 4//vv avoidance ·····················vv·······
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axes
from tcptutor.ui.widgets.bench.cursor import TimeSpan
from tcptutor.ui.widgets.bench.lines import STRONG, TEXT, Line, Piece

if TYPE_CHECKING:
    from tcptutor.analysis import FlowVerdict, LimitedBy, PhaseName

CAUSES: dict[LimitedBy, tuple[str, str]] = {
    "application": ("application", "a"),
    "receive-window": ("window", "w"),
    "send-buffer": ("send buffer", "s"),
    "pacing": ("pacing", "p"),
    "random-loss": ("random loss", "r"),
    "bottleneck": ("bottleneck", "b"),
    "growing": ("growing", "g"),
    "reordering": ("reordering", "o"),
    "timeout": ("timeout", "t"),
    "unexplained": ("not explained", "?"),
}
"""Name and mark."""

PHASES: dict[PhaseName, tuple[str, str]] = {
    "timeout": ("timeout", "x"),
    "hystart-exit": ("HyStart exit", "|"),
    "recovery": ("recovery", "v"),
    "slow-start": ("slow start", "/"),
    "congestion-avoidance": ("avoidance", "·"),
}
"""Name and mark; of two in one column the first is shown. No letter of a cause is among them."""

_BLANK = ("", " ")
_RULE = "─"
"""Fills what is left of a cause that is written out."""

_GAP = "   "
_FILL = "block"

_Kind = tuple[str, str]
_Stretch = tuple[_Kind, int]


def causes(live: Live, width: int, span: TimeSpan | None = None) -> Line:
    """What limited most of the flows in each second, and its share of the time; empty before the verdict is there.

    `span`: the part of the time that is shown; its share stays that of all the measured time.
    """
    if not _flows(live):
        return Line()
    stretches = _cause_stretches(live, axes.columns(width), _shown(live, span))
    words = [kind[0] for kind, _ in stretches]
    if words:
        at = max(range(len(stretches)), key=lambda place: stretches[place][1])
        marks = _marks(_short(stretches))
        told = f"{words[at]} ({marks})"
        if marks and _fits(told, stretches[at][1]):
            words[at] = told
    line = _line(
        "limited by", [(word, _RULE, *stretch) for word, stretch in zip(words, stretches, strict=True)]
    )
    return line.and_at(axes.GUTTER + axes.columns(width), Line.of((" ", TEXT), (_share(live), STRONG)))


def phases(live: Live, width: int, span: TimeSpan | None = None, flow: int | None = None) -> Line:
    """Those of one flow, the first if no number is given; empty before the verdict is there."""
    flows = _flows(live)
    number = next((at for at, each in enumerate(flows) if each.flow == flow), 0)
    if not flows:
        return Line()
    stretches = _phase_stretches(live, axes.columns(width), _shown(live, span), number)
    name = "phases" if len(flows) == 1 else f"of flow {flows[number].flow + 1}"
    return _line(name, [(kind[0], kind[1], kind, length) for kind, length in stretches])


def key(live: Live, width: int, full: bool) -> str:
    """The marks that stand nowhere beside their names; `full`: of the phases too."""
    told = []
    if _flows(live):
        stretches = _cause_stretches(live, axes.columns(width), _shown(live, None))
        marks = _marks(_short(stretches))
        if stretches and not _fits(
            f"{_longest(stretches)} ({marks})", max(length for _, length in stretches)
        ):
            told.append(marks)
        if full:
            stretches = _phase_stretches(live, axes.columns(width), _shown(live, None))
            written = {kind for kind, length in stretches if _fits(kind[0], length)}
            told.append(_marks(kind for kind in _short(stretches) if kind not in written))
    return _GAP.join(part for part in told if part)


def _longest(stretches: list[_Stretch]) -> str:
    return max(stretches, key=lambda stretch: stretch[1])[0][0]


def _share(live: Live) -> str:
    """Of the measured time, that of the cause which the verdict names."""
    assert live.report is not None
    took = [flow.shares.get(live.report.verdict.limited_by, 0.0) for flow in _flows(live)]
    return f"{100 * sum(took) / len(took):.0f} % of time"


def _short(stretches: list[_Stretch]) -> list[_Kind]:
    """What has a stretch that is too short for its name."""
    return [kind for kind, length in stretches if kind != _BLANK and not _fits(kind[0], length)]


def _marks(kinds: Iterable[_Kind]) -> str:
    """ "g: growing, t: timeout"."""
    return ", ".join(f"{mark}: {word}" for word, mark in dict.fromkeys(kinds))


def _fits(word: str, length: int) -> bool:
    return bool(word) and len(word) + 2 <= length


def _line(name: str, stretches: Iterable[tuple[str, str, _Kind, int]]) -> Line:
    """`stretches`: what is said of each, what fills it after that, its kind and its columns."""
    parts: list[Piece] = [(name.ljust(axes.GUTTER), TEXT)]
    for word, fill, (_, mark), length in stretches:
        if _fits(word, length):
            said = f"{word} " if len(parts) == 1 else f" {word} "
            parts += [(said, TEXT), (fill * (length - len(said)), _FILL)]
        else:
            parts.append((mark * length, _FILL))
    return Line.of(*parts)


def _flows(live: Live) -> tuple[FlowVerdict, ...]:
    return live.report.verdict.flows if live.report else ()


def _shown(live: Live, span: TimeSpan | None) -> TimeSpan:
    return span or TimeSpan(0.0, live.run.experiment.seconds)


def _cause_stretches(live: Live, columns: int, span: TimeSpan) -> list[_Stretch]:
    by_column: list[Counter[LimitedBy]] = [Counter() for _ in range(columns)]
    for flow in _flows(live):
        for second in flow.seconds:
            for column in _between(span, columns, second.start, second.end):
                by_column[column][second.limited_by] += 1
    return _stretches([CAUSES[found.most_common(1)[0][0]] if found else _BLANK for found in by_column])


def _phase_stretches(live: Live, columns: int, span: TimeSpan, number: int = 0) -> list[_Stretch]:
    """A column shows what is most seldom in it: a recovery may be shorter than a column."""
    by_column: list[set[PhaseName]] = [set() for _ in range(columns)]
    for phase in _flows(live)[number].phases:
        for column in _between(span, columns, phase.start, phase.end):
            by_column[column].add(phase.name)
    order = list(PHASES)
    return _stretches([PHASES[min(found, key=order.index)] if found else _BLANK for found in by_column])


def _between(span: TimeSpan, columns: int, start: float, end: float) -> range:
    """The columns whose middle lies between two times, or the one in which both are; none of what is not shown."""
    if end < span.start or start > span.end:
        return range(0)
    scale = columns / span.seconds
    first = min(columns, max(0, round((start - span.start) * scale)))
    return range(first, min(columns, max(first + 1, round((end - span.start) * scale))))


def _stretches(columns: list[_Kind]) -> list[_Stretch]:
    return [(kind, len(list(group))) for kind, group in groupby(columns)]
