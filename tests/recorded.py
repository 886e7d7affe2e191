"""The recorded runs that ship with tcptutor: `python -m tests.recorded` makes them again, two at a time.

It runs the experiments of the course's pages in the guest on the virtual clock, thins the samples to what a chart
shows, and writes assets/recorded/MODULE/PAGE.tcprun; for the runs of a sweep PAGE.1.tcprun and so on, in their order.
What the whole run was explained with goes to tests/recorded.json, against which the thinned ones are tested.
`python -m tests.recorded MODULE` makes those of one module, `MODULE/PAGE` those of one page. A run that `tcptutor lint
--run` keeps is taken and not made again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tcptutor.analysis import report
from tcptutor.backends import replay
from tcptutor.course import load
from tcptutor.errors import TutorError
from tcptutor.fleet import place, pool
from tcptutor.fleet.cache import RunCache
from tcptutor.run import Run, SampleTable, save
from tcptutor.spec import Experiment

COMMAND = "python -m tests.recorded"
EXPECTED = Path(__file__).with_suffix(".json")
HZ = 20
"""Samples of each flow in a second that a recording keeps."""


def uses() -> dict[str, Experiment]:
    """The experiments that pages run, by MODULE/PAGE of the first page that does."""
    found: dict[str, Experiment] = {}
    for module in load().modules:
        for step in module.steps:
            page = f"{module.id}/{step.id}"
            cells = step.sweep.cells() if step.sweep else ()
            ran = [(f"{page}.{number}", experiment) for number, (_, experiment) in enumerate(cells, start=1)]
            if step.experiment:
                ran.append((page, step.experiment.experiment))
            for name, wanted in ran:
                if not any(replay.same(wanted, other) for other in found.values()):
                    found[name] = wanted
    return found


def explanation(run: Run) -> list[object]:
    """What the analysis says of `run`: the binding model, whether it holds, what limited the run."""
    result = report(run)
    binding = result.compared[0]
    return [binding.prediction.model, binding.within, result.verdict.limited_by]


def thinned(run: Run) -> Run:
    """`run` with HZ samples a second of each flow, the last one of each among them, and without noise digits."""
    last: dict[int, int] = {}
    kept = []
    final = {sample.flow: sample.t for sample in run.samples}
    for sample in run.samples:
        step = int(sample.t * HZ + 0.01)
        if last.get(sample.flow) != step or sample.t == final[sample.flow]:
            last[sample.flow] = step
            kept.append(
                msgspec.structs.replace(
                    sample,
                    t=round(sample.t, 4),
                    delivery_rate=float(f"{sample.delivery_rate:.3g}"),
                    pacing_rate=float(f"{sample.pacing_rate:.3g}"),
                )
            )
    queue = run.queue[:: max(1, round(len(run.queue) / (HZ * run.experiment_s or 1)))]
    return msgspec.structs.replace(run, samples=SampleTable(kept), queue=queue)


async def runs(wanted: dict[str, Experiment]) -> AsyncIterator[tuple[str, Run]]:
    """The whole run of each, by its name, as they come. Raises TutorError."""
    cache = RunCache()
    missing = {}
    for name, experiment in wanted.items():
        if run := cache.get(experiment):
            yield name, run
        else:
            missing[name] = experiment
    names, experiments = list(missing), list(missing.values())
    if not experiments:
        return
    where = await place.find(experiments, "guest", "virtual", None)
    async with aclosing(pool.runs(experiments, where)) as made:
        async for number, run in made:
            if isinstance(run, TutorError):
                raise run
            cache.put(experiments[number], run)
            yield names[number], run


async def record(wanted: dict[str, Experiment], expected: dict[str, object]) -> None:
    """Write each recording, and into `expected` what explains it."""
    async with aclosing(runs(wanted)) as made:
        async for name, run in made:
            if run.fidelity.status != "valid":
                sys.exit(f"{name}: the run is {run.fidelity.status}: {'; '.join(run.fidelity.reasons)}")
            expected[name] = explanation(run)
            file = replay.folder() / f"{name}.tcprun"
            # Why the guest was taken is no matter for who plays it.
            run.experiment, run.environment = wanted[name], replace(run.environment, reason="")
            save(thinned(run), file)
            size = file.stat().st_size / 1000
            print(f"{name}: {run.wall_s:.0f} s, {size:.0f} KB, {expected[name]}", flush=True)


def main() -> None:
    wanted = uses()
    targets = sys.argv[1:]
    chosen = {
        name: each
        for name, each in wanted.items()
        if not targets or {name, name.partition("/")[0], name.partition(".")[0]} & set(targets)
    }
    if targets and not chosen:
        sys.exit(f"no page that runs is {' or '.join(targets)}: say MODULE or MODULE/PAGE")
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    expected = {name: told for name, told in expected.items() if name in wanted}
    root = replay.folder()
    for old in root.glob("*/*.tcprun"):
        if str(old.relative_to(root).with_suffix("")) not in wanted:
            old.unlink()
    try:
        asyncio.run(record(chosen, expected))
    finally:
        lines = (f"  {json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected))
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
