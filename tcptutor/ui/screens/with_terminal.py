"""Keys of a page with a terminal, and the terminal's place in the layout."""

from __future__ import annotations

from typing import ClassVar

from textual import events, on
from textual.binding import Binding, BindingType
from textual.containers import Container

from tcptutor.ui import bindings
from tcptutor.ui.bindings import FooterKey
from tcptutor.ui.host_shell import Shell
from tcptutor.ui.live import Live
from tcptutor.ui.messages import SessionUpdated
from tcptutor.ui.screens.base import TutorScreen
from tcptutor.ui.screens.lesson_terminal import TerminalSide
from tcptutor.ui.widgets.page.shell import ShellBox
from tcptutor.ui.widgets.terminal.column import HostTabs

_IN_PANE_FOOTER = (
    ("lesson.pane", "page"),
    ("lesson.host-before lesson.host-after", "host"),
    ("lesson.type-command", "types the next command"),
)
_OPEN_FOOTER = (("lesson.pane", "terminal"), ("lesson.end-terminal", "closes it"))
_HIDDEN_WITH_TERMINAL = ("lesson.terminal", "lesson.run", "lesson.repeat")

_IN_PANE = ("switch_pane", "turn_host", "type_command")
"""Actions that work while the shell has the keys."""

OPEN, CHART, SHELL = "-terminal", "-terminal-chart", "-terminal-shell"
"""CSS classes of the screen: the terminal is open; its chart, its shell is visible."""


def _key(keys: str, action: str, word: str, id: str, tooltip: str) -> Binding:
    return Binding(keys, action, word, priority=True, id=id, tooltip=tooltip)


OTHER_TERMINAL_FOOTER = ("lesson.end-terminal", "closes the terminal")
"""Footer entry while a session of another page prevents any run."""


def with_terminal(footer: tuple[tuple[str, str], ...]) -> tuple[tuple[str, str], ...]:
    """Return a page's footer while its terminal is open, with the key into the terminal first."""
    return *_OPEN_FOOTER, *(each for each in footer if each[0] not in _HIDDEN_WITH_TERMINAL)


