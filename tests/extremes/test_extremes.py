"""The judge of extreme runs, and a few of them in the guest; `python -m tests.extremes` runs many."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from tcptutor import spec
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.base.errors import KernelLacks, LabError, ParameterError
from tcptutor.run import Environment, Fidelity, FlowResult, Run
from tests.backends.play import play
from tests.extremes.generate import experiments
from tests.extremes.judge import wrong

FLOW = FlowResult(
    flow=0, pair=0, throughput_bps=9e6, retransmits=0, losses=0, segments=9000, mean_rtt_s=0.03, mean_cwnd_segments=20,
    mss=1448,
)  # fmt: skip


def run(
    fidelity: Fidelity | None = None, complete: bool = True, flow: FlowResult = FLOW, **asked: Any
) -> Run:
    """A whole and valid one that is possible, but for what is said otherwise."""
    values = {"rate": "10 Mbit/s", "delay": "20 ms", "duration": "10 s"} | asked
    return Run(
        id="r",
        experiment=spec.build("m/e", {"parameters": values}),
        environment=Environment(backend="guest", clock="virtual", kernel="6.12"),
        started="2026-01-01T00:00:00+00:00",
        flows=[flow],
        fidelity=fidelity or Fidelity(status="valid", checks={"random drops": 0, "netem packets": 9000}),
        complete=complete,
    )


def test_what_is_possible_and_what_is_refused_is_right() -> None:
    assert wrong(run()) == []
    assert wrong(ParameterError("delay: '3 s' is out of bounds")) == wrong(KernelLacks("no memory")) == []
    assert wrong(run(Fidelity(status="invalid", reasons=("nothing arrived",)))) == []
    assert wrong(run(window="64 KiB")) == []


def test_everything_that_cannot_be_is_found() -> None:
    def flow(**values: float) -> FlowResult:
        return msgspec.structs.replace(FLOW, **values)

    drops = Fidelity(status="valid", checks={"random drops": 900, "netem packets": 9000})
    for impossible, words in (
        (run(flow=flow(throughput_bps=11e6)), "over a link of 1e+07"),
        (run(flow=flow(throughput_bps=0.0)), "nothing arrived"),
        (run(flow=flow(mean_rtt_s=0.01)), "an RTT of 0.01 s"),
        (run(window="8 KiB"), "with a window of 8192"),
        (run(pacing="1 Mbit/s"), "paced at 1e+06"),
        (run(streams="2"), "1 flows and 0 of UDP"),
        (run(udp_streams="1"), "1 flows and 0 of UDP"),
        (run(drops, loss="1 %"), "900 drops of 9900 packets"),
        (run(Fidelity()), "not whole"),
        (run(complete=False), "not whole"),
        (run(Fidelity(status="suspect")), "without a reason"),
        (ParameterError("two\nlines"), "other than one line"),
        (LabError("the flows do not connect"), "failed after it had begun"),
        (ZeroDivisionError("division by zero"), "ended by ZeroDivisionError"),
    ):
        assert any(words in said for said in wrong(impossible)), (words, wrong(impossible))


def test_generated_ones_are_legal_or_refused_in_a_line() -> None:
    found = list(experiments(200, 7))
    assert sum(isinstance(made, spec.Experiment) for _, made in found) == 200
    assert [wrong(made) for _, made in found if isinstance(made, ParameterError) and wrong(made)] == []
    assert [asked for asked, _ in found] == [asked for asked, _ in experiments(200, 7)]


@pytest.mark.guest
@pytest.mark.parametrize(
    "asked",
    [
        {"reorder": "50 %"},
        {"window": "4 KiB", "mss": "88"},
        {"rate": "10 kbit/s"},
        {"queue": "1 GiB", "window": "64 MiB"},
        {"mss": "536", "length": "11 bytes"},
        {"delay": "2 s", "reverse_delay": "2 s", "jitter": "2 s", "duration": "45 s"},
        {"streams": "8", "algorithms": "reno, bbr"},
        {"changes": "1s rate=1Mbit/s", "burst": "2 MB"},
        {"streams": "8", "udp_streams": "63"},
        {"maxrate": "10 kbit/s"},
        {"loss": "75 %"},
        {"loss": "75 %", "loss_by": "firewall"},
        {"loss": "75 %", "duplicate": "89.1 %"},
        {"streams": "0", "udp_streams": "32", "loss": "30 %"},
    ],
    ids=lambda asked: ",".join(asked),
)
async def test_extreme_runs_are_described_truthfully(guest: GuestBackend, asked: dict[str, str]) -> None:
    base = {"rate": "10 Mbit/s", "delay": "20 ms", "duration": "2 s", "warmup": "0.5 s"}
    assert wrong(await play(guest, spec.build("m/e", {"parameters": base | asked}))) == []
