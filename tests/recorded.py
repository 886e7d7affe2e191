"""The recorded runs that ship with tcptutor: `python -m tests.recorded` makes them again, as many at a time as fit.

It runs the experiment of every page of the course in the guest on the virtual clock, thins the samples to what a chart
shows, and writes assets/recorded/MODULE/PAGE.tcprun; of a sweep assets/recorded/MODULE/PAGE/VALUE-SEED.tcprun for each
of its runs, the values counted from 1; of a challenge assets/recorded/MODULE/PAGE/start.tcprun and solution.tcprun.
What the whole run was explained with, what a sweep measured in each of its runs, or which targets of a challenge were
reached, goes to tests/recorded.json, against which the thinned ones are tested. `python -m tests.recorded MODULE` makes
those of one module, MODULE/PAGE that of one page. A run that `tcptutor lint --run` keeps is taken, not made again.
"""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import AsyncGenerator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import msgspec
from msgspec.structs import replace

from tcptutor.analysis import report
from tcptutor.backends import replay
from tcptutor.base.errors import TutorError
from tcptutor.course import load
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.course.activities.run import SweepActivity
from tcptutor.course.activities.run_question import RunQuestion
from tcptutor.course.page_sweep import page_cell
from tcptutor.fleet import pool
from tcptutor.fleet.run_cache import RunCache
from tcptutor.run import Run, SampleTable, save
from tcptutor.run.flow_columns import rows_of_flows
from tcptutor.spec import Experiment

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
    """The experiments that pages run, by MODULE/STEP of the first page that does.

    Variants follow as MODULE/STEP-2 and so on where a question asks what the run showed.
    """
    found: dict[str, Experiment] = {}
    for module in load().modules:
        for step in module.steps:
            variants = step.variants if step.activities_of(RunQuestion) else ()
            for number, variant in enumerate((step, *variants), start=1):
                if variant.experiment is None:
                    continue
                wanted = variant.experiment.experiment
                if not any(replay.same_experiment(wanted, other) for other in found.values()):
                    found[f"{module.id}/{step.id}" + (f"-{number}" if number > 1 else "")] = wanted
    return found


def sweeps() -> dict[str, SweepActivity]:
    """The sweeps of pages, by MODULE/STEP."""
    return {
        f"{module.id}/{step.id}": step.sweep
        for module in load().modules
        for step in module.steps
        if step.sweep is not None
    }


def challenges() -> dict[str, ChallengeActivity]:
    """Those of pages, by MODULE/STEP."""
    return {
        f"{module.id}/{step.id}": step.challenge
        for module in load().modules
        for step in module.steps
        if step.challenge is not None
    }


def tries(challenge: ChallengeActivity) -> dict[str, Experiment]:
    """What is recorded of a challenge, by the names of the files."""
    return {"start": challenge.experiment, "solution": challenge.solution_experiment}


def reached(challenge: ChallengeActivity, run: Run, start: Run | None) -> list[bool]:
    """Which of its targets `run` reaches."""
    return [state.reached for state in challenge.judge(run, start)]


def cells(sweep: SweepActivity) -> dict[str, tuple[int, Experiment]]:
    """The runs of a sweep, each with the index of its value, by the names of their files."""
    return {f"{at + 1}-{experiment.seed}": (at, experiment) for at, experiment in sweep.cells()}


def explanation(run: Run) -> list[object]:
    """What the analysis says of `run`: the binding model, whether it holds, what limited the run."""
    result = report(run)
    binding = result.comparisons[0]
    return [binding.prediction.model, binding.within, result.verdict.limited_by]


def thinned(run: Run, hz: int = HZ) -> Run:
    """`run` with `hz` samples a second of each flow, its last and its largest cwnd, and without noise digits."""
    last: dict[int, int] = {}
    kept = []
    cwnd = run.samples.column("cwnd")
    flows = rows_of_flows(run.samples).values()
    marked = {row for rows in flows for row in (rows[-1], max(rows, key=cwnd.__getitem__))}
    for row, sample in enumerate(run.samples):
        step = int(sample.t * hz + 0.01)
        if last.get(sample.flow) != step or row in marked:
            last[sample.flow] = step
            kept.append(
                msgspec.structs.replace(
                    sample,
                    t=round(sample.t, 6),
                    delivery_rate=float(f"{sample.delivery_rate:.3g}"),
                    pacing_rate=float(f"{sample.pacing_rate:.3g}"),
                )
            )
    queue, second = (
        each[:: max(1, round(len(each) / (hz * run.experiment_s or 1)))]
        for each in (run.queue, run.queue_second)
    )
    return msgspec.structs.replace(run, samples=SampleTable(kept), queue=queue, queue_second=second)


def cell(sweep: SweepActivity, at: int, run: Run) -> Run:
    """`run`, which is one of a sweep at the value of that index, as thin as it may be and say the same."""
    whole = page_cell(sweep, at, run)
    for hz in CELL_HZ:
        thin = thinned(run, hz)
        few = page_cell(sweep, at, thin)
        if few.limited_by == whole.limited_by and is_near(few.figure, whole.figure):
            return thin
    return thinned(run)


