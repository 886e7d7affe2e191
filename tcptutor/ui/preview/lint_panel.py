"""The linter's problems, next to a page or below it, and the notice about an unreadable page."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.widgets import Static

from tcptutor.course.problem_place import LocatedProblem

MOST_SHOWN = 60
"""Problems that are shown; `tcptutor lint` lists all."""


class LintResult(NamedTuple):
    """The linter's last result."""

    problems: Sequence[LocatedProblem] = ()
    file: str = ""
    """File of the page on the screen; empty without a page."""
    at: str = ""
    """Time of day of the check; empty while the first is under way."""
    above: Sequence[LocatedProblem] = ()
    """Problems that the notice above the page shows."""
    is_outdated: bool = True
    """True if files have changed since."""


class LintPanel(VerticalScroll, can_focus=False):
    """The linter's problems: file, line and remedy, the current page's problems first."""

    def __init__(self) -> None:
        super().__init__()
        self._text = Static(markup=False)

    def compose(self) -> ComposeResult:
        yield self._text

    def show(self, result: LintResult) -> None:
        """Show the result of a check."""
        self._text.update(lint_text(result))


def lint_text(result: LintResult) -> Content:
    """Return a headline and a line for each problem."""
    below = [each for each in result.problems if each not in result.above]
    here = sum(each.file == result.file for each in result.problems)
    others = len(result.problems) - here
    number = here if result.file else others
    head = f"{number or 'no'} problem{'' if number == 1 else 's'}{' on this page' if result.file else ''}"
    if others and result.file:
        head += f", {others} elsewhere"
    if not result.at:
        head = "checking …"
    elif result.is_outdated:
        head += ", checking again …"
    else:
        head += f", {result.at}"
    tone = "$error" if result.problems else "$success"
    parts = [Content.assemble(("■ lint", f"bold {tone}"), f"  {head}")]
    parts += [problem_line(each) for each in below[:MOST_SHOWN]]
    if len(below) > MOST_SHOWN:
        parts.append(Content(f"and {len(below) - MOST_SHOWN} more: `tcptutor lint` lists them"))
    return Content("\n").join(parts)


def problem_line(problem: LocatedProblem) -> Content:
    """Return the place and the text of a problem."""
    if not problem.file:
        return Content(problem.text)
    return Content.assemble((problem.place, "bold"), f"  {problem.text}")


class UnreadableNotice(Static):
    """Reason why the page's file cannot be read, above the page as it was before."""

    def __init__(self) -> None:
        super().__init__(markup=False)
        self.display = False

    def show(self, problems: Sequence[LocatedProblem]) -> None:
        """Show the reasons why the page cannot be read; hide the panel without a reason."""
        self.display = bool(problems)
        lines = [Content.assemble(("✗ ", "bold $error"), problem_line(each)) for each in problems]
        below = Content.styled("  Below: the page as it was before.", "$text-muted")
        self.update(Content("\n").join([*lines, below]))
