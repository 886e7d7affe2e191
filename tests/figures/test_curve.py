"""Curves: laws at the right heights, texts at free places next to what they name, and time that passes."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import msgspec
import pytest

from tcptutor import theory
from tcptutor.figures.curve.law import Traced
from tcptutor.figures.curve.laws import LAWS, law
from tcptutor.figures.kinds.curve import CurveFigure

KNEE: dict[str, Any] = {
    "x": {"of": "window", "from": "10 kB", "to": "200 kB"},
    "line": [
        {
            "law": "window-limited",
            "set": {"rtt": "18 ms"},
            "link": "40 Mbit/s",
            "label": "window / RTT",
        }
    ],
    "mark": [{"at": "90 kB", "text": "knee"}],
}
_PATH = {"rate": "20 Mbit/s", "rtt": "50 ms", "queue": "1 BDP"}
SAWTOOTH: dict[str, Any] = {
    "x": {"of": "time", "to": "16 s"},
    "line": [
        {"law": "sawtooth", "set": _PATH, "label": "cwnd"},
        {"law": "sawtooth", "shows": "queue", "set": _PATH, "panel": 2},
        {"level": "83", "label": "1 BDP"},
    ],
    "region": [{"text": "link idle", "line": 1, "below": "100"}],
}
DOTS = {chr(code) for code in range(0x2801, 0x2900)}


def curve(table: dict[str, Any]) -> CurveFigure:
    figure = msgspec.convert({"id": "curve", "kind": "curve", **table}, CurveFigure)
    assert figure.contradiction() is None
    return figure


def texts(table: dict[str, Any], width: int = 74, t: float | None = None) -> list[str]:
    figure = curve(table)
    motion = figure.motion
    return [line.text for line in figure.draw(width, t if t is not None else motion.rest if motion else 0.0)]


def row_of(lines: list[str], text: str) -> int:
    return next(number for number, line in enumerate(lines) if text in line)


def test_a_capped_law_is_level_from_the_knee_on() -> None:
    lines = texts(KNEE)
    link = row_of(lines, " link")
    knee = lines[link].index("●")
    assert set(lines[link][knee + 1 : -len(" link")]) <= DOTS, "level to the end"
    below = [line[: knee - 2] for line in lines[link + 2 :] if "┤" in line or "│" in line]
    assert all(set(line) & DOTS for line in below), "and rising before"
    assert row_of(lines, "knee") in (link, link - 1, link + 1)


def test_the_law_alone_goes_on_above_the_link() -> None:
    assert any(set(line) & DOTS for line in texts(KNEE)[1 : row_of(texts(KNEE), " link")])


def test_panels_share_their_time() -> None:
    lines = texts(SAWTOOTH)
    queue = row_of(lines, " queue")
    falls = [
        [column for column, text in enumerate(zip(*part, strict=True)) if set(text) & set("⡇⢸⣇⣧")]
        for part in ([line.ljust(74) for line in lines[1:queue]], [line.ljust(74) for line in lines[queue:]])
    ]
    assert len(falls[0]) == len(falls[1]) == 2, "two losses in 16 s"
    assert falls[0] == falls[1]


def test_a_curve_along_time_is_drawn_as_it_passes() -> None:
    figure = curve(SAWTOOTH)
    motion = figure.motion
    assert motion is not None
    assert motion.stops == pytest.approx((6.25, 12.5), abs=0.1), "the losses"
    heads = [texts(SAWTOOTH, t=t)[3] for t in (0.0, motion.seconds)]
    assert len(set(heads[0]) & DOTS) < len(set(heads[1]) & DOTS)
    columns = []
    for t in (2.0, 8.0, 14.0):
        lines = texts(SAWTOOTH, t=t)
        [head, of_queue] = [line.index("●") for line in lines if "●" in line]
        assert head == of_queue
        assert all(not set(line[head + 1 :]) & DOTS for line in lines), "nothing of the future"
        columns.append(head)
    assert columns == sorted(columns)


def test_a_law_over_another_quantity_stands_still() -> None:
    assert curve(KNEE).motion is None


def test_a_region_is_shaded_where_the_curve_is_below() -> None:
    lines = texts(SAWTOOTH)
    shaded = {column for line in lines for column, text in enumerate(line) if text == "░"}
    assert shaded
    assert "link idle" in " ".join(lines)
    words = curve(SAWTOOTH).describe()
    assert "link idle" in words
    assert "0 s to 1" in words


def test_words_state_knee_and_heights() -> None:
    words = curve(KNEE).describe()
    for fact in ("38.3 Mbit/s", "window from 10 kB to 200 kB", "90 kB", "knee", "stays nearly level"):
        assert fact in words
    words = curve(SAWTOOTH).describe()
    for fact in ("between 83 segments and 166 segments", "2 times", "6.25 s", "1 BDP: 83 segments"):
        assert fact in words


def test_a_straight_line_on_logarithmic_axes_is_straight() -> None:
    table = {
        "x": {"of": "loss", "from": "0.01 %", "to": "1 %", "scale": "log"},
        "panel": [{"scale": "log", "lines": 10}],
        "line": [{"law": "mathis", "set": {"mss": "1448", "rtt": "50 ms"}}],
    }
    lines = texts(table)[1:11]
    firsts = [next((at for at, text in enumerate(line) if text in DOTS), None) for line in lines]
    starts = [at for at in firsts if at is not None]
    steps = [after - before for before, after in pairwise(starts)][1:-1]
    assert max(steps) - min(steps) <= 1


def test_streams_fill_the_link_before_the_queue_and_the_queue_before_it_drops() -> None:
    values = {"rate": 40e6, "rtt": 0.065, "loss": 0.003, "mss": 4366.0, "queue": 325_000.0}
    at = {
        result: dict(LAWS["streams"].trace("streams", result, values, [1.0, 4.0, 6.0, 20.0]).points)
        for result in ("throughput", "rtt", "loss")
    }
    assert at["throughput"][1.0] == pytest.approx(theory.mathis(4366, 0.065, 0.003))
    assert at["rtt"][1.0] == 0.065 < at["rtt"][4.0] < at["rtt"][6.0] < at["rtt"][20.0] * 1.01
    assert at["loss"][6.0] == 0.003
    assert at["loss"][20.0] == pytest.approx(0.028, rel=0.05), "the loss at which 20 windows fit"


def test_a_loss_takes_an_eighth_from_the_sum_of_four_teeth() -> None:
    tooth = law("tooth")
    places = [number / 10 for number in range(801)]

    def traced(result: str, **given: str) -> Traced:
        values = tooth.values({"loss": "0.1 %", **given}, "round_trips")
        return tooth.trace("round_trips", result, values, places)

    total = [height for _, height in traced("sum", streams="4").points]
    mean = theory.reno_window(0.001)
    before, after = max(total), min(total)
    assert before - after == pytest.approx(2 / 3 * mean), "half of a peak"
    assert (before + after) / 2 == pytest.approx(4 * mean, rel=0.01)
    assert traced("cwnd", phase="75 %").events[0] == pytest.approx(traced("cwnd").events[0] / 4)


def test_an_autotuned_window_is_twice_what_was_read_up_to_its_bound() -> None:
    given = {"rtt": "100 ms", "first": "65536 bytes", "largest": "262144 bytes", "usable": "61 %"}
    tuned = law("autotuned")
    values = tuned.values(given, "time")
    window, read = (
        dict(tuned.trace("time", result, values, [0.0, 0.8]).points) for result in ("window", "in flight")
    )
    ends = sorted(window)[1:]
    assert all(window[after] <= max(window[before], 2 * read[before]) for before, after in pairwise(ends))
    assert window[ends[0]] == pytest.approx(0.61 * 65536)
    assert window[ends[-1]] == read[ends[-1]] == pytest.approx(0.61 * 262144)
    table = {"x": {"of": "time", "to": "0.8 s"}, "line": [{"law": "autotuned", "set": given}]}
    assert "begins at 40 kB, and rises in steps: to 57.9 kB at 200 ms" in curve(table).describe()


def test_packets_in_a_short_queue_end_slow_start_early_and_pacing_does_not() -> None:
    path = {"rate": 40e6, "rtt": 0.04, "queue": 20_000, "frame": 1514}
    first = {
        pacing: LAWS["packets"].trace("time", "cwnd", {**path, "pacing": pacing}, [0, 0.4])
        for pacing in ("off", "linux")
    }
    peaks = {pacing: max(cwnd for _, cwnd in traced.points) for pacing, traced in first.items()}
    assert peaks["off"] == pytest.approx(66, abs=2)
    assert peaks["linux"] > 132
    assert first["off"].events[0] < first["linux"].events[0]


def test_a_cut_in_proportion_takes_a_round_trip() -> None:
    values = {"window": 120, "kept": 0.7, "at": 0.1, "over": 0.06}
    traced = LAWS["cut"].trace("time", "cwnd", values, [0, 0.3])
    assert traced.points == (
        (0, 120),
        (0.1, 120),
        (pytest.approx(0.16), pytest.approx(84)),
        (0.3, pytest.approx(84)),
    )


def test_every_model_of_a_number_is_a_law() -> None:
    assert law("mathis").gives == {"throughput": "rate"}
    assert "time" in law("cubic-curve").over
    with pytest.raises(Exception, match="mathis"):
        law("matthis")


@pytest.mark.parametrize(
    ("change", "key", "reason"),
    [
        ({"line": [{"law": "sawtoth"}]}, "line[1]", "sawtooth"),
        ({"line": [{"law": "sawtooth", "set": {"rate": "20 Mbit/s"}}]}, "line[1]", "rtt"),
        ({"line": [{"law": "mathis"}]}, "line[1]", "time"),
        ({"x": {"of": "time", "to": "16"}}, "x", "unit"),
        ({"mark": [{"at": "20 s", "text": "late"}]}, "mark[1]", "no point"),
        ({"line": [*SAWTOOTH["line"], {"law": "sawtooth", "shows": "rtt", "set": _PATH}]}, "line[4]", "unit"),
    ],
)
def test_a_mistake_is_named(change: dict[str, Any], key: str, reason: str) -> None:
    figure = msgspec.convert({"id": "curve", "kind": "curve", **SAWTOOTH, **change}, CurveFigure)
    found = figure.contradiction()
    assert found is not None
    assert found[0] == key
    assert reason in found[1]


def test_a_text_without_room_is_a_problem() -> None:
    long = {"at": "90 kB", "text": "the knee, where both limits meet each other"}
    assert any("shorten" in reason for _, reason in curve({**KNEE, "mark": [long]}).problems())
    assert not list(curve(KNEE).problems())
