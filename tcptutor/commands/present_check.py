"""`tcptutor present --check`: make the runs of a lecture, and report problems on this machine."""

from __future__ import annotations

import asyncio
from contextlib import aclosing

from tcptutor.backends.programs import run_until_signal
from tcptutor.base.errors import LabError, TutorError
from tcptutor.commands.machine import print_findings
from tcptutor.commands.output import Bar, count, print_lines, warn
from tcptutor.course.outline import Course
from tcptutor.room.check import LectureCheck
from tcptutor.room.slides import Lecture


def check_lecture(
    course: Course, lecture: Lecture, *, has_votes: bool, is_reachable: bool, backend: str, clock: str
) -> int:
    """Check a lecture and return the exit code: 1 if something will not work, or the check was stopped."""
    check = LectureCheck(course, lecture, has_votes=has_votes, is_reachable=is_reachable)
    stopped = run_until_signal(_prepare(check, backend, clock))
    if stopped is not None:
        warn(f"{stopped}; {count(check.made, 'run')} kept: repeat the command to continue")
        return stopped.exit_code
    findings = check.findings()
    print_findings(findings)
    failed = sum(finding.status == "fail" for finding in findings)
    runs = f"{count(len(check.experiments), 'run')}, {check.made} made now"
    verdict = f"{count(failed, 'thing')} will not work here" if failed else "everything works here"
    print_lines([f"{lecture.title}: {verdict} ({runs})"])
    return 1 if failed else 0


async def _prepare(check: LectureCheck, backend: str, clock: str) -> TutorError | None:
    try:
        with Bar("runs", len(check.experiments)) as bar:
            async with aclosing(check.prepare(backend, clock)) as made:
                async for name, is_new in made:
                    bar.advance(name, is_timed=is_new)
    except asyncio.CancelledError:
        return LabError("stopped")
    except TutorError as error:
        return error
    return None
