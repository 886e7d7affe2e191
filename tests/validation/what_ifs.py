"""`python -m tests.validation.what_ifs [NUMBER] [SEED]`: what-ifs drawn by chance, run on the guest's virtual clock.

Each is an experiment, and the same one in which something drawn changes at a drawn instant. Both runs have to be equal
to the byte, in every table of samples, up to the last sample before that instant, and to differ after it. The outcome
goes to tests/validation/results/what-ifs.json; the exit code is 1 where one was not so.
"""

from __future__ import annotations

import asyncio
import json
import random
import sys
from itertools import chain
from pathlib import Path
from typing import Any

from tcptutor import spec
from tcptutor.analysis.compared.what_if import shared_history
from tcptutor.backends.lab import Lab
from tcptutor.base.errors import ParameterError
from tcptutor.run import Run
from tcptutor.run.change import DURING, apply_change, describe_changes
from tcptutor.spec import Experiment

RESULTS = Path(__file__).parent / "results" / "what-ifs.json"
_TABLES = ("samples", "queue", "senders", "udp_samples", "acks")


def drawn(number: int, seed: int) -> tuple[Experiment, Experiment, float]:
    """An experiment, the changed one, and the instant of the change, s."""
    chance = random.Random(f"what-if/{seed}/{number}")
    while True:
        one = _experiment(chance)
        name = DURING[number % len(DURING)]
        at = round(chance.uniform(0.3, one.seconds - 0.7), chance.choice((0, 1, 3)))
        try:
            return one, apply_change(one, name, _value(chance, name), at), at
        except ParameterError:
            continue


def _experiment(chance: random.Random) -> Experiment:
    parameters: dict[str, Any] = {
        "rate": f"{chance.uniform(3, 15):.3g} Mbit/s",
        "delay": f"{chance.uniform(10, 80):.3g} ms",
        "queue": chance.choice(("0.5 BDP", "1 BDP", "2 BDP")),
        "loss": chance.choice(("0", "0.3 %", "1 %")),
        "jitter": chance.choice(("0", "0", "0.5 ms")),
        "qdisc": chance.choice(("fifo", "fifo", "codel", "fq_codel")),
        "algorithm": chance.choice(("reno", "cubic", "bbr", "htcp")),
        "streams": chance.choice((1, 1, 2, 4)),
        "udp_streams": chance.choice((0, 0, 0, 1)),
        "acks": chance.choice(("off", "on")),
        "duration": f"{chance.uniform(2, 7):.1f} s",
        "warmup": "1 s",
    }
    return spec.build("test/what-if", {"parameters": parameters}, seed=chance.randrange(1, 10**6))


def _value(chance: random.Random, name: str) -> str:
    match name:
        case "rate":
            return f"{chance.uniform(2, 20):.3g} Mbit/s"
        case "delay":
            return f"{chance.uniform(5, 120):.3g} ms"
        case "jitter":
            return f"{chance.uniform(0.1, 3):.2g} ms"
        case "loss":
            return chance.choice(("0", "0.5 %", "2 %", "5 %"))
        case "queue":
            return f"{chance.uniform(8, 200):.3g} kB"
        case _:
            return "down"


def holds(one: Run, other: Run, at: float) -> bool:
    """Whether all samples before `at` are the same, and something after it is not."""
    shared = shared_history(one, other)
    times = chain.from_iterable(getattr(one, name).column("t") for name in _TABLES)
    last = max((t for t in times if t < at), default=0.0)
    return shared.differs_at is not None and shared.until is not None and shared.until >= last


async def main() -> int:
    number, seed = (int(text) for text in (sys.argv[1:] + ["20", "1"][len(sys.argv) - 1 :])[:2])
    lab, outcomes = Lab("guest", "virtual"), []
    try:
        for each in range(number):
            before, after, at = drawn(each, seed)
            one, other = await lab.run_whole(before), await lab.run_whole(after)
            shared, same = shared_history(one, other), holds(one, other, at)
            outcomes.append(
                {
                    "changed": describe_changes(before, after),
                    "at": at,
                    "same_until": shared.until,
                    "differs_at": shared.differs_at,
                    "first": shared.first_difference,
                    "samples": sum(len(getattr(one, name)) for name in _TABLES),
                    "holds": same,
                }
            )
            print(
                f"{each + 1:3} {'same' if same else 'NOT THE SAME'} until {shared.until} s:",
                describe_changes(before, after),
                flush=True,
            )
    finally:
        await lab.close()
    met = sum(bool(each["holds"]) for each in outcomes)
    print(f"{met} of {number} equal to the byte up to the change")
    lines = ",\n".join(f"    {json.dumps(each)}" for each in outcomes)
    RESULTS.write_text(
        f'{{\n  "seed": {seed},\n  "holds": {met},\n  "of": {number},\n  "what_ifs": [\n{lines}\n  ]\n}}\n'
    )
    return 0 if met == number else 1


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
