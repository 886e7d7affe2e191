"""Traces of the bottleneck's rate: what is read, what is refused, and what an experiment keeps of them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.spec import rate_trace

STEPS = ((0.0, 5e6), (1.5, 1e6), (4.0, 8e6))


@pytest.mark.parametrize(
    "text",
    [
        "0 s 5 Mbit/s; 1.5 s 1 Mbit/s; 4 s 8 Mbit/s",
        "seconds,Mbit/s\n0,5\n1.5,1\n4,8\n",
        "seconds,rate\n0,5 Mbit/s\n1500 ms,1 Mbit/s\n4,8 Mbit/s",
        "# measured in a train\r\ntime;rate (kbit/s)\r\n0;5000\r\n1.5;1000\r\n4;8000\r\n",
    ],
)
def test_steps_are_read_from_a_line_and_from_tables(text: str) -> None:
    assert rate_trace.parse(text) == STEPS


def test_delivery_opportunities_become_rates() -> None:
    """200 opportunities a second, then 20, each of 1504 bytes."""
    milliseconds = [*range(0, 1000, 5), *range(1000, 2000, 50)]
    trace = rate_trace.parse("\n".join(map(str, milliseconds)))
    assert rate_trace.mean_rate(trace, 0.0, 1.0) == pytest.approx(200 * 8 * 1504)
    assert rate_trace.mean_rate(trace, 1.0, 1.8) == pytest.approx(20 * 8 * 1504)


def test_a_pause_becomes_the_least_rate() -> None:
    trace = rate_trace.parse("\n".join(map(str, [*range(0, 400, 2), *range(1000, 1400, 2)])))
    assert dict(trace)[0.6] == rate_trace.LEAST_RATE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("1 s 5 Mbit/s", "not at 0 s"),
        ("0 s 5 Mbit/s; 0.1 s 4 Mbit/s", "0.2 s or more apart"),
        ("0 s 5 Mbit/s; 3 s 4 Mbit/s; 2 s 1 Mbit/s", "in order of time"),
        ("0 s 5", "no unit"),
        ("0 s 5 kbit/s", "out of bounds: 100 kbit/s to 100 Gbit/s"),
        ("0 s 5 Mbit/s; then less", "not a step"),
        ("seconds,furlongs\n0,5", "names no unit"),
        ("seconds,Mbit/s\n", "no step"),
        ("5\n4\n3", "do not increase"),
    ],
)
def test_a_wrong_trace_is_refused_in_one_line(text: str, said: str) -> None:
    with pytest.raises(ParameterError, match=f"^rate_trace: .*{said}") as refused:
        rate_trace.parse(text)
    assert "\n" not in str(refused.value)


def build(**parameters: str) -> spec.Experiment:
    return spec.build("m/e", {"parameters": {"duration": "3 s", "warmup": "1 s", **parameters}})


def test_an_experiment_keeps_the_steps_of_its_time_and_begins_with_the_first() -> None:
    made = build(
        rate_trace="0 s 5 Mbit/s; 1 s 5 Mbit/s; 2 s 1 Mbit/s; 9 s 8 Mbit/s", delay="40 ms", queue="1 BDP"
    )
    assert made.path.rate_trace == ((0.0, 5e6), (2.0, 1e6))
    assert (made.path.rate, made.path.queue) == (5e6, 25_000)
    assert spec.build("m/e", {"parameters": spec.settings(made) | {"warmup": "1 s"}}) == made


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        ({"rate": "4 Mbit/s"}, "rate: follows rate_trace"),
        ({"changes": "1 s rate=2 Mbit/s"}, "changes: the rate follows rate_trace"),
        ({"burst": "20 kB"}, "burst: a rate that follows a trace"),
    ],
)
def test_what_contradicts_a_trace_is_refused(parameters: dict[str, str], said: str) -> None:
    with pytest.raises(ParameterError, match=said):
        build(rate_trace="0 s 5 Mbit/s; 1 s 1 Mbit/s", **parameters)


def test_the_rate_of_the_file_gives_way_to_a_trace_of_the_user() -> None:
    table = {"parameters": {"rate": "10 Mbit/s", "duration": "3 s"}}
    assert spec.build("m/e", table, {"rate_trace": "0 s 5 Mbit/s"}).path.rate == 5e6
    with pytest.raises(ParameterError, match="follows rate_trace"):
        spec.build("m/e", table, {"rate_trace": "0 s 5 Mbit/s", "rate": "6 Mbit/s"})


@given(
    st.lists(st.integers(2, 100), max_size=8),
    st.lists(st.floats(1e5, 1e11, allow_nan=False), min_size=9, max_size=9),
)
def test_the_text_of_a_trace_gives_the_same_trace(gaps: list[int], rates: list[float]) -> None:
    times = [sum(gaps[:count]) / 10 for count in range(len(gaps) + 1)]
    trace = rate_trace.parse(rate_trace.text_of(tuple(zip(times, rates, strict=False))))
    assert rate_trace.parse(rate_trace.text_of(trace)) == trace
