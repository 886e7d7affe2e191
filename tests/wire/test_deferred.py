"""Changes that wait: the agent finds each at its time, and is asked the same thing whether there are any."""

from __future__ import annotations

import math
import mmap
from array import array

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tcptutor.spec import Change, Experiment, build
from tcptutor.wire import protocol, ring
from tcptutor.wire.protocol import RunExperiment
from tcptutor.wire.ring import DeferredChanges, split_deferred

PATH = {"rate": "10 Mbit/s", "delay": "20 ms", "loss": "0.1 %"}
NAMES = ("rate", "delay", "jitter", "loss", "queue", "link")


def made(**parameters: str) -> Experiment:
    return build("later", {"parameters": PATH | parameters})


@given(
    st.lists(
        st.tuples(st.floats(0, 60), st.sampled_from(NAMES), st.floats(0, 1e9)), max_size=ring.MAX_CHANGES
    )
)
def test_what_was_put_is_found_in_its_order(given: list[tuple[float, str, float]]) -> None:
    changes = [Change(*each) for each in sorted(given)]
    numbers = array("d", [7.0]) * ring.DEFERRED_LENGTH
    ring.store_changes(numbers, changes)
    waiting = DeferredChanges(numbers)
    for change in changes:
        assert waiting.due == change.at
        assert waiting.take() == change
    assert waiting.due == math.inf
    assert DeferredChanges().due == math.inf


def test_a_request_without_changes_forgets_those_of_before() -> None:
    with mmap.mmap(-1, ring.HEADER + 64 + ring.TAIL) as memory:
        end = ring.Ring(memory)
        end.submit(b"one", [Change(3.0, "loss", 0.0)])
        assert DeferredChanges(end.deferred).due == 3.0
        assert end.take_request() == b"one"
        end.submit(b"two")
        assert DeferredChanges(end.deferred).due == math.inf
        end.close()


@pytest.mark.parametrize(
    "changes",
    [
        "3 s loss=0",
        "3 s rate=5 Mbit/s; 4 s rate=10 Mbit/s",
        "3 s link=down",
        "3 s delay=40 ms",
        "3 s algorithm=bbr; 4 s mtu=900",
    ],
)
def test_the_request_is_the_same_whatever_comes_later(changes: str) -> None:
    known, waiting = split_deferred(made(changes=changes))
    assert protocol.line(RunExperiment(known)) == protocol.line(RunExperiment(made()))
    assert waiting == made(changes=changes).path.changes
    numbers = array("d", [0.0]) * ring.DEFERRED_LENGTH
    ring.store_changes(numbers, waiting)
    queue = DeferredChanges(numbers)
    assert tuple(queue.take() for _ in waiting) == waiting


def test_what_has_to_be_set_up_for_is_known_from_the_start() -> None:
    """A netem that is not there cannot change; a path that becomes a hundred times as long needs larger buffers."""
    without = build("later", {"parameters": {"rate": "10 Mbit/s", "changes": "3 s loss=1 %"}})
    assert split_deferred(without) == (without, ())
    longer = made(changes="3 s delay=2 s")
    assert split_deferred(longer) == (longer, ())
    many = made(changes="; ".join(f"{at / 10:.1f} s loss=0" for at in range(1, ring.MAX_CHANGES + 2)))
    assert split_deferred(many) == (many, ())
