"""`tcptutor list [NAME]`: the course's modules with their experiments, or all about one name, a term's meaning too."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, NamedTuple

from tcptutor import course, spec
from tcptutor.base.columns import table
from tcptutor.base.errors import UsageError, unknown
from tcptutor.commands.list import parameter
from tcptutor.commands.output import print_json, print_lines, toned, warn, width
from tcptutor.commands.words import count
from tcptutor.course.experiments import short_name
from tcptutor.course.glossary import of_name, readable_glossary
from tcptutor.spec.parameters import sysctl_name


class _Explained(NamedTuple):
    """All about one name."""

    lines: list[str]
    document: dict[str, Any]


def list_course(name: str | None, as_json: bool) -> int:
    """The exit code: 1 when a part of the course cannot be read. Raises UsageError for a name that there is not."""
    whole, problems = course.read_course()
    if name is None:
        if as_json:
            print_json({"modules": [_described(module) for module in whole.modules]})
        else:
            print_lines(_all(whole))
    else:
        found = _explained(whole, name)
        print_json(found.document) if as_json else print_lines(found.lines)
    for problem in problems:
        warn(str(problem))
    return 1 if problems else 0


def _all(whole: course.Course) -> list[str]:
    """A line for each experiment; its settings are told by its name, a module's pages by the module's."""
    lines = []
    for module in whole.modules:
        size = f"{count(len(module.steps), 'page')}, {module.minutes} minutes"
        lines += [
            toned(f"{module.number}  {module.id}: {module.title}, {size}", "title"),
            *_named(module, 3),
            "",
        ]
    return [
        *lines,
        toned("Parameters, for --set", "title"),
        *_folded(", ".join(spec.PARAMETERS), 3),
        "",
        *_folded(
            "`tcptutor list NAME` tells all about one of them: the pages of a module with `list parallel-streams`,"
            " the settings of an experiment with `list random-loss` (in full parallel-streams/random-loss),"
            " the values of a parameter with `list loss`",
            0,
        ),
    ]


def _named(module: course.Module, indent: int) -> list[str]:
    """The module's experiments, a line each where it fits."""
    room = width()
    rows = [(short_name(name), each.title) for name, each in module.experiments.items()]
    return table(rows, indent=indent, fold=room is not None, width=room or 0)


def _folded(text: str, indent: int) -> list[str]:
    """On a terminal in lines of its width."""
    room = width()
    return table([(text,)], indent=indent, fold=room is not None, width=room or 0)


def _explained(whole: course.Course, name: str) -> _Explained:
    """What can be run by that name, and what it means as a term."""
    term = of_name(readable_glossary(whole.root), name)
    try:
        found = _runnable(whole, name)
    except UsageError:
        if term is None:
            raise
        found = _Explained([], {})
    if term is None:
        return found
    lines = [*found.lines, toned(term.title, "title"), *_folded(term.text, 2), f"  read on: {term.read}"]
    document = {
        "word": term.word,
        "short": term.short,
        "also": list(term.also),
        "text": term.text,
        "read": term.read,
    }
    return _Explained(lines, {**found.document, "term": document})


def _runnable(whole: course.Course, name: str) -> _Explained:
    """A module or an experiment may have a parameter's name: then both are told, the parameter first."""
    modules = {module.id: module for module in whole.modules}
    experiments = {full: each for module in whole.modules for full, each in module.experiments.items()}
    found = [full for full in experiments if name in (full, short_name(full))]
    parts = []
    if (known := name.replace("-", "_")) in spec.PARAMETERS:
        parts.append(_Explained(*parameter.explained(whole, spec.PARAMETERS[known])))
    if name in modules:
        parts.append(_module(modules[name]))
    elif len(found) == 1:
        parts.append(_experiment(whole, experiments[found[0]]))
    if parts:
        lines = [line for part in parts for line in part.lines]
        return _Explained(lines, {key: value for part in parts for key, value in part.document.items()})
    if found:
        raise UsageError(f"{name!r} is the name of {len(found)} experiments: give {' or '.join(found)}")
    if sysctl := sysctl_name(name):
        return _Explained(*parameter.sysctl_explained(sysctl))
    terms = [form for term in readable_glossary(whole.root) for form in term.forms]
    names = dict.fromkeys([*modules, *map(short_name, experiments), *experiments, *spec.PARAMETERS, *terms])
    raise UsageError(
        unknown("module, experiment, parameter or term", name, names, "`tcptutor list` names them")
    )


def _module(module: course.Module) -> _Explained:
    pages = [(f"{place}", step.title, ", ".join(step.kinds)) for place, step in enumerate(module.steps, 1)]
    lines = [
        toned(f"{module.id}: {module.title}, {module.minutes} minutes", "title"),
        *_paragraphs("objectives", module.objectives),
        *_paragraphs("sources", module.sources),
        "  pages",
        *table(pages, indent=4),
        "  experiments",
        *_named(module, 4),
        "  open it",
        f"    tcptutor --module {module.id}",
    ]
    return _Explained(lines, _described(module))


def _experiment(whole: course.Course, experiment: spec.Experiment) -> _Explained:
    settings = spec.settings(experiment)
    uses = [
        (module.id, f"{place} {step.title}")
        for module in whole.modules
        for place, step in enumerate(module.steps, 1)
        if (run := step.experiment or step.sweep) and run.name == experiment.name
    ]
    rows = [
        (name, value, spec.PARAMETERS[name].help if name in spec.PARAMETERS else "a sysctl")
        for name, value in settings.items()
    ]
    lines = [
        toned(f"{experiment.name}: {experiment.title}", "title"),
        *_paragraphs("sources", experiment.sources),
        "  settings",
        *table(rows, indent=4),
        *(["  on the pages", *table(uses, indent=4)] if uses else []),
        "  run it",
        f"    tcptutor run {experiment.name}",
    ]
    return _Explained(lines, _described_experiment(experiment))


def _paragraphs(title: str, texts: Iterable[str]) -> list[str]:
    return [f"  {title}", *(line for text in texts for line in _folded(text, 4))]


def _described(module: course.Module) -> dict[str, Any]:
    return {
        "id": module.id,
        "title": module.title,
        "steps": [{"id": step.id, "title": step.title, "kinds": list(step.kinds)} for step in module.steps],
        "experiments": [_described_experiment(each) for each in module.experiments.values()],
    }


def _described_experiment(experiment: spec.Experiment) -> dict[str, Any]:
    return {
        "id": experiment.name,
        "title": experiment.title,
        "parameters": experiment.parameters,
        "sources": list(experiment.sources),
    }
