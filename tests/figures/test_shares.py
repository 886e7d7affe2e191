"""Shares of flows, as lanes and as bars of cases."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tcptutor.figures.kinds.shares import SharesFigure

FOUR = ["h1", "h3", "h5", "h7"]


def shares(**table: Any) -> SharesFigure:
    figure = msgspec.convert({"id": "s", "kind": "shares", **table}, SharesFigure)
    assert figure.contradiction() is None
    return figure


def length(text: str) -> float:
    """Columns of the bars in `text`."""
    return text.count("█") + text.count("▒") + text.count("▌") / 2


@pytest.mark.parametrize("width", [40, 72])
def test_a_lane_is_as_long_as_its_rate(width: int) -> None:
    rates = ["16 Mbit/s", "8 Mbit/s", "4 Mbit/s", "0 Mbit/s"]
    lines = [line.text for line in shares(flows=FOUR, case=[{"rates": rates}]).draw(width)]
    bars = [length(line) for line in lines]
    for longer, shorter in pairwise(bars[:3]):
        assert shorter / longer == pytest.approx(0.5, abs=0.04)
    assert bars[3] == 0
    assert [line.split()[0] for line in lines] == FOUR
    assert "16 Mbit/s" in lines[0]


def test_indexes_are_computed() -> None:
    cases = [
        {"label": "equal", "equal": 4},
        {"label": "40 to 10", "rates": ["40 %", "30 %", "20 %", "10 %"]},
        {"label": "one", "rates": ["100 %", "0 %", "0 %", "0 %"]},
    ]
    figure = shares(flows=FOUR, index=["jain", "cov"], case=cases)
    *_, jain, cov = (line.text for line in figure.draw(72))
    assert [float(each) for each in jain.split("J = ")[1:]] == [1, 0.833, 0.25]
    assert [float(each) for each in cov.split("CoV = ")[1:]] == [0, 0.447, 1.73]
    assert "Jain's index is 0.833; the CoV is 0.447" in figure.describe()


@pytest.mark.parametrize("width", [40, 72])
def test_a_bar_is_divided_among_its_flows(width: int) -> None:
    cases = [{"label": f"{count} flows", "equal": count} for count in (1, 2, 5)]
    figure = shares(flows=["theirs", "yours"], others=["yours"], stacked=True, case=cases)
    names, *bars = (line.text for line in figure.draw(width))
    assert "theirs" in names
    assert [bar.count("█") / (bar.count("█") + bar.count("▒")) for bar in bars] == [
        pytest.approx(share, abs=0.03) for share in (1, 1 / 2, 1 / 5)
    ]
    assert len(bars[2].split("▒ ▒")) == 4, "four flows in the pattern of yours"
    assert [bar.rsplit(maxsplit=2)[1] for bar in bars] == ["100", "50", "20"]
    assert "5 flows: theirs 20 %, yours 4 × 20 %." in figure.describe()


@pytest.mark.parametrize(
    ("case", "said"),
    [
        ({}, "either rates or a number"),
        ({"rates": ["60 %", "60 %"]}, "more than 100 %"),
        ({"rates": ["fast"]}, "fast"),
        ({"rates": ["0 %"]}, "no flow gets anything"),
    ],
)
def test_a_case_that_cannot_be_drawn_is_refused(case: dict[str, Any], said: str) -> None:
    figure = msgspec.convert({"id": "s", "kind": "shares", "flows": FOUR, "case": [case]}, SharesFigure)
    assert said in (figure.contradiction() or ("", ""))[1]


def test_cases_are_compared_in_one_unit_and_with_the_same_flows() -> None:
    for cases in (
        [{"equal": 2}, {"rates": ["1 Mbit/s", "2 Mbit/s"]}],
        [{"equal": 2}, {"equal": 3}],
    ):
        table = {"id": "s", "kind": "shares", "flows": FOUR, "case": cases}
        assert msgspec.convert(table, SharesFigure).contradiction() is not None


def test_what_flows_leave_of_a_link_is_blank() -> None:
    table = {
        "flows": ["h1"],
        "stacked": True,
        "link": "40 Mbit/s",
        "case": [{"label": "one", "rates": ["10 Mbit/s"]}],
    }
    figure = shares(**table)
    line = figure.draw(72)[-1].text
    assert length(line) / (length(line) + line.count("·")) == pytest.approx(0.25, abs=0.03)
    assert "75 % idle" in line
    assert "75 % is idle" in figure.describe()
    for wrong in ({"link": "5 Mbit/s"}, {"stacked": False}, {"case": [{"equal": 2}]}):
        refused = msgspec.convert(
            {"id": "s", "kind": "shares", **table, **wrong}, SharesFigure
        ).contradiction()
        assert refused is not None
        assert refused[0] == "link"
