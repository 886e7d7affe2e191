"""A second bottleneck: the network that it needs, the delay of each pair, and what is refused."""

from __future__ import annotations

import pytest

from tcptutor import spec
from tcptutor.base.errors import ParameterError
from tcptutor.spec import Topology


def build(**parameters: str) -> spec.Experiment:
    path = {"rate": "10 Mbit/s", "delay": "20 ms", "second_rate": "5 Mbit/s", "second_delay": "30 ms"}
    return spec.build("m/e", {"parameters": path | parameters})


def test_each_pair_crosses_its_links_and_has_their_delay() -> None:
    made = build(pairs="4", crosses="both, first, second, both", pair_delays="1 ms, 2 ms")
    assert [made.links_of(pair) for pair in range(4)] == [(0, 1), (0,), (1,), (0, 1)]
    assert [made.pair_delay(pair) for pair in range(4)] == pytest.approx([0.051, 0.022, 0.031, 0.052])
    assert made.topology.switches == ("s1", "s2", "s3")
    ports = [(made.topology.sender_port(pair), made.topology.receiver_port(pair)) for pair in range(3)]
    assert ports == [("s1-eth3", "s3-eth3"), ("s1-eth4", "s2-eth4"), ("s2-eth5", "s3-eth5")]
    assert len(set(made.topology.interfaces)) == len(made.topology.interfaces)


def test_without_a_choice_every_pair_crosses_both() -> None:
    assert build().links_of(0) == (0, 1)
    assert build(pairs="2").topology.crossings == ("both", "both")


def test_its_queue_is_one_bdp_of_its_own_or_what_is_set() -> None:
    assert build(second_rate="100 Mbit/s", second_delay="20 ms").path.second_queue == 250_000
    assert build(second_queue="2 BDP").path.second_queue == 37_500
    assert build(second_queue="40 kB").path.second_queue == 40_000


def test_settings_name_it_only_if_it_is_there() -> None:
    shown = spec.settings(build(pairs="2", crosses="both, second"))
    assert (shown["second_rate"], shown["crosses"]) == ("5 Mbit/s", "both, second")
    assert not [name for name in spec.settings(spec.Experiment(name="m/e")) if name.startswith("second")]


def test_a_network_without_it_is_that_of_the_manuals() -> None:
    assert Topology().interfaces == ("h1-eth0", "h2-eth0", "s1-eth1", "s1-eth2", "s2-eth1", "s2-eth2")
    assert Topology(2).links == (("s1-eth1", "s2-eth1"),)


@pytest.mark.parametrize(
    ("parameters", "remedy"),
    [
        ({"second_rate": "none"}, "set second_rate"),
        ({"second_rate": "none", "second_delay": "0", "crosses": "first"}, "set second_rate"),
        ({"rate": "none"}, "set rate"),
        ({"crosses": "first"}, "no pair crosses the second link"),
        ({"crosses": "second"}, "no pair crosses the first link"),
        ({"crosses": "third"}, "both, first, second"),
        ({"crosses": "both, first"}, "2 values for 1 pair"),
        ({"changes": "3 s rate=2 Mbit/s"}, "only algorithm and streams can"),
        ({"qdisc": "codel"}, "omit qdisc"),
        ({"reverse_delay": "5 ms"}, "omit reverse_delay"),
        ({"rate_trace": "0 s 10 Mbit/s; 1 s 5 Mbit/s"}, "omit rate_trace"),
        ({"directions": "reverse"}, "omit directions"),
        ({"udp_streams": "1"}, "omit udp_streams"),
        ({"short_arrivals": "2"}, "omit short_arrivals"),
        ({"capture": "on", "capture_at": "s1-eth2"}, "choose from"),
    ],
)
def test_what_cannot_be_is_refused_with_a_remedy(parameters: dict[str, str], remedy: str) -> None:
    with pytest.raises(ParameterError, match=remedy):
        build(**parameters)
