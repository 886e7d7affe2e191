"""What a host's rules dropped, from counters between which packets are on their way."""

from __future__ import annotations

import pytest

from tcptutor.agent.session.observers import SettledCount


@pytest.mark.parametrize(
    ("readings", "dropped"),
    [
        pytest.param([(0.0, 0), (0.2, 1), (0.4, 0), (0.6, 1), (0.8, 0)], 0, id="packets-on-their-way"),
        pytest.param([(0.0, 0), (0.2, 1), (0.4, 1)], 0, id="not-yet-known"),
        pytest.param([(0.0, 0), (0.2, 1), (0.4, 1), (0.6, 1)], 1, id="dropped"),
        pytest.param([(0.0, 0), (0.2, 5), (0.4, 2), (0.6, 4)], 2, id="some-dropped-some-on-their-way"),
        pytest.param([(0.2, 1), (0.6, 1), (0.8, 3), (1.0, 4), (1.2, 3)], 3, id="more-later"),
        pytest.param([(0.0, -1), (0.2, 0)], 0, id="counted-before-it-came"),
    ],
)
def test_what_is_on_its_way_is_not_taken_for_dropped(readings: list[tuple[float, int]], dropped: int) -> None:
    settled = SettledCount()
    for at, read in readings:
        settled.add(read, at)
    assert settled.count == dropped
