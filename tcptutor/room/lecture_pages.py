"""Course pages behind a lecture's slides: experiments, questions, and values to compare predictions with."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from functools import cached_property

import msgspec

from tcptutor.base import places
from tcptutor.base.errors import UsageError
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activity import MarkContext
from tcptutor.course.experiments import Catalogue
from tcptutor.course.measures import expected, measured
from tcptutor.course.outline import Course, OpenedCourse
from tcptutor.course.step import Step
from tcptutor.room.asked import AskedQuestion, ask
from tcptutor.room.deck import step_of
from tcptutor.room.flows import FlowsPlan, ask_algorithms, plan_flows
from tcptutor.room.model_names import page_model, room_name, shown_models
from tcptutor.room.slide_runs import flows_run, slide_run
from tcptutor.room.slides import Ask, FlowsShown, Lecture, RunShown
from tcptutor.room.talk import LecturePlace, MarkedValue
from tcptutor.run import Run
from tcptutor.spec import Experiment


class LecturePages:
    """Pages of the chosen course, read on first use. All methods block."""

    def __init__(self, lecture: Lecture, seed: str) -> None:
        """Prepare the pages of `lecture`; `seed` determines the numbers of its questions."""
        self._lecture, self._seed = lecture, seed

    @cached_property
    def _course(self) -> Course:
        return OpenedCourse().course

    @cached_property
    def _catalogue(self) -> Catalogue:
        return Catalogue(self._course.root or places.lessons())

    def experiment(self, shown: LecturePlace) -> Experiment | None:
        """Return the experiment of a step, as for its prepared run; None if the course has none."""
        slide = self._lecture.slides[shown.slide]
        match slide.steps[shown.step]:
            case RunShown() as step:
                run = slide_run(self._course, slide, step)
                return run.experiment if run is not None else None
            case FlowsShown() as flows:
                with contextlib.suppress(UsageError):
                    return flows_run(self._catalogue, flows)
        return None

    def plan_flows(self, flows: FlowsShown, picks: Mapping[str, int], number: int) -> FlowsPlan:
        """Return the students' flows for live run `number` of a step, from 0.

        Raises:
            UsageError: The course no longer has the experiment, or its path has no bottleneck to share.
        """
        base = self._catalogue.build(flows.experiment)
        return plan_flows(base, flows.algorithms, picks, base.seed + number)

    def ask(self, place: LecturePlace, run: Run | None) -> AskedQuestion:
        """Return the question of a step for the room.

        Args:
            place: Slide and step of the question.
            run: The latest run on the slide; questions about the run need it.

        Raises:
            UsageError: The course no longer has the page, the room cannot vote on the question, or the
                question needs the run first.
        """
        slide = self._lecture.slides[place.slide]
        match slide.steps[place.step]:
            case FlowsShown() as shown:
                return ask_algorithms(shown, flows_run(self._catalogue, shown), slide.headline)
            case Ask(activity=activity) if (page := step_of(self._course, slide)) is not None:
                return ask(page, activity, module=slide.module, seed=self._seed, context=MarkContext(run=run))
        raise UsageError("the course has this page no longer")

    def compare(self, asked: AskedQuestion, run: Run) -> tuple[float | None, tuple[MarkedValue, ...]] | None:
        """Return the measured value and the models' values for a prediction; None for an unrelated run."""
        slide = next(
            (each for each in self._lecture.slides if (each.module, each.page) == asked.place[:2]), None
        )
        page = step_of(self._course, slide) if slide is not None else None
        predict = next(iter(page.activities_of(Predict)), None) if page is not None else None
        if page is None or predict is None or predict.id != asked.activity or predict.knee:
            return None
        about = page.predicted_experiment(predict)
        if about is None or _settings(about) != _settings(run.experiment):
            return None
        return measured(predict.measure, run), tuple(_models(page, predict, run.experiment))


def _settings(experiment: Experiment) -> Experiment:
    return msgspec.structs.replace(experiment, seed=0, title="", sources=(), scale="bench")


def _models(page: Step, predict: Predict, experiment: Experiment) -> list[MarkedValue]:
    if predict.measure == "throughput":
        from tcptutor.analysis import expect  # noqa: PLC0415  # needed only after a prediction

        return [
            MarkedValue(room_name(each), each.throughput_bps, each.tolerance)
            for each in shown_models(expect(experiment).predictions, page_model(page))
        ]
    value = expected(predict.measure, experiment)
    return [] if value is None else [MarkedValue("model", value)]
