"""Panel of a sweep: its curve with notes, or the table of its runs."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from statistics import fmean
from typing import ClassVar, Literal

from textual.actions import SkipAction
from textual.binding import Binding, BindingType

from tcptutor.base import columns, units
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.measures import MEASURES
from tcptutor.course.page_sweep import summaries
from tcptutor.course.setting_line import experiment_line
from tcptutor.figures.figure import MIN_WIDTH
from tcptutor.figures.kinds.network import of_experiment
from tcptutor.figures.lines import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, paragraph, spread
from tcptutor.run import mean_of_known
from tcptutor.study import words
from tcptutor.study.live_sweep import LiveSweep
from tcptutor.ui.widgets.chart import axes, edge
from tcptutor.ui.widgets.chart.edge import EdgeKeys
from tcptutor.ui.widgets.chart.line_panel import LinePanel
from tcptutor.ui.widgets.sweep import plot
from tcptutor.ui.widgets.sweep.scene import CurveScene, format_figure, scene_of

_COMPACT_FRAMES, _AXIS_LINES, _FEWEST_ROWS = 5, 2, 5
"""Lines of the parts to come without axes, of the axis across, and of axes worth drawing."""


class SweepPanel(LinePanel, can_focus=True):
    """View of a `LiveSweep`; its table lets the student choose a run."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, priority=True, id="sweep.up"),
        Binding("down", "move(1)", "down", show=False, priority=True, id="sweep.down"),
        Binding("enter", "open", "open", show=False, priority=True, id="sweep.open"),
    ]

    def __init__(self, activity: SweepActivity, predict: Predict | None) -> None:
        super().__init__()
        self._activity, self._predict = activity, predict
        self._live: LiveSweep | None = None
        self._guess: tuple[str, float] | None = None
        self._message = ""
        self._view: Literal["chart", "table"] = "chart"
        self._cursor = 0
        self.open_handler: Callable[[int], None] = lambda _at: None
        """Called with the index of a value to open its run; set by the screen."""
        self.can_focus = False

    def show_idle(self, instruction: str) -> None:
        """Show the network and how to start, before any run."""
        self._live, self._message = None, instruction
        self.refresh(layout=True)
        self.draw()

    def show(self, live: LiveSweep, guess: tuple[str, float] | None) -> None:
        """Show a sweep and the student's prediction; no-op if the page was left meanwhile."""
        if self.is_attached:
            self._live, self._guess, self._message = live, guess, ""
            self.call_after_refresh(self.pace.draw_now)

    def show_message(self, text: str) -> None:
        """Show a message in place of the sweep's status."""
        self._message = text
        self.draw()

    def redraw_changes(self) -> None:
        """Redraw for new data of the sweep."""
        self._message = ""
        self.pace.draw_now()

    @property
    def has_views(self) -> bool:
        return self._live is not None

    def cycle_view(self) -> None:
        """Switch between chart and table."""
        if self._live is None:
            return
        self._view = "chart" if self._view == "table" else "table"
        self.can_focus = self.shows_table
        self.draw()

    @property
    def shows_table(self) -> bool:
        """Whether the table is shown."""
        return self._view == "table"

    def waiting(self, width: int, height: int) -> list[Line] | None:
        if self._live is not None:
            return None
        experiment = self._activity.experiments[0]
        drawing = of_experiment(experiment, hosts=True).draw(max(MIN_WIDTH, width))
        instruction = paragraph("", TEXT, self._message, width)
        if height >= len(drawing) + len(instruction) + 2:
            shown = [*drawing, Line(), Line(), *instruction]
            room = height - len(shown) - 2
            frames = self._frames(width, room) if room >= _COMPACT_FRAMES else []
            return [*shown, *[Line(), Line()] * bool(frames), *frames]
        return [*paragraph("", TEXT, experiment_line(experiment), width), *instruction]

    def _frames(self, width: int, height: int) -> list[Line]:
        """Return the edges of curve and table, each with a line on its content after the runs."""
        activity = self._activity
        keys = (self.edge_keys() if self.shows_keys else None) or EdgeKeys()
        axis, across = activity.axis.replace("_", " "), axes.columns(width)
        curve = f"a point for each of {len(activity.values)} values of {axis}, next to the models"
        rows = height - _COMPACT_FRAMES - _AXIS_LINES
        drawn = [Line.of((text, "axis")) for text in axes.frame(across, max(0, rows), (), (), True)[:-1]]
        drawn.append(Line.of((axis.rjust(axes.GUTTER + across), MUTED)))
        return [
            edge.named(MEASURES[activity.measure].label, width, keys.chart),
            Line.of((curve[:width], MUTED)),
            *(drawn if rows >= _FEWEST_ROWS else ()),
            Line(),
            edge.named("table", width),
            Line.of(("a row for each value, with what limited it"[:width], MUTED)),
        ]

    def picture(self) -> Callable[[int, int], list[Line]]:
        assert self._live is not None
        if self.shows_table:
            return partial(table, self._live, self._cursor if self.has_focus else None)
        return partial(
            render, self._live, self._predict, self._guess, self._message, keys=self.edge_keys() or EdgeKeys()
        )

    def watch_has_focus(self, has_focus: bool) -> None:
        super().watch_has_focus(has_focus)
        self.draw()

    def action_move(self, by: int) -> None:
        if not self.shows_table:
            raise SkipAction
        self._cursor = min(max(0, self._cursor + by), len(self._activity.values) - 1)
        self.draw()

    def action_open(self) -> None:
        if not self.shows_table:
            raise SkipAction
        self.open_handler(self._cursor)


