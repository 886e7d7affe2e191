"""Time-sequence diagram: two hosts as vertical lines, time downwards, segments and ACKs as sloped arrows.

[[figure]]
id = "two-at-a-time"
kind = "ladder"
rows = 12                        # optional: height of the axis of time
until = "110 ms"                 # optional: its end; "since" is its beginning

[[figure.event]]
at = "0 ms"
send = "segment 1"
arrive = "50 ms"                 # of a lost packet: where it would have arrived
from = "h1"                      # optional: the first of `hosts` by default; an answer comes from the second
lost = true                      # optional
again = true                     # optional: a retransmission
note = "stored"                  # optional: text where it arrives

[[figure.wait]]                  # optional: a bracket along a host's line
host = "h1"
since = "50 ms"
until = "250 ms"
text = "RTO"

Instead of events, packets may be simulated, side by side if there are panels:

[figure.simulate]
[[figure.panel]]
label = "with SACK"
set = { sack = true }
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from functools import lru_cache

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import UnitError
from tcptutor.figures.figure import Figure, Motion, Problem
from tcptutor.figures.ladder_drawing import (
    LadderArrow,
    LadderKind,
    LadderPanel,
    LadderWait,
    draw_ladder,
    together_text,
)
from tcptutor.figures.lines import Line
from tcptutor.figures.simulated import SimulationTable
from tcptutor.theory.packet_simulation import PacketEvent, PacketTrace

_MOST_ARROWS = 500
_MOST_STOPS = 60
_WATCH = 10.0


class LadderEvent(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Packet of the diagram: `[[figure.event]]`."""

    at: str
    """Time at which it is sent."""
    send: str
    """Label at the sender."""
    arrive: str
    """Time at which it arrives, or would."""
    sender: str = msgspec.field(name="from", default="")
    """Sending host; the first one by default."""
    lost: bool = False
    """True if it does not arrive."""
    again: bool = False
    """True for a retransmission."""
    note: str = ""
    """Label where it arrives."""


