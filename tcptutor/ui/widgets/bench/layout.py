"""A moment of a run as lines of the screen: which parts there are room for, the chart first.

Parts come in the order of what they are worth to a reader; each is taken while the chart keeps lines enough. What
makes it only more pleasant, gaps and second lines, waits until the chart is tall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench import axes, causes, chart, flows, models, network, result, ruler, strips
from tcptutor.ui.widgets.bench.beside import told_beside
from tcptutor.ui.widgets.bench.build import scene_of
from tcptutor.ui.widgets.bench.history import History
from tcptutor.ui.widgets.bench.lines import MUTED, TEXT, Line, spread
from tcptutor.ui.widgets.bench.scene import OwnPrediction, Scene

View = Literal["chart", "models", "flows"]

LEAST_LIVE = 10
"""Lines of the chart while a run goes on."""

_TALL = 13
"""Lines of the chart from which on the rest may have more room."""

_ORDER = (
    "setup", "network", "gap0", "title", "chart", "gap1", "throughput", "udp0", "udp1", "udp2", "udp3", "rtt", "queue",
    "losses", "resent", "early", "causes", "phases", "key", "status", "gap2", "ruler", "gap3", "why",
    "beside",
)  # fmt: skip
"""From top to bottom."""


@dataclass
class _Room:
    """Lines that are left, and what they were given to."""

    left: int
    parts: dict[str, list[Line]] = field(default_factory=dict)

    def take(self, name: str, lines: Sequence[Line], least: int) -> None:
        """Give it its lines where `least` are left after that."""
        if lines and self.left - len(lines) >= least:
            self.left -= len(lines) - len(self.parts.get(name, ()))
            self.parts[name] = list(lines)


def views(live: Live) -> tuple[View, ...]:
    """What there is to see of it now."""
    if live.report is not None and live.report.comparisons:
        return ("chart", "models", "flows")
    return ("chart", "flows") if live.has_samples else ("chart",)


def picture(
    live: Live, history: History, own: OwnPrediction | None, said: str, view: View, width: int, height: int
) -> list[Line]:
    """Exactly the lines that there is room for. Called in a thread."""
    if view == "models" and live.report is not None:
        return models.table(live.report, live.run.experiment, own, width, height, live.formula)
    if view == "flows" and (history.flows or live.run.udp):
        return flows.table(live, history, width, height)
    return _with_chart(live, history, own, said, width, height)


def _with_chart(
    live: Live, history: History, own: OwnPrediction | None, said: str, width: int, height: int
) -> list[Line]:
    scene = scene_of(live, history, own)
    least = min(height, 1 + (LEAST_LIVE if live.in_progress else chart.LEAST))
    room = _Room(height)
    status = [Line.of((said, TEXT))] if said else result.status(live, width)
    whole = live.state == "ended" and live.run.complete and not live.problem
    room.take("title", [chart.title(scene, width)], 2)
    if not whole:
        room.take("status", status, min(least, 3))
    if live.in_progress:
        room.take("network", [network.living(live, history, width)], least)
    else:
        room.take("why", result.why(live, width), min(least, 3))
        room.take(
            "beside", told_beside(live.comparisons, live.run.experiment, len(scene.curves), width), least
        )
        _take_ruler(room, live, own, width, ruler.LEAST + bool(live.earlier), least)
        if live.report:
            asked = ruler.least(live.report, live.formula) + bool(live.earlier)
            _take_ruler(room, live, own, width, asked, least)
    for name in (
        "throughput",
        *(each for each in scene.series if each.startswith("udp")),
        "losses",
        "rtt",
        "queue",
    ):
        _take_strip(room, scene, name, width, 1, least)
    cause = causes.causes(live, width)
    room.take("causes", [cause] if cause.text else [], least)
    _take_strip(room, scene, "resent", width, 1, least)
    room.take("early", _early(scene, width), least)
    if live.earlier or live.comparisons:
        _take_strip(room, scene, "throughput", width, 2, least)
    if whole:
        room.take("status", status, least + 1)
    room.take("setup", [_setup(live, width)], least + 1)
    ruled = room.left > least + 3
    tall = _TALL + ruled
    if live.report:
        models_in_all = len(live.report.comparisons) + ruler.LEAST - 1 + bool(live.earlier)
        for number in range(len(room.parts.get("ruler", ())) + 1, models_in_all + 1):
            # What the warm-up had takes no model's line.
            _take_ruler(room, live, own, width, number, tall - ("early" in room.parts))
    for name in ("gap3", "gap2", "gap1", "gap0") if not live.in_progress else ("gap1", "gap0"):
        room.take(name, [Line()], tall)
    phases = causes.phases(live, width)
    room.take("phases", [phases] if phases.text else [], tall)
    room.take("key", _key(live, scene, room, width), tall)
    for number in (2, 3):
        for name in ("throughput", "rtt", "queue"):
            _take_strip(room, scene, name, width, number, tall + 2 * number)
    room.parts |= _drops_in_one_place(room, scene, width)
    tallest = max(2, room.left)
    ruled = ruled and tallest >= 4
    scene = chart.readable(scene, width, tallest)
    room.parts["title"] = [chart.title(scene, width)]
    room.parts["chart"] = _chart(scene, width, tallest, ruled)
    lines = [line for name in _ORDER for line in room.parts.get(name, ())]
    return lines[:height]


def _early(scene: Scene, width: int) -> list[Line]:
    """What the warm-up had more of, as much as fits; nothing where it had not."""
    if not scene.early:
        return []
    parts = scene.early.split(", ")
    told = [f"{'warm-up':{axes.GUTTER}}{', '.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    return [next((Line.of((text, MUTED)) for text in told if len(text) <= width), Line())]


def _setup(live: Live, width: int) -> Line:
    experiment = live.run.experiment
    who = Line.of((words.flows_line(experiment), MUTED))
    return spread(Line.of((words.experiment_line(experiment, width), MUTED)), who, width)


def _chart(scene: Scene, width: int, lines: int, ruled: bool) -> list[Line]:
    return chart.drawn(scene, width, lines - 1 - ruled, ruled)


def _take_strip(room: _Room, scene: Scene, name: str, width: int, lines: int, least: int) -> None:
    series = scene.series.get(name)
    if series is None or (lines > 1 and name not in room.parts):
        return
    more = lines - len(room.parts.get(name, ()))
    if room.left - more >= least:
        room.left -= more
        room.parts[name] = strips.strip(scene, series, width, lines)


def _drops_in_one_place(room: _Room, scene: Scene, width: int) -> dict[str, list[Line]]:
    """The strip of losses, without what the queue dropped where that has a strip."""
    shown = strips.apart({name: scene.series[name] for name in room.parts if name in scene.series})
    return {"losses": strips.strip(scene, shown["losses"], width)} if "losses" in shown else {}


def _take_ruler(
    room: _Room, live: Live, own: OwnPrediction | None, width: int, lines: int, least: int
) -> None:
    if live.report is None or not live.report.throughput_bps:
        return
    drawn = ruler.ruler(live.report, own, live.earlier, width, lines, live.formula)
    more = len(drawn) - len(room.parts.get("ruler", ()))
    if room.left - more >= least:
        room.left -= more
        room.parts["ruler"] = drawn


def _key(live: Live, scene: Scene, room: _Room, width: int) -> list[Line]:
    """What full strips and single marks stand for."""
    marks = causes.key(live, width, full="phases" in room.parts)
    scales = strips.key([each for name, each in scene.series.items() if name in room.parts])
    told = [text for text in (marks, scales) if text]
    return [Line.of((line, MUTED)) for text in told for line in words.wrapped(text, width)]
