"""Runs of a challenge, with the knobs of its box, judged when they end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from itertools import islice

from tcptutor.base.errors import UsageError
from tcptutor.course.activities.challenge import ChallengeActivity
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.study import background
from tcptutor.study.live import Live
from tcptutor.ui.screens.lesson_run import RunSide
from tcptutor.ui.widgets.page.challenge import ChallengeBox

_MAX_SEARCHED = 20
"""Number of earlier runs searched for the baseline."""


class ChallengeSide(RunSide):
    """Panel of a challenge."""

    activity: ChallengeActivity
    _just_ended = False

    @property
    def box(self) -> ChallengeBox:
        box = self.page.box(self.activity)
        assert isinstance(box, ChallengeBox)
        return box

    @property
    def wanted(self) -> Experiment:
        with contextlib.suppress(UsageError):  # reported when the student runs it
            return self.activity.experiment_with(self.box.values)
        return self.activity.experiment

    def restore(self) -> None:
        self.box.change_handler = self._knob_turned
        self.box.show_record(self.study.record_of(self.activity))
        super().restore()
        self.box.loading_run = self.study.reading
        self._show_needs_start()
        self.box.draw()

    def start(self, same: bool = False) -> None:
        try:
            self.activity.experiment_with(self.box.values)
        except UsageError as error:
            self.box.show_error(str(error))
            return
        super().start(same)

    def _finish_run(self, live: Live) -> None:
        self._just_ended = True
        super()._finish_run(live)
        self._just_ended = False

    async def _recall(self) -> None:
        await super()._recall()
        self.box.loading_run = False
        self._show_needs_start()
        self.box.draw()

    def _show_needs_start(self) -> None:
        self.box.needs_start = self.activity.needs_start_run and self.study.baseline is None

    def _knob_turned(self) -> None:
        if self._shown is None:
            self._show_idle()

    def _mark_against(self, run: Run) -> None:
        super()._mark_against(run)
        self._judge(run)

    def _judge(self, run: Run) -> None:
        """Judge a run and store its score, even if the run ended off screen."""
        values = self.activity.values(run.experiment)
        if not self.activity.changed_knobs(values) and run.fidelity.status == "valid":
            self.study.baseline = run
        self.box.loading_run = False
        self._show_needs_start()
        self.box.show_states(self.activity.judge(run, self.study.baseline), values)
        record = self.study.record_of(self.activity)
        if self._just_ended or record.latest is None or self._improves_score(run):
            self.box.respond(self.activity.response_of(run.experiment))
        self.box.show_record(self.study.record_of(self.activity))

    def _improves_score(self, run: Run) -> bool:
        response = self.activity.response_of(run.experiment)
        with contextlib.suppress(UsageError):
            mark = self.activity.mark(response, self.study.context)
            best = self.study.record_of(self.activity).best
            return bool(mark.correct) and mark.value is not None and (best is None or mark.value < best)
        return False

    async def _recall_from(self, files: Iterator[str]) -> None:
        if self.activity.needs_start_run:
            await self._recall_baseline()
        await super()._recall_from(files)

    async def _recall_baseline(self) -> None:
        kept = islice(self.study.run_files(), _MAX_SEARCHED)
        while self.study.baseline is None and (run := await background.first_readable(kept)) is not None:
            as_at_first = not self.activity.changed_knobs(self.activity.values(run.experiment))
            if run.complete and run.fidelity.status == "valid" and as_at_first:
                self.study.baseline = run
