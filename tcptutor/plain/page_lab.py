"""Runs of a page in the dialogue: stored and new runs, their results, and marks based on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice

import msgspec

from tcptutor.base import units
from tcptutor.base.errors import JournalError, LabUnavailable, UsageError
from tcptutor.course.activities.challenge import ChallengeActivity, count_of
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.plain import result, sweep_result, trajectory
from tcptutor.plain.console import Console
from tcptutor.plain.prose import inline_text, sentence
from tcptutor.plain.runs import Runs
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import MAX_EARLIER, Live
from tcptutor.study.live_sweep import LiveSweep, recall_sweep
from tcptutor.study.study import Study

_MAX_SEARCHED = 20
"""Earlier runs to search for the unchanged run of a challenge."""


class PageLab:
    """Runs, challenge attempts and the sweep of a page."""

    def __init__(self, study: Study, runs: Runs, console: Console) -> None:
        self._study, self._runs, self._console = study, runs, console
        self.live: Live | None = None
        """The latest run of the page."""
        self.sweep: LiveSweep | None = None
        challenge = study.step.challenge
        self.knobs = dict(challenge.start) if challenge else {}
        """Values of the challenge's knobs for the next run."""

    @property
    def activity(self) -> RunActivity | ChallengeActivity | SweepActivity | None:
        """Activity that the page runs; None for a page without a run."""
        step = self._study.step
        return step.experiment or step.sweep or step.challenge

    # Earlier runs

    async def recall(self) -> None:
        """Load the page's earlier runs, so that responses can be marked."""
        study = self._study
        if not study.record.runs:
            return
        with contextlib.suppress(JournalError):  # reading the page's record reports the same error
            if study.step.sweep is not None:
                await self._recall_sweep(study.step.sweep)
            elif self.activity is not None:
                await self._recall_runs()

    async def _recall_runs(self) -> None:
        study, challenge = self._study, self._study.step.challenge
        if challenge is not None:
            latest = study.record_of(challenge).latest
            self.knobs = challenge.knobs_of(latest.answer) if latest else self.knobs
            if challenge.needs_start_run:
                await self._recall_baseline(challenge)
        files = study.run_files()
        left = MAX_EARLIER
        while left and (run := await background.first_readable(files)) is not None:
            if not run.complete:
                continue
            left -= 1
            live = await background.recall(study.module.id, study.step.id, run)
            self._runs.history.add(live)
            if self.live is None:
                self._prepare(live)
                self.live, study.run = live, run
        if self.live is not None:
            self.live.earlier = self._runs.history.before(self.live)

    async def _recall_baseline(self, challenge: ChallengeActivity) -> None:
        kept = islice(self._study.run_files(), _MAX_SEARCHED)
        while self._study.baseline is None and (run := await background.first_readable(kept)) is not None:
            unchanged = not challenge.changed_knobs(challenge.values(run.experiment))
            if run.complete and run.fidelity.status == "valid" and unchanged:
                self._study.baseline = run

    async def _recall_sweep(self, activity: SweepActivity) -> None:
        live = self._new_sweep(activity)
        async for _ in recall_sweep(live, self._study.run_files()):
            self.sweep = live
        self._mark_sweep()

    # New runs

    async def start(self, same: bool = False) -> None:
        """Run the page's experiment, sweep or challenge, and print the result."""
        activity = self.activity
        try:
            if isinstance(activity, SweepActivity):
                await self._start_sweep(activity)
            elif activity is not None:
                await self._start_run(activity, same)
        except LabUnavailable as error:
            self._console.say(sentence(str(error)))

    async def _start_run(self, activity: RunActivity | ChallengeActivity, same: bool) -> None:
        study = self._study
        experiment = self._next_experiment(activity)
        seed = await self._seed(activity.experiment.seed, same)
        self._console.say(f"Starting the run, {experiment.seconds:g} s. Ctrl-C stops it.")
        live = await self._runs.run(
            study.module.id, study.step.id, msgspec.structs.replace(experiment, seed=seed), self._prepare
        )
        study.record_run(live.run)
        self._prepare(live)
        if self.live is None or live.run.complete or not self.live.run.complete:
            self.live = live
        self._console.say_all(self.outcome(live))
        if live.run.complete and isinstance(activity, ChallengeActivity):
            self._judge(activity, live.run)

    def _next_experiment(self, activity: RunActivity | ChallengeActivity) -> Experiment:
        """Return the experiment to run; its seed is not final.

        Raises:
            UsageError: The knobs contradict each other.
        """
        return (
            activity.experiment_with(self.knobs)
            if isinstance(activity, ChallengeActivity)
            else activity.experiment
        )

    async def _seed(self, own: int, same: bool) -> int:
        await self._runs.warm()
        if self._runs.replays:  # a replay has a single recording
            return own
        if same and self._study.run is not None:
            return self._study.run.experiment.seed
        return self._study.run_seeds(own).next

    def _prepare(self, live: Live) -> None:
        """Add the page's model, chart and prediction to a run's view."""
        activity = self.activity
        if isinstance(activity, RunActivity | ChallengeActivity):
            live.formula = activity.model
        if isinstance(activity, RunActivity):
            live.charted = activity.chart
        for predict in self._study.step.activities_of(Predict):
            first = self._study.record_of(predict).first
            if predict.measure != "throughput" and first is not None and first.value is not None:
                live.said = predict.measure, first.value
        live.is_enrolled = self._study.is_enrolled

    def outcome(self, live: Live) -> Iterator[str]:
        """Yield the result of a run, with its explanation unless an observation is still due."""
        live.awaits_observation = self._study.due_observation is not None
        yield from result.outcome(live)
        yield from result.explanation(live)

    # The challenge

    def set_knob(self, challenge: ChallengeActivity, line: str) -> str:
        """Set a knob from "NAME = VALUE" or "NAME VALUE", and return a confirmation.

        Raises:
            UsageError: The page has no such knob, or does not allow the value.
        """
        name, _, text = line.partition("=") if "=" in line else line.rpartition(" ")
        wanted = name.strip().replace(" ", "_").lower()
        knob = next((each for each in challenge.knobs if wanted in (each.name, each.label)), None)
        if knob is None:
            names = ", ".join(each.name for each in challenge.knobs)
            raise UsageError(
                f"{line[:60]!r} sets no knob: the knobs are {names}. Write {challenge.knobs[0].name} = VALUE"
            )
        value = text.strip()
        if (unit := knob.unit(challenge.experiment)) and not knob.choices and units.is_plain(value):
            value = f"{value} {unit}"
        self.knobs = {**self.knobs, knob.name: knob.read(value, challenge.experiment)}
        return f"{knob.name} is {self.knobs[knob.name]} now. run runs it."

    def knob_lines(self, challenge: ChallengeActivity) -> Iterator[str]:
        """Yield each knob with its value and bounds, then par and the current number of changes."""
        start = challenge.start
        for knob in challenge.knobs:
            value = self.knobs[knob.name]
            at_first = f", at first {start[knob.name]}" if value != start[knob.name] else ""
            bounds = knob.bounds(challenge.experiment)
            yield f"Knob {knob.name}, {knob.help}: {value}{at_first}. Possible: {bounds}."
        changes = count_of(len(challenge.changed_knobs(self.knobs)))
        yield f"Par is {count_of(challenge.par)}; now {changes}."
        if challenge.needs_start_run and self._study.baseline is None:
            yield "Run it unchanged first: the goals compare with that run."

    def _judge(self, challenge: ChallengeActivity, run: Run) -> None:
        """Judge a run of the challenge, and record its score."""
        study = self._study
        if not challenge.changed_knobs(challenge.values(run.experiment)) and run.fidelity.status == "valid":
            study.baseline = run
        for state in challenge.judge(run, study.baseline):
            found = f": {state.found}" if state.found else ""
            sign = "Reached" if state.reached else "Not reached"
            self._console.say(f"{sign}: {inline_text(state.text)}{found}.")
        try:
            study.respond(challenge, challenge.response_of(run.experiment))
        except UsageError as error:
            self._console.say(sentence(str(error)))

    # The sweep

    def _new_sweep(self, activity: SweepActivity) -> LiveSweep:
        predict = next(iter(self._study.step.activities_of(Predict)), None)
        return LiveSweep(self._study.module.id, self._study.step.id, activity, predict.at if predict else "")

    async def _start_sweep(self, activity: SweepActivity) -> None:
        await self._runs.warm()
        live = self.sweep
        if live is None or live.replayed or self._runs.replays:  # every point has a single recording
            live = self._new_sweep(activity)
        elif live.done >= live.total and not live.suspect:
            live.rounds += 1
        self.sweep = live
        self._console.say(f"Starting {live.total - live.done} runs. Ctrl-C stops; run continues later.")
        await self._runs.sweep(live)
        self._mark_sweep()
        self._console.say_all(sweep_result.outcome(live))
        self._study.reload()

    def _mark_sweep(self) -> None:
        """Mark responses once all values of the sweep are measured."""
        live, study = self.sweep, self._study
        curve = live.curve if live is not None else None
        if live is None or curve is None:
            return
        study.curve = curve
        if study.record_of(live.activity).right is None:
            study.respond(live.activity, ())

    # Details on request

    async def details(self, name: str, words: str) -> list[str]:
        """Return the lines of a command about the run: result, chart, at, flows or models.

        Raises:
            UsageError: The page has no run yet, or its details are withheld for now.
        """
        live = self.live
        if self.sweep is not None and name in ("result", "chart"):
            return [*sweep_result.rows(self.sweep)]
        if live is None:
            raise UsageError("there is no run of this page yet: run makes one")
        match name:
            case "result":
                return [*self.outcome(live)]
            case "chart":
                return [*trajectory.chart(live.run, await background.insight(live.run))]
            case "at":
                return await self._instant(live.run, words)
        if live.report is None or live.awaits_observation:
            raise UsageError(f"{name} come after you have said what the run showed, or skipped that")
        return [*(result.flows(live.report) if name == "flows" else result.formulas(live.report))]

    async def _instant(self, run: Run, words: str) -> list[str]:
        time, _, flow = words.partition("flow")
        number = int(flow) if flow.strip().isdecimal() else 1
        t = units.parse(time.strip() or "0", "time", "s")
        return [*trajectory.instant(run, await background.insight(run), t, number)]
