"""Every kind of figure: drawn at any width from the narrowest, of one height, and described in words."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.figures.figure import MIN_WIDTH, Figure
from tcptutor.figures.kinds import ANY_FIGURE, KINDS

EXAMPLES: dict[str, dict[str, object]] = {
    "curve": {
        "x": {"of": "time", "to": "16 s"},
        "line": [{"law": "sawtooth", "set": {"rate": "20 Mbit/s", "rtt": "50 ms", "queue": "1 BDP"}}],
    },
    "header": {
        "layout": "tcp",
        "values": {"source port": "51314", "flags": "SYN"},
        "marked": ["flags"],
        "field": [{"name": "options", "bytes": 20, "value": "mss 1460"}],
    },
    "ladder": {
        "simulate": {"duration": "500 ms", "rtt": "100 ms", "rate": "1 Mbit/s", "window": 8, "lost": [3]},
        "panel": [{"label": "with SACK"}, {"label": "without", "set": {"sack": False}}],
        "wait": [{"host": "h1", "since": "0 ms", "until": "100 ms", "text": "RTT"}],
    },
    "pipe": {
        "simulate": {"duration": "200 ms", "rtt": "40 ms", "rate": "20 Mbit/s", "queue": 20},
        "row": [{"label": "bursts"}, {"label": "paced", "set": {"pacing": "linux"}}],
    },
    "network": {"pairs": 2, "mark": ["s1-eth1"], "note": [{"at": "s1-eth1", "text": "the bottleneck"}]},
    "shares": {
        "flows": ["h1", "h3", "h5"],
        "index": ["jain", "cov"],
        "case": [
            {"label": "before", "rates": ["12 Mbit/s", "6 Mbit/s", "3 Mbit/s"]},
            {"label": "after", "rates": ["7 Mbit/s", "7 Mbit/s", "7 Mbit/s"]},
        ],
    },
    "stack": {
        "layer": [
            {"name": "program", "note": "writes 10 Mbit/s"},
            {"name": "send buffer", "parts": [{"text": "in flight", "share": "60 %"}, {"text": "room"}]},
            {"name": "fq", "limit": "maxrate 10mbit"},
        ]
    },
}
"""A figure of each kind, by its tag."""


def example(kind: str) -> Figure:
    figure: Figure = msgspec.convert({"id": "example", "kind": kind, **EXAMPLES[kind]}, ANY_FIGURE)
    assert figure.contradiction() is None
    return figure


def test_every_kind_has_an_example() -> None:
    assert {kind.__struct_config__.tag for kind in KINDS} == set(EXAMPLES)


@pytest.mark.parametrize("kind", EXAMPLES)
@pytest.mark.parametrize("width", [MIN_WIDTH, 57, 78, 120])
def test_a_figure_fits_its_width_and_keeps_its_height(kind: str, width: int) -> None:
    figure = example(kind)
    motion = figure.motion
    instants = [0.0, *(motion.stops if motion else ()), motion.seconds if motion else 0.0]
    drawings = [figure.draw(width, t) for t in instants]
    assert max(line.width for lines in drawings for line in lines) <= width
    assert len({len(lines) for lines in drawings}) == 1


@pytest.mark.parametrize("kind", EXAMPLES)
def test_a_description_is_made_of_sentences(kind: str) -> None:
    words = example(kind).describe()
    assert words[0].isupper() or words[0].isdigit()
    assert words.endswith(".")


def test_a_description_names_limits_and_shares() -> None:
    words = example("stack").describe()
    assert "maxrate 10mbit" in words
    assert "60 %" in words
