"""Each reason for which the lab doubts a run, provoked on the real guest.

Those of a clock that moves in ticks are in test_coarse_clock, a gap between samples in test_host, a network that is not
the experiment's in lab/test_watch. What a hypervisor takes cannot be provoked here: lab/test_load counts it.
"""

from __future__ import annotations

import pytest

from tcptutor.backends.guest.backend import GuestBackend
from tests.backends.play import doubt, play, total_bps
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
        "rate of the full bottleneck", "late timers", "missing samples", "longest sampling gap",
        "busiest processor", "softirq", "steal",
    } <= set(run.fidelity.checks)  # fmt: skip
    # Here no other program can take the processor: a hundred samples a second and none left out.
    assert run.fidelity.checks["missing samples"] == 0
    assert len(run.samples) == pytest.approx(100 * 2, abs=2)


async def test_too_few_losses(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE | {"rate": "100 Mbit/s", "loss": "0.1 %"}))
    assert run.fidelity.status == "suspect"
    doubt(run, "loss event")


async def test_super_packets(guest: GuestBackend, build: Build) -> None:
    """With offloads on, netem drops what the sender handed over as one packet."""
    run = await play(
        guest,
        build(
            **BASE | {"rate": "none", "delay": "10 ms", "loss": "0.5 %", "offloads": "on", "duration": "6 s"}
        ),
    )
    doubt(run, "offloads send many as one packet")
    # Its losses are counted in packets, and what it sent in segments: they are as many as were planned.
    assert run.fidelity.status == "suspect"


async def test_a_bucket_that_a_frame_does_not_fit_into(guest: GuestBackend, build: Build) -> None:
    """tbf lets no full segment through, and no result comes of it. Where segments are smaller than the MTU, it does."""
    bucket = BASE | {"mtu": "3000", "burst": "1.6 kB"}
    run = await play(guest, build(**bucket))
    assert run.fidelity.status == "invalid"
    doubt(run, "a full frame of 3014 bytes does not fit into the bottleneck's bucket of 1600")
    assert total_bps(run) < 1e3
    run = await play(guest, build(**bucket, mss="1000"))
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())
    assert total_bps(run) > 8e6


async def test_a_bucket_of_one_frame_keeps_a_rate_of_many(guest: GuestBackend, build: Build) -> None:
    """7.5 frames a millisecond, of which the bucket holds one: no doubt, for the guest's timers are never late."""
    run = await play(guest, build(**BASE | {"burst": "1.6 kB", "rate": "90 Mbit/s"}))
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())
    assert run.fidelity.checks["rate of the full bottleneck"] == pytest.approx(90e6, rel=0.005)


async def test_packets_dropped_at_the_senders_own_interface(guest: GuestBackend, build: Build) -> None:
    """A UDP socket with a large buffer hands fq more than the hundred packets that it keeps of a flow."""
    udp = {"streams": "0", "udp_streams": "1", "udp_rate": "9 Mbit/s", "buffer": "2 MiB"}
    run = await play(guest, build(**BASE | udp | {"maxrate": "100 kbit/s"}))
    doubt(run, "local congestion")


async def test_a_window_that_is_not_what_was_asked_for(guest: GuestBackend, build: Build) -> None:
    """A receive window cannot be larger than the application lets the buffer be: here a sysctl bounds it."""
    run = await play(guest, build(**BASE | {"window": "256 KiB", "tcp_window_scaling": "0", "rate": "none"}))
    doubt(run, "the receiver advertised")


async def test_a_sysctl_that_the_kernel_rounds(guest: GuestBackend, build: Build) -> None:
    """It keeps this one in ticks of 4 ms."""
    run = await play(guest, build(**BASE | {"duration": "1 s", "tcp_invalid_ratelimit": "501"}))
    assert run.fidelity.status == "invalid"
    doubt(run, "net.ipv4.tcp_invalid_ratelimit on h1: asked for 501, the kernel holds 504")


async def test_small_segments_have_room_in_netem(guest: GuestBackend, build: Build) -> None:
    """It counts packets, and of these the path holds ten times as many."""
    small = {"rate": "20 Mbit/s", "delay": "200 ms", "mss": "88", "duration": "6 s"}
    run = await play(guest, build(**BASE | small))
    assert (run.fidelity.status, run.fidelity.reasons) == ("valid", ())


async def test_amounts_that_are_sent_before_the_measured_time(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE | {"streams": "2", "bytes": "20 kB", "warmup": "1 s"}))
    assert run.fidelity.status == "invalid"
    doubt(run, "2 of 2 flows were not measured, they were over too soon: let them send more bytes")


async def test_too_few_round_trips(guest: GuestBackend, build: Build) -> None:
    run = await play(guest, build(**BASE | {"rate": "none", "delay": "500 ms", "duration": "4 s"}))
    doubt(run, "the measured time is only 8 round trips: take a longer duration")


async def test_a_processor_that_cannot_follow(guest: GuestBackend, build: Build) -> None:
    """The emulated processor carries some hundred Mbit/s of small segments, not ten thousand.

    A firewall that looks at each of them makes it certain that most of the time goes to packets, and two flows that
    less goes to looking at them. Their windows are less than what the kernel lets wait, so that none is ever lost:
    flows that lose whole windows leave the processor idle until they time out.
    """
    flood = {"rate": "10 Gbit/s", "delay": "1 ms", "streams": "2", "mss": "88", "window": "32 KiB"}
    run = await play(guest, build(**BASE | flood | {"loss_by": "firewall", "loss": "0.0001 %"}))
    assert run.fidelity.status == "suspect"
    doubt(run, "% of the time on packets: take a lower rate")
    doubt(run, "may be the bottleneck: take a lower rate")


async def test_a_trace_that_loses_acks(guest: GuestBackend, build: Build) -> None:
    """The kernel's buffer of 4 MB is full before the agent has time to read it, and its samples come late or never."""
    flood = {"rate": "none", "delay": "1 ms", "streams": "16", "mss": "88", "duration": "2 s", "acks": "on"}
    run = await play(guest, build(**BASE | flood))
    doubt(run, f"the trace lost {run.fidelity.checks['lost trace events']} ACKs: take fewer flows")
    doubt(run, "of the timers were more than 2 ms late")
    doubt(run, "of the samples are missing")
