"""Names of pages, experiments and runs on the command line; errors suggest the command that fits the name."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterable
from pathlib import Path

from tcptutor import exchange
from tcptutor.base import places
from tcptutor.base.errors import UsageError, unknown
from tcptutor.commands.output import warn
from tcptutor.course.experiments import Catalogue, overrides_of, short_name
from tcptutor.course.outline import Module, pages, read_course
from tcptutor.course.step import Step
from tcptutor.run import Run
from tcptutor.spec import Experiment

_NUMBERED = re.compile(r"\d+\.\d+")
"""A page's number on the screen: module and page, such as 1.9."""


def find_page(name: str) -> tuple[Module, Step]:
    """Return the page of a name like tcp-basics/a-larger-window, tcp-basics/7, 1.7 or a-larger-window.

    Raises UsageError if no page or several pages have the name.
    """
    named = {f"{module.id}/{step.id}": (module, step) for module, step in all_pages()}
    if is_page_name(name):
        (of_page,) = pages(places.lessons(), name).modules
        (step,) = of_page.steps
        return named[f"{of_page.id}/{step.id}"]
    same = [full for full in named if full.partition("/")[2] == name]
    if len(same) == 1:
        return named[same[0]]
    if same:
        raise UsageError(f"{name!r} is the name of {len(same)} pages: write {' or '.join(same)}")
    if name in {module.id for module, _ in named.values()}:
        raise UsageError(
            f"{name} is a module: write a page of it as {name}/1, `tcptutor list {name}` names them"
        )
    ids = dict.fromkeys(full.partition("/")[2] for full in named)
    raise UsageError(unknown("page", name, ids, "write it like 1.7 or MODULE/PAGE"))


def is_page_name(name: str) -> bool:
    """Return True for MODULE/PAGE and for a number such as 1.7; the page need not exist."""
    return name.strip("/").count("/") == 1 or is_page_number(name)


def is_page_number(name: str) -> bool:
    """Return True for a number such as 1.7; the page need not exist."""
    return _NUMBERED.fullmatch(name) is not None


def find_experiment(name: str, command: str) -> str:
    """Return the full name of an experiment.

    Args:
        name: Its full name, or its short name if that is unique.
        command: The command that takes it, such as `tcptutor run`, for the suggestion.

    Raises:
        UsageError: The name is unknown or ambiguous; for a page or a module, the message names the command to use.
    """
    try:
        return Catalogue(places.lessons()).full_name(name)
    except UsageError as error:
        raise UsageError(_instead_of_experiment(name, command) or str(error)) from None


def what_runs(module: Module, step: Step, command: str) -> tuple[str, str]:
    """Describe a page's experiment, e.g. "runs tcp-basics/large-window", and return the equivalent command, if any.

    Args:
        module: The page's module.
        step: The page.
        command: A command that takes an experiment and --set, such as `tcptutor run`.
    """
    name = f"{module.id}/{step.id}"
    if run := step.experiment or step.challenge:
        return f"runs {run.name}", f"{command} {_arguments(run.experiment)}"
    if step.sweep:
        return f"sweeps {step.sweep.name}", f"tcptutor sweep {name}"
    if step.shell:
        return "opens a shell", f"tcptutor shell {name}"
    return "runs no experiment", ""


def open_run(name: str) -> tuple[Run, Path]:
    """Load the run of that name, as `exchange.open_run` does.

    Raises UsageError if no run has the name; for a page or an experiment, the message explains how to list its runs.
    """
    try:
        return exchange.open_run(name, warn)
    except UsageError as error:
        reason = _instead_of_run(name) if name and not os.path.lexists(name) else ""
        raise UsageError(reason or str(error)) from None


def page_numbers(chosen: Iterable[tuple[Module, Step]]) -> str:
    """Return the numbers of pages, such as "1.4, 1.6"."""
    return ", ".join(f"{module.number}.{module.step_ids.index(step.id) + 1}" for module, step in chosen)


def all_pages() -> list[tuple[Module, Step]]:
    """Return the readable pages of the course, in order."""
    return [(module, step) for module in read_course()[0].modules for step in module.steps]


def _arguments(experiment: Experiment) -> str:
    changed = overrides_of(experiment, Catalogue(places.lessons()))
    return " ".join(
        [experiment.name, *(f"--set {shlex.quote(f'{key}={text}')}" for key, text in changed.items())]
    )


def _instead_of_experiment(name: str, command: str) -> str:
    """Return which command to use for a module or a page; empty for any other name."""
    modules = {word: each.id for each in read_course()[0].modules for word in (each.id, str(each.number))}
    if name in modules:
        return f"{name} is a module: `tcptutor list {modules[name]}` names its experiments"
    try:
        module, step = find_page(name)
    except UsageError as error:
        # 1.99 cannot be a mistyped experiment.
        return str(error) if is_page_number(name) else ""
    does, instead = what_runs(module, step, command)
    remedy = f"`{instead}`" if instead else f"`tcptutor list {module.id}` names experiments"
    return f"{module.id}/{step.id} is a page that {does}: {remedy}"


def _instead_of_run(name: str) -> str:
    with contextlib.suppress(UsageError):
        experiment = Catalogue(places.lessons()).full_name(name)
        return f"{name} is an experiment, not a run: `tcptutor runs {short_name(experiment)}` lists its runs"
    with contextlib.suppress(UsageError):
        module, step = find_page(name)
        return f"{name} is a page, not a run: `tcptutor runs --page {module.id}/{step.id}` lists its runs"
    return ""
