"""What disciplines, classes and filters make of a path, from what the kernel tells of them."""

from __future__ import annotations

import socket
import struct
from typing import Any

import pytest

from tcptutor.agent.netlink import ROOT, ClassState, FilterState, QdiscState
from tcptutor.agent.network import Interface
from tcptutor.agent.session.classify import Ends
from tcptutor.agent.session.stages import Hop, PathDirection, Tree, combine, stages

ENDS = Ends("10.0.0.1", "10.0.0.2")
MBIT = 125_000
ONE, TEN, TWENTY = 0x10001, 0x10010, 0x10020
S1_ETH2 = Interface("s1-eth2", None)


def read(tree: Tree) -> PathDirection:
    return combine([Hop(S1_ETH2, list(stages(tree, ENDS)))])


def htb(rate: int, ceil: int, handle: int = TEN, parent: int = ROOT) -> ClassState:
    return ClassState("htb", handle, parent, {"rate": rate * MBIT, "ceil": ceil * MBIT})


def by_destination(address: str, classid: int, priority: int = 1) -> FilterState:
    sel = struct.pack("=BBBxHHhhI", 0, 0, 1, 0, 0, 0, 0, 0)
    key = struct.pack(">I4s", 0xFFFFFFFF, socket.inet_aton(address)) + struct.pack("=ii", 16, 0)
    return FilterState("u32", priority, {5: sel + key, 1: classid.to_bytes(4, "little")})


def root(kind: str, **settings: Any) -> QdiscState:
    return QdiscState(kind, settings, 0x10000, ROOT)


@pytest.mark.parametrize(
    ("classes", "mbit"),
    [
        pytest.param([htb(3, 3)], 3, id="alone"),
        pytest.param([htb(2, 6, parent=ONE), htb(10, 10, ONE)], 6, id="borrows-up-to-its-ceil"),
        pytest.param([htb(2, 9, parent=ONE), htb(5, 5, ONE)], 5, id="borrows-what-its-parent-has"),
        pytest.param([htb(2, 9)], 2, id="nobody-to-borrow-from"),
        pytest.param([htb(7, 7, parent=ONE), htb(5, 5, ONE)], 7, id="its-own-is-its-own"),
    ],
)
def test_the_rate_of_a_class(classes: list[ClassState], mbit: float) -> None:
    found = read(Tree([root("htb", default=0x10, limit=1000)], classes))
    assert found.path["rate"] == mbit * 1e6
    assert (found.path["queue_packets"], found.shaper) == (1000, (S1_ETH2, 0x10000))


def test_a_filter_chooses_the_class() -> None:
    classes = [htb(8, 8), htb(2, 2, TWENTY)]
    filters = [by_destination("10.0.0.9", TWENTY), by_destination("10.0.0.2", TEN, 2)]
    found = read(Tree([root("htb", default=0x20)], classes, {0x10000: filters}))
    assert found.path["rate"] == 8e6


def test_a_filter_of_ports_is_not_read() -> None:
    sel = struct.pack("=BBBxHHhhI", 0, 0, 1, 0, 0, 0, 0, 0) + struct.pack(">II", 0xFFFF, 5201)
    ports = FilterState("u32", 1, {5: sel + struct.pack("=ii", 20, 0), 1: TEN.to_bytes(4, "little")})
    found = read(Tree([root("htb", default=0x20)], [htb(8, 8), htb(2, 2, TWENTY)], {0x10000: [ports]}))
    assert "rate" not in found.path
    assert found.unread == ("a u32 filter on s1-eth2",)


def test_without_a_default_class_htb_lets_pass_and_drr_drops() -> None:
    direct = PathDirection({"delay": 0.0}, unshaped=("htb on s1-eth2",))
    assert read(Tree([root("htb", default=0)], [htb(8, 8)])) == direct
    assert read(Tree([root("htb", default=0x20)], [htb(8, 8)])) == direct
    assert "it drops them" in read(Tree([root("drr")])).unread[0]


def test_hfsc_drops_only_where_it_has_classes() -> None:
    itself = ClassState("hfsc", 0x10000, ROOT)
    assert read(Tree([root("hfsc")], [itself])) == PathDirection(
        {"delay": 0.0}, unshaped=("hfsc on s1-eth2",)
    )
    one = ClassState("hfsc", TEN, 0x10000, {"link_share": MBIT})
    assert "it drops them" in read(Tree([root("hfsc")], [itself, one])).unread[0]


def test_a_discipline_that_nobody_reads_is_named() -> None:
    inside = QdiscState("sfq", {}, 0x20000, TEN)
    found = read(Tree([root("htb", default=0x10), inside], [htb(3, 3)]))
    assert found.unread == ("sfq on s1-eth2",)


def test_the_slowest_on_the_way_counts_with_the_queue_before_it() -> None:
    fast = Tree([root("tbf", rate=8 * MBIT, burst=9000, limit=40_000)])
    slow = Tree([root("tbf", rate=2 * MBIT, burst=5000, limit=9000)])
    hops = [Hop(S1_ETH2, list(stages(fast, ENDS))), Hop(Interface("s2-eth2", None), list(stages(slow, ENDS)))]
    found = combine(hops)
    assert (found.path["rate"], found.path["queue"], found.path["burst"]) == (2e6, 9000, 5000)
    assert found.shaper == (Interface("s2-eth2", None), 0x10000)


def test_a_limit_in_packets_is_as_many_full_frames_less_what_is_on_its_way() -> None:
    settings = {
        "latency": 20_000_000, "jitter": 0, "loss": 0.0, "burst": 1.0, "loss_correlation": 0.0, "duplicate": 0.0,
        "reorder": 0.0, "limit": 50,
    }  # fmt: skip
    inside = QdiscState("netem", settings, 0x20000, TEN)
    found = read(Tree([root("htb", default=0x10), inside], [htb(3, 3)]))
    assert (found.path["rate"], found.path["delay"], found.path["queue_packets"]) == (3e6, 0.02, 50)
    assert found.path["queue"] == 50 * 1514 - 7500
