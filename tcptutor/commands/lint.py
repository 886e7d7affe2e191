"""`tcptutor lint`: what is wrong in a course's files, and with --run what its claims say otherwise than runs."""

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
    """The exit code: 1 when something is wrong. `target`: the pages whose claims are run, "" for all; None for none.

    seeds: of each claim, where it asks for fewer.
    Raises UsageError for a target that is not there, LabUnavailable where claims cannot be run.
    """
    root = folder or places.lessons()
    chosen = None if target is None else pages(root, target)
    problems = lint(root)
    if chosen is None:
        _tell(problems, as_json)
        return 1 if problems else 0
    if target:
        problems = [line for line in problems if _is_of(line, chosen, root)]
    check = ClaimCheck(_judged(root, chosen, seeds), as_json)
    if not as_json:
        print_lines(problems)
    stopped = check.run(jobs)
    if as_json:
        print_json({"problems": problems, **check.document()})
    else:
        print_lines(check.summary(problems))
    if stopped is not None:
        warn(f"{stopped}; {count(check.made, 'run')} of {check.missing} are kept: the same command goes on")
        return stopped.exit_code
    return 1 if problems or check.contradicted else 0


def _judged(root: Path, chosen: Pages, seeds: int) -> list[Judged]:
    """Claims and challenges of those pages, page by page."""
    order = list(chosen.files)
    found: list[Judged] = [*page_claims(root, chosen, seeds), *page_trials(root, chosen, seeds)]
    return sorted(found, key=lambda each: order.index((each.module, each.step)))


def _tell(problems: list[str], as_json: bool) -> None:
    if as_json:
        print_json({"problems": problems})
    else:
        print_lines([*problems, count(len(problems), "problem") if problems else "the course is well-formed"])


def _is_of(line: str, chosen: Pages, root: Path) -> bool:
    """Whether a problem is one of these pages, or of their experiments."""
    files = [f"{root.name}/{path.relative_to(root).as_posix()}" for path in chosen.files.values()]
    folders = {f"{Path(file).parent.as_posix()}/experiments/" for file in files}
    return line.startswith((*files, *folders))
