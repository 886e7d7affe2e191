"""Values of the conditions: what is taken, what is refused and with which words."""

from __future__ import annotations

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor import spec
from tcptutor.base.errors import ParameterError

BASE = {"rate": "10 Mbit/s", "delay": "20 ms"}


def build(pairs: int = 1, **parameters: object) -> spec.Experiment:
    return spec.build("m/e", {"parameters": BASE | parameters, "pairs": pairs})


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"jitter": "30 ms"}, "larger than the delay"),
        ({"delay": "0", "reorder": "1 %"}, "set a delay"),
        ({"loss_burst": "4", "loss_correlation": "10 %"}, "use only one of them"),
        ({"loss_burst": "0.5"}, "1 to 1000"),
        ({"loss": "75 %", "loss_burst": "2"}, "smaller loss"),
        ({"loss": "80 %"}, "0 % to 75 %"),
        ({"reverse_loss": "80 %"}, "0 % to 75 %"),
        ({"loss": "60 %", "reverse_loss": "60 %"}, "reduce one of them"),
        ({"delay": "3 s"}, "0 s to 2 s"),
        ({"reverse_delay": "10 s"}, "0 s to 2 s"),
        ({"pair_delays": "10 s"}, "0 s to 2 s"),
        ({"changes": "1s delay=3s"}, "0 s to 2 s"),
        ({"window": "2048 bytes"}, "4 KiB to 64 MiB"),
        ({"buffer": "17 MiB"}, "4 KiB to 16 MiB"),
        ({"send_buffer": "65 MiB"}, "64 MiB"),
        ({"loss_by": "firewall", "loss_burst": "4"}, "independently"),
        ({"loss_by": "firewall", "changes": "1s loss=1%"}, "loss_by=netem"),
        ({"loss_by": "magic"}, "not one of netem, firewall"),
        ({"rate": "none", "qdisc": "codel"}, "set a rate"),
        ({"rate": "none", "changes": "1s rate=5Mbit/s"}, "set a rate"),
        ({"qdisc": "sfq"}, "not one of fifo"),
        ({"ecn": "perhaps"}, "not one of off, on"),
        ({"changes": "rate=5Mbit/s"}, "not a change"),
        ({"changes": "1s window=9kB"}, "cannot change"),
        ({"changes": "1s link=sideways"}, "'up' or 'down'"),
        ({"changes": "soon rate=5Mbit/s"}, "changes"),
        ({"changes": "1s rate=5"}, "has no unit"),
        ({"changes": "-1s rate=5Mbit/s"}, "0 s or more"),
        ({"changes": "99s rate=5Mbit/s"}, "the run ends after"),
        ({"starts": "99s"}, "the run ends after"),
        ({"starts": "0s, 1s"}, "2 values for 1 flows"),
        ({"algorithms": "reno, cubic"}, "2 values for 1 flows"),
        ({"directions": "up"}, "not one of forward, reverse"),
        ({"pair_delays": "1ms, 2ms"}, "2 values for 1 pairs"),
        ({"streams": "0"}, "there are no flows"),
        ({"mss": "1461"}, "at most 1460"),
        ({"window": "64 KiB", "buffer": "64 KiB"}, "omit window or buffer"),
        ({"tcp_sack": "1; reboot"}, "not a sysctl's value"),
        ({"tcp_sack": ""}, "not a sysctl's value"),
        ({"net.core.rmem_max": "1"}, "no parameter"),
        ({"udp_rate": "none"}, "udp_rate"),
        ({"rate": ["10 Mbit/s"]}, "one value, not a list"),
        ({"pairs": "5"}, "1 to 4"),
    ],
)
def test_a_wrong_value_is_refused_in_one_line(parameters: dict[str, object], words: str) -> None:
    with pytest.raises(ParameterError) as caught:
        build(**parameters)
    assert words in str(caught.value)
    assert "\n" not in str(caught.value)


def test_lists_go_to_pairs_or_flows() -> None:
    flows = build(
        streams="3", algorithms="reno, cubic", starts="0 s, 1 s, 2 s", directions="forward, reverse"
    )
    assert [flows.algorithm(flow) for flow in range(3)] == ["reno", "cubic", "reno"]
    assert [flows.start(flow) for flow in range(3)] == [0, 1, 2]
    assert [flows.reversed(flow) for flow in range(3)] == [False, True, False]
    pairs = build(pairs=2, streams="2", algorithms=["reno", "bbr"], pair_delays="0, 30 ms")
    assert [pairs.algorithm(flow) for flow in range(4)] == ["reno", "reno", "bbr", "bbr"]
    assert [pairs.delay(flow) for flow in range(4)] == pytest.approx([0.02, 0.02, 0.05, 0.05])
    assert pairs.congestion_controls == ("reno", "bbr")
    assert spec.build("m/e", {"parameters": BASE | {"pairs": "3"}}).pairs == 3


def test_changes_come_in_order_of_time() -> None:
    changes = build(changes="3s link=up; at 2s: link=down; 1 s queue=2 BDP").path.changes
    assert [(change.at, change.name, change.value) for change in changes] == [
        (1.0, "queue", 50_000.0), (2.0, "link", 0.0), (3.0, "link", 1.0),
    ]  # fmt: skip


def test_sysctls_go_by_their_name() -> None:
    made = build(tcp_sack=0, **{"net.ipv4.tcp_rmem": "10,240 87,380 150,000,000"})
    # The manual prints thousands with commas.
    assert made.hosts.sysctls == {"tcp_sack": "0", "tcp_rmem": "10240 87380 150000000"}


def test_an_experiment_is_told_by_what_it_changes_and_built_from_that_again() -> None:
    made = build(
        loss="1 %", loss_burst="4", qdisc="red", ecn=True, streams="2", starts="0, 1s", tcp_sack="0",
        changes="1s rate=5Mbit/s; 2s link=down", bytes="1 MB", mss=536, reverse_rate="1 Mbit/s", window="none",
    )  # fmt: skip
    again = spec.build("m/e", {"parameters": spec.settings(made)})
    assert msgspec.structs.replace(again, title=made.title) == made


def test_the_scale_of_the_source() -> None:
    table = {"parameters": BASE, "paper": {"rate": "10 Gbit/s"}}
    assert spec.build("m/e", table, scale="paper").path.rate == 1e10
    assert spec.build("m/e", table).path.rate == 1e7
    assert spec.build("m/e", table, {"rate": "1 Gbit/s"}, scale="paper").path.rate == 1e9
    with pytest.raises(ParameterError, match="omit --scale"):
        spec.build("m/e", {"parameters": BASE}, scale="paper")


@given(
    st.text(max_size=30), st.sampled_from(["changes", "starts", "algorithms", "pair_delays", "loss_burst"])
)
def test_any_text_is_taken_or_refused(text: str, name: str) -> None:
    try:
        build(**{name: text})
    except ParameterError as error:
        assert "\n" not in str(error) or "\n" in text
