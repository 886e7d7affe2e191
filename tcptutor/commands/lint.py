"""`tcptutor lint`: what is wrong in a course's files, and what its claims say otherwise than runs."""

from __future__ import annotations

import asyncio
from pathlib import Path

import msgspec

from tcptutor import course, places
from tcptutor.commands.output import print_lines
from tcptutor.commands.words import count
from tcptutor.spec import Experiment


def lint_course(folder: Path | None, runs: int = 0) -> int:
    """The exit code: 1 when something is wrong. `runs`: how often each page's experiment is run, each time anew."""
    problems = course.lint(folder or places.lessons())
    print_lines(map(str, problems))
    if runs and not problems:
        problems = asyncio.run(_contradicted(folder, runs))
    print_lines([count(len(problems), "problem") if problems else "the course is well-formed"])
    return 1 if problems else 0


async def _contradicted(folder: Path | None, runs: int) -> list[str]:
    """The claims that runs in the lab contradict. Raises LabUnavailable or LabError."""
    from tcptutor.backends.lab import Lab  # noqa: PLC0415
    from tcptutor.conduct import run_whole  # noqa: PLC0415

    contradicted = []
    lab = Lab()
    try:
        for name, step in course.claiming(folder or places.lessons()):
            for more in range(runs):
                assert step.experiment
                run = await run_whole(lab, _with_seed(step.experiment.experiment, more))
                found = [f"{name}: {reason}" for reason in course.contradicted(step, run)]
                print_lines(found or [f"{name}: seed {run.experiment.seed} agrees"])
                contradicted += found
    finally:
        await lab.close()
    return contradicted


def _with_seed(experiment: Experiment, more: int) -> Experiment:
    return msgspec.structs.replace(experiment, seed=experiment.seed + more)
