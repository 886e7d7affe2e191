"""Time-sequence diagrams: what leaves when, what arrives, what dies, and who waits."""

from __future__ import annotations

import msgspec
import pytest

from tcptutor.figures.kinds.ladder import LadderFigure
from tcptutor.figures.ladder_drawing import LadderArrow, together_text
from tcptutor.figures.lines import BAD, WARN

LOST = [
    {"at": "0 ms", "send": "1", "arrive": "50 ms", "note": "stored"},
    {"at": "20 ms", "send": "2", "arrive": "70 ms", "lost": True},
    {"at": "50 ms", "send": "ACK 2", "arrive": "100 ms", "from": "h2"},
    {"at": "300 ms", "send": "2", "arrive": "350 ms", "again": True},
]
RTO = [{"host": "h1", "since": "100 ms", "until": "300 ms", "text": "RTO"}]


def ladder(**keys: object) -> LadderFigure:
    figure = msgspec.convert({"id": "it", "kind": "ladder", **keys}, LadderFigure)
    assert figure.contradiction() is None
    return figure


def texts(figure: LadderFigure, t: float | None = None, width: int = 72) -> list[str]:
    motion = figure.motion
    return [line.text for line in figure.draw(width, motion.rest if t is None else t)]


def row_of(lines: list[str], text: str) -> int:
    return next(row for row, line in enumerate(lines) if text in line)


def test_time_goes_down_in_proportion() -> None:
    lines = texts(ladder(event=LOST, rows=15))
    start, half, end = (
        next(row for row, line in enumerate(lines) if line.lstrip().startswith(time))
        for time in ("0 ", "50 ms", "300 ms")
    )
    assert (half - start) / (end - start) == pytest.approx(1 / 6, abs=0.1)
    assert row_of(lines, "ACK 2") == half, "the ACK leaves when the segment arrives"
    assert "stored" in lines[half]


def test_a_lost_packet_ends_on_the_way_and_its_retransmission_stands_out() -> None:
    figure = ladder(event=LOST)
    lines = figure.draw(72, figure.motion.rest)
    crosses = [line for line in lines if "✗" in line.text]
    assert len(crosses) == 1
    assert crosses[0].styles[crosses[0].text.index("✗")] == BAD
    last = lines[-3:]
    assert any("2" in line.text and WARN in line.styles for line in last)
    assert sum(line.text.count("▸") for line in lines) == 2


def test_arrows_grow_and_arrive_at_their_time() -> None:
    figure = ladder(event=LOST)
    dots = [
        sum("\u2800" < sign < "\u2900" for line in texts(figure, t) for sign in line) for t in (0.01, 0.03)
    ]
    assert 0 < dots[0] < dots[1]
    assert not any("▸" in line for line in texts(figure, 0.049))
    assert any("▸" in line for line in texts(figure, 0.05))
    assert figure.motion.stops == (0.0, 0.02, 0.045, 0.05, 0.1, 0.3, 0.35)


def test_a_bracket_shows_how_long_a_host_waits() -> None:
    figure = ladder(event=LOST, wait=RTO, rows=14)
    lines = texts(figure)
    rows = [row for row, line in enumerate(lines) if any(sign in line for sign in "╭╰") or "││" in line]
    assert row_of(lines, "RTO") in rows
    assert len(rows) == pytest.approx(14 * 200 / 350, abs=1.5)
    assert not any("RTO" in line for line in texts(figure, 0.1))
    assert "From 100 ms to 300 ms at h1: RTO." in figure.describe()


def test_an_order_without_times() -> None:
    figure = ladder(event=LOST, times=False)
    assert "ms" not in "".join(texts(figure)) + figure.describe()
    assert figure.describe().startswith("First h1 sends 1")


def test_sack_repairs_three_holes_in_one_round_trip() -> None:
    simulate = {"duration": "600 ms", "rtt": "100 ms", "rate": "1 Mbit/s", "size": "500 bytes", "segments": 12,
                "window": 12, "lost": [2, 4, 6]}  # fmt: skip
    figure = ladder(simulate=simulate, panel=[{"label": "off", "set": {"sack": False}}, {"label": "on"}])
    off, on = figure.describe().split("On:")
    assert off.count("again") == 3
    assert on.count("again") == 1
    assert "2, 4, 6 again" in on
    assert on.index("ACK 4") > on.index("2, 4, 6 again")
    wide = "\n".join(texts(ladder(simulate=simulate)))
    assert "has" in wide


def test_a_segment_that_is_overtaken_makes_a_duplicate_ack() -> None:
    simulate = {"duration": "200 ms", "rtt": "50 ms", "rate": "10 Mbit/s", "segments": 2, "window": 2,
                "late": [{"segment": 1, "by": "20 ms"}]}  # fmt: skip
    lines = texts(ladder(simulate=simulate, until="100 ms"))
    assert row_of(lines, "ACK 1") < row_of(lines, "ACK 3")
    assert not any("again" in line for line in lines)


def test_what_leaves_together_shares_a_text() -> None:
    def of(*numbers: int, text: str = "{}") -> list[LadderArrow]:
        return [LadderArrow(0, 1, text=text, number=number) for number in numbers]

    assert together_text(of(1, 2, 3, 4, 6, 8, 9)) == "1–4, 6, 8, 9"
    assert together_text(of(2, 2, 2, 3, text="ACK {}")) == "ACK 2 ×3, 3"
    assert together_text([*of(5), *of(2, 4, text="{} again")]) == "5, 2, 4 again"


@pytest.mark.parametrize(
    ("keys", "key"),
    [
        ({}, "event"),
        ({"event": LOST, "simulate": {"duration": "1 s", "rtt": "1 s"}}, "event"),
        ({"event": [{"at": "now", "send": "1", "arrive": "50 ms"}]}, "event"),
        ({"event": LOST, "hosts": ["a", "b"]}, "hosts"),
        ({"event": LOST, "rows": 40}, "rows"),
        ({"event": LOST, "since": "1 s", "until": "1 s"}, "until"),
        ({"simulate": {"duration": "1 s"}}, "panel[1].rtt"),
    ],
)
def test_what_cannot_be_drawn_is_named(keys: dict[str, object], key: str) -> None:
    problem = msgspec.convert({"id": "it", "kind": "ladder", **keys}, LadderFigure).contradiction()
    assert problem is not None
    assert problem[0] == key
