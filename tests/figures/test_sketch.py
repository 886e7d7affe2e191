"""Sketches of shapes."""

from __future__ import annotations

import pytest

from tcptutor.figures import sketch
from tcptutor.figures.lines import DATA, MUTED


@pytest.mark.parametrize("width", [12, 20])
def test_a_curve_runs_from_edge_to_edge(width: int) -> None:
    lines = sketch.curve([(0, 0), (1, 1)], [(0, 1), (1, 1)], width)
    assert len(lines) == sketch.HEIGHT
    assert all(line.width <= width for line in lines)
    styles = [[style for _, style in line.cells()] for line in lines]
    assert styles[-2][1] == DATA
    assert styles[0][-1] == DATA, "the curve covers the line it is compared with"
    assert styles[0][1] == MUTED


def test_bars_are_as_long_as_their_shares() -> None:
    half, all_, none = (line.text for line in sketch.bars({"h1": 0.5, "h3": 1, "h5": 0}, 15))
    assert (half.count("█"), all_.count("█"), none.count("█")) == (6, 12, 1)
