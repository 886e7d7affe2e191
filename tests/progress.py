"""How far a run of many tests is, from its first second on: how many of how many, what failed, how long it takes."""

from __future__ import annotations

import sys
import time
from collections.abc import Sequence
from typing import Any

import pytest

from tests import durations

EVERY = 10.0
"""Seconds between two lines in a log; a terminal's line is drawn anew each second."""


class Progress:
    """A plugin of the process that gives tests out to others. Owns the line on a terminal."""

    def __init__(self) -> None:
        self._terminal = sys.stdout.isatty()
        self._began = self._shown = time.monotonic()
        self._left: dict[str, float] = {}
        self._total = self._weight = 0.0
        self._failed = 0
        self._running = True

    def pytest_sessionstart(self) -> None:
        self._say("collecting, some 20 s")

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        if not self._left:
            self._left = {nodeid: durations.seconds(nodeid) for nodeid in ids}
            self._total, self._weight = len(ids), sum(self._left.values())
            self._began = time.monotonic()
            self._say(f"{self._total:,} tests")

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.failed:
            self._failed += 1
            self._say(f"{'FAILED' if report.when == 'call' else 'ERROR'} {report.nodeid}")
        if report.when == "teardown":
            self._left.pop(report.nodeid, None)
            if time.monotonic() - self._shown >= (1 if self._terminal else EVERY) or not self._left:
                self._show()

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self) -> None:
        self._running = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_report_teststatus(self, report: Any) -> tuple[str, str, str] | None:
        """No letters while it runs: they say nothing about the time."""
        if (
            self._running
            and isinstance(report, pytest.TestReport)
            and (report.when == "call" or not report.passed)
        ):
            outcome = report.outcome if report.when == "call" or report.skipped else "error"
            return (outcome, "", "") if not hasattr(report, "wasxfail") else None
        return None

    def _show(self) -> None:
        self._shown = time.monotonic()
        done = self._total - len(self._left)
        failed = f", {self._failed} failed" if self._failed else ""
        self._say(f"{done:,.0f} of {self._total:,.0f} tests{failed}, {self._estimate()}", passing=True)

    def _estimate(self) -> str:
        """By the stored times, and by how much faster or slower this machine is."""
        left = sum(self._left.values())
        past = self._weight - left
        if past <= 0 or not left:
            return "done" if not left else "no estimate yet"
        rest = (time.monotonic() - self._began) * left / past
        return f"about {rest / 60:.0f} min left" if rest > 90 else f"about {rest:.0f} s left"

    def _say(self, line: str, passing: bool = False) -> None:
        """Write a line; on a terminal, one that passes is written over by the next."""
        before, after = ("\r\x1b[K", "" if passing else "\n") if self._terminal else ("", "\n")
        sys.stdout.write(f"{before}tests: {line}{after}")
        sys.stdout.flush()
