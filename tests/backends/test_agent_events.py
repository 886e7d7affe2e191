"""What the agent sends of a run becomes samples in our units, and figures of them."""

from __future__ import annotations

import pytest

from tcptutor.backends.events import EventReader
from tcptutor.base.errors import ProtocolError
from tcptutor.run import Ended, Finished, QueueSample, Sample, TimerCounts
from tcptutor.wire import protocol, tcp_info
from tcptutor.wire.protocol import Phase, RawSamples, Samples
from tests.conftest import Build


def info(**fields: int) -> bytes:
    """The kernel's bytes, with these fields and 0 in all others."""
    return tcp_info.LAYOUT.pack(*(fields.get(name, 0) for name in tcp_info.FIELDS))


def test_a_row_is_the_kernels_state_in_base_units() -> None:
    state = info(
        snd_cwnd=24, snd_ssthresh=12, snd_mss=1448, rtt=32_000, min_rtt=20_000, bytes_acked=10_001, ca_state=3,
        app_limited=0b101, pacing_rate=1_000_000, busy_time=2_500_000, data_segs_out=9, notsent_bytes=77,
    )  # fmt: skip
    row = tcp_info.row(7, 1.25, 9_000, state)
    assert tcp_info.bytes_acked(row) == (7, 10_001)
    (sample,) = tcp_info.samples(row)
    assert sample == Sample(
        7, 1.25, 24, 12, 1448, 0.032, 0.0, 0.02, 10_001, 9, 0, 0.0, 8e6, 0, 3, True, 2.5, 0.0, 0.0, 0, 0, 0.0,
        notsent=77, bytes_received=9_000,
    )  # fmt: skip


def test_what_the_kernel_has_not_measured_is_0() -> None:
    (sample,) = tcp_info.samples(tcp_info.row(0, 0.0, 0, info(min_rtt=0xFFFFFFFF, pacing_rate=2**64 - 1)))
    assert (sample.min_rtt, sample.pacing_rate) == (0.0, 1e15)


@pytest.mark.parametrize("damage", [b"x", b"\0" * 100])
async def test_half_a_row_is_told(damage: bytes) -> None:
    with pytest.raises(ProtocolError, match="the lab's agent sends malformed samples"):
        await EventReader().read(RawSamples(0.0, tcp_info.row(0, 0.0, 0, info()) + damage))


def _sent(build: Build, megabits: int, **end: object) -> list[protocol.Event]:
    """Two seconds of one flow at a steady rate, as an agent sends them, through the channel's text."""
    bytes_each = megabits * 10**6 // 8 // 100
    events: list[protocol.Event] = [Phase("traffic", "connecting")]
    for batch in range(10):
        ticks = range(20 * batch, 20 * batch + 20)
        state = [
            info(
                snd_cwnd=10, snd_mss=1448, rtt=20_000, bytes_acked=1 + tick * bytes_each,
                delivered=tick * bytes_each // 1448,
            )
            for tick in ticks
        ]  # fmt: skip
        data = b"".join(
            tcp_info.row(0, tick / 100, tick * bytes_each, one)
            for tick, one in zip(ticks, state, strict=True)
        )
        queue = tuple(QueueSample(tick / 100, 0, 0, 0, tick * bytes_each) for tick in ticks)
        events.append(RawSamples(ticks[-1] / 100, data, queue))
    experiment = build(rate="50 Mbit/s", duration="2 s", warmup="0")
    ended = {"complete": True, "planned": True, "checks": {"offloads": "off"}, **end}
    events.append(Ended(experiment, ((0, 0),), 1.99, timers=TimerCounts(0.01), **ended))  # type: ignore[arg-type]
    return [protocol.event(protocol.line(event)) for event in events]


async def _read(reading: EventReader, events: list[protocol.Event]) -> tuple[list[Sample], Finished]:
    found = [await reading.read(event) for event in events]
    samples = [row for event in found if isinstance(event, Samples) for row in event.rows]
    end = found[-1]
    assert isinstance(end, Finished)
    return samples, end


async def test_each_run_has_figures_of_its_own_samples(build: Build) -> None:
    reading = EventReader()
    for megabits in (8, 40):
        samples, end = await _read(reading, _sent(build, megabits))
        assert len(samples) == 200
        (flow,) = end.flows
        assert flow.throughput_bps == pytest.approx(megabits * 1e6, rel=1e-3)
        assert end.fidelity.status == "valid"
        assert end.fidelity.checks["offloads"] == "off"


async def test_what_the_lab_doubts_and_what_the_samples_show_are_one_verdict(build: Build) -> None:
    events = _sent(build, 8, complete=False, suspect=("the machine is hot",), invalid=("no path",))
    _, end = await _read(EventReader(), events)
    assert end.fidelity.reasons == ("no path", "the machine is hot")
    assert (end.fidelity.status, end.complete) == ("invalid", False)
    _, end = await _read(EventReader(), _sent(build, 60))
    assert "more than the 5" in end.fidelity.reasons[0]
