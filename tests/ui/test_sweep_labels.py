"""The names in a sweep's chart: none is cut, however narrow the terminal."""

from __future__ import annotations

import pytest

from tcptutor.course.page_sweep import CurveLine
from tcptutor.ui.widgets.chart import axes
from tcptutor.ui.widgets.sweep import plot
from tcptutor.ui.widgets.sweep.scene import AxisPlaces, CurveScene, OwnGuess

WIDTHS = (58, 78, 80, 118)


def scene(own: str = "100 Mbit/s", value: float = 80.0, **changes: object) -> CurveScene:
    """A sweep over three values with a model's line, and a prediction at the last value."""
    spacing = AxisPlaces("linear", (1, 2, 3))
    at = tuple(spacing.of(x) or 0.0 for x in (1, 2, 3))
    values: dict[str, object] = {
        "quantity": "throughput, Mbit/s",
        "axis": "queue, kB",
        "top": 100.0,
        "places": at,
        "ticks": ("1", "2", "3"),
        "measured": (None, None, None),
        "working": frozenset(),
        "lines": (CurveLine(name="Reno, short buffer", kind="formula", values=(20.0, 40.0, 60.0)),),
        "published": (),
        "own": OwnGuess(own, None, at[2], value),
        "knee": None,
        "expected_knee": None,
        "limits": ("", "", ""),
        "spacing": spacing,
    }
    return CurveScene(**{**values, **changes})  # type: ignore[arg-type]


def drawn(of: CurveScene, width: int) -> list[str]:
    lines = [line.text for line in plot.render(of, width, 14)]
    assert max(map(len, lines)) <= width
    return [line.rstrip() for line in lines]


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("own", ["100 Mbit/s", "5.9 Mbit/s", "12.5 kbit/s"])
def test_a_prediction_keeps_its_unit(own: str, width: int) -> None:
    assert any(line.endswith(f" you {own}") for line in drawn(scene(own), width))


def test_a_prediction_too_long_for_its_place_is_told_by_its_name() -> None:
    lines = drawn(scene("100 megabits each second"), 80)
    assert any(line.endswith(" you") for line in lines)


def test_a_prediction_beside_a_line_does_not_cover_it() -> None:
    lines = drawn(scene(value=60.0), 80)
    assert any(line.endswith(" you 100 Mbit/s") for line in lines)
    assert any(line.endswith(" Reno") for line in lines)
    covered = next(line for line in lines if line.endswith(" you 100 Mbit/s"))
    assert not 0x2800 < ord(covered[axes.GUTTER + axes.columns(80) - 2]) <= 0x28FF


@pytest.mark.parametrize("width", WIDTHS)
def test_the_name_of_a_line_ends_with_a_word(width: int) -> None:
    assert any(line.endswith(" Reno") for line in drawn(scene(), width))


@pytest.mark.parametrize("width", WIDTHS)
def test_the_last_value_is_told_below_its_tick(width: int) -> None:
    lines = drawn(scene(ticks=("0 ms, 0 ms", "0 ms, 30 ms", "0 ms, 90 ms"), axis="delays"), width)
    assert lines[-1].endswith(" 0 ms, 90 ms delays")
    start = lines[-1].index("0 ms, 90 ms")
    marks = lines[-2][start : start + len("0 ms, 90 ms")]
    assert marks.count("┬") == 1


@pytest.mark.parametrize("width", WIDTHS)
def test_a_value_whose_name_has_no_room_keeps_its_tick(width: int) -> None:
    ticks = (
        "0",
        "a name of many words, which takes more than all of the room that there is, and some columns",
        "9",
    )
    lines = drawn(scene(ticks=ticks, axis="delays"), width)
    assert lines[-2].count("┬") == 3
    assert ticks[1] not in lines[-1]


@pytest.mark.parametrize("width", WIDTHS)
def test_the_name_of_the_axis_keeps_its_unit(width: int) -> None:
    assert drawn(scene(axis="pacing, Mbit/s"), width)[-1].endswith(" pacing, Mbit/s")


@pytest.mark.parametrize(
    ("name", "short"),
    [("Reno, short buffer", "Reno"), ("receiver's window", "receiver's"), ("queue, kB", "queue, kB")],
)
def test_a_name_is_shortened_at_a_word(name: str, short: str) -> None:
    assert plot.shorten(name, axes.MARGIN - 1) == short
