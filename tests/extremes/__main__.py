"""`python -m tests.extremes N [--seed S]`: exit code 1 when one of them says what is not so."""

from __future__ import annotations

import argparse
import asyncio
import sys
import time
from collections import Counter

from tcptutor.backends.lab import Lab
from tcptutor.base.errors import ParameterError
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tests.extremes.generate import experiments
from tests.extremes.judge import wrong

_LONGEST = 300.0
"""Wall time after which a run hangs, s."""
_AT_ONCE = 2


async def outcome(lab: Lab, experiment: Experiment) -> Run | Exception:
    """What comes of it: its run, or what ended it."""
    try:
        async with asyncio.timeout(_LONGEST):
            await lab.warm(experiment)
            return await lab.run_whole(experiment)
    except Exception as error:  # whatever it is, it is judged
        return error


def told(result: Run | Exception) -> str:
    """It in a few words."""
    if not isinstance(result, Run):
        return f"refused: {result}"
    rate = sum(flow.throughput_bps for flow in result.flows) + sum(flow.received_bps for flow in result.udp)
    why = f": {result.fidelity.reasons[0]}" if result.fidelity.reasons else ""
    return f"{rate / 1e6:.3g} Mbit/s {result.fidelity.status}{why}"


async def _main(number: int, seed: int) -> int:
    counted: Counter[str] = Counter()
    todo = iter(enumerate(experiments(number, seed)))

    async def work() -> None:
        lab = Lab("guest", "virtual")
        try:
            for at, (asked, made) in todo:
                began = time.monotonic()
                result = made if isinstance(made, ParameterError) else await outcome(lab, made)
                problems = wrong(result)
                kind = "WRONG" if problems else "run" if isinstance(result, Run) else "refused"
                counted[kind] += 1
                if problems or not isinstance(made, ParameterError):
                    settings = ", ".join(f"{name}={value}" for name, value in asked.items())
                    print(
                        f"{at} {kind} [{settings}] {told(result)} ({time.monotonic() - began:.0f} s)",
                        flush=True,
                    )
                for problem in problems:
                    print(f"    {problem}", flush=True)
                if isinstance(result, TimeoutError):
                    await lab.close()
                    lab = Lab("guest", "virtual")
        finally:
            await lab.close()

    await asyncio.gather(*(work() for _ in range(_AT_ONCE)))
    print(dict(counted))
    return 1 if counted["WRONG"] else 0


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m tests.extremes", description=__doc__)
    parser.add_argument("number", type=int)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    sys.exit(asyncio.run(_main(given.number, given.seed)))
