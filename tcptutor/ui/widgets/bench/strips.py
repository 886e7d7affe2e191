"""What limited the flows and what their congestion control did, a line each, on the chart's time axis.

A stretch is written out where its name fits, so that no colour is needed. Where it does not, its mark stands, a letter
for a cause and a sign for a phase, and the marks are explained beside a name or by `key`.

    limited by  g random loss, 92 % of the measured time (g growing) ─────────
    flow 1 of 4 //vv avoidance ·····················vv·······
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axis, sparklines

if TYPE_CHECKING:
    from tcptutor.analysis import FlowVerdict, LimitedBy, PhaseName

_CAUSES: dict[LimitedBy, tuple[str, str]] = {
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

_PHASES: dict[PhaseName, tuple[str, str]] = {
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

_Kind = tuple[str, str]
_Stretch = tuple[_Kind, int]


def causes(live: Live, width: int) -> Content:
    """What limited most of the flows in each second; empty before the verdict is there."""
    if not _flows(live):
        return Content("")
    stretches = _cause_stretches(live, axis.columns(width))
    words = [kind[0] for kind, _ in stretches]
    if words:
        at, told = _longest(live, stretches)
        words[at] = told
    return _line(
        "limited by", [(word, _RULE, *stretch) for word, stretch in zip(words, stretches, strict=True)]
    )


def phases(live: Live, width: int) -> Content:
    """Those of the first flow; empty before the verdict is there."""
    flows = _flows(live)
    if not flows:
        return Content("")
    stretches = _phase_stretches(live, axis.columns(width))
    name = "phases" if len(flows) == 1 else f"flow 1 of {len(flows)}" if len(flows) < 10 else "flow 1"
    return _line(name, [(kind[0], kind[1], kind, length) for kind, length in stretches])


def key(live: Live, width: int, full: bool) -> Content:
    """The marks that stand nowhere beside their names; `full`: of the phases too, and what the blocks stand for."""
    told = []
    if _flows(live):
        stretches = _cause_stretches(live, axis.columns(width))
        marks = _marks(_short(stretches))
        if stretches and marks not in _longest(live, stretches)[1]:
            told.append(marks)
        if full:
            stretches = _phase_stretches(live, axis.columns(width))
            written = {kind for kind, length in stretches if _fits(kind[0], length)}
            told.append(_marks(kind for kind in _short(stretches) if kind not in written))
    told = [part for part in told if part]
    scales = [*told, sparklines.scales(live)] if full and live.drawn else told
    # A number stands beside the blocks as well: their scale is not worth a second line.
    fits = len(_GAP.join(scales)) <= width
    return Content.styled(_GAP.join(scales if fits else told), "$text-muted")


def _longest(live: Live, stretches: list[_Stretch]) -> tuple[int, str]:
    """The place of the longest stretch, and what is said there: as much as fits of the share of time and the marks."""
    at = max(range(len(stretches)), key=lambda place: stretches[place][1])
    kind, length = stretches[at]
    marks = _marks(_short(stretches))
    wordings = [kind[0]]
    if live.report and kind == _CAUSES[live.report.verdict.limited_by]:
        took = [flow.shares.get(live.report.verdict.limited_by, 0.0) for flow in _flows(live)]
        share = round(100 * sum(took) / len(took))
        much = "all" if share == 100 else f"{share} %"
        wordings = [f"{kind[0]}, {much} of the measured time", f"{kind[0]}, {much} of the time", kind[0]]
    if marks:
        wordings = [*(f"{said} ({marks})" for said in wordings), *wordings]
    return at, next((said for said in wordings if _fits(said, length)), "")


def _short(stretches: list[_Stretch]) -> list[_Kind]:
    """What has a stretch that is too short for its name."""
    return [kind for kind, length in stretches if kind != _BLANK and not _fits(kind[0], length)]


def _marks(kinds: Iterable[_Kind]) -> str:
    """ "g growing, t timeout"."""
    return ", ".join(f"{mark} {word}" for word, mark in dict.fromkeys(kinds))


def _fits(word: str, length: int) -> bool:
    return bool(word) and len(word) + 2 <= length


def _line(name: str, stretches: Iterable[tuple[str, str, _Kind, int]]) -> Content:
    """`stretches`: what is said of each, what fills it after that, its kind and its columns."""
    parts: list[tuple[str, str]] = [(axis.label(name), "")]
    for word, fill, (_, mark), length in stretches:
        if _fits(word, length):
            said = f"{word} " if len(parts) == 1 else f" {word} "
            parts += [(said, ""), (fill * (length - len(said)), "$primary")]
        else:
            parts.append((mark * length, "$primary"))
    return Content.assemble(*parts)


def _flows(live: Live) -> tuple[FlowVerdict, ...]:
    return live.report.verdict.flows if live.report else ()


def _cause_stretches(live: Live, columns: int) -> list[_Stretch]:
    by_column: list[Counter[LimitedBy]] = [Counter() for _ in range(columns)]
    for flow in _flows(live):
        for second in flow.seconds:
            for column in _between(live, columns, second.start, second.end):
                by_column[column][second.limited_by] += 1
    return _stretches([_CAUSES[found.most_common(1)[0][0]] if found else _BLANK for found in by_column])


def _phase_stretches(live: Live, columns: int) -> list[_Stretch]:
    """A column shows what is most seldom in it: a recovery may be shorter than a column."""
    by_column: list[set[PhaseName]] = [set() for _ in range(columns)]
    for phase in _flows(live)[0].phases:
        for column in _between(live, columns, phase.start, phase.end):
            by_column[column].add(phase.name)
    order = list(_PHASES)
    return _stretches([_PHASES[min(found, key=order.index)] if found else _BLANK for found in by_column])


def _between(live: Live, columns: int, start: float, end: float) -> range:
    """The columns whose middle lies between two times, or the one in which both are."""
    scale = columns / live.run.experiment.seconds
    first = min(columns, max(0, round(start * scale)))
    return range(first, min(columns, max(first + 1, round(end * scale))))


def _stretches(columns: list[_Kind]) -> list[_Stretch]:
    return [(kind, len(list(group))) for kind, group in groupby(columns)]
