"""The knobs as lines: the groups, the knobs of the one in hand, and what is to be known of the one in hand."""

from __future__ import annotations

from typing import NamedTuple

from tcptutor.spec import PARAMETERS
from tcptutor.ui import words
from tcptutor.ui.knobs import GROUPS, SEED, SYSCTL, can_turn
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, Line, Piece, paragraph
from tcptutor.ui.workbench import Workbench

CHANGED = "•"
"""After the value of a knob that stands otherwise than in the experiment's file."""
LIST = 40
"""Columns of the list where the rest stands beside it."""
_NAME = 17


class KnobLine(NamedTuple):
    """A line, and the knob that is taken in hand where it is pointed at; empty for none."""

    line: Line
    knob: str = ""


def across(bench: Workbench, width: int) -> list[KnobLine]:
    """For a wide and low room: the groups in a line, the list below, what is to be known of the knob beside it."""
    tabs = _tabs(bench, width)
    height = max(len(GROUPS[group]) for group in GROUPS)
    knobs = bench.knobs(bench.group)
    last = max(height, knobs.index(bench.selected) + 1 if bench.selected in knobs else 0)
    rows = [KnobLine(_row(bench, knob), knob) for knob in knobs[last - height : last]]
    told = _told(bench, width - LIST)[:height]
    found = []
    for number in range(height):
        row = rows[number] if number < len(rows) else KnobLine(Line())
        if number < len(told):
            row = KnobLine(row.line.fit(LIST - 2).append_at(LIST, told[number]), row.knob)
        found.append(row)
    return [*(KnobLine(line) for line in tabs), *found]


def down(bench: Workbench, width: int, height: int) -> list[KnobLine]:
    """For a narrow and high room: the groups below each other, the one in hand open; the rest under them."""
    told = _told(bench, width)
    lines: list[KnobLine] = []
    for group in GROUPS:
        knobs = bench.knobs(group)
        here = group == bench.group
        changed = [f"{knob} {bench.text(knob)}" for knob in knobs if bench.is_changed(knob)]
        beside = "" if here or not changed else f"  {CHANGED} {', '.join(changed)}"
        head = Line.of((f"{'▾' if here else '▸'} {group}", STRONG if here else TEXT), (beside, MUTED))
        lines.append(KnobLine(head.part(0, width), knobs[0]))
        if here:
            lines += [KnobLine(_row(bench, knob, "  "), knob) for knob in knobs]
    if len(lines) + 1 + len(told) > height:
        lines = [
            *(KnobLine(line) for line in _tabs(bench, width)),
            *(KnobLine(_row(bench, knob), knob) for knob in bench.knobs(bench.group)),
        ]
    return [*lines, KnobLine(Line()), *map(KnobLine, told)][:height]


def _tabs(bench: Workbench, width: int) -> list[Line]:
    """The names of the groups; that in hand in brackets."""
    lines: list[list[Piece]] = [[]]
    for group in GROUPS:
        changed = CHANGED if any(bench.is_changed(knob) for knob in bench.knobs(group)) else ""
        here = group == bench.group
        text = f"[{group}{changed}]" if here else f" {group}{changed} "
        if sum(len(piece) for piece, _ in lines[-1]) + len(text) > width:
            lines.append([])
        lines[-1].append((text, STRONG if here else MUTED))
    return [Line.of(*pieces) for pieces in lines]


def _row(bench: Workbench, knob: str, indent: str = "") -> Line:
    here, wrong = knob == bench.selected, knob in bench.invalid
    value = bench.text(knob) or ("…" if knob == SYSCTL else "none")
    room = LIST - len(indent) - _NAME - 7
    if len(value) > room:
        value = f"{value[: room - 1]}…"
    name = "add a sysctl" if knob == SYSCTL else knob
    return Line.of(
        (f"{indent}{'→' if here else ' '} ", STRONG),
        (f"{name:<{_NAME}}", STRONG if here else TEXT),
        ("✗ " if wrong else "  ", BAD),
        (value, BAD if wrong else STRONG if here else TEXT),
        (f" {CHANGED}" if bench.is_changed(knob) else "", GOOD),
    )


def _told(bench: Workbench, width: int) -> list[Line]:
    """What the knob in hand is, its bounds, and what is wrong."""
    knob = bench.selected
    what, bounds = about(knob)
    lines = paragraph(f"{knob}: ", STRONG, what, width)
    lines += [Line.of((line, MUTED)) for line in words.wrapped(bounds, width)]
    if bench.problem is not None:
        lines += paragraph("✗ ", BAD, bench.problem.reason, width)
    if bench.is_changed(knob):
        own = bench.original_text(knob)
        lines += [
            Line.of((line, MUTED)) for line in words.wrapped(f"own value: {own} (d sets it back)", width)
        ]
    known = PARAMETERS.get(knob)
    if known is not None and not can_turn(known):
        lines.append(Line.of(("Enter types it", MUTED)))
    return lines


def about(knob: str) -> tuple[str, str]:
    """What a knob is in a line, and its bounds."""
    if knob == SEED:
        return "where the random numbers of the path begin", "0 to 4294967295"
    if knob == SYSCTL:
        return "another setting of the hosts' TCP", "Enter types a name and a value, like tcp_sack=0"
    known = PARAMETERS.get(knob)
    if known is None:
        return "a sysctl of all hosts", "as the kernel takes it; Enter types it"
    return known.help, known.bounds
