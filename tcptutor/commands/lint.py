"""`tcptutor lint`: report errors in a course's files, and with --run claims that runs contradict."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import groupby
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

from tcptutor.authoring.choices import ChoiceStatistics, choice_statistics
from tcptutor.authoring.claims import Judgement
from tcptutor.authoring.lint import lint
from tcptutor.authoring.page_claims import PageClaim, PageTrial, page_claims, page_trials
from tcptutor.authoring.page_observations import PageObservation, page_observations
from tcptutor.authoring.page_runs import PageRuns, page_runs
from tcptutor.authoring.translations import find_problems
from tcptutor.backends.programs import run_until_signal
from tcptutor.base import places
from tcptutor.base.columns import table
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.output import Bar, count, print_json, print_lines, remark, toned, warn, width
from tcptutor.course.lesson_file import shown_path
from tcptutor.course.measurements import MeasuredRun
from tcptutor.course.outline import Pages, pages, read_course
from tcptutor.course.problem_place import locate
from tcptutor.fleet import pool
from tcptutor.fleet.pool import Place
from tcptutor.fleet.run_cache import RunCache, run_into_cache
from tcptutor.spec import Experiment


def lint_course(
    folder: Path | None,
    target: str | None = None,
    jobs: int | None = None,
    as_json: bool = False,
    seeds: int = 1,
    statistics: bool = False,
) -> int:
    """Check the course and return the exit code: 1 for problems.

    Args:
        folder: The lessons; None for the lessons of tcptutor.
        target: Pages to check claims of, "" for all, None for none.
        jobs: Guests at a time.
        as_json: Print JSON.
        seeds: Seeds per claim, if it asks for fewer.
        statistics: Also report statistics of each module's questions; without `target`.

    Raises:
        UsageError: The target does not exist.
        LabUnavailable: Claims cannot be run here.
    """
    root = folder or places.lessons()
    chosen = None if target is None else pages(root, target)
    found_problems = lint(root)
    problems = [_with_line(each, root) for each in found_problems]
    for line in find_problems(root).changed:
        warn(line)
    if chosen is None:
        found = _statistics(root) if statistics else []
        _print_problems(problems, found, as_json)
        return 1 if problems else 0
    if target:
        problems = [_with_line(each, root) for each in found_problems if _belongs_to(each, chosen, root)]
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


def _with_line(problem: str, root: Path) -> str:
    found = locate(problem, root)
    return shown_path(root / str(found), root) if found.file else problem


def _judged(root: Path, chosen: Pages, seeds: int) -> list[Judged]:
    order = list(chosen.files)
    judged: list[Judged] = [*page_claims(root, chosen, seeds), *page_trials(root, chosen, seeds)]
    judged += page_observations(root, chosen, seeds)
    judged += page_runs(root, chosen, seeds)
    return sorted(judged, key=lambda each: order.index((each.module, each.step)))


def _statistics(root: Path) -> list[ChoiceStatistics]:
    return [choice_statistics(module) for module in read_course(root)[0].modules]


def _print_problems(problems: list[str], statistics: list[ChoiceStatistics], as_json: bool) -> None:
    if as_json:
        more = {"statistics": [_document(each) for each in statistics]} if statistics else {}
        print_json({"problems": problems, **more})
        return
    print_lines([*problems, count(len(problems), "problem") if problems else "the course is well-formed"])
    if statistics:
        print_lines(["", *_table(statistics)])


def _table(statistics: list[ChoiceStatistics]) -> list[str]:
    most = max(len(each.positions) for each in statistics)
    head = ("module", "questions", "longest is right", *(f"right at {n}" for n in range(1, most + 1)))
    rows = [
        (
            each.module,
            f"{each.questions}",
            f"{each.longest_share:.0%}" if each.questions else "-",
            *(f"{share:.0%}" for share in each.positions),
            *[""] * (most - len(each.positions)),
        )
        for each in statistics
    ]
    return table([head, *rows], indent=0, right=[False, *[True] * (most + 2)])


def _document(found: ChoiceStatistics) -> dict[str, object]:
    return {
        "module": found.module,
        "single_choice": {
            "questions": found.questions,
            "longest_is_right": found.longest_share,
            "longest_in": found.longest,
            "positions": found.positions,
        },
    }


def _belongs_to(line: str, chosen: Pages, root: Path) -> bool:
    files = [shown_path(path, root) for path in chosen.files.values()]
    folders = {f"{Path(file).parent.as_posix()}/experiments/" for file in files}
    return line.startswith((*files, *folders))


Judged = PageClaim | PageTrial | PageObservation | PageRuns


class ClaimResult(NamedTuple):
    """A claim or a challenge, and the judgments of its runs."""

    of: Judged
    judgements: tuple[Judgement, ...]
    """A judgment per seed."""

    @property
    def holds(self) -> bool:
        return all(each.agrees for each in self.judgements)

    @property
    def found(self) -> str:
        """Return the value found with each seed, or by the formula, without duplicates."""
        parts = ", ".join(dict.fromkeys(each.found for each in self.judgements))
        return parts if self.of.is_measured else f"the formula: {parts}"

    @property
    def document(self) -> dict[str, object]:
        """Return the result as plain JSON."""
        return {
            "page": self.of.page,
            "file": str(self.of.file),
            "line": self.of.line,
            **self.of.document,
            "measured": [each.value for each in self.judgements],
            "found": [each.found for each in self.judgements],
            "holds": self.holds,
        }


class ClaimRuns:
    """Cached runs of the claims, and the errors of runs that failed."""

    def __init__(self, cache: RunCache) -> None:
        self._cache = cache
        self.failed: dict[str, str] = {}
        """Error messages of failed runs, by cache key."""
        self._latest: dict[str, MeasuredRun] = {}

    def find(self, experiment: Experiment) -> MeasuredRun:
        """Return the cached run of `experiment`. Raises UsageError if it does not exist."""
        key = self._cache.key(experiment)
        if key not in self._latest:
            run = self._cache.get(experiment)
            if run is None:
                raise UsageError(
                    self.failed.get(key, "its run was deleted: repeat the command to make it again")
                )
            self._latest[key] = MeasuredRun(run)
        return self._latest[key]

    def results(self, page: Iterable[Judged]) -> list[ClaimResult]:
        """Judge a page; its runs are read once and then released."""
        self._latest.clear()
        found = [ClaimResult(each, each.judge(self.find)) for each in page]
        self._latest.clear()
        return found


class ClaimCheck:
    """Owns the runs and results of a check."""

    def __init__(self, claims: Sequence[Judged], as_json: bool, cache: RunCache | None = None) -> None:
        self._pages = [list(group) for _, group in groupby(claims, key=attrgetter("page"))]
        self._quiet = as_json
        self.results: list[ClaimResult] = []
        """Results of the judged pages, in course order."""
        self._cache = cache or (RunCache() if any(claim.runs for claim in claims) else RunCache("none"))
        self._runs = ClaimRuns(self._cache)
        needed = {self._cache.key(each): each for claim in claims for each in claim.runs}
        self._missing = {key: each for key, each in needed.items() if not self._cache.has(each)}
        self.needed, self.missing, self.made = len(needed), len(self._missing), 0

    @property
    def contradicted(self) -> int:
        """Return the number of claims that do not hold."""
        return sum(not each.holds for each in self.results)

    def run(self, jobs: int | None) -> TutorError | None:
        """Make the missing runs, `jobs` at a time, and judge all pages.

        Returns:
            The error that ended the check early, or None.

        Raises:
            LabUnavailable: No guest can run here.
        """
        experiments = list(self._missing.values())
        if not experiments:
            self._report_complete(())
            return None
        where = asyncio.run(pool.find_place(experiments, "guest", "virtual", jobs))
        seconds = sum(each.seconds for each in experiments)
        self._remark(
            f"{count(len(experiments), 'run')} to make, {seconds:.0f} s of the lab's time, {where.why}"
        )
        stopped = run_until_signal(self._make(experiments, where))
        self._cache.prune()
        return stopped

    async def _make(self, experiments: Sequence[Experiment], where: Place) -> TutorError | None:
        waiting = set(self._missing)
        try:
            with Bar("claims", len(experiments)) as bar:
                await asyncio.to_thread(self._report_complete, waiting)
                async with aclosing(run_into_cache(experiments, where, self._cache)) as ended:
                    async for number, problem in ended:
                        key = self._cache.key(experiments[number])
                        self._record(key, problem)
                        waiting.discard(key)
                        bar.advance(experiments[number].name)
                        await asyncio.to_thread(self._report_complete, waiting)
        except asyncio.CancelledError:
            return LabError("stopped")
        except TutorError as error:
            return error
        return None

    def _record(self, key: str, problem: str) -> None:
        if problem:
            self._runs.failed[key] = problem
        else:
            self.made += 1

    def _report_complete(self, waiting: Iterable[str]) -> None:
        """Judge and print the pages with complete runs, in course order."""
        missing = set(waiting)
        while self._pages and missing.isdisjoint(self._keys(self._pages[0])):
            results = self._runs.results(self._pages.pop(0))
            self.results += results
            if not self._quiet:
                print_lines(lines(results))

    def _keys(self, page: Iterable[Judged]) -> Iterator[str]:
        return (self._cache.key(each) for claim in page for each in claim.runs)

    def _remark(self, text: str) -> None:
        """Print a remark on standard error, so that results can be redirected to a file."""
        if not self._quiet:
            remark(text)

    def summary(self, problems: Sequence[str]) -> list[str]:
        """Return the summary line."""
        parts = [count(len(self.results), "claim")]
        if left := sum(map(len, self._pages)):
            parts.append(f"{left} not judged")
        parts.append(f"{self.contradicted} contradicted" if self.contradicted else "none contradicted")
        if problems:
            parts.append(count(len(problems), "problem"))
        new_runs = f"{count(self.made, 'run')} made, {self.needed - self.missing} from the cache"
        return [f"{', '.join(parts)} ({new_runs})"]

    def document(self) -> dict[str, object]:
        """Return all results as plain JSON."""
        return {
            "claims": [each.document for each in self.results],
            "contradicted": self.contradicted,
            "not_judged": sum(map(len, self._pages)),
            "runs": {"needed": self.needed, "made": self.made, "failed": list(self._runs.failed.values())},
        }


def lines(results: Sequence[ClaimResult]) -> list[str]:
    """Format a line per claim: file, line, claim, measured value, verdict. On a terminal the file is a heading."""
    heads = [str(each.of.file) for each in results[:1]] if width() is not None else []
    rows = [
        (
            f"  {each.of.line}" if heads else f"{each.of.file}:{each.of.line}:",
            f'"{_short(each.of.text)}"',
            each.found,
        )
        for each in results
    ]
    return heads + [
        f"{line}  {toned('holds', 'good') if each.holds else toned(f'DOES NOT HOLD: {each.of.expectation}', 'bad')}"
        for line, each in zip(table(rows, indent=0), results, strict=True)
    ]


_SHORT = 44
"""Characters of a claim's text that are shown."""


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1].rstrip()}…"