def render(
    live: LiveSweep,
    predict: Predict | None,
    guess: tuple[str, float] | None,
    message: str,
    width: int,
    height: int,
    keys: EdgeKeys = EdgeKeys(),  # noqa: B008
) -> list[Line]:
    """Return at most `height` lines, with `keys` in the edge of the curve; called in a thread."""
    scene = scene_of(live, predict, guess)
    status = [Line.of((message, TEXT))] if message else list(_status(live, width))
    knee = list(_knee_lines(live, scene, predict, width))
    notes = [*_published(live, width), *_doubts(live, width)]
    setup = [_shared_settings(live, width)]
    least = plot.MIN_HEIGHT + 3
    left = height - 1 - len(status)
    below: list[Line] = []
    for part in (knee, notes):
        if left - len(part) >= least:
            below += part
            left -= len(part)
    above: list[Line] = []
    if left - len(setup) > least:
        above = [*setup]
        left -= len(setup)
    gaps = left > 18
    left -= 3 * gaps
    title = plot.title(scene, width, 2 if left > 18 else 1)
    left -= len(title) - 1
    if height >= edge.MIN_HEIGHT:
        title = [edge.named("curve", width, keys.chart + keys.views), *title]
        left -= 1
    axis = 2 + any(scene.limits) + (scene.knee is not None)
    blank = [Line()] * gaps
    return [
        *above, *blank, *title,
        *plot.render(scene, width, max(2, left - axis)), *blank,
        *status, *blank, *below,
    ][:height]  # fmt: skip


def _shared_settings(live: LiveSweep, width: int) -> Line:
    first, *others = (experiment_line(each).split(" · ") for each in live.activity.experiments)
    common = [part for part in first if all(part in other for other in others)]
    while len(" · ".join(common)) > width and common:
        common.pop()
    flow_texts = {words.flows_line(each) for each in live.activity.experiments}
    right = Line.of((flow_texts.pop(), MUTED)) if len(flow_texts) == 1 else Line()
    return spread(Line.of((" · ".join(common), MUTED)), right, width)


def progress(live: LiveSweep) -> str:
    """Return e.g. "3 of 8 runs"."""
    return f"{live.done} of {live.total} runs"


def _status(live: LiveSweep, width: int) -> Iterator[Line]:
    run, stop, turn = key_name("lesson.run"), key_name("lesson.stop"), key_name("lesson.turn")
    saved = f"{progress(live)} are saved"
    if live.in_progress:
        at = live.activity.values_in_words(sorted(live.working))
        now = f", at {live.activity.axis.replace('_', ' ')} {at}" if at else ""
        recorded = "recorded runs: " if live.replayed else ""
        yield Line.of(
            (f"▶ {recorded}", STRONG),
            (f"{progress(live)}{now}", TEXT),
            (f"   {stop} stops", MUTED),
        ).fit(width)
    elif live.problem:
        yield from paragraph("✗ ", BAD, f"{live.problem} ({saved}; {run} continues)", width)
    elif live.done < live.total:
        yield from paragraph("✂ stopped: ", WARN, f"{saved}; {run} continues.", width)
    elif live.replayed:
        yield from paragraph(
            "✓ ", GOOD, f"replayed from a recording. {run} replays it, {turn} shows the table.", width
        )
    else:
        duration = f" in {live.wall_s:.0f} s" if live.wall_s else ""
        following = f"{_repeat_key(live)}, {turn} shows the table."
        yield from paragraph("✓ ", GOOD, f"{live.total} runs{duration}. {following}", width)


def _repeat_key(live: LiveSweep) -> str:
    """Return the effect of r; on the virtual clock, runs without chance are identical."""
    run = key_name("lesson.run")
    if live.suspect:
        return f"{len(live.suspect)} of {len(live.activity.values)} suspect: {run} runs them again"
    if any(words.drawn_by_chance(each) for each in live.activity.experiments):
        return f"{run} measures each value again"
    exact = live.environment is not None and live.environment.clock == "virtual"
    return f"{run} runs them again" + (" (no randomness)" if exact else "")


def _knee_lines(live: LiveSweep, scene: CurveScene, predict: Predict | None, width: int) -> Iterator[Line]:
    """Yield the knee by the runs, by the model and by the student."""
    if predict is None or not predict.knee or scene.knee is None:
        return
    values = live.activity.values
    message = f"measured at {values[scene.knee]}"
    if scene.expected_knee is not None:
        message += f", by {scene.lines[0].name} at {values[scene.expected_knee]}"
    if scene.own is not None:
        message += f", you {scene.own.text}"
    share = units.percent(live.activity.share)
    following = (
        "from there it rises by more"
        if MEASURES[live.activity.measure].is_cost
        else "beyond it, more adds less"
    )
    yield from paragraph("knee: ", STRONG, f"{message} ({following} than {share})", width)


