"""`tcptutor lint`: report errors in a course's files, and with --run claims that runs contradict."""

from __future__ import annotations

from pathlib import Path

from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import page_claims
from tcptutor.authoring.trials import page_trials
from tcptutor.base import places
from tcptutor.commands.claims import ClaimCheck, Judged
from tcptutor.commands.output import print_json, print_lines, warn
from tcptutor.commands.words import count
from tcptutor.course.page_selection import Pages, pages


def lint_course(
    folder: Path | None,
    target: str | None = None,
    jobs: int | None = None,
    as_json: bool = False,
    seeds: int = 1,
) -> int:
    """Check the course and return the exit code: 1 for problems.

    Args:
        folder: The lessons; None for the lessons of tcptutor.
        target: Pages to check claims of, "" for all, None for none.
        jobs: Guests at a time.
        as_json: Print JSON.
        seeds: Seeds per claim, if it asks for fewer.

    Raises:
        UsageError: The target does not exist.
        LabUnavailable: Claims cannot be run here.
    """
    root = folder or places.lessons()
    chosen = None if target is None else pages(root, target)
    problems = lint(root)
    if chosen is None:
        _print_problems(problems, as_json)
        return 1 if problems else 0
    if target:
        problems = [line for line in problems if _belongs_to(line, chosen, root)]
    check = ClaimCheck(_judged(root, chosen, seeds), as_json)
    if not as_json:
        print_lines(problems)
    stopped = check.run(jobs)
    if as_json:
        print_json({"problems": problems, **check.document()})
    else:
        print_lines(check.summary(problems))
    if stopped is not None:
        warn(
            f"{stopped}; {count(check.made, 'run')} of {check.missing} finished: repeat the command to continue"
        )
        return stopped.exit_code
    return 1 if problems or check.contradicted else 0


def _judged(root: Path, chosen: Pages, seeds: int) -> list[Judged]:
    order = list(chosen.files)
    judged: list[Judged] = [*page_claims(root, chosen, seeds), *page_trials(root, chosen, seeds)]
    return sorted(judged, key=lambda each: order.index((each.module, each.step)))


def _print_problems(problems: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"problems": problems})
    else:
        print_lines([*problems, count(len(problems), "problem") if problems else "the course is well-formed"])


def _belongs_to(line: str, chosen: Pages, root: Path) -> bool:
    files = [f"{root.name}/{path.relative_to(root).as_posix()}" for path in chosen.files.values()]
    folders = {f"{Path(file).parent.as_posix()}/experiments/" for file in files}
    return line.startswith((*files, *folders))
