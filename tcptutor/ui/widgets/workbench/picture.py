"""What is to be expected of the knobs as they stand: the window's course with its limits, which limit binds, the rest.

Nothing in it was measured but the runs beside.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tcptutor.base import units
from tcptutor.run import Environment, Run
from tcptutor.theory.models import CAUSE_NAMES
from tcptutor.ui import words
from tcptutor.ui.background import Forecast
from tcptutor.ui.live import ComparisonRun, Live
from tcptutor.ui.widgets.bench import chart
from tcptutor.ui.widgets.bench.comparison import comparison_curves, comparison_lines
from tcptutor.ui.widgets.bench.history import STEPS
from tcptutor.ui.widgets.bench.lines import BAD, MUTED, STRONG, TEXT, Line, paragraph
from tcptutor.ui.widgets.bench.references import axis_top, references
from tcptutor.ui.widgets.bench.scene import WINDOW, FlowCurve, GuideLine, Scene

_NOWHERE = Environment(backend="", clock="", kernel="")
_STALE = "these settings cannot be run, so this is of the last ones that could"


def picture(
    forecast: Forecast,
    beside: Sequence[ComparisonRun],
    stale: bool,
    said: str,
    width: int,
    height: int,
) -> list[Line]:
    """At most `height` lines; called in a thread. `stale`: whether the settings are others by now, which cannot be run.

    `said` stands in place of how long it takes, which is told of what can be run.
    """
    scene = scene_of_forecast(forecast, beside)
    head = paragraph("✗ ", BAD, _STALE, width) if stale else []
    binding = list(_binding(forecast, width))
    foot = paragraph("", TEXT, said or ("" if stale else _takes(forecast)), width)
    others = [*_others(forecast, width)]
    beside_lines = comparison_lines(beside, forecast.experiment, len(scene.curves), width)
    note = paragraph("", TEXT, forecast.expectation.note, width) if forecast.expectation.note else []
    left = height - len(head) - 1 - chart.MIN_HEIGHT - 1
    taken: dict[str, list[Line]] = {}
    # In the order of what they are worth.
    for name, lines in (
        ("binding", binding[:1]), ("foot", foot), ("beside", beside_lines), ("binding", binding),
        ("note", note), ("others", others), ("gap", [Line(), Line()]),
    ):  # fmt: skip
        if (more := len(lines) - len(taken.get(name, ()))) <= left:
            left -= more
            taken[name] = lines
    gap = taken.get("gap", [])
    rows = height - len(head) - 1 - sum(map(len, taken.values()))
    lines = [
        *head,
        chart.title(scene, width),
        *chart.render(scene, width, max(1, rows - 1), False),
        *gap[:1],
        *taken.get("binding", []),
        *taken.get("note", []),
        *taken.get("others", []),
        *taken.get("beside", []),
        *gap[1:],
        *taken.get("foot", []),
    ]
    return lines[:height]


def scene_of_forecast(forecast: Forecast, beside: Sequence[ComparisonRun]) -> Scene:
    """The chart of the expectation, with the curves of the runs beside."""
    experiment = forecast.experiment
    live = Live(
        "", "", Run(id="", experiment=experiment, environment=_NOWHERE, started=""),
        expectation=forecast.expectation,
    )  # fmt: skip
    guides = [_as_forecast(guide, experiment.total_streams) for guide in references(live, None)]
    course = next((guide for guide in guides if guide.kind == "forecast"), None)
    curves = comparison_curves(beside, 0.0, experiment.seconds, 0)
    warm = int(experiment.flows.warmup / experiment.seconds * STEPS)
    measured = [*curves, *([_curve(course, experiment.seconds)] if course else [])]
    upper, peak = axis_top(measured, warm, guides)
    return Scene(
        seconds=experiment.seconds,
        warmup=experiment.flows.warmup,
        until=0.0,
        quantity=WINDOW,
        top=upper,
        curves=tuple(curves),
        band=None,
        references=tuple(guides),
        series={},
        peak=peak,
        flows=2 if curves else 1,
        ended=True,
    )


def _as_forecast(guide: GuideLine, flows: int) -> GuideLine:
    """The course is what is looked for here: a line, not loose dots behind something measured."""
    if guide.kind != "course":
        return guide
    return replace(guide, kind="forecast", name=guide.name if flows == 1 else "expected course of a flow")


def _curve(course: GuideLine, seconds: float) -> FlowCurve:
    """The course by step, from which the axis takes its end."""
    values = array("d", [float("nan")]) * STEPS
    for t, value in course.points:
        at = min(STEPS - 1, max(0, int(t / seconds * STEPS)))
        values[at] = value if not values[at] >= value else values[at]
    return FlowCurve("", values, values, values)


def _binding(forecast: Forecast, width: int) -> Iterator[Line]:
    """What is expected, what limits it, and by which formula."""
    expectation = forecast.expectation
    one = expectation.binding
    rate = f"{units.rate(one.throughput_bps)} {words.tolerance(one.tolerance)}"
    yield Line.of(
        ("expected ", TEXT), (rate, STRONG), (", limited by ", TEXT), (CAUSE_NAMES[one.limited_by], STRONG)
    )
    for line in words.wrapped(f"{one.label}: {one.formula}", width, "  "):
        yield Line.of((line, MUTED))
    if not expectation.trajectory:
        yield Line.of(("  no model here gives the window's course over time", MUTED))


def _others(forecast: Forecast, width: int) -> Iterator[Line]:
    """The other models, which allow more or are not believed here."""
    others = forecast.expectation.predictions[1:]
    if not others:
        return
    yield Line.of(("the other models", MUTED))
    label = min(24, max(len(each.label) for each in others))
    for each in others:
        rate = f"{units.rate(each.throughput_bps):>12} {words.tolerance(each.tolerance)}"
        text = f"  {each.label[:label]:<{label}} {rate:<20} {CAUSE_NAMES[each.limited_by]}"
        yield Line.of((text[:width], TEXT))


def _takes(forecast: Forecast) -> str:
    """How long the run is, and how long it takes here."""
    seconds = f"{forecast.experiment.seconds:g} s of lab time"
    if forecast.seconds is None:
        return f"r runs it: {seconds}."
    return f"r runs it: {seconds}, which take about {words.duration(forecast.seconds)} here."
