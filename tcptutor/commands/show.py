"""`tcptutor show`: one stored run, on the screen or as JSON."""

from __future__ import annotations

from tcptutor.analysis import document
from tcptutor.commands.output import on_terminal, print_json
from tcptutor.errors import TutorError
from tcptutor.exchange import open_run


def show_run(name: str, as_json: bool) -> int:
    """The exit code. Raises TutorError for a run that cannot be opened, and where there is no terminal."""
    run, path = open_run(name)
    if as_json:
        print_json(document(run, str(path)))
        return 0
    if not on_terminal():
        raise TutorError("a run is shown in a terminal: open one, or use `tcptutor show --json`")
    from tcptutor.ui.show import show_run as show_on_screen  # noqa: PLC0415  # Textual takes its time, and JSON needs none of it

    return show_on_screen(run, path.name)
