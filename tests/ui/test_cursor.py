"""The cursor in a run, as data: where it goes, what a zoom shows, and the way back out."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.ui.widgets.readout.cursor import Cursor, TimeSpan, nearest_loss, neighboring_loss

WHOLE = TimeSpan(0.0, 20.0)
START = Cursor(10.0, WHOLE)


def test_a_step_is_a_column_of_what_is_shown() -> None:
    assert START.column(50) == 25
    assert START.move(1, 50).column(50) == 26
    assert START.move(-8, 50).column(50) == 17
    assert START.move(1, 50).t - START.move(0, 50).t == pytest.approx(0.4)


def test_it_stays_within_the_run() -> None:
    assert START.move(1000, 50).t == 20.0
    assert START.move(-1000, 50).t == 0.0
    assert START.move_to_column(999, 50).column(50) == 49


def test_a_zoom_to_a_loss_shows_the_round_trips_before_and_after_it() -> None:
    closer = START.zoom(10.1, rtt=0.05, spacing=0.01)
    assert closer is not None
    assert closer.t == closer.loss_origin == 10.1
    assert closer.span.seconds == pytest.approx(1.0)
    assert 10.1 - closer.span.start == pytest.approx(6 * 0.05)


def test_where_samples_are_far_apart_it_shows_enough_of_them() -> None:
    closer = START.zoom(10.1, rtt=0.02, spacing=0.05)
    assert closer is not None
    assert closer.span.seconds == pytest.approx(24 * 0.05)


def test_without_a_loss_it_shows_a_quarter_around_the_cursor_until_there_is_nothing_more_to_see() -> None:
    closer = START.zoom(None, rtt=0.05, spacing=0.01)
    assert closer is not None
    assert closer.span == TimeSpan(7.5, 5.0)
    assert closer.loss_origin is None
    zooms = 0
    while (next_one := closer.zoom(None, rtt=0.05, spacing=0.01)) is not None:
        assert next_one.span.seconds < closer.span.seconds
        closer, zooms = next_one, zooms + 1
    assert closer.span.seconds == pytest.approx(0.5)
    assert zooms < 5


def test_of_samples_that_have_no_distance_there_is_nothing_closer_to_see() -> None:
    assert START.zoom(None, rtt=0.0, spacing=float("inf")) is None


def test_the_way_out_is_the_way_in() -> None:
    once = START.zoom(None, 0.05, 0.01)
    assert once is not None
    twice = once.zoom(10.2, 0.05, 0.01)
    assert twice is not None
    assert twice.zoom_out().span == once.span
    assert twice.zoom_out().zoom_out().span == WHOLE
    assert twice.zoom_out().zoom_out().loss_origin is None
    assert not twice.zoom_out().zoom_out().is_zoomed
    assert START.zoom_out() == START


def test_at_the_edge_of_a_zoom_what_is_shown_moves_along() -> None:
    closer = START.zoom(None, 0.05, 0.01)
    assert closer is not None
    edge = closer.move_to_column(49, 50)
    beyond = edge.move(1, 50)
    assert beyond.t > edge.span.end - 1e-9
    assert beyond.span.start <= beyond.t <= beyond.span.end
    assert beyond.span.seconds == closer.span.seconds


@given(
    st.lists(st.sampled_from(["on", "back", "far", "in", "loss", "out"]), max_size=40),
    st.floats(0.001, 0.5),
    st.floats(0.001, 1.0),
)
def test_wherever_it_goes_it_is_seen_and_in_the_run(moves: list[str], rtt: float, spacing: float) -> None:
    cursor = START
    for move in moves:
        match move:
            case "on":
                cursor = cursor.move(1, 53)
            case "back":
                cursor = cursor.move(-1, 53)
            case "far":
                cursor = cursor.move(8, 53)
            case "in":
                cursor = cursor.zoom(None, rtt, spacing) or cursor
            case "loss":
                cursor = cursor.zoom(cursor.t, rtt, spacing) or cursor
            case _:
                cursor = cursor.zoom_out()
        span = cursor.span
        assert WHOLE.start <= span.start < span.end <= WHOLE.end + 1e-9
        assert span.start - 1e-9 <= cursor.t <= span.end + 1e-9
        assert 0 <= cursor.column(53) < 53


def test_the_losses_beside_an_instant() -> None:
    losses = [1.0, 2.0, 5.0]
    assert neighboring_loss(losses, 2.0, 1) == 5.0
    assert neighboring_loss(losses, 2.0, -1) == 1.0
    assert neighboring_loss(losses, 5.0, 1) is None
    assert nearest_loss(losses, 2.3, 0.5) == 2.0
    assert nearest_loss(losses, 3.5, 0.5) is None
    assert nearest_loss([], 3.5, 0.5) is None
