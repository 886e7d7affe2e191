"""A finished page as a reference: its idea, its formula with a calculator, the student's run and answers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Static

from tcptutor.base.errors import TutorError
from tcptutor.course.step import Step
from tcptutor.notebook.content import NotebookAnswer, NotebookComment, NotebookPage
from tcptutor.notebook.sentences import compared
from tcptutor.spec import Experiment, settings
from tcptutor.theory import notation
from tcptutor.theory.catalogue import MODELS, PublishedModel
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.page.text import inline

_SIGNS = {True: ("✓ ", "$success"), False: ("✗ ", "$error"), None: ("· ", "$text-muted")}
_PARAMETERS = {"rtt": "delay", "buffer": "queue"}
"""Parameter of an experiment by the argument of a model, where the names differ."""


class ReferenceScreen(ModalScreen[None]):
    """Summary of a finished page."""

    AUTO_FOCUS = ""
    """The field is focused without scrolling to it."""
    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "dismiss", "close", priority=True, id="reference.close"),
        Binding("up", "scroll(-1)", "up", show=False, priority=True, id="reference.up"),
        Binding("down", "scroll(1)", "down", show=False, priority=True, id="reference.down"),
    ]

    def __init__(self, step: Step, page: NotebookPage) -> None:
        super().__init__()
        self._step, self._page = step, page
        self._model = MODELS.get(step.formula)

    def compose(self) -> ComposeResult:
        with Vertical(id="reference") as box:
            box.border_title = f"{self._page.number} {self._page.title}"
            with VerticalScroll(can_focus=False):
                yield Static(Content.styled(self._step.idea, "bold"), id="reference-idea", markup=False)
                if self._model is not None:
                    yield Static(_formula(self._model), markup=False)
                    yield Input(
                        example(self._model, self._step.network),
                        compact=True,
                        select_on_focus=False,
                        id="reference-input",
                    )
                    yield Static(id="reference-result", markup=False)
                yield Static(Content("\n\n").join(self._work()), id="reference-work", markup=False)
            yield KeyBar(
                FooterKey((("Esc", "escape"),), "close", is_next=True),
                FooterKey((("↑", "up"), ("↓", "down")), "scroll"),
            )

    def on_mount(self) -> None:
        if self._model is not None:
            self.query_one(Input).focus(scroll_visible=False)

    def action_scroll(self, by: int) -> None:
        self.query_one(VerticalScroll).scroll_relative(y=by, animate=False)

    @on(Input.Changed)
    def _calculate(self, event: Input.Changed) -> None:
        assert self._model is not None
        try:
            result = calculated(self._model, event.value)
        except TutorError as error:
            result = Content.styled(str(error), "$text-muted")
        self.query_one("#reference-result", Static).update(result)

    def _work(self) -> Iterator[Content]:
        """Yield the sections with the student's work and the teacher's comments."""
        page = self._page
        said = [compared(prediction, "You") for prediction in page.predictions]
        if page.run is not None:
            yield _section("Your run", map(Content, (page.run.verdict, *said)))
        elif said:
            yield _section("Your predictions", map(Content, said))
        if page.answers:
            yield _section("Your answers", map(_answer, page.answers))
        if page.note:
            yield _section("Your note", [Content(page.note)])
        if page.comments:
            names = ", ".join(dict.fromkeys(comment.by for comment in page.comments if comment.by))
            yield _section("Your teacher", map(_comment, page.comments), names)


def _section(heading: str, lines: Iterable[Content], remark: str = "") -> Content:
    first = Content.assemble((heading, "bold $primary"), (f"  {remark}", "$text-muted"))
    return Content("\n").join([first, *lines])


def _answer(answer: NotebookAnswer) -> Content:
    sign, style = _SIGNS[answer.is_right]
    return Content.styled(sign, style) + inline(answer.prompt) + Content("\n  ") + inline(answer.answer)


def _comment(comment: NotebookComment) -> Content:
    about = inline(comment.prompt).stylize_before("$text-muted") + "\n" if comment.prompt else Content("")
    return about + comment.text


def _formula(model: PublishedModel) -> Content:
    return Content.assemble(
        (f"{model.gives}: ", "$text-muted"), model.formula, (f"\n{model.source}", "$text-muted")
    )


def calculated(model: PublishedModel, line: str) -> Content:
    """Return the model's result for arguments like "rtt=50ms loss=0.1", and how these were read: "loss 10 %".

    Raises TutorError for arguments that the model does not take.
    """
    values = notation.values(model.name, model.parameters, notation.pairs(notation.words(line)))
    found = model.compute(values)
    numbers = found if isinstance(found, list) else [found]
    result = ", ".join(notation.result(number, model.unit) for number in numbers)
    read = [
        Content.assemble(
            (f"{each.name} ", "$text-muted"), notation.reading(values[each.name], each.quantity.kind)
        )
        for each in model.parameters
        if values[each.name] is not None
    ]
    with_arguments = Content.styled("  for ", "$text-muted") + Content(", ").join(read)
    return Content.styled(f"= {result}", "bold") + with_arguments


def example(model: PublishedModel, network: Experiment | None) -> str:
    """Return the model's required arguments, with the values of the page's experiment where it has them."""
    given = _arguments(network) if network is not None else {}
    words = []
    for each in model.parameters:
        if not each.required:
            continue
        value = given.get(_PARAMETERS.get(each.name, each.name), each.quantity.example)
        words.append(f"{each.name}={value.replace(' ', '')}")
    return " ".join(words)


def _arguments(network: Experiment) -> dict[str, str]:
    """Return the values of `network`, with its flows as models take them: MSS:RTT:LOSS of each."""
    given = settings(network) | {"mss": str(network.segment), "queue": str(network.path.queue)}
    flow = [given.get(name, "") for name in ("mss", "delay", "loss")]
    streams = int(given.pop("streams", "1"))
    if all(flow):
        given["streams"] = ",".join([":".join(flow)] * streams)
    return given
