"""What limited the flows and what their congestion control did, on the time axis: a line each, in words and marks.

A stretch is written out where its name fits and filled with its mark, so that no colour is needed; marks that stand
alone are explained by `key`.

    limited by  growing ggg random loss rrrrrrrrrrrrrrrrrrrrrrr   92 % of time
    phases      slow start rr avoidance ·····················rr·······
"""

from __future__ import annotations

from collections import Counter
from itertools import groupby
from typing import TYPE_CHECKING

from textual.content import Content

from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.sparklines import LABEL_WIDTH, NUMBER_WIDTH, SCALE_WIDTH

if TYPE_CHECKING:
    from tcptutor.analysis.model import FlowVerdict, LimitedBy, PhaseName

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
}
"""Name and mark."""

_PHASES: dict[PhaseName, tuple[str, str]] = {
    "timeout": ("timeout", "t"),
    "hystart-exit": ("HyStart exit", "h"),
    "recovery": ("recovery", "r"),
    "slow-start": ("slow start", "s"),
    "congestion-avoidance": ("avoidance", "·"),
}
"""Name and mark; of two in one column the first is shown."""

_BLANK = ("", " ")
_Stretch = tuple[tuple[str, str], int]


def causes(live: Live, width: int) -> Content:
    """What limited most of the flows in each second; empty before the verdict is there."""
    flows = _flows(live)
    if not flows or live.report is None:
        return Content("")
    took = [flow.shares.get(live.report.verdict.limited_by, 0.0) for flow in flows]
    share = round(100 * sum(took) / len(took))
    number = f"{share} % of time" if share < 100 else "all the time"
    stretches = _cause_stretches(live, _columns(width))
    beside = _told(stretches) if _beside(stretches, width) else ""
    return _line("limited by", beside, _written(stretches), number, width)


def phases(live: Live, width: int) -> Content:
    """Those of the first flow; empty before the verdict is there."""
    flows = _flows(live)
    if not flows:
        return Content("")
    of = f"flow 1 of {len(flows)}" if len(flows) > 1 else ""
    return _line("phases", of, _written(_phase_stretches(live, _columns(width))), "", width)


def key(live: Live, width: int, with_phases: bool) -> Content:
    """The marks that stand nowhere beside their names; empty when all do."""
    if not _flows(live):
        return Content("")
    columns = _columns(width)
    stretches = _cause_stretches(live, columns)
    told = [] if _beside(stretches, width) else [_told(stretches)]
    if with_phases and (marks := _told(_phase_stretches(live, columns))):
        told.append(f"phases: {marks}")
    return Content.styled("   ".join(part for part in told if part), "$text-muted")


def _told(stretches: list[_Stretch]) -> str:
    """The marks that are not written out: "g growing, t timeout"."""
    said = {kind for kind, length in stretches if _fits(kind[0], length)} | {_BLANK}
    unsaid = dict.fromkeys(kind for kind, _ in stretches if kind not in said)
    return ", ".join(f"{mark} {word}" for word, mark in unsaid)


def _beside(stretches: list[_Stretch], width: int) -> bool:
    """Whether the marks fit where the other lines have their scale."""
    return len(_told(stretches)) < SCALE_WIDTH <= width - 45


def _flows(live: Live) -> tuple[FlowVerdict, ...]:
    return live.report.verdict.flows if live.report else ()


def _columns(width: int) -> int:
    return max(0, width - LABEL_WIDTH - (SCALE_WIDTH if width >= 60 else 0) - NUMBER_WIDTH)


def _line(name: str, of: str, text: str, number: str, width: int) -> Content:
    label = name.ljust(LABEL_WIDTH)
    if width >= 60:
        label += of.ljust(SCALE_WIDTH)
    return Content.assemble(label, (text, "$primary"), number.rjust(NUMBER_WIDTH))


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


def _stretches(columns: list[tuple[str, str]]) -> list[_Stretch]:
    return [(kind, len(list(group))) for kind, group in groupby(columns)]


def _fits(word: str, length: int) -> bool:
    return bool(word) and len(word) + 2 <= length


def _written(stretches: list[_Stretch]) -> str:
    return "".join(
        f" {word} ".ljust(length, mark) if _fits(word, length) else mark * length
        for (word, mark), length in stretches
    )