def tried(challenge: ChallengeActivity, run: Run, start: Run | None) -> Run:
    """`run`, which is one of a challenge, as thin as it may be and reach the same."""
    whole = reached(challenge, run, start)
    thin = (thinned(run, hz) for hz in CELL_HZ)
    return next((each for each in thin if reached(challenge, each, start) == whole), None) or thinned(run)


def is_near(figure: float | None, whole: float | None) -> bool:
    """Whether thinning has left what was measured as it was."""
    if figure is None or whole is None:
        return figure is whole
    return abs(figure - whole) <= NEAR * abs(whole)


async def whole_runs(wanted: dict[str, Experiment]) -> AsyncGenerator[tuple[str, Run], None]:
    """The whole run of each, by its name, as they come. Raises TutorError."""
    cache = RunCache()
    missing = {}
    for name, experiment in wanted.items():
        kept = cache.get(experiment)
        if kept is not None:
            yield name, kept
        else:
            missing[name] = experiment
    names, experiments = list(missing), list(missing.values())
    if not experiments:
        return
    where = await pool.find_place(experiments, "guest", "virtual", None)
    async with aclosing(pool.runs(experiments, where)) as made:
        async for number, run in made:
            if isinstance(run, TutorError):
                raise run
            cache.put(experiments[number], run)
            yield names[number], run


class Recorder:
    """Writes what is recorded; owns what is expected of it."""

    def __init__(
        self,
        pages: dict[str, Experiment],
        swept: dict[str, SweepActivity],
        posed: dict[str, ChallengeActivity],
    ) -> None:
        self._swept = swept
        self._posed = {
            f"{page}/{key}": (page, key, each) for page, each in posed.items() for key in tries(each)
        }
        self.wanted = dict(pages)
        self._of: dict[str, tuple[str, int, int]] = {}
        """The page of a sweep's run, its place among the runs, and the index of its value, by its file's name."""
        for page, sweep in swept.items():
            for place_, (key, (at, experiment)) in enumerate(cells(sweep).items()):
                self.wanted[f"{page}/{key}"] = experiment
                self._of[f"{page}/{key}"] = (page, place_, at)
        for page, each in posed.items():
            self.wanted |= {f"{page}/{key}": experiment for key, experiment in tries(each).items()}
        told = json.loads(EXPECTED.read_text()) if EXPECTED.exists() else {}
        self.expected: dict[str, Any] = {
            name: each for name, each in told.items() if name in {*pages, *swept, *posed}
        }

    async def record(self, chosen: dict[str, Experiment]) -> None:
        """Raises TutorError for a run that cannot be made, or that the lab does not believe."""
        async with aclosing(whole_runs(chosen)) as made:
            async for name, run in made:
                self._write(name, run, chosen[name])

    def _write(self, name: str, run: Run, experiment: Experiment) -> None:
        swept, posed = self._of.get(name), self._posed.get(name)
        if run.fidelity.status != "valid":
            raise TutorError(f"{name}: the run is {run.fidelity.status}: {'; '.join(run.fidelity.reasons)}")
        # Why the guest was taken is no matter for who plays it; the same run may be kept under another title.
        run.experiment, run.environment = experiment, replace(run.environment, reason="")
        told: object
        if posed is not None:
            page, key, challenge = posed
            start = RunCache().get(challenge.experiment) if challenge.needs_start_run else None
            small, told = tried(challenge, run, start), reached(challenge, run, start)
            self.expected[page] = {**self.expected.get(page, {}), key: told}
        elif swept is None:
            told = explanation(run)
            self.expected[name] = told
            small = thinned(run)
        else:
            page, number, at = swept
            small, figure = cell(self._swept[page], at, run), page_cell(self._swept[page], at, run).figure
            told = None if figure is None else float(f"{figure:.6g}")
            figures = self.expected.get(page)
            count = len(cells(self._swept[page]))
            if not isinstance(figures, list) or len(figures) != count:
                figures = [None] * count
            self.expected[page] = [*figures[:number], told, *figures[number + 1 :]]
        file = replay.recordings_folder() / f"{name}.tcprun"
        file.parent.mkdir(parents=True, exist_ok=True)
        save(small, file)
        print(f"{name}: {run.wall_s:.0f} s, {file.stat().st_size / 1000:.0f} KB, {told}", flush=True)

    def prune(self) -> None:
        """Remove recordings of nothing."""
        root = replay.recordings_folder()
        for old in root.glob("**/*.tcprun"):
            if str(old.relative_to(root).with_suffix("")) not in self.wanted:
                old.unlink()

    def keep(self) -> None:
        lines = (f"  {json.dumps(name)}: {json.dumps(self.expected[name])}" for name in sorted(self.expected))
        EXPECTED.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> None:
    recorder, targets = Recorder(uses(), sweeps(), challenges()), sys.argv[1:]
    chosen = {
        name: each
        for name, each in recorder.wanted.items()
        if not targets or any(name == one or name.startswith(f"{one}/") for one in targets)
    }
    if targets and not chosen:
        sys.exit(f"no page that runs is {' or '.join(targets)}: say MODULE or MODULE/PAGE")
    recorder.prune()
    try:
        asyncio.run(recorder.record(chosen))
    except TutorError as error:
        sys.exit(str(error))
    finally:
        recorder.keep()


if __name__ == "__main__":
    main()
