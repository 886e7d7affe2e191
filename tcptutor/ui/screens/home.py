"""The course at a glance: modules, how far each is, and the lab while it starts."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import Vertical
from textual.content import Content
from textual.widgets import OptionList, Static
from textual.widgets.option_list import Option

from tcptutor.course.model import Module
from tcptutor.journal import Progress
from tcptutor.ui import keys, words
from tcptutor.ui.keys import FooterKey
from tcptutor.ui.pages import squares
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.widgets.bars import KeyBar, TopBar

WELCOME = (
    "Each page asks you something, runs a real TCP experiment on a Linux kernel, and shows the models' "
    "prediction beside it. Commit to a number first; being wrong is how you learn here. Press Enter to begin."
)


class HomeScreen(TutorScreen):
    """Enter goes on where you were."""

    FOOTER = (("app.keys", "keys"), ("app.commands", "find"), ("app.quit", "quit"))
    OTHER_KEYS = (("↑ ↓", "choose a module"), ("Enter", "open it where you left it"))

    def compose(self) -> ComposeResult:
        yield TopBar()
        with Vertical(id="home"):
            yield Static(self.tutor.course.title, id="course", markup=False)
            yield Static(id="greeting", markup=False)
            yield OptionList(id="modules", compact=True)
            yield Static(id="objectives", markup=False)
            yield Static(id="lab", markup=False)
            yield Static(id="problems", markup=False)
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self.query_one("#problems", Static).update(self._problems())

    def on_screen_resume(self) -> None:
        super().on_screen_resume()
        self._show_modules()
        self.query_one(OptionList).focus()

    def show_keys(self) -> None:
        self.query_one(KeyBar).show_keys(
            (
                FooterKey((("↑", "up"), ("↓", "down")), "module"),
                FooterKey((("Enter", "enter"),), "open"),
                *keys.line(self, self.FOOTER),
            )
        )
        self.query_one(KeyBar).show_right("saved" if self.tutor.journal.lasting else "NOT SAVED")

    def show_lab(self) -> None:
        super().show_lab()
        state = self.tutor.bench.state
        lines = [state.headline, *([state.reason] if state.reason else [])]
        text = Content.assemble(("Lab  ", "bold"), "\n     ".join(lines))
        self.query_one("#lab", Static).update(text)

    def on_option_list_option_highlighted(self, event: OptionList.OptionHighlighted) -> None:
        module = self._module(event.option_id)
        objectives = [Content(f"· {objective}") for objective in module.objectives]
        self.query_one("#objectives", Static).update(
            Content("\n").join([Content.styled("You will", "bold"), *objectives]) if objectives else ""
        )

    def on_option_list_option_selected(self, event: OptionList.OptionSelected) -> None:
        self.tutor.open_module(self._module(event.option_id).id)

    def _module(self, id: str | None) -> Module:
        return next(module for module in self.tutor.course.modules if module.id == id)

    def _show_modules(self) -> None:
        modules = self.tutor.course.modules
        progress = self.tutor.journal.progress(self.tutor.course)
        position = self.tutor.journal.position()
        listing = self.query_one(OptionList)
        title = max((len(module.title) for module in modules), default=0)
        listing.clear_options()
        listing.add_options([Option(_row(each, progress[each.id], title), id=each.id) for each in modules])
        ids = [module.id for module in modules]
        here = position[0] if position and position[0] in ids else None
        if modules:
            listing.highlighted = ids.index(here) if here else 0
        self.query_one("#greeting", Static).update(self._greeting(here, position))

    def _greeting(self, here: str | None, position: tuple[str, str] | None) -> Content:
        if here is None or position is None:
            return Content(WELCOME)
        module = self._module(here)
        step = next((step for step in module.steps if step.id == position[1]), None)
        where = f"{module.number} {module.title}" + (f", “{step.title}”" if step else "")
        return Content.assemble("Enter goes on where you were: ", (where, "bold"), self._calibration())

    def _calibration(self) -> str:
        found = self.tutor.journal.calibration()
        if found is None:
            return ""
        off = words.off_by(found.factor)
        return f"\nYour {found.predictions} predictions that runs have answered were {off} in the median."

    def _problems(self) -> Content:
        lines = [*filter(None, [self.tutor.journal.notice]), *self.tutor.problems]
        return Content("\n").join([Content.assemble(("⚠ ", "$warning bold"), line) for line in lines[:3]])


def _row(module: Module, progress: Progress, title: int) -> Content:
    done, total = progress.done, progress.total
    state = "✓" if total and done == total else " "
    minutes = f"{module.minutes} min".rjust(7)
    return Content.assemble(
        f"{module.number:>2}  {module.title.ljust(title)}  {minutes}   ",
        squares(progress),
        f" {done}/{total} {state}",
    )
