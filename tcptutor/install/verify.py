"""Final test of a setup by a short run: ping over an empty path and throughput of a flow."""

from __future__ import annotations

import asyncio

from tcptutor.backends.lab import Lab
from tcptutor.base.errors import SetupError
from tcptutor.base.headers import ETHERNET_HEADER
from tcptutor.run import Run
from tcptutor.spec import Experiment, build

RATE, DELAY = 20e6, 0.010
"""Rate and delay of the short run's path, bit/s and seconds."""

TOLERANCE = 0.05
"""Largest relative difference from the expected throughput."""


def experiment() -> Experiment:
    """Return the test experiment: a flow that fills 20 Mbit/s at 10 ms without loss for 2 s."""
    values = {"rate": "20 Mbit/s", "delay": "10 ms", "algorithm": "cubic", "duration": "2 s", "warmup": "1 s"}
    return build("setup/verify", {"parameters": values})


def verify(backend: str = "auto") -> str:
    """Run the test and return its result as a line of text.

    Raises SetupError for a wrong result, LabUnavailable without a lab.
    """
    return asyncio.run(_verify(backend))


async def _verify(backend: str) -> str:
    lab, one_flow = Lab(backend), experiment()
    try:
        await lab.warm(one_flow)
        return judge(await lab.run_whole(one_flow))
    finally:
        await lab.close()


def judge(run: Run) -> str:
    """Return the line for the result of `run`. Raises SetupError when the result is wrong."""
    place = f"{run.environment.backend}, {run.environment.clock} clock, Linux {run.environment.kernel}"
    expected = RATE * run.experiment.segment / (run.experiment.hosts.mtu + ETHERNET_HEADER)
    measured = sum(flow.throughput_bps for flow in run.flows)
    ping = run.fidelity.number("ping h1")
    result = (
        f"{measured / 1e6:.2f} of {expected / 1e6:.2f} Mbit/s, ping {ping * 1e3:.2f} of {DELAY * 1e3:.0f} ms"
    )
    if run.fidelity.status in ("invalid", "unchecked"):
        why = next(iter(run.fidelity.reasons), "the run was not checked")
        raise SetupError(
            f"the lab gives wrong results: {why} ({place}: {result}): run `tcptutor setup --again`"
        )
    if abs(measured / expected - 1) > TOLERANCE or abs(ping / DELAY - 1) > 0.5:
        raise SetupError(
            f"the lab runs, but measures {result} ({place}): close other programs and run `tcptutor setup` again"
        )
    return f"{place}: {result}"