class ScreenWithTerminal(TutorScreen):
    """A page with a terminal. Subclasses create `terminal` and define `lay_out`."""

    BINDINGS: ClassVar[list[BindingType]] = [
        _key("t", "terminal", "terminal", "lesson.terminal", "a shell on the page's network"),
        _key("f6", "switch_pane", "terminal", "lesson.pane", "from the page to its terminal, and back"),
        _key("f7", "turn_host(-1)", "previous host", "lesson.host-before", "the shell of the previous host"),
        _key("f8", "turn_host(1)", "next host", "lesson.host-after", "the shell of the next host"),
        _key(
            "f9",
            "type_command",
            "type command",
            "lesson.type-command",
            "type the page's next command into the shell of its host; Enter there runs it",
        ),
        _key("y", "copy_command", "copy command", "lesson.copy-command", "copy the page's next command"),
        _key(
            "T",
            "end_terminal",
            "close terminal",
            "lesson.end-terminal",
            "close the terminal; its runs are saved",
        ),
    ]

    terminal: TerminalSide | None = None
    """None until the screen is composed."""
    shell_box: ShellBox | None = None
    """The page's goals and commands; None without any."""

    @property
    def in_pane(self) -> bool:
        """True while the shell has the keys."""
        return self.terminal is not None and self.focused is self.terminal.pane

    @property
    def other_terminal_open(self) -> bool:
        """True while a session of another page prevents this page from running anything."""
        return not self.terminal_open and self.tutor.bench.session.stage in ("starting", "open")

    @property
    def terminal_open(self) -> bool:
        """True while this page's terminal is open or starting."""
        return self.terminal is not None and self.terminal.is_open

    def check_terminal(self, action: str) -> bool | None:
        """Return True if a key of the terminal works now; None for other keys."""
        if self.in_pane:
            return action in _IN_PANE and (action != "type_command" or self._has_command)
        works: bool | None = None
        match action:
            case "type_command" | "copy_command":
                works = self._has_command
            case "terminal":
                works = self.terminal is not None and self.terminal.network is not None
            case "switch_pane":
                works = self.terminal_open
            case "turn_host":
                works = False
            case "end_terminal":
                works = self.tutor.bench.session.stage in ("starting", "open")
        return works

    def pane_keys(self) -> tuple[FooterKey, ...]:
        """Return the footer while the shell has the keys."""
        return bindings.footer_entries(self, _IN_PANE_FOOTER)

    async def action_terminal(self) -> None:
        if self.terminal is not None and self.terminal.open():
            if not self.terminal.widget.is_attached:
                await self.query_one("#body", Container).mount(self.terminal.widget)
            self._update_next_command()
            self.lay_out()
            self.terminal.show()
            self._enter_pane()

    @property
    def _has_command(self) -> bool:
        """True if the page has commands, even after the last one: F9 must not reach the shell.

        Searches all widgets of the screen, too slow for every key.
        """
        box = self.shell_box
        return box is not None and bool(box.activity.commands)

    async def action_type_command(self) -> None:
        box = self.shell_box
        if box is None:
            return
        await self.action_terminal()
        command = box.next_applicable(self.tutor.bench.session.state)
        if self.terminal is not None and self.terminal_open:
            if command is None:
                self.notify("That was the page's last command.")
            elif self.terminal.type(command):
                box.next_command()
                self._update_next_command()
                self.terminal.show_goals()
            else:
                self.notify("The prompt holds an unfinished line: Enter runs it, ^U clears it.")

    def _update_next_command(self) -> None:
        box = self.shell_box
        if self.terminal is not None and box is not None:
            self.terminal.next_command = box.command

    def action_copy_command(self) -> None:
        box = self.shell_box
        if box is not None and box.command is not None:
            self.app.copy_to_clipboard(box.command.run)
            self.notify(f"copied: {box.command.run}", markup=False)

    def action_switch_pane(self) -> None:
        if self.in_pane:
            self.to_page()
        else:
            self._enter_pane()

    def action_turn_host(self, by: int) -> None:
        if self.terminal is not None:
            self.terminal.turn_host(by)

    def action_end_terminal(self) -> None:
        self.tutor.bench.session.end()

    def _enter_pane(self) -> None:
        assert self.terminal is not None
        # Lay out first: a hidden widget cannot get the focus.
        self.lay_out(pane=True)
        self.set_focus(self.terminal.pane, scroll_visible=False)
        self.lay_out()

    def terminal_classes(self, pane: bool, alone: bool) -> dict[str, bool]:
        """Return CSS classes: chart and shell if both fit, otherwise the part in use.

        `alone` means that the terminal has all columns.
        """
        wide = self.has_class("-wide")
        both = wide and self.has_class("-tall")
        shell = pane or both or (wide and not alone)
        return {OPEN: self.terminal_open, CHART: both or not shell, SHELL: shell}

    async def restore_terminal(self) -> None:
        """Show the terminal again if it was open when the page was left."""
        if self.terminal_open and self.terminal is not None:
            await self.query_one("#body", Container).mount(self.terminal.widget)
            self.lay_out()
            self.terminal.show()

    def lay_out(self, pane: bool | None = None) -> None:
        """Show and hide panels. `pane`: as if the shell had the keys."""
        raise NotImplementedError

    def to_page(self) -> None:
        """Give the keys to the page."""
        raise NotImplementedError

    # Messages

    @on(HostTabs.HostChosen)
    def _host_chosen(self, message: HostTabs.HostChosen) -> None:
        if self.terminal is not None:
            self.terminal.show_host(message.host)
            self._enter_pane()

    def on_descendant_blur(self, event: events.DescendantBlur) -> None:
        if self.terminal is not None and event.widget is self.terminal.pane:
            self.lay_out()

    def session_updated(self, message: SessionUpdated) -> None:
        """Update after an event, the start or the end of the session."""
        self.show_lab()
        terminal = self.terminal
        if terminal is None:
            return
        terminal.session_updated(message)
        if message.event is None:
            if not terminal.is_open and terminal.widget.is_attached:
                self._terminal_ended(terminal)
            else:
                self.lay_out()  # updates the line about another page's terminal
            self.refresh_bindings()
            self.schedule_keys()

    def _terminal_ended(self, terminal: TerminalSide) -> None:
        if self.in_pane:
            self.to_page()
        terminal.widget.remove()
        self.terminal = self.make_terminal()
        self.lay_out()

    def make_terminal(self) -> TerminalSide:
        """Create the terminal for the next session."""
        raise NotImplementedError

    def shell_updated(self, shell: Shell) -> None:
        """Update after output or the end of a shell."""
        if self.terminal is not None:
            self.terminal.shell_updated(shell)

    def run_updated(self, live: Live) -> None:
        super().run_updated(live)
        if self.terminal is not None:
            self.terminal.run_updated(live)

    def run_ended(self, live: Live) -> None:
        super().run_ended(live)
        if self.terminal is not None:
            self.terminal.run_ended(live)
