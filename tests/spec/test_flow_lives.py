"""Changes of the number of streams: which flows exist when, what is refused, and how they are written."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.run.change import apply_change, current_value, describe_changes
from tcptutor.spec.flow_groups import flow_groups


def build(**parameters: str) -> spec.Experiment:
    path = {"rate": "20 Mbit/s", "delay": "20 ms", "duration": "20 s", "warmup": "2 s"}
    return spec.build("m/e", {"parameters": path | parameters})


def lives(experiment: spec.Experiment) -> list[tuple[int, float, float | None]]:
    return [tuple(life) for life in experiment.lives]


def test_more_streams_start_then_and_fewer_close_the_youngest() -> None:
    made = build(changes="6 s streams=3; 11 s streams=2; 15 s streams=4")
    assert lives(made) == [(0, 0.0, None), (0, 6.0, None), (0, 6.0, 11.0), (0, 15.0, None), (0, 15.0, None)]
    assert [made.streams_at(t) for t in (0, 6, 10.9, 11, 15)] == [1, 3, 3, 2, 4]
    assert made.total_streams == 5


def test_a_change_of_one_pair_leaves_the_others_alone() -> None:
    made = build(pairs="2", changes="6 s pair 2 streams=2; 9 s streams=1", algorithms="cubic, bbr")
    assert lives(made) == [(0, 0.0, None), (1, 0.0, None), (1, 6.0, 9.0)]
    assert [made.algorithm(flow) for flow in range(3)] == ["cubic", "bbr", "bbr"]
    assert [made.pair_of(flow) for flow in range(3)] == [0, 1, 1]


def test_the_last_to_start_is_the_youngest() -> None:
    made = build(streams="2", starts="4 s, 0 s", changes="10 s streams=1")
    assert lives(made) == [(0, 4.0, 10.0), (0, 0.0, None)]


def test_without_changes_of_streams_nothing_is_different() -> None:
    made = build(pairs="2", streams="2", changes="3 s rate=5 Mbit/s")
    assert made.lives == ()
    assert [made.pair_of(flow) for flow in range(made.total_streams)] == [0, 0, 1, 1]
    assert msgspec.to_builtins(made.path.changes) == ({"at": 3.0, "name": "rate", "value": 5e6},)


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"changes": "6 s streams=0"}, "use 1 or more"),
        ({"changes": "6 s streams=1.5"}, "whole number"),
        ({"changes": "6 s streams=65"}, "0 to 64"),
        ({"changes": "99 s streams=2"}, "the run ends after 22 s"),
        ({"changes": "0 s streams=2"}, "set streams for the start"),
        ({"changes": "6 s pair 2 streams=2"}, "use pair 1 to 1, or set pairs"),
        ({"changes": "6 s pair 9 streams=2"}, "write 'pair 1' to 'pair 4'"),
        ({"changes": "6 s pair 1 rate=5 Mbit/s"}, "omit 'pair 1'"),
        ({"changes": "6 s streams=2; 6 s streams=1"}, "keep one of them"),
        ({"changes": "6 s streams=2; 6 s pair 1 streams=4"}, "keep one of them"),
        ({"streams": "2", "changes": "1 s streams=1"}, "close it after 2 s"),
        ({"streams": "2", "bytes": "1 MB", "warmup": "2 s", "changes": "6 s streams=1"}, "omit bytes"),
        ({"streams": "0", "udp_streams": "1", "changes": "6 s streams=1"}, "set streams"),
        ({"starts": "8 s", "changes": "6 s streams=2"}, "change them later"),
        (
            {"streams": "64", "changes": "; ".join(f"{3 + t} s streams={(1, 64)[t % 2]}" for t in range(10))},
            "at most 256",
        ),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(parameters: dict[str, str], remedy: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build(**parameters)
    assert remedy in str(caught.value)
    assert "\n" not in str(caught.value)


@given(
    st.lists(
        st.tuples(st.integers(3, 20), st.integers(0, 2), st.integers(1, 6)),
        max_size=6,
        unique_by=lambda t: t[0],
    )
)
def test_what_is_written_is_read_back_and_each_pair_has_its_streams(
    changes: list[tuple[int, int, int]],
) -> None:
    text = "; ".join(
        f"{at} s {f'pair {pair} ' if pair else ''}streams={streams}" for at, pair, streams in changes
    )
    made = build(pairs="2", streams="2", changes=text)
    assert build(**spec.settings(made)).path == made.path
    for moment in range(22):
        now = {1: 2, 2: 2}
        for at, pair, streams in sorted(changes):
            if at <= moment:
                now |= {pair: streams} if pair else {1: streams, 2: streams}
        assert made.streams_at(moment) == sum(now.values())


def test_a_what_if_adds_streams_from_an_instant_on() -> None:
    before = build(streams="2")
    after = apply_change(before, "streams", "4", at=8.0)
    assert after.path.changes == (spec.Change(8.0, "streams", 4.0),)
    assert describe_changes(before, after) == "from 8 s on streams 2 → 4"
    assert current_value(after, "streams", 9.0) == "4"
    of_pair = build(pairs="2", changes="8 s pair 2 streams=3")
    assert describe_changes(build(pairs="2"), of_pair) == "from 8 s on pair 2 streams 1 → 3"


def test_flows_of_equal_settings_are_a_group_with_consecutive_ports() -> None:
    made = build(streams="4", algorithms="cubic, bbr", changes="6 s streams=5; 9 s streams=3")
    assert [*flow_groups(made).values()] == [(0, 2), (1,), (3,), (4,)]
    assert [settings.end for settings in flow_groups(made)] == [None, None, 9.0, 9.0]
