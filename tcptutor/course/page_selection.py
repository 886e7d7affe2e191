"""Pages selected by a target such as MODULE or MODULE/PAGE."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from msgspec import structs

from tcptutor.base.errors import UsageError, unknown
from tcptutor.course.experiments import files_by_step, module_folders
from tcptutor.course.loader import read_course
from tcptutor.course.model import Module, Step


class Pages(NamedTuple):
    """Selected part of the course."""

    modules: tuple[Module, ...]
    """Modules reduced to the selected pages."""
    files: dict[tuple[str, str], Path]
    """Files of the selected pages, by module and step."""


def pages(root: Path, target: str = "") -> Pages:
    """Select the pages of MODULE or MODULE/PAGE (id or number); an empty target selects all.

    Unreadable pages are left out.

    Raises:
        UsageError: The module or page does not exist.
    """
    course, folders = read_course(root)[0], module_folders(root)
    id_, _, wanted = target.strip("/").partition("/")
    modules = [module for module in course.modules if id_ in ("", module.id)]
    if not modules:
        raise UsageError(unknown("module", id_, [module.id for module in course.modules]))
    files = {}
    found = []
    for module in modules:
        steps = _steps(module, wanted)
        by_id = files_by_step(folders[module.id])
        files.update({(module.id, step.id): by_id[step.id] for step in steps})
        found.append(structs.replace(module, steps=steps))
    return Pages(tuple(found), files)


def _steps(module: Module, wanted: str) -> tuple[Step, ...]:
    steps = [step for number, step in enumerate(module.steps, 1) if wanted in ("", step.id, str(number))]
    if wanted and not steps:
        raise UsageError(unknown("page", wanted, [step.id for step in module.steps]))
    return tuple(steps)
