"""`tcptutor show`: one stored run, on the screen, as text or as JSON."""

from __future__ import annotations

from tcptutor.analysis import document, report
from tcptutor.commands.output import on_terminal, print_json, print_lines, warn
from tcptutor.commands.report import report_lines
from tcptutor.errors import TutorError
from tcptutor.exchange import open_run


def show_run(name: str, as_json: bool, as_text: bool, all_flows: bool) -> int:
    """The exit code. Without a terminal it prints the text. Raises TutorError for a run that cannot be opened."""
    run, path = open_run(name, warn)
    if not (as_json or as_text or all_flows) and on_terminal():
        from tcptutor.ui.show import show_run as show_on_screen  # noqa: PLC0415  # Textual takes its time, and JSON needs none of it

        return show_on_screen(run, path)
    result = report(run)
    if as_json:
        print_json(document(run, str(path)))
    if result.nothing:
        raise TutorError(f"nothing was measured in {path}: {run.unmeasured}")
    if not as_json:
        print_lines(report_lines(run, result, path, all_flows))
    return 0
