"""Dialog for a what-if: the setting, its new value, the time of the change."""

from __future__ import annotations

from typing import ClassVar, Literal

from textual import events
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.containers import Horizontal, Vertical
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Input, Label, OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.base import units
from tcptutor.base.errors import ParameterError, TutorError
from tcptutor.run import Run
from tcptutor.run.change import DURING, LINK, apply_change, current_value, suggested_values
from tcptutor.spec import Experiment
from tcptutor.spec.parameters import PARAMETERS, sysctl_name
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.widgets.bars import KeyBar

Field = Literal["thing", "value", "since"]
_FIELDS: tuple[Field, ...] = ("thing", "value", "since")
_LABELS: dict[Field, str] = {"thing": "change", "value": "to", "since": "from"}
_COMMON = ("loss", "rate", "delay", "queue", "window", "algorithm", "streams", "qdisc")
"""Settings offered first in an empty field."""
_EXCLUDED = ("changes", "rate_trace")
_LINK_HELP = "the bottleneck's link, up or down"


class AskWhatIf(ModalScreen[Experiment | None]):
    """Dialog for the change, dismissed with the changed experiment or None.

    `at` is the time at the cursor in s: settings that can change during a run are then offered first.
    """

    BINDINGS: ClassVar[list[BindingType]] = [
        Binding("escape", "back", "back", priority=True, id="whatif.back"),
        Binding("enter", "take", "take", priority=True, id="whatif.take"),
        Binding("up", "move(-1)", show=False, priority=True, id="whatif.up"),
        Binding("down", "move(1)", show=False, priority=True, id="whatif.down"),
        Binding("tab", "next(1)", show=False, priority=True, id="whatif.next"),
        Binding("shift+tab", "next(-1)", show=False, priority=True, id="whatif.before"),
    ]

    def __init__(self, run: Run, at: float | None, notes: str) -> None:
        super().__init__()
        self._run, self._at, self._notes = run, at, notes
        self._entries: dict[Field, Input] = {}
        self._field: Field = "thing"

    def compose(self) -> ComposeResult:
        with Vertical(id="what-if") as box:
            box.border_title = "What if"
            for field in _FIELDS:
                entry = Input(select_on_focus=False, compact=True, id=f"what-if-{field}")
                entry.cursor_blink = False
                self._entries[field] = entry
                with Horizontal(classes="entry"):
                    yield Label(f"{_LABELS[field]:7}", classes="label")
                    yield entry
            yield OptionList(id="what-if-offers", compact=True, markup=False)
            yield Static(id="what-if-line", markup=False)
            yield KeyBar()

    def on_mount(self) -> None:
        self.query_one(OptionList).can_focus = False
        self._entries["thing"].placeholder = "search: loss, rate, algorithm, tcp_sack ..."
        if self._at is not None:
            self._entries["since"].value = f"{self._at:.6g} s"
        self._focus_field("thing")

    # Fields

    @property
    def _setting(self) -> str:
        return self._entries["thing"].value.strip()

    def _since(self) -> float | None:
        """Return the time of the change in s; None for the start.

        Raises:
            TutorError: if the time cannot be read.
        """
        text = self._entries["since"].value.strip()
        if not text or self._setting not in DURING:
            return None
        return units.parse(text, "time", "s")

    def _focus_field(self, field: Field) -> None:
        self._field = field
        self._entries[field].focus()
        self._show()

    def _show(self) -> None:
        """Update suggestions and remark for the current field."""
        value, since = self._entries["value"], self._entries["since"]
        since.disabled = bool(self._setting) and self._field != "thing" and self._setting not in DURING
        since.placeholder = "the start" if not since.disabled else "the start: applies to the whole run"
        if self._field != "thing":
            now = current_value(self._run.experiment, self._setting, self._instant())
            value.placeholder = f"now {now}"
        if self._setting == LINK:
            since.placeholder = "type a time, like 12 s"
        offered = self.query_one(OptionList)
        offered.clear_options()
        offered.add_options([Option(text, id=each) for each, text in self._suggestions()])
        offered.highlighted = 0 if offered.option_count else None
        self._say()
        self._keys()

    def _instant(self) -> float | None:
        try:
            return self._since()
        except TutorError:
            return None

    def _suggestions(self) -> list[tuple[str, Content]]:
        if self._field == "value":
            here = self._run.environment.algorithms
            found = suggested_values(
                self._run.experiment, self._setting, self._instant(), *([here] if here else [])
            )
            return [(text, Content(text)) for text in found]
        if self._field == "since":
            return []
        return [(name, self._row(name)) for name in self._matching_settings()]

    def _matching_settings(self) -> list[str]:
        typed = self._entries["thing"].value.strip().lower()
        first = DURING if self._at is not None else _COMMON
        names = [name for name in dict.fromkeys((*first, *PARAMETERS, LINK)) if name not in _EXCLUDED]
        begins = [name for name in names if name.startswith(typed)]
        has = [name for name in names if typed in name or typed in _help(name).lower()]
        sysctl = [typed] if typed not in PARAMETERS and sysctl_name(typed) else []
        return list(dict.fromkeys([*begins, *has, *sysctl]))

    def _row(self, name: str) -> Content:
        now = current_value(self._run.experiment, name)
        return Content.assemble((f"{name:16} ", "bold"), f"{now:16.16} ", _help(name))

    def _say(self, problem: str = "") -> None:
        line = self.query_one("#what-if-line", Static)
        if problem:
            line.update(Content.styled(problem, "$error"))
        elif self._field == "thing":
            line.update(Content.styled(self._notes, "$text-muted"))
        elif self._setting not in DURING:
            names = ", ".join(DURING)
            remark = f"{self._setting} applies to the whole run. Only these can change during a run: {names}."
            line.update(Content.styled(remark, "$text-muted"))
        else:
            remark = "The run stays the same up to this time."
            if self._setting == "streams":
                remark = "The lab prepares all flows first, so the run may differ slightly up to this time."
            line.update(Content.styled(remark, "$text-muted"))

    def _keys(self) -> None:
        last = self._field == "since" or (self._field == "value" and self._entries["since"].disabled)
        move = [FooterKey((("↑", "up"), ("↓", "down")), "choose")] if self._field != "since" else []
        self.query_one(KeyBar).show_keys(
            (
                FooterKey((("Enter", "enter"),), "run" if last else "accept"),
                *move,
                FooterKey((("Tab", "tab"),), "next"),
                FooterKey((("Esc", "escape"),), "back"),
            )
        )

    # Keys

    def on_input_changed(self, event: Input.Changed) -> None:
        if event.input is self._entries[self._field]:
            if self._field == "thing":
                self._show()
            else:
                self._say()

    def on_descendant_focus(self, event: events.DescendantFocus) -> None:
        for field, entry in self._entries.items():
            if event.widget is entry and field != self._field:
                self._field = field
                self._show()

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        """Take a clicked suggestion."""
        self.query_one(OptionList).highlighted = event.option_index
        self.action_take(chosen=True)

    def action_move(self, by: int) -> None:
        offered = self.query_one(OptionList)
        (offered.action_cursor_down if by > 0 else offered.action_cursor_up)()
        if self._field == "value" and (chosen := self._highlighted):
            with self.prevent(Input.Changed):
                self._entries["value"].value = chosen
                self._entries["value"].cursor_position = len(chosen)
            self._say()

    @property
    def _highlighted(self) -> str:
        option = self.query_one(OptionList).highlighted_option
        return option.id or "" if option else ""

    def action_next(self, by: int) -> None:
        at = _FIELDS.index(self._field) + by
        if self._field == "thing" and not self._complete_setting():
            return
        if 0 <= at < len(_FIELDS) and not self._entries[_FIELDS[at]].disabled:
            self._focus_field(_FIELDS[at])

    def action_take(self, chosen: bool = False) -> None:
        """Take the current field; after the last field, run the experiment."""
        if self._field == "thing":
            if self._complete_setting(chosen):
                self._focus_field("value")
            return
        value = self._entries["value"]
        if (chosen or not value.value.strip()) and self._field == "value":
            value.value = self._highlighted
        if not value.value.strip():
            self._say(f"{self._setting}: type a new value")
        elif self._field == "value" and self._setting in DURING:
            self._focus_field("since")
        else:
            self._finish()

    def _complete_setting(self, chosen: bool = False) -> bool:
        """Complete the name of the setting; return False if it is ambiguous or unknown."""
        entry = self._entries["thing"]
        exact = self._setting in PARAMETERS or self._setting == LINK or sysctl_name(self._setting)
        name = self._setting if exact and not chosen else self._highlighted
        if not name or name in _EXCLUDED:
            self._say(
                f"no setting is called {self._setting!r}" if self._setting else "type the name of a setting"
            )
            return False
        if entry.value != name:
            with self.prevent(Input.Changed):
                entry.value, entry.cursor_position = name, len(name)
            self._entries["value"].value = ""
        return True

    def _finish(self) -> None:
        text = self._entries["value"].value.strip()
        try:
            after = apply_change(self._run.experiment, self._setting, text, self._since())
        except TutorError as error:
            known = isinstance(error, ParameterError)
            self._say(str(error) if known else f"from: {error}")
            return
        self.dismiss(after)

    def action_back(self) -> None:
        """Go to the previous field; from the first field, close the dialog."""
        if self._field == "thing":
            self.dismiss(None)
        else:
            self._focus_field(_FIELDS[_FIELDS.index(self._field) - 1])


def _help(name: str) -> str:
    return (
        _LINK_HELP
        if name == LINK
        else PARAMETERS[name].help
        if name in PARAMETERS
        else "a sysctl of the hosts"
    )
