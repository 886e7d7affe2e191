"""The player's state: time, stops, speed, rest."""

from __future__ import annotations

import pytest

from tcptutor.figures.figure import Motion
from tcptutor.ui.widgets.prose import play_line
from tcptutor.ui.widgets.prose.playback import SPEEDS, Playback

MOTION = Motion(seconds=0.04, stops=(0.0, 0.01, 0.03), rest=0.01, watch=8)


def test_it_takes_its_time_to_watch_then_rests() -> None:
    playback = Playback.at_rest(MOTION).toggle()
    assert playback.t == 0
    playback = playback.advance(4)
    assert playback.t == pytest.approx(0.02)
    playback = playback.advance(4.1)
    assert (playback.t, playback.playing) == (0.04, True), "the end stays for a moment"
    playback = playback.advance(2)
    assert (playback.t, playback.playing, playback.resting) == (0.01, False, True)


def test_a_pause_goes_on_where_it_was_and_rest_starts_again() -> None:
    playback = Playback.at_rest(MOTION).toggle().advance(2).toggle()
    assert playback.advance(5) == playback
    assert playback.toggle().advance(2).t == pytest.approx(0.02)
    assert playback.rest().toggle().t == 0


def test_steps_go_from_stop_to_stop_and_round() -> None:
    playback = Playback.at_rest(MOTION)
    forward, times = playback, []
    for _ in range(4):
        forward = forward.step(1)
        times.append(forward.t)
    assert times == [0.0, 0.01, 0.03, 0.0]
    assert playback.step(-1).t == 0.03
    assert playback.toggle().advance(3).step(-1).t == 0.01
    assert not playback.toggle().step(1).playing


def test_a_motion_without_stops_is_stepped_through_in_tenths() -> None:
    playback = Playback.at_rest(MOTION._replace(stops=()))
    assert playback.step(1).step(1).step(1).t == pytest.approx(0.008)


def test_speed_stays_within_its_bounds() -> None:
    playback = Playback.at_rest(MOTION).toggle()
    assert playback.change_speed(1).advance(1).t == pytest.approx(0.01)
    for by in (1, -1):
        limit = playback
        for _ in range(9):
            limit = limit.change_speed(by)
        assert limit.speed == SPEEDS[-1 if by > 0 else 0]


def test_the_line_names_instant_and_length_in_one_unit() -> None:
    playback = Playback.at_rest(MOTION).toggle().advance(2.4)
    assert play_line.instant(playback) == "12 of 40 ms"
    line = play_line.draw(playback, "f plays", 40)
    assert line.text.startswith("▶ 1x  12 of 40 ms")
    assert line.width <= 40
    assert "f plays" in play_line.draw(playback.rest(), "f plays", 40).text
    longer = Playback.at_rest(MOTION._replace(seconds=8)).toggle().advance(1.5)
    assert "1.5 of 8.0 s" in play_line.draw(longer, "", 78).text


def test_the_line_counts_round_trips_where_the_figure_does() -> None:
    motion = Motion(seconds=60, stops=(0.0,), rest=60, watch=8, unit="round trips")
    assert play_line.instant(Playback.at_rest(motion).toggle().advance(4)) == "30 of 60 round trips"
