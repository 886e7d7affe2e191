"""The claims of a course against runs: those that are not kept yet are made, the pages are told in their order."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Iterator, Sequence
from contextlib import aclosing
from itertools import groupby
from operator import attrgetter
from typing import NamedTuple

from tcptutor.authoring.claims import Judgement
from tcptutor.authoring.page_claims import PageClaim
from tcptutor.authoring.trials import PageTrial
from tcptutor.backends.ending import run_until_signal
from tcptutor.base.columns import table
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.commands.bar import Bar
from tcptutor.commands.output import print_lines, remark, toned, width
from tcptutor.commands.words import count, duration
from tcptutor.course.figures.run_part import MeasuredRun
from tcptutor.fleet import place
from tcptutor.fleet.cache import RunCache, run_into_cache
from tcptutor.fleet.place import Place
from tcptutor.spec import Experiment

Judged = PageClaim | PageTrial


class ClaimResult(NamedTuple):
    """A claim, or a challenge, and what its runs say of it."""

    of: Judged
    judgements: tuple[Judgement, ...]
    """One for each seed."""

    @property
    def holds(self) -> bool:
        return all(each.agrees for each in self.judgements)

    @property
    def found(self) -> str:
        """What each seed has, or the formula; equal ones once."""
        told = ", ".join(dict.fromkeys(each.found for each in self.judgements))
        return told if self.of.is_measured else f"the formula: {told}"

    @property
    def document(self) -> dict[str, object]:
        """It as plain JSON."""
        return {
            "page": self.of.page,
            "file": str(self.of.file),
            "line": self.of.line,
            **self.of.document,
            "measured": [each.value for each in self.judgements],
            "found": [each.found for each in self.judgements],
            "holds": self.holds,
        }


class RunResults:
    """The runs that claims ask for: from the cache, or why there is none."""

    def __init__(self, cache: RunCache) -> None:
        self._cache = cache
        self.failed: dict[str, str] = {}
        """Why a run could not be made, by its key."""
        self._latest: dict[str, MeasuredRun] = {}

    def find(self, experiment: Experiment) -> MeasuredRun:
        """Raises UsageError where there is none."""
        key = self._cache.key(experiment)
        if key not in self._latest:
            run = self._cache.get(experiment)
            if run is None:
                raise UsageError(
                    self.failed.get(key, "its run is not there any more: the same command makes it again")
                )
            self._latest[key] = MeasuredRun(run)
        return self._latest[key]

    def results(self, page: Iterable[Judged]) -> list[ClaimResult]:
        """Of one page: its runs are read once, and forgotten."""
        self._latest.clear()
        found = [ClaimResult(each, each.judge(self.find)) for each in page]
        self._latest.clear()
        return found


class ClaimCheck:
    """Owns what has been run and told so far."""

    def __init__(self, claims: Sequence[Judged], as_json: bool, cache: RunCache | None = None) -> None:
        """cache: by default that of this user. Raises LabUnavailable where there is no guest to ask."""
        self._pages = [list(group) for _, group in groupby(claims, key=attrgetter("page"))]
        self._quiet = as_json
        self.results: list[ClaimResult] = []
        """Of the pages that have been judged, in the order of the course."""
        self._cache = cache or (RunCache() if any(claim.runs for claim in claims) else RunCache("none"))
        self._runs = RunResults(self._cache)
        needed = {self._cache.key(each): each for claim in claims for each in claim.runs}
        self._missing = {key: each for key, each in needed.items() if not self._cache.has(each)}
        self.needed, self.missing, self.made = len(needed), len(self._missing), 0

    @property
    def contradicted(self) -> int:
        """Claims that do not hold."""
        return sum(not each.holds for each in self.results)

    def run(self, jobs: int | None) -> TutorError | None:
        """Make the runs that are missing, `jobs` at a time, and judge; gives what ended it too early.

        Raises LabUnavailable.
        """
        experiments = list(self._missing.values())
        if not experiments:
            self._tell_ready(())
            return None
        where = asyncio.run(place.find(experiments, "guest", "virtual", jobs))
        about = duration(place.expected_seconds(experiments, where))
        self._remark(f"{count(len(experiments), 'run')} to make, {where.why}: about {about}")
        stopped = run_until_signal(self._make(experiments, where))
        self._cache.prune()
        return stopped

    async def _make(self, experiments: Sequence[Experiment], where: Place) -> TutorError | None:
        waiting = set(self._missing)
        try:
            with Bar("claims", len(experiments)) as bar:
                await asyncio.to_thread(self._tell_ready, waiting)
                async with aclosing(run_into_cache(experiments, where, self._cache)) as ended:
                    async for number, problem in ended:
                        key = self._cache.key(experiments[number])
                        self._take(key, problem)
                        waiting.discard(key)
                        bar.one_more(experiments[number].name)
                        await asyncio.to_thread(self._tell_ready, waiting)
        except asyncio.CancelledError:
            return LabError("stopped")
        except TutorError as error:
            return error
        return None

    def _take(self, key: str, problem: str) -> None:
        if problem:
            self._runs.failed[key] = problem
        else:
            self.made += 1

    def _tell_ready(self, waiting: Iterable[str]) -> None:
        """Judge and print the pages whose runs are all there, in the order of the course."""
        missing = set(waiting)
        while self._pages and missing.isdisjoint(self._keys(self._pages[0])):
            results = self._runs.results(self._pages.pop(0))
            self.results += results
            if not self._quiet:
                print_lines(lines(results))

    def _keys(self, page: Iterable[Judged]) -> Iterator[str]:
        return (self._cache.key(each) for claim in page for each in claim.runs)

    def _remark(self, text: str) -> None:
        """On standard error, so that results can go to a file."""
        if not self._quiet:
            remark(text)

    def summary(self, problems: Sequence[str]) -> list[str]:
        """The last line for people."""
        told = [count(len(self.results), "claim")]
        if left := sum(map(len, self._pages)):
            told.append(f"{left} not judged")
        told.append(f"{self.contradicted} contradicted" if self.contradicted else "none contradicted")
        if problems:
            told.append(count(len(problems), "problem"))
        made = f"{count(self.made, 'run')} made, {self.needed - self.missing} kept from before"
        return [f"{', '.join(told)} ({made})"]

    def document(self) -> dict[str, object]:
        """All results as plain JSON."""
        return {
            "claims": [each.document for each in self.results],
            "contradicted": self.contradicted,
            "not_judged": sum(map(len, self._pages)),
            "runs": {"needed": self.needed, "made": self.made, "failed": list(self._runs.failed.values())},
        }


def lines(results: Sequence[ClaimResult]) -> list[str]:
    """A line for each claim of a page: file, line, claim, measured, verdict. On a terminal the file stands above."""
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
"""Characters of a claim's words that are shown."""


def _short(text: str) -> str:
    words = " ".join(text.split())
    return words if len(words) <= _SHORT else f"{words[: _SHORT - 1].rstrip()}…"
