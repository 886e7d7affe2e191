"""Shell completion: scripts for bash, zsh and fish, and candidates for arguments.

A damaged course completes nothing; the command itself reports it.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

import click
from click.shell_completion import CompletionItem, get_completion_class

from tcptutor.base import places
from tcptutor.base.errors import TutorError

SHELLS = ("bash", "zsh", "fish")
_VARIABLE = "_TCPTUTOR_COMPLETE"
_WHERE = {
    "bash": "~/.local/share/bash-completion/completions/tcptutor",
    "zsh": "_tcptutor in a folder of $fpath",
    "fish": "~/.config/fish/completions/tcptutor.fish",
}


def script(command: click.Command, shell: str) -> str:
    """Return the completion script of `command` for a shell, beginning with the place where the shell looks for it."""
    completion = get_completion_class(shell)
    assert completion is not None
    source = completion(command, {}, "tcptutor", _VARIABLE).source()
    if shell == "fish":
        source = source.replace('string split ","', 'string split -m 1 ","')  # click cuts help at a comma
    first, rest = source.split("\n", 1) if source.startswith("#compdef") else ("", source)
    return "\n".join(filter(None, [first, f"# tcptutor: save as {_WHERE[shell]}", rest.strip()]))


_Complete = Callable[[click.Context, click.Parameter, str], list[CompletionItem]]


def _of(names: Callable[[], Iterable[str]]) -> _Complete:
    return _of_context(lambda _: names())


def _of_context(names: Callable[[click.Context], Iterable[str]]) -> _Complete:
    def complete(context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
        with contextlib.suppress(TutorError, OSError):
            return [CompletionItem(name) for name in dict.fromkeys(names(context)) if name.startswith(begun)]
        return []

    return complete


def _experiments() -> Iterator[str]:
    from tcptutor.course.experiments import Catalogue, short_name  # noqa: PLC0415

    full = Catalogue(places.lessons()).file_names
    yield from map(short_name, full)
    yield from full


def _modules() -> Iterator[str]:
    from tcptutor.course.outline import read_course  # noqa: PLC0415

    yield from (module.id for module in read_course(places.lessons())[0].modules)


def _pages(context: click.Context) -> Iterator[str]:
    """Return the pages of the course whose folder the command names, or of the shipped course."""
    from tcptutor.course.outline import read_course  # noqa: PLC0415

    for module in read_course(Path(context.params.get("folder") or places.lessons()))[0].modules:
        yield from (f"{module.id}/{page}" for page in module.step_ids)


def _models() -> Iterator[str]:
    from tcptutor.theory.catalogue import MODELS  # noqa: PLC0415

    yield from MODELS


def _model_inputs(context: click.Context) -> Iterator[str]:
    from tcptutor.theory.catalogue import MODELS  # noqa: PLC0415

    model = MODELS.get(str(context.params.get("name")))
    yield from (f"{argument.name}=" for argument in (model.parameters if model is not None else ()))


def _settings() -> Iterator[str]:
    from tcptutor.spec import PARAMETERS  # noqa: PLC0415

    yield from (f"{name}=" for name in PARAMETERS)


def _runs() -> Iterator[str]:
    from tcptutor.exchange import saved_runs, short_id  # noqa: PLC0415

    yield "last"
    yield from map(short_id, saved_runs())


def _sweep_quantities() -> Iterator[str]:
    from tcptutor.sweep.results import QUANTITIES  # noqa: PLC0415

    yield from QUANTITIES


def _courses() -> Iterator[str]:
    from tcptutor.course.known_courses import known_courses  # noqa: PLC0415

    yield from (each.id for each in known_courses())


def _interfaces() -> Iterator[str]:
    from tcptutor.spec import interface_names  # noqa: PLC0415

    yield from interface_names(1)


EXPERIMENTS = _of(_experiments)
MODULES = _of(_modules)
PAGES = _of_context(_pages)
MODELS = _of(_models)
MODEL_INPUTS = _of_context(_model_inputs)
SETTINGS = _of(_settings)
SWEEP_QUANTITIES = _of(_sweep_quantities)
INTERFACES = _of(_interfaces)


def complete_files(_context: click.Context, _parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file or folder."""
    return [CompletionItem(begun, type="file")]


def complete_runs(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the id of a stored run, or a file's name once it cannot be an id."""
    return _of(_runs)(context, parameter, begun) or complete_files(context, parameter, begun)


def complete_courses(context: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Complete the id of a course that was used before, or a file's name."""
    return [*_of(_courses)(context, parameter, begun), *complete_files(context, parameter, begun)]


EXPERIMENTS_AND_PAGES = _of_context(lambda context: [*_experiments(), *_pages(context)])
EVERYTHING_LISTED = _of_context(lambda context: [*_modules(), *_experiments(), *_pages(context)])