class LadderBracket(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Time that a host waits: `[[figure.wait]]`."""

    host: str
    """The host."""
    since: str
    """Begin."""
    until: str
    """End."""
    text: str
    """Label."""


class LadderVariant(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Simulation among several side by side: `[[figure.panel]]`."""

    label: str = ""
    """Title above it."""
    set: SimulationTable | None = None
    """Keys that replace keys of `[figure.simulate]`."""


class LadderFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="ladder"):
    """Packets between two hosts, from a list or from a simulation."""

    hosts: tuple[str, str] = ("h1", "h2")
    """Names of both hosts."""
    since: str = ""
    """First time shown."""
    until: str = ""
    """Last time shown."""
    rows: int = 13
    """Height, 6 to 16."""
    times: bool = True
    """Whether times are written at the left."""
    events: tuple[LadderEvent, ...] = msgspec.field(name="event", default=())
    waits: tuple[LadderBracket, ...] = msgspec.field(name="wait", default=())
    simulate: SimulationTable | None = None
    """A simulation, in place of events."""
    panels: tuple[LadderVariant, ...] = msgspec.field(name="panel", default=(LadderVariant(),))
    watch: str = ""
    """Time that the animation takes."""

    def contradiction(self) -> Problem | None:
        if bool(self.events) == (self.simulate is not None):
            return "event", "give either events or a simulation"
        if not 6 <= self.rows <= 16:
            return "rows", "6 to 16 rows fit a page"
        for number, panel in enumerate(self.panels, start=1):
            if self.simulate and (problem := self.simulate.override(panel.set).problem()):
                return f"panel[{number}].{problem[0]}".rstrip("."), problem[1]
        named = {*(event.sender for event in self.events), *(wait.host for wait in self.waits)} - {""}
        if strangers := named.difference(self.hosts):
            return "hosts", f"lacks {', '.join(sorted(strangers))}"
        try:
            begin, end = self._span
            _listed(self)
        except UnitError as error:
            return "event", str(error)
        return ("until", "the diagram ends before it begins") if end <= begin else None

    def problems(self) -> Iterator[Problem]:
        if max(len(panel.arrows) for panel in _drawn(self)) > _MOST_ARROWS:
            yield "until", f"more than {_MOST_ARROWS} arrows: show a shorter time"

    @property
    def motion(self) -> Motion:
        begin, end = self._span
        instants = {t for panel in _drawn(self) for arrow in panel.arrows for t in (arrow.begin, arrow.end)}
        stops = sorted({round(t - begin, 9) for t in instants if begin <= t <= end})
        if len(stops) > _MOST_STOPS:
            stops = sorted(
                {stop // least * least for least in [(end - begin) / _MOST_STOPS] for stop in stops}
            )
        watch = units.parse(self.watch, "time") if self.watch else _WATCH
        return Motion(end - begin, tuple(stops), end - begin, watch)

    @property
    def _span(self) -> tuple[float, float]:
        """First and last instant, seconds."""
        begin = units.parse(self.since, "time") if self.since else 0.0
        if self.until:
            return begin, units.parse(self.until, "time")
        if self.simulate is not None:
            return begin, self.simulate.override(self.panels[0].set).seconds()
        return begin, max(units.parse(event.arrive, "time") for event in self.events)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        begin, end = self._span
        return draw_ladder(_drawn(self), width, self.rows, begin, end, begin + t, times=self.times)

    def describe(self) -> str:
        begin, end = self._span
        return " ".join(_in_words(panel, (end - begin) / self.rows, self.times) for panel in _drawn(self))


KIND = LadderFigure


@lru_cache(maxsize=64)
def _drawn(figure: LadderFigure) -> tuple[LadderPanel, ...]:
    if figure.simulate is None:
        return (_listed(figure),)
    begin, end = figure._span
    waits = _waits(figure)
    return tuple(
        LadderPanel(
            label=panel.label,
            hosts=figure.hosts,
            arrows=_simulated(figure.simulate.override(panel.set).trace(), begin, end),
            waits=waits,
        )
        for panel in figure.panels
    )


def _listed(figure: LadderFigure) -> LadderPanel:
    arrows = []
    for event in figure.events:
        begin, end = units.parse(event.at, "time"), units.parse(event.arrive, "time")
        to_right = event.sender in ("", figure.hosts[0])
        kind: LadderKind = "retransmission" if event.again else "segment" if to_right else "ack"
        way = 0.5 if event.lost else 1.0
        arrows.append(
            LadderArrow(
                begin,
                begin + (end - begin) * way,
                kind,
                to_right,
                event.lost,
                way,
                event.send,
                note=event.note,
            )
        )
    arrows.sort(key=lambda arrow: arrow.begin)
    return LadderPanel(hosts=figure.hosts, arrows=tuple(arrows), waits=_waits(figure))


def _waits(figure: LadderFigure) -> tuple[LadderWait, ...]:
    return tuple(
        LadderWait(
            units.parse(wait.since, "time"),
            units.parse(wait.until, "time"),
            wait.text,
            wait.host == figure.hosts[0],
        )
        for wait in figure.waits
    )


def _simulated(trace: PacketTrace, begin: float, end: float) -> tuple[LadderArrow, ...]:
    arrows = [_arrow(packet) for packet in trace.packets if begin < packet.end < math.inf]
    return tuple(
        sorted((arrow for arrow in arrows if begin <= arrow.begin <= end), key=lambda arrow: arrow.begin)
    )


def _arrow(packet: PacketEvent) -> LadderArrow:
    is_ack, again = packet.kind == "ack", packet.transmission > 1
    kind: LadderKind = "segment"
    if is_ack:
        kind = "duplicate" if packet.duplicate else "ack"
    elif again:
        kind = "retransmission"
    blocks = ", ".join(f"{low}–{high}" if high > low else f"{low}" for low, high in sorted(packet.blocks))
    return LadderArrow(
        begin=packet.sent if packet.left is None else packet.left,
        end=packet.end,
        kind=kind,
        to_right=not is_ack,
        is_lost=packet.dropped is not None,
        way=0.0 if packet.left is None else 0.5 if packet.dropped is not None else 1.0,
        text="ACK {}" if is_ack else "{} again" if again else "{}",
        short="{}" if is_ack else "↻{}" if again else "",
        number=packet.number,
        detail=f" has {blocks}" if blocks else "",
    )


def _in_words(panel: LadderPanel, gap: float, times: bool) -> str:
    """Describe the departures; packets less than `gap` seconds apart form a group."""
    sentences: list[str] = []
    for together in _groups(panel.arrows, gap):
        first, last = together[0], together[-1]
        host = panel.hosts[0 if first.to_right else 1]
        span = f"At {_time(first.begin)}"
        if _time(last.begin) != _time(first.begin):
            span = f"From {_time(first.begin)} to {_time(last.begin)}"
        if not times:
            span = "Then" if sentences else "First"
        again = " again" if first.kind == "retransmission" and "again" not in first.text else ""
        words = f"{span} {host} sends {together_text(together)}{again}{last.detail}"
        lost = [arrow for arrow in together if arrow.is_lost]
        if lost:
            one = len(together) == 1
            words += (
                ", which is lost"
                if one
                else f"; {together_text(lost)} {'is' if len(lost) == 1 else 'are'} lost"
            )
        notes = ", ".join(arrow.note for arrow in together if arrow.note)
        sentences.append(f"{words} ({notes})." if notes else f"{words}.")
    sentences += [
        f"From {_time(wait.begin)} to {_time(wait.end)} at {panel.hosts[0 if wait.at_left else 1]}: {wait.text}."
        for wait in panel.waits
    ]
    text = " ".join(sentences)
    return f"{panel.label[:1].upper()}{panel.label[1:]}: {text}" if panel.label else text


def _groups(arrows: Sequence[LadderArrow], gap: float) -> list[list[LadderArrow]]:
    """Return the packets of each host and kind that leave within `gap` seconds of each other, in order."""
    groups: list[list[LadderArrow]] = []
    latest: dict[tuple[bool, str], list[LadderArrow]] = {}
    for arrow in arrows:
        key = arrow.to_right, arrow.text
        group = latest.get(key)
        if group is None or arrow.begin - group[-1].begin > gap:
            group = latest[key] = []
            groups.append(group)
        group.append(arrow)
    return groups


def _time(t: float) -> str:
    return units.seconds(t) if t else "0 ms"