def _published(live: LiveSweep, width: int) -> Iterator[Line]:
    published = live.activity.published
    if published is not None:
        why = f", {published.scale_reason}" if published.scale_reason else ""
        yield from paragraph(f"{plot.PUBLISHED} ", "published", f"published: {published.called}{why}", width)


def _doubts(live: LiveSweep, width: int) -> Iterator[Line]:
    if live.unsaved:
        yield from paragraph("⚠ not saved: ", BAD, live.unsaved, width)
    reasons: dict[str, list[int]] = {}
    for at in live.suspect:
        cell = live.cells_at(at)[-1]
        reasons.setdefault(cell.reason or cell.fidelity, []).append(at)
    for reason, places in reasons.items():
        yield from paragraph(f"⚠ suspect at {live.activity.values_in_words(places)}: ", WARN, reason, width)


GAPS = (3, 2, 1)


def table(live: LiveSweep, cursor: int | None, width: int, room: int) -> list[Line]:
    """Return the table; `cursor` is the index of the value that Enter opens, None without focus."""
    columns_of_rows = zip(*_rows(live), strict=True)
    rows = [_head(live), *zip(*map(align_decimals, columns_of_rows), strict=True)]
    for hidden in range(3):
        # Columns that were not measured here are dropped first.
        visible = [row[: len(row) - hidden] for row in rows]
        for gap in GAPS:
            lines = columns.table(visible, indent=2, gap=gap, right=True)
            if max(map(len, lines)) <= width:
                break
        else:
            continue
        break
    drawn = [Line.of((lines[0], "model"))]
    for number, line in enumerate(lines[1:]):
        is_selected = number == cursor
        drawn.append(Line.of((f"›{line[1:]}" if is_selected else line, "strong" if is_selected else TEXT)))
    keys = f"↑ ↓ choose a run, Enter opens it, {key_name('lesson.turn')} shows the curve"
    return [line.fit(min(width, line.width)) for line in [*drawn, Line(), Line.of((keys, MUTED))]][:room]


_NUMBER = re.compile(r"(\D*\d+)(\.\d+)?(.*)")


def align_decimals(cells: Sequence[str]) -> list[str]:
    """Pad the cells of a right-aligned column so that decimal points and units are below each other."""
    parts = [_NUMBER.fullmatch(cell) for cell in cells]
    decimals = max((len(part[2] or "") for part in parts if part), default=0)
    unit = max((len(part[3]) for part in parts if part), default=0)
    return [
        f"{part[1]}{part[2] or '':<{decimals}}{part[3]:<{unit}}" if part else cell
        for cell, part in zip(cells, parts, strict=True)
    ]


def _head(live: LiveSweep) -> tuple[str, ...]:
    sweep = live.activity
    model = live.models[0].name if live.models and live.models[0].kind == "formula" else ""
    has_spread = max(map(len, live.measured), default=0) > 1
    head = [sweep.axis.replace("_", " "), MEASURES[sweep.measure].label]
    head += ["spread"] if has_spread else []
    head += [model, "off"] if model else []
    return (*head, "limit", *([] if sweep.measure == "rtt" else ["RTT"]), "loss")


def _rows(live: LiveSweep) -> Iterator[tuple[str, ...]]:
    sweep = live.activity
    kind = MEASURES[sweep.measure].kind
    model = live.models[0] if live.models and live.models[0].kind == "formula" else None
    has_spread = max(map(len, live.measured), default=0) > 1
    limits = scene_of(live, None, None).limits
    for at, summary in enumerate(summaries(sweep, live.cells)):
        row = [f"⚠ {sweep.values[at]}" if at in live.suspect else sweep.values[at]]
        if summary is None:
            yield (*row, "…" if at in live.working else "–", *[""] * (len(_head(live)) - 2))
            continue
        cells = live.counted_cells(at)
        row.append(format_figure(summary.mean, kind))
        if has_spread:
            spread = (max(live.measured[at]) - min(live.measured[at])) / 2
            share = units.share(spread / summary.mean) if summary.mean else ""
            row.append(f"±{share}" if len(cells) > 1 and share else "")
        if model:
            ratio = summary.mean / model.values[at] - 1 if model.values[at] else 0.0
            row += [format_figure(model.values[at], kind), units.signed_percent(ratio)]
        row.append(limits[at])
        rtts = [cell.mean_rtt_s for cell in cells if cell.mean_rtt_s]
        if sweep.measure != "rtt":
            row.append(units.seconds(fmean(rtts)) if rtts else "–")
        lost = mean_of_known(cell.loss_rate for cell in cells)
        yield (*row, units.or_dash(lost, lambda share: units.percent(float(f"{share:.2g}"))))
