"""Charts in lines of text: where the curves are, what the axes say, and how they fit into a terminal."""

from __future__ import annotations

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.base.chart import Chart, ChartAxis, ChartPanel, ChartSeries, render, round_numbers

COLOR = re.compile(r"\x1b\[[0-9;]*m")


def chart(
    *series: ChartSeries, x: ChartAxis | None = None, y: ChartAxis | None = None, **of_panel: object
) -> Chart:
    panel = ChartPanel(heading="rate, Mbit/s", series=series, y=y or ChartAxis(high=10), **of_panel)  # type: ignore[arg-type]
    return Chart(title=["a title"], panels=[panel], x=x or ChartAxis(high=10, unit="s"))


def drawn(whole: Chart, width: int = 60, height: int = 16, *, plain: bool = True) -> list[str]:
    return [COLOR.sub("", line) for line in render(whole, width, height, plain=plain)]


RISING = ChartSeries(points=[(t, t) for t in range(11)], label="one", color=6)
FALLING = ChartSeries(points=[(t, 10 - t) for t in range(11)], label="other", color=3)


@pytest.mark.parametrize(("width", "height"), [(80, 22), (120, 34), (60, 16), (40, 12)])
@pytest.mark.parametrize("panels", [1, 2, 4])
def test_a_chart_fills_the_terminal_and_no_more(width: int, height: int, panels: int) -> None:
    one = chart(RISING, FALLING)
    lines = drawn(Chart(title=one.title, panels=[*one.panels] * panels, x=one.x), width, height)
    smallest = 1 + 2 + 1 + panels * 4
    assert len(lines) == max(height, smallest)
    assert all(len(line) <= width for line in lines)
    assert sum("rate, Mbit/s" in line for line in lines) == panels


def test_a_rising_line_rises_between_named_axes() -> None:
    lines = drawn(chart(RISING))
    canvas = [line.split("┤" if "┤" in line else "│", 1)[1] for line in lines if "┤" in line or "│" in line]
    at = [len(line) - len(line.lstrip()) for line in canvas]
    assert at == sorted(at, reverse=True)
    assert any(line.startswith("10┤") for line in lines)
    assert lines[-1].split() == ["0", "2", "4", "6", "8", "10", "s"]


def test_without_color_lines_differ_by_characters_and_the_legend_says_which() -> None:
    both = chart(RISING, FALLING)
    plain, colored = drawn(both), drawn(both, plain=False)
    assert plain[-1] == "1 one   2 other"
    assert sum(line.partition("│")[2].count("1") for line in plain) >= 2
    assert not any("1" in line.partition("│")[2] for line in colored)
    assert {"\x1b[38;5;6m", "\x1b[38;5;3m"} <= set(COLOR.findall("\n".join(render(both, 60, 16))))


def test_many_curves_of_a_color_are_drawn_as_one_where_they_coincide() -> None:
    def columns(lines: list[str]) -> list[int]:
        """Return the column of the curve in each line of the canvas."""
        found = [re.split("[┤│]", line, maxsplit=1)[1] for line in lines if "┤" in line or "│" in line]
        return [len(line) - len(line.lstrip()) for line in found if line.strip()]

    one, many = (columns(drawn(chart(*[RISING] * number))) for number in (1, 64))
    assert len(one) == len(many)
    assert all(abs(left - right) <= 2 for left, right in zip(one, many, strict=True))


def test_points_have_their_spread_and_events_are_marked_above_the_curve() -> None:
    points = ChartSeries(points=[(5, 5)], label="measured", marker="●", is_connected=False, spread=[2])
    lines = drawn(chart(points, events=[2.5, 7.5], events_label="loss event"))
    column = next(line.index("●") for line in lines if "●" in line)
    above = [line[column : column + 1].strip() for line in lines[2:-3]]
    assert sum(map(bool, above)) > 3, "the point, and its bar above and below"
    assert lines[2].count("×") == 2
    assert lines[-1] == "● measured   × loss event"


def test_on_logarithmic_axes_a_power_law_is_straight_and_decades_are_named() -> None:
    law = ChartSeries(points=[(10.0**n, 10.0**n) for n in range(5)], marker="●", is_connected=False)
    axis = ChartAxis(low=1, high=1e4, is_log=True)
    lines = drawn(chart(law, x=axis, y=axis), width=66, height=25)
    rows = {line.index("●"): number for number, line in enumerate(lines) if "●" in line}
    assert len({(b - a) for a, b in zip(list(rows)[:-1], list(rows)[1:], strict=True)}) <= 2
    assert {"1", "10", "100", "1000", "10000"} <= set(lines[-1].split())


def test_bars_stand_on_the_axis_and_reach_their_value() -> None:
    bars = ChartSeries(points=[(5, 0), (15, 2), (25, 4)])
    lines = drawn(chart(bars, x=ChartAxis(high=30), y=ChartAxis(high=4), has_bars=True), width=40, height=12)
    counts = [line.count("█") for line in lines if "│" in line or "┤" in line]
    assert counts == sorted(counts)
    assert lines[[line.count("█") > 0 for line in lines].index(True)].startswith("4┤")


def test_values_outside_the_range_and_unknown_ones_are_left_out() -> None:
    wild = ChartSeries(points=[(0, 5), (1, float("nan")), (2, 1e300), (3, -1e300), (10, 5)])
    assert len(drawn(chart(wild))) == 16


@given(st.floats(0, 1e9), st.floats(1e-6, 1e9), st.integers(1, 9))
def test_there_are_always_two_round_ticks_within_the_range(low: float, span: float, number: int) -> None:
    found = round_numbers(low, low + span, number)
    assert len(found) >= 2
    assert found == sorted(found)
    assert all(low - 1e-6 * span <= value <= low + span * (1 + 1e-6) + 1e-9 * low for value in found)
