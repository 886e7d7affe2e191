"""Runs of a real kernel (6.12 in the guest, virtual clock), recorded with `tcptutor run`: model and verdict on each."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from tcptutor.analysis import LimitedBy, report
from tcptutor.run import load

from . import audit

RUNS = Path(__file__).parent / "runs"

EXPECTED: dict[str, tuple[str, bool, LimitedBy]] = {
    "small-window": ("window", True, "receive-window"),
    "cubic-loss": ("cubic", True, "random-loss"),
    "htcp-loss": ("htcp", True, "random-loss"),
    "heavy-loss": ("reno", True, "random-loss"),
    "four-lossy-streams": ("reno", True, "random-loss"),
    "full-link": ("link", True, "bottleneck"),
    "short-queue": ("sawtooth", True, "bottleneck"),
    # A queue of three frames drops parts of bursts well before the link is full.
    "burst-queue": ("meeting", False, "bottleneck"),
    "paced-above-link": ("link", True, "bottleneck"),
    "window-of-bdp": ("link", True, "bottleneck"),
    "bbr-loss": ("link", True, "bottleneck"),
    "jitter": ("link", True, "bottleneck"),
    "pacing": ("pacing", True, "pacing"),
    # How large a buffer the kernel makes is known to a factor of two: that explains nothing.
    "no-rate": ("buffer", False, "receive-window"),
    # One second of slow start towards 1 Gbit/s, and two losses in five: no model of the steady state holds.
    "slow-start": ("link", False, "growing"),
    "timeouts": ("reno", False, "timeout"),
}
"""By file: the binding model, whether the run is within its tolerance, and what limited the run."""


LIMITS: dict[str, tuple[LimitedBy, str]] = {
    "bbr-seen": ("bottleneck", "the bottleneck is full, its queue adds 16 ms"),
    "byte-by-byte": (
        "application",
        "the application writes too slowly, TCP waited for data 100 % of the time",
    ),
    "codel-drops": ("bottleneck", "the bottleneck is full, CoDel drops some (11) to keep its queue short"),
    "codel-marks": ("bottleneck", "CoDel marks segments to keep the bottleneck's queue short"),
    "dctcp-marks": ("bottleneck", "the bottleneck is full, its queue adds 9.4 ms and marks 263 segments"),
    # Round trips are 41 ms above their least, all of it in the senders: the bottleneck's queue is empty.
    # 378 segments are dropped at once, and the link stays full: with a queue of 6 BDP none is, at the same rate.
    "first-cut": ("growing", "the window was still growing, 9.3-fold in this time"),
    "fq-four-pairs": ("pacing", "fq paces each flow at 1.18 Mbit/s"),
    "held-by-hand": ("pacing", "data waits in the sender 100 % of the time"),
    # All drops and cuts are before the change, which makes room for more.
    "longer-delay": ("growing", "at 7 s the delay became 80 ms: the window was still growing"),
    "reordering": ("reordering", "segments came out of order"),
    # Half of the flows are held back in their host: the one that carries 1 % of the bytes.
    "reverse-queue": (
        "bottleneck",
        "data fills the reverse path, 1 Mbit/s: its queue adds 161 ms to the round trip",
    ),
    "send-buffer": ("send-buffer", "the send buffer, 38.9 kB, was full"),
    "short-queue-seen": ("bottleneck", "the bottleneck's short queue overflows: 8 dropped, 8 retransmitted"),
    # What was held behind a gap when the warm-up ended would make it 105 %.
    "slow-link": ("bottleneck", "the bottleneck is full, its queue adds 1.1 s; the link is 100 % used"),
    "timeouts-seen": ("timeout", "waiting for timeouts (18 of them) took 56 % of the time"),
    # Of pairs with different round trips it is not the mean less the least of them all.
    "two-pairs-full": ("bottleneck", "the bottleneck is full, its queue adds 40 ms"),
    "way-back": ("bottleneck", "the reverse path, 200 kbit/s, has no room for more acknowledgements"),
    # The receiver's window, 1.76 MB, is full 59 % of the time at 9 Mbit/s and 40 ms.
    "without-sack": ("bottleneck", "without SACK a round trip repairs one lost segment: recovery took 73 %"),
    "window-filled": (
        "receive-window",
        "the receiver's window, 69.6 kB (71.4 kB set), was full: 69.5 kB of it were under way",
    ),
}
"""By file: what limited the run, and how the sentence begins that says so. Thinned, with the queue's samples."""


@pytest.mark.parametrize("name", LIMITS)
def test_where_a_segment_waits_is_said(name: str) -> None:
    run = load(RUNS.parent / "limits" / f"{name}.tcprun")
    result = report(run)
    limited_by, sentence = LIMITS[name]
    assert result.verdict.limited_by == limited_by
    assert result.verdict.sentence.startswith(sentence)
    assert not list(audit.problems(run, result))


def test_no_more_is_measured_than_the_link_carries() -> None:
    run = load(RUNS.parent / "limits" / "slow-link.tcprun")
    alone = report(msgspec.structs.replace(run, flows=[]))
    assert alone.throughput_bps == pytest.approx(500e3 * 1448 / 1514, rel=0.005)


def test_every_recorded_run_is_judged() -> None:
    assert {file.stem for file in RUNS.iterdir()} == set(EXPECTED)
    assert {file.stem for file in (RUNS.parent / "limits").iterdir()} == set(LIMITS)


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_run(name: str) -> None:
    result = report(load(RUNS / f"{name}.tcprun"))
    binding = result.comparisons[0]
    within = binding.within and binding.prediction.tolerance <= 0.5
    found = (binding.prediction.model, within, result.verdict.limited_by)
    assert found == EXPECTED[name], result.verdict.evidence
    assert len(result.verdict.sentence) <= 100


@pytest.mark.parametrize("name", EXPECTED)
def test_a_real_run_cut_anywhere_is_still_told(name: str) -> None:
    run = load(RUNS / f"{name}.tcprun")
    for share in (0.05, 0.3, 0.6, 0.9):
        cut = msgspec.structs.replace(
            run, samples=run.samples[: int(share * len(run.samples))], flows=[], complete=False
        )
        result = report(cut)
        assert result.verdict.sentence
        assert result.note
        # In slow start the first half of the time carries next to nothing.
        if result.throughput_bps and share > 0.5 and name != "slow-start":
            assert result.throughput_bps == pytest.approx(report(run).throughput_bps, rel=0.5)


def test_samples_alone_give_what_the_lab_found() -> None:
    run = load(RUNS / "four-lossy-streams.tcprun")
    whole, alone = report(run), report(msgspec.structs.replace(run, flows=[]))
    assert alone.throughput_bps == pytest.approx(whole.throughput_bps, rel=0.01)
    assert alone.retransmits == pytest.approx(whole.retransmits, abs=2)
    assert alone.loss_events == pytest.approx(whole.loss_events, rel=0.1)
    assert alone.jain_index == pytest.approx(whole.jain_index, abs=0.005)


def test_a_regular_sawtooth_counts_its_losses() -> None:
    # Each loss sets ssthresh to what it was: only the sender's state shows the events.
    run = load(RUNS / "short-queue.tcprun")
    assert report(msgspec.structs.replace(run, flows=[])).loss_events >= 5


def test_a_flow_behind_data_the_other_way_is_not_limited_by_its_acknowledgements() -> None:
    first, second = report(load(RUNS.parent / "limits" / "reverse-queue.tcprun")).verdict.flows
    assert first.sentence.startswith("data fills the reverse path, 1 Mbit/s")
    assert second.sentence.startswith("the bottleneck is full")
