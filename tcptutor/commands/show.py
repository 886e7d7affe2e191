"""`tcptutor show`: show a stored run on screen, as text or as JSON, or a sweep's table."""

from __future__ import annotations

from pathlib import Path

from tcptutor.analysis import document, report
from tcptutor.base.errors import TutorError
from tcptutor.commands.output import count, on_terminal, print_json, print_lines, warn
from tcptutor.commands.report import report_lines
from tcptutor.commands.sweep import document as sweep_document
from tcptutor.commands.sweep import lines as sweep_lines
from tcptutor.exchange import open_run
from tcptutor.sweep.results_file import is_sweep, load


def show_run(name: str, as_json: bool, as_text: bool, all_flows: bool) -> int:
    """Show a run, or the table of a sweep, and return the exit code. Without a terminal it prints the text.

    Raises TutorError for a file that cannot be opened.
    """
    if name and is_sweep(path := Path(name)) and path.is_file():
        return _show_sweep(path, as_json)
    run, path = open_run(name, warn)
    if not (as_json or as_text or all_flows) and on_terminal():
        from tcptutor.ui.frame import show_run as show_on_screen  # noqa: PLC0415  # importing Textual is slow

        return show_on_screen(run, path)
    result = report(run)
    if as_json:
        print_json(document(run, str(path)))
    if result.is_empty:
        raise TutorError(f"nothing was measured in {path}: {run.unmeasured_reason}")
    if not as_json:
        print_lines(report_lines(run, result, path, all_flows))
    return 0


def _show_sweep(path: Path, as_json: bool) -> int:
    """Print the table that `tcptutor sweep` printed when it wrote the file."""
    results = load(path)
    if as_json:
        print_json(sweep_document(results, str(path)))
        return 0
    if not results.rows:
        raise TutorError(f"no cell of {path} has a result: finish its sweep")
    print_lines([*sweep_lines(results), f"file  {path}"])
    missing = results.definition.cells - len(results.rows)
    if missing:
        warn(
            f"{count(missing, 'cell')} of {results.definition.cells} are missing: repeat the sweep to continue"
        )
    return 0
