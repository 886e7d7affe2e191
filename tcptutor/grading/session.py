"""Grades the hand-ins of a class, on this machine's cores or on a Dask cluster."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path

from tcptutor.backends.ending import run_until_signal, terminate_like_ctrl_c
from tcptutor.base.errors import LabError, TutorError, UsageError
from tcptutor.grading import batch
from tcptutor.grading.batch import GradingBasis
from tcptutor.grading.grade import GradedFile, mark_superseded


def grade_all(
    paths: Sequence[Path],
    basis: GradingBasis,
    jobs: int | None,
    cluster: str | None,
    on_graded: Callable[[str], None],
) -> list[GradedFile]:
    """Grade every hand-in and mark the superseded ones.

    Args:
        paths: The hand-ins.
        basis: The lessons, course code and modules to grade by.
        jobs: Processes at a time; None for a process per core.
        cluster: Address of the Dask scheduler for remote grading; None for this machine.
        on_graded: Called with the name of each hand-in when it is graded.

    Returns:
        An entry per path, in order; `problem` is the reason for a missing grade.

    Raises:
        UsageError: Both `jobs` and `cluster` are given, or a module does not exist.
        LabError: The grading was stopped, or the scheduler went away.
    """
    if cluster is not None and jobs is not None:
        raise UsageError(
            "--cluster: each worker grades as many hand-ins at a time as it has threads: omit --jobs"
        )
    found: dict[int, GradedFile] = {}

    def take(number: int, result: GradedFile) -> None:
        found[number] = result
        on_graded(result.file)

    if cluster is None:
        with terminate_like_ctrl_c():
            for number, result in batch.grade_files(paths, basis, jobs):
                take(number, result)
    else:
        stopped = run_until_signal(_on_cluster(paths, basis, cluster, take))
        if stopped is not None:
            raise stopped
    return mark_superseded([found[number] for number in range(len(paths))])


def none_counts(graded: Sequence[GradedFile]) -> bool:
    """Return whether all of several hand-ins are of a different course, which suggests a wrong key."""
    read = [each.grade for each in graded if each.grade is not None]
    return len(read) > 1 and all(grade.refused for grade in read)


async def _on_cluster(
    paths: Sequence[Path], basis: GradingBasis, cluster: str, take: Callable[[int, GradedFile], None]
) -> TutorError | None:
    # Imported only with a cluster: Dask is slow to import.
    from tcptutor.grading import remote  # noqa: PLC0415

    names = batch.display_names(paths)
    try:
        async with aclosing(remote.grade_on_cluster(paths, basis, cluster)) as results:
            async for number, (grade, problem) in results:
                take(number, GradedFile(names[number], grade, problem))
    except asyncio.CancelledError:
        return LabError("stopped: the same command goes on with what was graded")
    return None
