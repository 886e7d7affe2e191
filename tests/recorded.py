"""The recorded runs that ship with tcptutor: `python -m tests.recorded` makes them again.

It runs the experiment of every page of the course in the guest on the virtual clock, thins the samples to what a chart
shows, and writes assets/recorded/MODULE/STEP.tcprun; of a sweep assets/recorded/MODULE/STEP/VALUE-SEED.tcprun for each
of its runs, the values counted from 1. What the whole run was explained with, or what a sweep measured in each of its
runs, goes to tests/recorded.json, against which the thinned ones are tested. `python -m tests.recorded MODULE` makes
those of one module, MODULE/STEP that of one page.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Sequence
from contextlib import aclosing
from pathlib import Path

import msgspec

from tcptutor.analysis import report
from tcptutor.backends import replay
from tcptutor.backends.guest.backend import GuestBackend
from tcptutor.course import load
from tcptutor.course.activities.sweep import SweepActivity
from tcptutor.fleet import place, pool
from tcptutor.run import Run, SampleTable, save
from tcptutor.spec import Experiment
from tcptutor.sweep.page import page_cell
from tests.backends.play import play

COMMAND = "python -m tests.recorded"
EXPECTED = Path(__file__).with_suffix(".json")
HZ = 20
"""Samples of each flow in a second that a recording keeps."""
CELL_HZ = (2, 5, 10)
"""Those that a run of a sweep keeps: the fewest with which it says what it said."""
NEAR = 0.005
"""Relative difference that thinning may make."""
SWEEP_BYTES = 120_000
"""Of all recordings of a page's sweep."""


def uses() -> dict[str, Experiment]:
    """The experiments that pages run, by MODULE/STEP of the first page that does."""
    found: dict[str, Experiment] = {}
    for module in load().modules:
        for step in module.steps:
            if step.experiment is None:
                continue
            wanted = step.experiment.experiment
            if not any(replay.same(wanted, other) for other in found.values()):
                found[f"{module.id}/{step.id}"] = wanted
    return found


def sweeps() -> dict[str, SweepActivity]:
    """The sweeps of pages, by MODULE/STEP."""
    return {
        f"{module.id}/{step.id}": step.sweep
        for module in load().modules
        for step in module.steps
        if step.sweep is not None
    }


def cells(sweep: SweepActivity) -> dict[str, tuple[int, Experiment]]:
    """The runs of a sweep, each with the index of its value, by the names of their files."""
    return {f"{at + 1}-{experiment.seed}": (at, experiment) for at, experiment in sweep.cells()}


def explanation(run: Run) -> list[object]:
    """What the analysis says of `run`: the binding model, whether it holds, what limited the run."""
    result = report(run)
    binding = result.compared[0]
    return [binding.prediction.model, binding.within, result.verdict.limited_by]


def thinned(run: Run, hz: int = HZ) -> Run:
    """`run` with `hz` samples a second of each flow, the last one of each among them, and without noise digits."""
    last: dict[int, int] = {}
    kept = []
    final = {sample.flow: sample.t for sample in run.samples}
    for sample in run.samples:
        step = int(sample.t * hz + 0.01)
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
    queue = run.queue[:: max(1, round(len(run.queue) / (hz * run.experiment_s or 1)))]
    return msgspec.structs.replace(run, samples=SampleTable(kept), queue=queue)


def cell(sweep: SweepActivity, at: int, run: Run) -> Run:
    """`run`, which is one of a sweep at the value of that index, as thin as it may be and say the same."""
    whole = page_cell(sweep, at, run)
    for hz in CELL_HZ:
        thin = thinned(run, hz)
        few = page_cell(sweep, at, thin)
        if few.limited_by == whole.limited_by and is_near(few.figure, whole.figure):
            return thin
    return thinned(run)


def is_near(figure: float | None, whole: float | None) -> bool:
    """Whether thinning has left what was measured as it was."""
    if figure is None or whole is None:
        return figure is whole
    return abs(figure - whole) <= NEAR * abs(whole)


async def _record(experiment: Experiment) -> Run:
    backend = GuestBackend("virtual")
    try:
        return await play(backend, experiment)
    finally:
        await backend.close()


async def _record_all(experiments: Sequence[Experiment]) -> list[Run]:
    where = await place.find(experiments, "guest", "virtual", None)
    runs: dict[int, Run] = {}
    async with aclosing(pool.runs(experiments, where)) as results:
        async for number, result in results:
            if not isinstance(result, Run):
                raise result
            runs[number] = result
    return [runs[number] for number in range(len(experiments))]


def _record_sweep(name: str, sweep: SweepActivity, root: Path) -> list[object]:
    """What it measured in each run, once all of these are in files."""
    wanted = cells(sweep)
    runs = asyncio.run(_record_all([experiment for _, experiment in wanted.values()]))
    figures: list[object] = []
    for (key, (at, _)), run in zip(wanted.items(), runs, strict=True):
        if run.fidelity.status == "invalid":
            sys.exit(f"{name}/{key}: the run is invalid: {'; '.join(run.fidelity.reasons)}")
        (root / name).mkdir(parents=True, exist_ok=True)
        save(cell(sweep, at, run), root / name / f"{key}.tcprun")
        figure = page_cell(sweep, at, run).figure
        figures.append(None if figure is None else float(f"{figure:.6g}"))
    return figures


def main() -> None:
    wanted, swept = uses(), sweeps()
    names = [*wanted, *swept]
    chosen = [
        name for name in names if not sys.argv[1:] or {name, name.partition("/")[0]} & set(sys.argv[1:])
    ]
    expected = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
    expected = {name: told for name, told in expected.items() if name in names}
    root = replay.folder()
    there = {*wanted, *(f"{name}/{key}" for name, sweep in swept.items() for key in cells(sweep))}
    for old in root.glob("**/*.tcprun"):
        if str(old.relative_to(root).with_suffix("")) not in there:
            old.unlink()
    for name in chosen:
        if name in swept:
            expected[name] = _record_sweep(name, swept[name], root)
            size = sum(file.stat().st_size for file in (root / name).iterdir())
            print(f"{name}: {size / 1000:.0f} KB, {expected[name]}", flush=True)
            continue
        run = asyncio.run(_record(wanted[name]))
        if run.fidelity.status != "valid":
            sys.exit(f"{name}: the run is {run.fidelity.status}: {'; '.join(run.fidelity.reasons)}")
        expected[name] = explanation(run)
        file = root / f"{name}.tcprun"
        save(thinned(run), file)
        print(
            f"{name}: {run.wall_s:.0f} s, {file.stat().st_size / 1000:.0f} KB, {expected[name]}", flush=True
        )
    lines = (f"  {json.dumps(name)}: {json.dumps(expected[name])}" for name in sorted(expected))
    EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


if __name__ == "__main__":
    main()
