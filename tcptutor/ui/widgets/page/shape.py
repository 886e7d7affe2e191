"""Box of a predicted shape: small drawings to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.content import Content
from textual.geometry import Size
from textual.message import Message
from textual.style import Style
from textual.widget import Widget
from textual.widgets import Static

from tcptutor.base.key_names import key_name
from tcptutor.course.activities.predict import MAX_COLUMNS, MIN_COLUMNS, Shape, ShapePrediction
from tcptutor.course.page_record import Given
from tcptutor.figures.lines import DATA, FRAME, MUTED, TEXT
from tcptutor.journal.saved import Draft
from tcptutor.study.marking import MarkedResponse
from tcptutor.ui.widgets.page.entries import NO_PREDICTION, PredictionBox, locked_how
from tcptutor.ui.widgets.page.lists import CHOSEN, FREE, ListBox
from tcptutor.ui.widgets.page.text import inline, paragraphs

RIGHT = "✓"
GAP = 3
_STYLES = {DATA: "$flow-1", FRAME: "$text-muted", MUTED: "$text-muted", TEXT: ""}
"""Hues of a sketch's styles."""


class ShapeBox(PredictionBox[ShapePrediction], ListBox[ShapePrediction]):
    """Prediction of a shape: a digit chooses, Enter locks; a caption describes the drawing at the cursor."""

    def __init__(self, activity: ShapePrediction) -> None:
        super().__init__(activity)
        self._chosen: int | None = None
        """Lesson-file index of the chosen drawing."""
        self._is_revealed = False
        """Whether the run has revealed the right drawing."""

    def ask(self) -> Content:
        return paragraphs(self.activity.prompt) + "  (a digit chooses, Enter locks it in)"

    def compose_entry(self) -> ComposeResult:
        yield Drawings([self.activity.shapes[index] for index in self.order])
        yield Static("", classes="caption", markup=False)

    def lines(self) -> list[tuple[str, str, bool]]:
        return [
            (self._sign(index), self.activity.shapes[index].text, index == self._chosen)
            for index in self.order
        ]

    def _sign(self, index: int) -> str:
        if self._is_revealed and index == self.activity.right:
            return RIGHT
        return CHOSEN if index == self._chosen else FREE

    @property
    def _chosen_line(self) -> int | None:
        """Place of the chosen drawing on the page, from 0."""
        return None if self._chosen is None else self.order.index(self._chosen)

    def draw(self) -> None:
        at_cursor = self.cursor if self.has_focus and not self.is_locked else None
        self.query_one(Drawings).show([sign for sign, *_ in self.lines()], self._chosen_line, at_cursor)
        caption = self.query_one(".caption", Static)
        caption.display = at_cursor is not None
        if at_cursor is not None:
            shape = self.activity.shapes[self.order[at_cursor]]
            caption.update(Content.assemble((f"{at_cursor + 1}: ", "bold"), inline(shape.text)))

    def on_drawings_clicked(self, event: Drawings.Clicked) -> None:
        event.stop()
        self.pick(event.number)

    def demand_response(self) -> None:
        """Demand a prediction before the run."""
        super().demand_response()
        if not self.is_locked:
            self.show_feedback(Content(f"Predict first. ({key_name('lesson.skip')} runs without.)"))

    def pick(self, number: int) -> None:
        if not self.is_locked and 1 <= number <= len(self.activity.shapes):
            self.screen.set_focus(self)
            self.move(number - 1)
            self.take()
            self.draw()
            self.post_message(self.DraftChanged())

    def take(self) -> None:
        self._chosen = self.order[self.cursor]

    def submit(self) -> None:
        if self._chosen is None:
            self.show_feedback(Content("Choose with a digit or with Space, then press Enter."))
        else:
            self.respond((self.activity.entry_ids[self._chosen],))

    def show(self, response: MarkedResponse, just_now: bool) -> None:
        self._is_revealed = bool(response.mark.feedback)
        super().show(response, just_now)

    @property
    def draft(self) -> Draft | None:
        return None if self.is_locked or self._chosen is None else [self.activity.entry_ids[self._chosen]]

    def restore_draft(self, draft: Draft) -> None:
        if isinstance(draft, list) and not self.is_locked:
            self.show_answer(tuple(draft))

    def show_answer(self, given: Given) -> None:
        ids = self.activity.entry_ids
        self._chosen = next((index for index in self.order if ids[index] in tuple(given)), None)
        self.draw()

    def feedback(self, response: MarkedResponse) -> Content:
        if self._chosen is None or self._chosen_line is None:
            return NO_PREDICTION
        text = inline(self.activity.shapes[self._chosen].text)
        number = f"{self._chosen_line + 1}"
        locked = Content.assemble(
            "Your prediction  ", (number, "bold"), f"  ({locked_how(response)})  ", text
        )
        lesson_feedback = response.mark.feedback
        return Content("\n").join([locked, *([paragraphs(lesson_feedback)] if lesson_feedback else [])])


class Drawings(Widget):
    """Drawings, side by side if they fit; a click chooses a drawing."""

    class Clicked(Message):
        def __init__(self, number: int) -> None:
            self.number = number
            super().__init__()

    def __init__(self, shapes: Sequence[Shape]) -> None:
        super().__init__(classes="drawings")
        self.auto_links = False  # links have one color, drawings several
        self._shapes = shapes
        self._signs: list[str] = [FREE] * len(shapes)
        self._chosen: int | None = None
        self._cursor: int | None = None

    def show(self, signs: list[str], chosen: int | None, cursor: int | None) -> None:
        """Show a sign per drawing, the chosen drawing and the cursor, both from 0."""
        self._signs, self._chosen, self._cursor = signs, chosen, cursor
        self.refresh()

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:  # noqa: ARG002
        return len(self._rows(width))

    def render(self) -> Content:
        return Content("\n").join(self._rows(self.content_size.width))

    def action_choose(self, number: int) -> None:
        self.post_message(self.Clicked(number))

    def _rows(self, room: int) -> list[Content]:
        per_row, width = side_by_side(len(self._shapes), room)
        lines: list[Content] = []
        for first in range(0, len(self._shapes), per_row):
            numbers = range(first, min(first + per_row, len(self._shapes)))
            rows = zip(*(self._card(number, width) for number in numbers), strict=True)
            lines += [*([Content("")] if lines else []), *(Content(" " * GAP).join(row) for row in rows)]
        return lines

    def _card(self, number: int, width: int) -> list[Content]:
        cursor = "›" if number == self._cursor else " "
        sign = self._signs[number]
        head = Content.assemble((cursor, "bold $accent"), f" {number + 1} ", (sign, "bold"))
        strong = "bold" if number == self._chosen else ""
        click = Style.from_meta({"@click": f"choose({number + 1})"})
        rows = [
            Content.assemble(*((text, f"{strong} {_STYLES[style]}".strip()) for text, style in line.pieces()))
            for line in self._shapes[number].draw(width)
        ]
        return [(row + " " * (width - len(row.plain))).stylize(click) for row in (head, *rows)]


def side_by_side(number: int, room: int) -> tuple[int, int]:
    """Return the drawings per row, of `number` drawings in rows of similar length, and the columns of each."""
    fit = max((room + GAP) // (MIN_COLUMNS + GAP), 1)
    per_row = number if fit >= number else min(fit, -(-number // 2))
    return per_row, max(MIN_COLUMNS, min((room + GAP) // per_row - GAP, MAX_COLUMNS))
