"""Layers in one outline, with the limits that act at them."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tcptutor.figures.kinds.stack import StackFigure
from tcptutor.figures.lines import LIMIT

RECEIVER = {
    "host": "h2",
    "direction": "up",
    "layer": [
        {"name": "program"},
        {
            "name": "receive buffer",
            "parts": [
                {"text": "not read yet", "share": "60 %"},
                {"text": "receive window", "empty": True, "limit": True},
            ],
        },
        {"name": "fq", "note": "counts frames", "limit": "maxrate 10mbit"},
    ],
}


def drawn(width: int) -> list[str]:
    figure = msgspec.convert({"id": "s", "kind": "stack", **RECEIVER}, StackFigure)
    assert figure.contradiction() is None
    assert not list(figure.problems())
    return [line.text for line in figure.draw(width)]


@pytest.mark.parametrize("width", [40, 72])
def test_layers_share_one_outline_in_order(width: int) -> None:
    lines = drawn(width)
    assert sum("┌" in line for line in lines) == 1
    text = "\n".join(lines)
    places = [text.index(name) for name in ("h2", "program", "receive buffer", "fq")]
    assert places == sorted(places)
    assert text.count("↑") == 2


@pytest.mark.parametrize("width", [40, 72])
def test_memory_is_divided_by_its_shares(width: int) -> None:
    bar = next(line for line in drawn(width) if "█" in line)
    assert bar.count("█") / (bar.count("█") + bar.count("·")) == pytest.approx(0.6, abs=0.03)


@pytest.mark.parametrize("width", [40, 72])
def test_a_bracket_is_as_wide_as_the_part_that_limits(width: int) -> None:
    lines = drawn(width)
    at = next(number for number, line in enumerate(lines) if "█" in line)
    bracket = lines[at + 1]
    assert (bracket.index("└"), bracket.rindex("┘")) == (lines[at].index("·"), lines[at].rindex("·"))
    assert lines[at + 2].index("receive") == bracket.index("└")


def test_a_limit_stands_beside_its_layer_or_in_it() -> None:
    wide, narrow = drawn(72), drawn(40)
    layer = next(line for line in wide if "counts frames" in line)
    assert layer.index("│", 1) < layer.index("maxrate 10mbit")
    at = next(number for number, line in enumerate(narrow) if "counts frames" in line)
    assert "limit: maxrate 10mbit" in narrow[at + 1]


def test_words_name_sizes_only_where_they_are_stated() -> None:
    table: dict[str, Any] = msgspec.json.decode(msgspec.json.encode(RECEIVER))
    figure = msgspec.convert({"id": "s", "kind": "stack", **table}, StackFigure)
    words = figure.describe()
    assert words.startswith("On h2, from the top, with data going up: program; receive buffer: ")
    assert (
        "not read yet (60 %), receive window (the limit); fq: counts frames, limit maxrate 10mbit." in words
    )
    assert LIMIT in {style for line in figure.draw(72) for style in line.styles}
