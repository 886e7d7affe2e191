"""Layout of a run's panel: chart first, then other parts by importance while space permits.

A part is shown if it leaves the chart enough lines. Gaps and second lines of strips wait until the chart is
tall.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal

from tcptutor.base.columns import wrapped
from tcptutor.course.activities.run import ChartName
from tcptutor.course.setting_line import experiment_line
from tcptutor.figures.lines import MUTED, STRONG, TEXT, Line, spread
from tcptutor.study import words
from tcptutor.study.live import Live
from tcptutor.ui.widgets.chart import axes, chart, edge, margin, strips
from tcptutor.ui.widgets.chart.build import scene_of
from tcptutor.ui.widgets.chart.comparison import comparison_lines
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.chart.history import History
from tcptutor.ui.widgets.chart.scene import QUEUE_SERIES, OwnPrediction, Scene
from tcptutor.ui.widgets.panel import latency, network, result, ruler, tables, verdict
from tcptutor.ui.widgets.readout import causes

View = Literal["chart", "cwnd", "models", "flows", "latency"]

MIN_LIVE_CHART = 10
"""Minimum lines of the chart during a run."""

_TALL = 13
"""Lines of the chart from which other parts may grow."""

_MODELS_FROM = 10
"""Lines of the chart from which the ruler may show every model."""

_LARGE_FROM = 30
"""Lines of the panel from which the verdict has large digits."""

_ORDER = (
    "setup", "network", "gap0", "verdict", "why", "gap3", "title", "chart", "gap1", "throughput", "udp0", "udp1",
    "udp2", "udp3", "rtt", *QUEUE_SERIES, "losses", "retransmits", "early", "causes", "phases", "key", "status",
    "gap2", "models", "ruler", "comparisons",
)  # fmt: skip


@dataclass
class _Space:
    """Free lines, and the parts that take the others."""

    left: int
    parts: dict[str, list[Line]] = field(default_factory=dict)

    def fit(self, name: str, lines: Sequence[Line], least: int) -> None:
        """Show a part if that leaves at least `least` lines."""
        if lines and self.left - len(lines) >= least:
            self.left -= len(lines) - len(self.parts.get(name, ()))
            self.parts[name] = list(lines)


def views(live: Live) -> tuple[View, ...]:
    """Return the views available now."""
    views: list[View] = ["chart"]
    if live.charted != "cwnd" and live.run.samples:
        views.append("cwnd")
    if live.report is not None and live.report.comparisons:
        views.append("models")
    if live.has_samples:
        views.append("flows")
    if live.report is not None and not live.report.latency.is_empty:
        views.append("latency")
    return tuple(views)


def render(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    message: str,
    view: View,
    width: int,
    height: int,
    keys: EdgeKeys | None = None,
) -> list[Line]:
    """Return at most `height` lines, with `keys` in the edges of the parts; called in a thread."""
    keys = keys or EdgeKeys()
    head = [edge.named(view, width, keys.views + keys.chart)] if height >= edge.MIN_HEIGHT else []
    room = height - len(head)
    if view == "models" and live.report is not None:
        return head + tables.model_table(live.report, live.run.experiment, own, width, room, live.formula)
    if view == "flows" and (history.flows or live.run.udp):
        return head + tables.flow_table(live, history, width, room)
    if view == "latency" and live.report is not None:
        warmup = live.run.experiment.flows.warmup
        return head + latency.latency_table(live.report.latency, warmup, width, room)
    return _with_chart(live, history, own, message, "cwnd" if view == "cwnd" else None, width, height, keys)


def _with_chart(
    live: Live,
    history: History,
    own: OwnPrediction | None,
    message: str,
    quantity: ChartName | None,
    width: int,
    height: int,
    keys: EdgeKeys,
) -> list[Line]:
    has_edges = height >= edge.MIN_HEIGHT
    scene = scene_of(live, history, own, quantity=quantity)
    least = min(height, 1 + (MIN_LIVE_CHART if live.in_progress else chart.MIN_HEIGHT))
    space = _Space(height)
    status = [Line.of((message, TEXT))] if message else result.status(live, width)
    is_complete = live.state == "ended" and live.run.complete and not live.problem
    space.fit("title", [chart.title(scene, width)], 2)
    if not is_complete:
        space.fit("status", status, min(least, 3))
    if live.in_progress:
        space.fit("network", [network.live_line(live, history, width)], least)
    else:
        large = verdict.large(live, own, width) if height >= _LARGE_FROM else []
        space.fit("verdict", large or verdict.small(live, own, width), min(least, 4))
        space.fit("why", result.explanation(live, width), min(least, 3))
        space.fit(
            "comparisons",
            comparison_lines(live.comparisons, live.run.experiment, len(scene.curves), width),
            least,
        )
        _fit_ruler(space, live, own, width, ruler.MIN_LINES + bool(live.earlier), least)
        if live.report:
            wanted_lines = ruler.lines_needed(live.report, live.formula) + bool(live.earlier)
            _fit_ruler(space, live, own, width, wanted_lines, least)
    for name in (
        "throughput",
        *(each for each in scene.series if each.startswith("udp")),
        "losses",
        "rtt",
        *QUEUE_SERIES,
    ):
        _fit_strip(space, scene, name, width, 1, least)
    cause = causes.causes(live, width, column=margin.column_of(scene))
    space.fit("causes", [cause] if cause.text else [], least)
    _fit_strip(space, scene, "retransmits", width, 1, least)
    space.fit("early", _warmup_lines(scene, width), least)
    if live.earlier or live.comparisons:
        _fit_strip(space, scene, "throughput", width, 2, least)
    if is_complete:
        space.fit("status", status, least + 1)
    space.fit("models", _models_edge(space, has_edges, width), least)
    space.fit("setup", [_setup(live, width, has_edges)], least + 1)
    ruled = space.left > least + 3
    tall = _TALL + ruled
    if live.report:
        every_model = len(live.report.comparisons) + ruler.MIN_LINES - 1 + bool(live.earlier)
        for number in range(len(space.parts.get("ruler", ())) + 1, every_model + 1):
            # The summary of the warm-up must not take a model's line.
            _fit_ruler(space, live, own, width, number, _MODELS_FROM + ruled - ("early" in space.parts))
    for name in ("gap3", "gap2", "gap1", "gap0") if not live.in_progress else ("gap1", "gap0"):
        space.fit(name, [Line()], tall)
    phases = causes.phases(live, width)
    space.fit("phases", [phases] if phases.text else [], tall)
    space.fit("key", _explain_marks(live, scene, space, width), tall)
    for number in (2, 3):
        for name in ("throughput", "rtt", *QUEUE_SERIES):
            _fit_strip(space, scene, name, width, number, tall + 2 * number)
    space.parts |= _deduplicate_drops(space, scene, width)
    tallest = max(2, space.left)
    ruled = ruled and tallest >= 4
    scene = chart.simplify(scene, width, tallest)
    space.parts |= _title(scene, width, tallest - 1 - ruled, has_edges, "models" in space.parts, keys)
    space.parts["chart"] = _render_chart(scene, width, tallest, ruled)
    lines = [line for name in _ORDER for line in space.parts.get(name, ())]
    return lines[:height]


def _warmup_lines(scene: Scene, width: int) -> list[Line]:
    if not scene.warmup_events:
        return []
    parts = scene.warmup_events.split(", ")
    texts = [f"{'warm-up':{axes.GUTTER}}{', '.join(parts[:n])}" for n in range(len(parts), 0, -1)]
    return [next((Line.of((text, MUTED)) for text in texts if len(text) <= width), Line())]


def _models_edge(space: _Space, has_edges: bool, width: int) -> list[Line]:
    return [edge.named("models", width)] if has_edges and "ruler" in space.parts else []


def _title(
    scene: Scene, width: int, height: int, has_edges: bool, has_models: bool, keys: EdgeKeys
) -> dict[str, list[Line]]:
    """Return the title of the chart as an edge with keys, and the edge of the models with the others."""
    title = chart.title(scene, width, height)
    if not has_edges:
        return {"title": [title]}
    of_chart, of_models = (keys.chart, keys.views) if has_models else (keys.chart + keys.views, ())
    if has_models and title.width > edge.room(width, of_chart):
        # The legend is more important than the place of a key.
        of_chart, of_models = (), keys.chart + keys.views
    if not has_models:
        title = chart.title(scene, edge.room(width, of_chart), height)
    if title.width <= edge.room(width, of_chart):
        title = edge.edge(title, width, of_chart)
    models = {"models": [edge.named("models", width, of_models)]} if has_models else {}
    return {"title": [title], **models}


def _setup(live: Live, width: int, has_edges: bool) -> Line:
    """Return the settings and the flows; as an edge, with the name of the part below where it fits."""
    experiment = live.run.experiment
    flows_text = Line.of((words.flows_line(experiment), MUTED))
    settings = Line.of((experiment_line(experiment, width), MUTED))
    if not has_edges:
        return spread(settings, flows_text, width)
    name = Line.of(("run" if live.in_progress else "verdict", STRONG), ("  ", MUTED))
    for parts in ((name, settings, Line.of(("  ", MUTED)), flows_text), (name, settings), (settings,)):
        title = Line.of(*(piece for part in parts for piece in part.pieces()))
        if title.width <= edge.room(width):
            return edge.edge(title, width)
    return settings.fit(min(width, settings.width))


def _render_chart(scene: Scene, width: int, lines: int, ruled: bool) -> list[Line]:
    return chart.render(scene, width, lines - 1 - ruled, ruled)


def _fit_strip(space: _Space, scene: Scene, name: str, width: int, lines: int, least: int) -> None:
    series = scene.series.get(name)
    if series is None or (lines > 1 and name not in space.parts):
        return
    extra = lines - len(space.parts.get(name, ()))
    if space.left - extra >= least:
        space.left -= extra
        space.parts[name] = strips.render(scene, series, width, lines)


def _deduplicate_drops(space: _Space, scene: Scene, width: int) -> dict[str, list[Line]]:
    """Drop the queue's drops from the strip of losses if the queue has its own strip."""
    shown = strips.deduplicate_drops(
        {name: scene.series[name] for name in space.parts if name in scene.series}
    )
    return {"losses": strips.render(scene, shown["losses"], width)} if "losses" in shown else {}


def _fit_ruler(
    space: _Space, live: Live, own: OwnPrediction | None, width: int, lines: int, least: int
) -> None:
    if live.report is None or not live.report.throughput_bps:
        return
    ruler_lines = ruler.ruler(live.report, own, live.earlier, width, lines, live.formula)
    extra = len(ruler_lines) - len(space.parts.get("ruler", ()))
    if space.left - extra >= least:
        space.left -= extra
        space.parts["ruler"] = ruler_lines


def _explain_marks(live: Live, scene: Scene, space: _Space, width: int) -> list[Line]:
    marks = causes.key(live, width, full="phases" in space.parts)
    scales = strips.key([each for name, each in scene.series.items() if name in space.parts])
    texts = [text for text in (marks, scales) if text]
    return [Line.of((line, MUTED)) for text in texts for line in wrapped(text, width)]
