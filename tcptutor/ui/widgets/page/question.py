"""A question with its choices or its entry field, and what the answer was told."""

from __future__ import annotations

from typing import ClassVar

from textual.actions import SkipAction
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tcptutor import units
from tcptutor.course.model import Mark, Question
from tcptutor.ui.messages import Answered
from tcptutor.ui.widgets.page.choices import ChoiceLine
from tcptutor.ui.widgets.page.hints import Hints
from tcptutor.ui.widgets.page.inline import paragraphs
from tcptutor.ui.widgets.page.said import Said


class QuestionBox(Vertical):
    """Posts `Answered`; is told the mark by `show_mark`, and that it was no answer by `complain`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("up", "move(-1)", "up", show=False, id="question.up"),
        Binding("down", "move(1)", "down", show=False, id="question.down"),
        Binding("space", "pick_here", "choose", show=False, id="question.choose"),
        Binding("enter", "submit", "answer", show=False, id="question.answer"),
    ]

    def __init__(self, question: Question, hints: int) -> None:
        super().__init__(classes="box")
        self.question = question
        self._level = hints
        self._many = question.kind == "multiple"
        self._cursor = 0
        self._chosen: set[int] = set()
        self.right = False
        """Answered right: it stays as it is."""
        self.can_focus = bool(question.choices)

    def compose(self) -> ComposeResult:
        question = self.question
        many = "  (choose all that hold)" if self._many else ""
        yield Static(Content.assemble(("Question  ", "bold $primary"), paragraphs(question.ask), many))
        for number, choice in enumerate(question.choices, start=1):
            yield ChoiceLine(number, choice, self._many)
        if not question.choices:
            with Horizontal(classes="entry"):
                yield Static("Your answer ", classes="label")
                example = units.EXAMPLES.get(question.unit or "", "4")
                entry = Input(placeholder=f"like {example}", compact=True)
                entry.cursor_blink = False
                yield entry
        yield Said()
        yield Hints(question.hints, self._level)

    def on_mount(self) -> None:
        self._draw()

    def on_focus(self) -> None:
        self._draw()

    def on_blur(self) -> None:
        self._draw()

    # Choosing

    def enter(self) -> None:
        """Take the focus, in the entry field if there is one."""
        if self.question.choices:
            self.focus()
        elif not self.right:
            self.query_one(Input).focus()

    def pick(self, index: int) -> None:
        """Choose choice `index`, or for several take it back; Enter then answers."""
        if self.right or index >= len(self.question.choices):
            return
        self._cursor = index
        self._chosen = self._chosen ^ {index} if self._many else {index}
        self._draw()

    def action_move(self, by: int) -> None:
        target = self._cursor + by
        if self.right or not 0 <= target < len(self.question.choices):
            raise SkipAction  # the page scrolls instead
        self._cursor = target
        self._draw()

    def action_pick_here(self) -> None:
        self.pick(self._cursor)

    def action_submit(self) -> None:
        if self.right:
            return
        if not self._chosen and not self._many:
            self._chosen = {self._cursor}
        if self._chosen:
            self._draw()
            self.post_message(Answered(self.question.id, tuple(sorted(self._chosen))))
        else:
            self._say(Content("Choose with Space or the numbers, then press Enter."))

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(Answered(self.question.id, event.value.strip()))

    # Being told

    def show_answer(self, answer: tuple[int, ...] | str, mark: Mark, just_now: bool) -> None:
        """An answer and its mark, just now or from the journal."""
        self.right = mark.correct
        if isinstance(answer, tuple):
            self._chosen = set(answer)
            self._cursor = min(answer, default=0)
        else:
            self.query_one(".entry").display = not mark.correct
        said = Content.assemble(
            ("✓ Right. ", "$success bold") if mark.correct else ("✗ Not yet. ", "$error bold"),
            f"{answer}: " if isinstance(answer, str) else "",
            paragraphs(mark.feedback),
        )
        if mark.correct and self.question.explanation:
            said = Content("\n").join([said, paragraphs(self.question.explanation)])
        self._draw()
        self._say(said, go_there=just_now)

    def complain(self, reason: str) -> None:
        self._say(Content.assemble(("✗ ", "$error bold"), reason))

    def show_hints(self, level: int) -> None:
        self.query_one(Hints).show(level)

    def _say(self, content: Content, go_there: bool = True) -> None:
        self.query_one(Said).say(content, go_there)

    def _draw(self) -> None:
        for index, line in enumerate(self.query(ChoiceLine)):
            line.show(self.has_focus and not self.right and index == self._cursor, index in self._chosen)
