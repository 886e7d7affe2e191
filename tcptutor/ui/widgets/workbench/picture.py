"""Forecast for the current settings: expected trajectory of cwnd, limits, and models.

Only the comparison runs were measured.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import replace

from tcptutor.analysis.observed.changes import changes_of_ends
from tcptutor.base import units
from tcptutor.base.causes import CAUSE_NAMES
from tcptutor.base.columns import wrapped
from tcptutor.base.key_names import key_name
from tcptutor.figures.axes import rounded_up
from tcptutor.figures.lines import BAD, MUTED, STRONG, TEXT, Line, paragraph
from tcptutor.run import Environment, Run
from tcptutor.study import words
from tcptutor.study.background import Forecast
from tcptutor.study.live import ComparisonRun, Live
from tcptutor.ui.widgets.chart import chart
from tcptutor.ui.widgets.chart.build import axis_top, references
from tcptutor.ui.widgets.chart.comparison import comparison_curves, comparison_lines
from tcptutor.ui.widgets.chart.history import STEPS
from tcptutor.ui.widgets.chart.scene import WINDOW, FlowCurve, GuideLine, Scene

_NO_ENVIRONMENT = Environment(backend="", clock="", kernel="")
_ROOM = 1.04
"""Upper end of the axis, as a multiple of the highest limit, if only limits are drawn."""
_STALE_TEXT = "these settings cannot be run: this is the forecast for the last that could"


def render(
    forecast: Forecast,
    comparisons: Sequence[ComparisonRun],
    is_stale: bool,
    message: str,
    width: int,
    height: int,
) -> list[Line]:
    """Return at most `height` lines; called in a thread.

    Args:
        forecast: Expectations of the models.
        comparisons: Comparison runs.
        is_stale: Whether the current settings cannot be run, so that the forecast is for earlier settings.
        message: Message in place of the duration of a run.
        width: Columns.
        height: Maximum lines.
    """
    scene = scene_of_forecast(forecast, comparisons)
    head = paragraph("✗ ", BAD, _STALE_TEXT, width) if is_stale else []
    binding = list(_binding(forecast, width))
    foot = paragraph("", TEXT, message or ("" if is_stale else _duration(forecast)), width)
    others = [*_other_models(forecast, width)]
    comparisons_text = comparison_lines(comparisons, forecast.experiment, len(scene.curves), width)
    note = paragraph("", TEXT, forecast.expectation.note, width) if forecast.expectation.note else []
    left = height - len(head) - 1 - chart.MIN_HEIGHT - 1
    shown: dict[str, list[Line]] = {}
    # By importance.
    for name, lines in (
        ("binding", binding[:1]), ("foot", foot), ("comparisons", comparisons_text), ("binding", binding),
        ("note", note), ("others", others), ("gap", [Line(), Line()]),
    ):  # fmt: skip
        if (more := len(lines) - len(shown.get(name, ()))) <= left:
            left -= more
            shown[name] = lines
    gap = shown.get("gap", [])
    rows = height - len(head) - 1 - sum(map(len, shown.values()))
    lines = [
        *head,
        chart.title(scene, width),
        *chart.render(scene, width, max(1, rows - 1), False),
        *gap[:1],
        *shown.get("binding", []),
        *shown.get("note", []),
        *shown.get("others", []),
        *shown.get("comparisons", []),
        *gap[1:],
        *shown.get("foot", []),
    ]
    return lines[:height]


def scene_of_forecast(forecast: Forecast, comparisons: Sequence[ComparisonRun]) -> Scene:
    """Return the chart of the expectation, with the curves of the comparison runs."""
    experiment = forecast.experiment
    live = Live(
        "", "", Run(id="", experiment=experiment, environment=_NO_ENVIRONMENT, started=""),
        expectation=forecast.expectation,
    )  # fmt: skip
    guides = [_as_forecast(guide, experiment.total_streams) for guide in references(live, None)]
    trajectory = next((guide for guide in guides if guide.kind == "forecast"), None)
    curves = comparison_curves(comparisons, 0.0, experiment.seconds, 0)
    warm = int(experiment.flows.warmup / experiment.seconds * STEPS)
    measured = [*curves, *([_curve(trajectory, experiment.seconds)] if trajectory else [])]
    upper, peak = axis_top(measured, warm, guides)
    if guides and not measured and not any(guide.kind == "expected" for guide in guides):
        # Without a forecast of cwnd, the limits are all there is to see.
        upper = rounded_up(_ROOM * max(value for guide in guides for _, value in guide.points))
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
        host_changes=changes_of_ends(experiment),
    )


def _as_forecast(guide: GuideLine, flows: int) -> GuideLine:
    """Return the expected trajectory as a continuous line: here it is no mere background."""
    if guide.kind != "trajectory":
        return guide
    return replace(guide, kind="forecast", name=guide.name if flows == 1 else "expected trajectory of a flow")


def _curve(trajectory: GuideLine, seconds: float) -> FlowCurve:
    """Return the trajectory by step, to scale the axis."""
    values = array("d", [float("nan")]) * STEPS
    for t, value in trajectory.points:
        at = min(STEPS - 1, max(0, int(t / seconds * STEPS)))
        values[at] = value if not values[at] >= value else values[at]
    return FlowCurve("", values, values, values)


def _binding(forecast: Forecast, width: int) -> Iterator[Line]:
    """Yield the expected throughput, its cause and formula."""
    expectation = forecast.expectation
    prediction = expectation.binding
    rate = f"{units.rate(prediction.throughput_bps)} {words.tolerance(prediction.tolerance)}"
    yield Line.of(
        ("expected ", TEXT),
        (rate, STRONG),
        (", limited by ", TEXT),
        (CAUSE_NAMES[prediction.limited_by], STRONG),
    )
    for line in wrapped(f"{prediction.label}: {prediction.formula}", width, "  "):
        yield Line.of((line, MUTED))
    if not expectation.trajectory:
        yield Line.of(("  no model here predicts the trajectory of cwnd", MUTED))


def _other_models(forecast: Forecast, width: int) -> Iterator[Line]:
    others = forecast.expectation.predictions[1:]
    if not others:
        return
    yield Line.of(("the other models", MUTED))
    label = min(24, max(len(each.label) for each in others))
    for each in others:
        rate = f"{units.rate(each.throughput_bps):>12} {words.tolerance(each.tolerance)}"
        text = f"  {each.label[:label]:<{label}} {rate:<20} {CAUSE_NAMES[each.limited_by]}"
        yield Line.of((text[:width], TEXT))


def _duration(forecast: Forecast) -> str:
    seconds, key = f"{forecast.experiment.seconds:g} s of lab time", key_name("workbench.run")
    if forecast.seconds is None:
        return f"{key} runs it: {seconds}."
    return f"{key} runs it: {seconds}, which take about {words.duration(forecast.seconds)} here."
