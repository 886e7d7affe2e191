"""The slide on the stage: the steps revealed so far, as a drawing of any size.

Texts fill the slide, as large as they fit, until a figure, a question or a run is revealed and takes the space; a
later text replaces it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from statistics import median

from tcptutor.base.algorithm_names import algorithm_name
from tcptutor.base.errors import TutorError
from tcptutor.base.key_names import key_name
from tcptutor.course.activities.choice import MultipleChoice, Order
from tcptutor.course.activity import Activity, MarkContext
from tcptutor.course.outline import Course
from tcptutor.course.step import Step
from tcptutor.figures.figure import Figure, Motion
from tcptutor.figures.lines import BAD, MUTED, TEXT
from tcptutor.room.asked import AskedQuestion, AskedRound, ask, by_hands, can_ask, shown_list
from tcptutor.room.deck import step_of
from tcptutor.room.prepared import PreparedRuns
from tcptutor.room.slide_runs import run_shown, slide_run
from tcptutor.room.slides import (
    Answer,
    AnyStep,
    Ask,
    CurveShown,
    FigureShown,
    FlowsShown,
    Lecture,
    NetworkShown,
    OwnText,
    RunShown,
    Sentence,
    Slide,
    VerdictShown,
)
from tcptutor.room.talk import PollView, RunView, Talk
from tcptutor.ui.present import large_text, stage_curve, stage_figures, stage_text
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.page_figures import FittedFigure, fit
from tcptutor.ui.present.stage_canvas import StageCanvas
from tcptutor.ui.present.stage_figures import ROOM, PredictionBar
from tcptutor.ui.present.stage_flows import draw_flows
from tcptutor.ui.present.stage_question import draw_answer, draw_question
from tcptutor.ui.present.stage_run import StageRun
from tcptutor.ui.present.stage_text import Block, blocks_of
from tcptutor.ui.widgets.sweep.scene import CurveScene

_NO_PAGE = "The course no longer has this page."
_FEWEST_FIGURE_ROWS = 18
"""Lines of a figure that makes room for large text."""
_NO_CURVE = "The runs of this curve are not prepared: `tcptutor present --check` makes them."


class StageSlide:
    """Draws slides of a lecture with the pages of its course."""

    def __init__(self, lecture: Lecture, course: Course, seed: str = "") -> None:
        self.lecture, self._course, self._seed = lecture, course, seed
        self._curves: dict[tuple[str, str], CurveScene | None] = {}
        """Curves by module and page; None during measurement, or if no run is prepared."""
        self._fitted: dict[tuple[int, int], FittedFigure] = {}
        """Forms of `_fitted_figure` by width and lines."""
        self._fitted_figure: Figure | None = None

    def revealed(self, talk: Talk) -> tuple[Slide, AnyStep | None]:
        """Return the slide and the last revealed step; None on a slide without steps."""
        slide = self.lecture.slides[min(talk.place.slide, len(self.lecture.slides) - 1)]
        steps = slide.steps[: talk.place.step + 1]
        return slide, steps[-1] if steps else None

    def draw_headline(self, canvas: StageCanvas, talk: Talk, zoom: int) -> int:
        """Draw the headline above a body, and return the lines used; 0 for a slide that is its headline."""
        slide, last = self.revealed(talk)
        if last is None or _is_title(slide, talk):
            return 0
        # A figure or a run needs the room more than its title does.
        share = 3 if isinstance(last, Sentence | OwnText) else 5
        return stage_text.draw_headline(canvas, slide.headline, zoom, canvas.height // share)

    def motion(self, talk: Talk) -> Motion | None:
        """Return the motion of the figure on the slide; None without a moving figure."""
        slide, last = self.revealed(talk)
        figure = self._figure(slide, last.figure) if isinstance(last, FigureShown) else None
        return figure.motion if figure is not None else None

    def draw_body(
        self, canvas: StageCanvas, talk: Talk, run: StageRun | None, zoom: int, t: float | None = None
    ) -> None:
        """Draw the revealed steps, and a moving figure at the instant `t` of its motion."""
        slide, last = self.revealed(talk)
        match last:
            case None:
                stage_text.draw_title(canvas, slide.headline)
            case Sentence(text=text) if _is_title(slide, talk):
                stage_text.draw_title(canvas, slide.headline, text)
            case Sentence() | OwnText():
                stage_text.draw_blocks(canvas, 0, _texts(slide.steps[: talk.place.step + 1]), zoom)
            case FigureShown(figure=name):
                self._draw_figure(canvas, slide, name, slide.steps[: talk.place.step], t)
            case Ask(activity=id_):
                self._draw_question(canvas, slide, id_, talk.poll, run, zoom, is_answer=False)
            case Answer(activity=id_):
                self._draw_question(canvas, slide, id_, talk.poll, run, zoom, is_answer=True)
            case NetworkShown() as shown if planned := slide_run(self._course, slide, shown):
                stage_figures.draw_settings(canvas, planned.experiment, 0)
            case RunShown():
                self._draw_run(canvas, talk, run)
            case CurveShown():
                self._draw_curve(canvas, slide)
            case VerdictShown() if run is not None and run.live.state == "ended":
                stage_figures.draw_verdict(canvas, run, talk.run, _room_prediction(talk.poll))
            case VerdictShown():
                self._draw_run(canvas, talk, run)
            case FlowsShown(algorithms=algorithms):
                _draw_flows(canvas, talk, algorithms, zoom)

    def _draw_curve(self, canvas: StageCanvas, slide: Slide) -> None:
        curve = self._curves.get((slide.module, slide.page))
        if curve is None:
            stage_text.draw_blocks(canvas, 0, [Block(_NO_CURVE, style=MUTED)], -1)
        else:
            stage_curve.draw(canvas, curve)

    def lacks_curve(self, talk: Talk) -> bool:
        """Return True if the slide has a curve that `measure_curve` has not measured."""
        slide, _ = self.revealed(talk)
        has_curve = any(isinstance(step, CurveShown) for step in slide.steps)
        return has_curve and (slide.module, slide.page) not in self._curves

    async def measure_curve(self, talk: Talk) -> None:
        """Measure the slide's curve in a thread."""
        slide, _ = self.revealed(talk)
        page, key = step_of(self._course, slide), (slide.module, slide.page)
        self._curves[key] = None
        if page is not None:
            self._curves[key] = await asyncio.to_thread(
                stage_curve.measure, slide.module, page, PreparedRuns()
            )

    def _figure(self, slide: Slide, name: str) -> Figure | None:
        page = step_of(self._course, slide)
        return next((each for each in page.figures if each.id == name), None) if page else None

    def _draw_figure(
        self, canvas: StageCanvas, slide: Slide, name: str, before: Sequence[AnyStep], t: float | None
    ) -> None:
        figure = self._figure(slide, name)
        if figure is None:
            stage_text.draw_blocks(canvas, 0, [Block(_NO_PAGE, style=MUTED)], -1)
            return
        text = before[-1].text if before and isinstance(before[-1], Sentence) else figure.caption
        above = canvas.wrap(text, canvas.width, 1) if text else []
        rows = canvas.height - len(above) * canvas.text_height(1) - 1
        spare = rows - len(self._fit(figure, canvas.width, rows).draw())
        larger = canvas.wrap(text, canvas.width, 2) if text else []
        needed = len(larger) * (canvas.text_height(2) + 1)
        # A figure that can be of any height makes room for its text.
        left = canvas.height - needed - 1 if figure.taller(1) is not figure else 0
        is_larger = (needed <= spare or left >= _FEWEST_FIGURE_ROWS) and large_text.is_drawable(text)
        rows = left if is_larger and needed > spare else rows
        drawn = self._fit(figure, canvas.width, rows).draw(t)
        if len(drawn) > rows:
            above, drawn = [], self._fit(figure, canvas.width, canvas.height).draw(t)
        row = 0
        size: Size = 2 if is_larger and above else 1
        for each in larger if size > 1 else above:
            canvas.write(0, row, each, TEXT, size)
            row += canvas.text_height(size) + (size > 1)
        column = max(0, (canvas.width - max(line.width for line in drawn)) // 2)
        row += max(0, (canvas.height - row - len(drawn)) // 2)
        canvas.write_lines(column, row, drawn)

    def _fit(self, figure: Figure, width: int, rows: int) -> FittedFigure:
        key = width, rows
        if self._fitted_figure is not figure:
            self._fitted_figure, self._fitted = figure, {}
        if key not in self._fitted:
            self._fitted[key] = fit(figure, width, rows)
        return self._fitted[key]

    def _draw_question(
        self,
        canvas: StageCanvas,
        slide: Slide,
        id_: str,
        poll: PollView | None,
        run: StageRun | None,
        zoom: int,
        *,
        is_answer: bool,
    ) -> None:
        page = step_of(self._course, slide)
        activity = next((each for each in page.activities if each.id == id_), None) if page else None
        if page is None or activity is None:
            stage_text.draw_blocks(canvas, 0, [Block(_NO_PAGE, style=MUTED)], -1)
            return
        voted = poll if poll is not None and poll.activity == id_ else None
        question = self._asked(page, activity, slide.module, run)
        asked = question.rounds[0] if question else None
        text = voted.text if voted else asked.text if asked else str(getattr(activity, "prompt", ""))
        shown = shown_list(page, activity, module=slide.module, seed=self._seed)
        choices = voted.choices if voted else asked.choices if asked else shown
        if not is_answer:
            draw_question(canvas, text, choices, zoom, question.setting if question else by_hands(activity))
            return
        right = (
            [choices[voted.right]] if voted and voted.right is not None else _right_answers(asked, activity)
        )
        why = voted.why_popular_wrong if voted else ""
        draw_answer(canvas, text, right, [_explanation(asked) or activity.explanation, why], zoom)

    def _asked(
        self, page: Step, activity: Activity, module: str, run: StageRun | None
    ) -> AskedQuestion | None:
        """Return the question as the room sees it without a vote; None if it cannot be asked like that."""
        if not can_ask(activity):
            return None
        context = MarkContext(run=run.live.run if run and run.live.run.complete else None)
        try:
            return ask(page, activity.id, module=module, seed=self._seed, context=context)
        except TutorError:
            return None

    def _draw_run(self, canvas: StageCanvas, talk: Talk, run: StageRun | None) -> None:
        view, row = talk.run, 0
        if view.state == "failed":
            row = _draw_problem(canvas, view)
        if run is not None and (view.state != "failed" or run.live.has_samples):
            below = StageCanvas(canvas.width, canvas.height - row, is_scaled=canvas.is_scaled)
            stage_figures.draw_run(below, run, view)
            canvas.place(below, 0, row)
            return
        slide, _ = self.revealed(talk)
        shown = run_shown(slide, talk.place.step)
        planned = slide_run(self._course, slide, shown) if shown else None
        if view.state == "starting":
            canvas.write(0, row, "The lab is starting …", MUTED)
            row += canvas.text_height(1)
        if planned is None:
            stage_text.draw_blocks(canvas, row, [Block(_NO_PAGE, style=MUTED)], -1)
        else:
            stage_figures.draw_settings(canvas, planned.experiment, row)


def _draw_flows(canvas: StageCanvas, talk: Talk, algorithms: Sequence[str], zoom: int) -> None:
    row = _draw_problem(canvas, talk.run) if talk.run.state == "failed" else 0
    below = StageCanvas(canvas.width, canvas.height - row, is_scaled=canvas.is_scaled)
    if talk.flows is not None:
        draw_flows(below, talk.flows, talk.run.source)
    else:
        names = ", ".join(map(algorithm_name, algorithms))
        text = f"Everybody owns a flow on the same link and picks its congestion control: {names}."
        stage_text.draw_blocks(below, 0, [Block(text)], zoom)
    canvas.place(below, 0, row)


def _is_title(slide: Slide, talk: Talk) -> bool:
    """Return True for an own slide of which only a headline and a sentence are revealed, as at the beginning."""
    return not slide.page and talk.place.step == 0 and isinstance(slide.steps[0], Sentence)


def _draw_problem(canvas: StageCanvas, view: RunView) -> int:
    """Draw why a run failed and the key that helps, and return the lines used."""
    row = 0
    prepared, run = key_name("lecture.prepared"), key_name("lecture.run")
    advice = f"{prepared} shows the prepared run" if view.has_prepared else f"{run} runs it again"
    for line in canvas.wrap(f"{view.problem.rstrip('.')}: {advice}", canvas.width, 1):
        canvas.write(0, row, line, BAD)
        row += canvas.text_height(1)
    return row + 1


def _texts(steps: Sequence[AnyStep]) -> list[Block]:
    """Return the texts after the last figure, question or run."""
    texts: list[Block] = []
    for step in reversed(steps):
        match step:
            case Sentence(text=text):
                texts[:0] = [Block(text, style=TEXT)]
            case OwnText(markdown=markdown):
                texts[:0] = blocks_of(markdown)
            case _:
                break
    return texts


def _right_answers(asked: AskedRound | None, activity: Activity) -> list[str]:
    """Return the right answers in words, an order with its numbers; empty if they depend on the run."""
    match activity:
        case Order():
            return [f"{number}. {text}" for number, text in enumerate(activity.listed, start=1)]
        case MultipleChoice():
            return [activity.listed[index] for index in activity.right]
    if asked is None:
        return []
    if asked.numeric is not None:
        return [asked.numeric.answer]
    return [asked.choices[asked.right[0]]] if len(asked.right) == 1 else []


def _explanation(asked: AskedRound | None) -> str:
    """Return the explanation of a number with the numbers of the question; empty for other questions."""
    return asked.numeric.mark(asked.numeric.answer).feedback if asked and asked.numeric else ""


def _room_prediction(poll: PollView | None) -> PredictionBar | None:
    """Return the median of the room's predictions of throughput; None without any."""
    values = poll.results[-1].values if poll is not None and poll.results and poll.unit == "rate" else ()
    if not values or (poll is not None and poll.results[-1].right_value is not None):
        return None
    return PredictionBar(f"the room ({len(values)})", median(values), ROOM)
