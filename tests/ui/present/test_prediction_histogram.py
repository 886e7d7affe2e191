"""Histogram of numeric answers: its axis, its bars and its lines."""

from __future__ import annotations

import math
import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.room.talk import MarkedValue, PollView, Tally
from tcptutor.ui.present.prediction_bins import bins_for, count_within
from tcptutor.ui.present.prediction_histogram import MEASURED, draw_histogram
from tcptutor.ui.present.stage_canvas import StageCanvas

VALUES = st.lists(st.floats(min_value=0, max_value=1e300), min_size=1, max_size=50)


def poll(*rounds: list[float], **more: object) -> PollView:
    tallies = tuple(Tally(values=tuple(sorted(values)), answered=len(values)) for values in rounds)
    return PollView(activity="p", text="How fast?", unit="rate", phase="revealed", results=tallies, **more)  # type: ignore[arg-type]


def drawn(shown: PollView, size: tuple[int, int] = (76, 18)) -> StageCanvas:
    canvas = StageCanvas(*size)
    draw_histogram(canvas, shown)
    return canvas


@given(VALUES, st.integers(min_value=40, max_value=200))
def test_every_prediction_is_counted_once(values: list[float], columns: int) -> None:
    bins = bins_for(values, [], columns)
    if bins is None:
        assert not any(values)
        return
    counts, below, above = bins.counted(values)
    assert sum(counts) + below + above == len(values)
    assert bins.columns <= columns
    assert any(counts)


@given(VALUES)
def test_wild_predictions_are_drawn(values: list[float]) -> None:
    shown = poll(values, values[::-1], measured=9e6, models=(MarkedValue("Mathis", 1e300, 0.2),))
    for size in ((76, 18), (116, 30), (20, 8)):
        assert drawn(shown, size).lines()


def test_round_numbers_are_in_the_middle_of_a_bin() -> None:
    rng = random.Random(1)
    values = [rng.choice([1e6, 2e6, 4e6, 5e6, 8e6, 10e6, 20e6, 40e6]) for _ in range(200)]
    bins = bins_for(values, [], 112)
    assert bins is not None
    for value in set(values):
        assert 0.3 < math.modf(bins.position(value))[0] < 0.7


def test_the_line_of_the_measurement_is_between_lower_and_higher_predictions() -> None:
    canvas = drawn(poll([2e6] * 30 + [50e6] * 20, measured=10e6))
    row = next(line for line in reversed(canvas.lines()) if "█" in line.text and MEASURED in line.styles)
    at = row.styles.index(MEASURED)
    assert "█" in row.text[:at] and "█" in row.text[at + 1 :]
    counts = [line.text for line in canvas.lines() if "30" in line.text and "20" not in line.text]
    assert counts[0].index("30") < at


def test_both_rounds_share_an_axis() -> None:
    text = "\n".join(line.text for line in drawn(poll([40e6] * 9, [10e6] * 9), (116, 30)).lines())
    before, _, after = text.partition("after the discussion")
    assert max(line.find("█") for line in after.splitlines()[1:8]) < max(
        line.find("█") for line in before.splitlines()[8:]
    )


@pytest.mark.parametrize("count", [0, 1])
def test_close_predictions_are_counted(count: int) -> None:
    assert count_within([8.9e6, 9.9e6 + count], 9e6, 0.1) == 2 - count
    assert "of the measurement" in drawn(poll([8.9e6, 20e6], measured=9e6)).lines()[-1].text


def test_right_values_of_both_rounds_have_lines_of_their_own() -> None:
    tallies = (
        Tally(values=(1e6, 20e6), answered=2, right_value=2e6),
        Tally(values=(1e6, 20e6), answered=2, right_value=10e6),
    )
    shown = PollView(activity="q", text="How fast?", unit="rate", phase="revealed", results=tallies)
    lines = [line for line in drawn(shown, (116, 30)).lines() if "█ right" in line.text]
    assert len(lines) == 2
    assert lines[0].text.index("█ right") < lines[1].text.index("█ right")
