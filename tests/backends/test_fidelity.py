"""Each reason for which the lab doubts a run, provoked on the real guest."""

from __future__ import annotations

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tests.backends.play import doubt, play
from tests.conftest import Build

pytestmark = pytest.mark.guest

BASE = {"rate": "10 Mbit/s", "delay": "20 ms", "algorithm": "reno", "duration": "2 s", "warmup": "0 s"}


async def test_a_run_without_fault_is_valid_and_says_what_it_looked_at(
    guest: GuestBackend, build: Build
) -> None:
    run = await play(guest, build(**BASE))
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())
    assert {
        "offloads", "kernel HZ", "clock source", "ping h1", "tbf drops", "netem packets", "random drops",
        "rate of the full bottleneck", "late timers", "longest sampling gap", "busiest processor", "softirq", "steal",
    } <= set(run.fidelity.checks)  # fmt: skip


async def test_too_few_losses(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE, loss="0.1 %"))
    assert run.fidelity.status == "suspect"
    doubt(run, "loss events")


async def test_super_packets(guest: GuestBackend, build: Build) -> None:
    """With offloads on, netem drops what the sender handed over as one packet."""
    run = await play(
        guest,
        build(
            **BASE | {"rate": "none", "delay": "10 ms", "loss": "0.5 %", "offloads": "on", "duration": "6 s"}
        ),
    )
    doubt(run, "offloads send many as one packet")


async def test_a_bucket_too_small_for_the_rate(guest: GuestBackend, build: Build) -> None:
    """A frame does not fit into the bucket: tbf lets nothing through, and no result comes of it."""
    run = await play(guest, build(**BASE | {"mtu": "1500", "burst": "1.6 kB", "rate": "90 Mbit/s"}))
    assert run.fidelity.status != "valid" or run.fidelity.checks["rate of the full bottleneck"] > 85e6


async def test_packets_dropped_at_the_senders_own_interface(guest: GuestBackend, build: Build) -> None:
    """A UDP socket with a large buffer hands fq more than the hundred packets that it keeps of a flow."""
    udp = {"streams": "0", "udp_streams": "1", "udp_rate": "9 Mbit/s", "buffer": "2 MiB"}
    run = await play(guest, build(**BASE | udp | {"maxrate": "100 kbit/s"}))
    doubt(run, "local congestion")


async def test_a_window_that_is_not_what_was_asked_for(guest: GuestBackend, build: Build) -> None:
    """A receive window cannot be larger than the application lets the buffer be: here a sysctl bounds it."""
    run = await play(guest, build(**BASE | {"window": "256 KiB", "tcp_window_scaling": "0", "rate": "none"}))
    doubt(run, "the receiver advertised")


async def test_a_processor_that_cannot_follow(guest: GuestBackend, build: Build) -> None:
    """The emulated processor carries some hundred Mbit/s without offloads, not ten thousand."""
    run = await play(
        guest, build(**BASE | {"rate": "10 Gbit/s", "delay": "1 ms", "streams": "4", "duration": "1 s"})
    )
    assert run.fidelity.status == "suspect"
    doubt(run, "take a lower rate")
