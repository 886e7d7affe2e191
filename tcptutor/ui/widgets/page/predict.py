"""The prediction: a number with its unit, locked before the run."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.widgets import Input, Static

from tcptutor import units
from tcptutor.course.model import Predict
from tcptutor.course.record import Response
from tcptutor.ui.messages import Predicted
from tcptutor.ui.widgets.page.hints import Hints
from tcptutor.ui.widgets.page.inline import paragraphs
from tcptutor.ui.widgets.page.said import Said


class PredictBox(Vertical):
    """Asks until it is locked; then shows what was locked."""

    def __init__(self, predict: Predict, locked: Response | None, hints: int) -> None:
        super().__init__(classes="box")
        self._predict, self._locked, self._level = predict, locked, hints

    def compose(self) -> ComposeResult:
        yield Static(Content.assemble(("Predict  ", "bold $primary"), paragraphs(self._predict.ask)))
        with Horizontal(classes="entry"):
            yield Static("Your prediction ", classes="label")
            # With a selection the second digit would replace the first.
            # A blinking cursor writes to the terminal all day.
            entry = Input(
                placeholder=f"like {units.EXAMPLES[self._predict.unit]}", select_on_focus=False, compact=True
            )
            entry.cursor_blink = False
            yield entry
        yield Said()
        yield Hints(self._predict.hints, self._level)

    def on_mount(self) -> None:
        if self._locked:
            self.show_locked(self._locked)

    def show_locked(self, locked: Response) -> None:
        """It cannot be changed any more."""
        self.query_one(".entry").display = False
        if locked.value is None:
            said = Content("You ran this without a prediction.")
        else:
            said = Content.assemble("Your prediction  ", (str(locked.given), "bold"), "  (locked)")
        self._say(said, go_there=False)

    def begin(self, text: str) -> None:
        """The student types or pastes it without having gone there: a number, or its first digit."""
        entry = self.query_one(Input)
        # At once, not with the next message: the next key may be there already.
        self.screen.set_focus(entry)
        entry.insert_text_at_cursor(text)

    def ask_first(self) -> None:
        """The run was asked for before the prediction."""
        self.query_one(Input).focus()
        self._say(Content("First your prediction: type it, Enter locks it. (Esc, then x, runs without one.)"))

    def complain(self, reason: str) -> None:
        self.query_one(Input).focus()
        self._say(Content.assemble(("✗ ", "$error bold"), reason))

    def show_hints(self, level: int) -> None:
        self.query_one(Hints).show(level)

    def on_input_submitted(self, event: Input.Submitted) -> None:
        event.stop()
        if event.value.strip():
            self.post_message(Predicted(event.value))
        else:
            self.ask_first()

    def _say(self, content: Content, go_there: bool = True) -> None:
        self.query_one(Said).say(content, go_there)
