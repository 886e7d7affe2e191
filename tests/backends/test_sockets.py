"""The sender's kernel knows nothing of a packet that is on its way, as on a real path."""

from __future__ import annotations

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.backends.host import HostBackend
from tcptutor.run import Run
from tests.backends.play import leaving_nothing, play
from tests.conftest import Build

BASE = {"rate": "20 Mbit/s", "delay": "20 ms", "algorithm": "cubic", "duration": "4 s", "warmup": "0 s"}


def _withheld(run: Run) -> list[object]:
    """Return how many retransmissions each host's kernel withheld because it saw the first copy."""
    return [run.fidelity.checks[f"{host} TCPSpuriousRtxHostQueues"] for host in ("h1", "h2")]


@pytest.mark.guest
async def test_a_queue_without_a_delay_before_it_fills(guest: GuestBackend, build: Build) -> None:
    """TCP Small Queues held the window at 38 and 22 segments in flight, with nothing lost."""
    asked = {"reverse_rate": "10 Mbit/s", "reverse_queue": "25 kB", "directions": "reverse"}
    run = await play(guest, build(**BASE | asked))
    assert run.fidelity.status == "valid"
    assert run.samples[-1].retransmits > 0
    # The path holds 17 segments, the queue as many.
    assert max(sample.unacked for sample in run.samples) > 30
    assert max(sample.rtt for sample in run.samples if sample.t > 1) > 0.035


@pytest.mark.guest
@pytest.mark.parametrize("asked", [{"jitter": "20 ms"}, {"reorder": "5 %"}])
async def test_late_segments_are_retransmitted(
    guest: GuestBackend, build: Build, asked: dict[str, str]
) -> None:
    """A sender cannot know that the first copy is still under way: it was withheld about a hundred times in 8 s."""
    run = await play(guest, build(**BASE | asked))
    assert _withheld(run) == [0, 0]
    assert run.samples[-1].retransmits >= run.flows[0].losses > 10


@pytest.mark.host
async def test_rootless_namespaces_can_do_it_as_well(build: Build, mark: str) -> None:
    async with leaving_nothing(HostBackend(), mark) as host:
        run = await play(host, build(rate="10 Mbit/s", duration="2 s", warmup="0 s", queue="30 kB"))
    small_queues = [reason for reason in run.fidelity.reasons if "Small Queues" in reason]
    assert _withheld(run) == [0, 0]
    assert not small_queues
    assert run.samples[-1].retransmits > 0
