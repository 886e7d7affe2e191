"""`tcptutor list [NAME]`: list the course's modules and experiments, or describe a name."""

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


class _Description(NamedTuple):
    """Description of a name, as text and JSON."""

    lines: list[str]
    document: dict[str, Any]


def list_course(name: str | None, as_json: bool) -> int:
    """Print the list or a description and return the exit code: 1 if a part of the course is unreadable.

    Raises UsageError for an unknown name.
    """
    catalog, problems = course.read_course()
    if name is None:
        if as_json:
            print_json({"modules": [_described(module) for module in catalog.modules]})
        else:
            print_lines(_overview(catalog))
    else:
        matches = _describe(catalog, name)
        print_json(matches.document) if as_json else print_lines(matches.lines)
    for problem in problems:
        warn(str(problem))
    return 1 if problems else 0


def _overview(catalog: course.Course) -> list[str]:
    """Format a line per experiment; settings and pages are shown by name."""
    lines = []
    for module in catalog.modules:
        size = f"{count(len(module.steps), 'page')}, {module.minutes} minutes"
        lines += [
            toned(f"{module.number}  {module.id}: {module.title}, {size}", "title"),
            *_experiment_rows(module, 3),
            "",
        ]
    return [
        *lines,
        toned("Parameters, for --set", "title"),
        *_folded(", ".join(spec.PARAMETERS), 3),
        "",
        *_folded(
            "`tcptutor list NAME` describes one of them: the pages of a module with `list parallel-streams`,"
            " the settings of an experiment with `list random-loss` (in full parallel-streams/random-loss),"
            " the values of a parameter with `list loss`",
            0,
        ),
    ]


def _experiment_rows(module: course.Module, indent: int) -> list[str]:
    room = width()
    rows = [(short_name(name), each.title) for name, each in module.experiments.items()]
    return table(rows, indent=indent, fold=room is not None, width=room or 0)


def _folded(text: str, indent: int) -> list[str]:
    room = width()
    return table([(text,)], indent=indent, fold=room is not None, width=room or 0)


def _describe(catalog: course.Course, name: str) -> _Description:
    """Describe the runnable `name`, and its meaning as a term."""
    term = of_name(readable_glossary(catalog.root), name)
    try:
        matches = _describe_runnable(catalog, name)
    except UsageError:
        if term is None:
            raise
        matches = _Description([], {})
    if term is None:
        return matches
    lines = [*matches.lines, toned(term.title, "title"), *_folded(term.text, 2), f"  read on: {term.page}"]
    document = {
        "word": term.word,
        "abbreviation": term.abbreviation,
        "synonyms": list(term.synonyms),
        "text": term.text,
        "page": term.page,
    }
    return _Description(lines, {**matches.document, "term": document})


def _describe_runnable(catalog: course.Course, name: str) -> _Description:
    """Describe a module, experiment or parameter; a shared name describes both, the parameter first."""
    modules = {module.id: module for module in catalog.modules}
    experiments = {full: each for module in catalog.modules for full, each in module.experiments.items()}
    matches = [full for full in experiments if name in (full, short_name(full))]
    parts = []
    if (known := name.replace("-", "_")) in spec.PARAMETERS:
        parts.append(_Description(*parameter.explained(catalog, spec.PARAMETERS[known])))
    if name in modules:
        parts.append(_module(modules[name]))
    elif len(matches) == 1:
        parts.append(_experiment(catalog, experiments[matches[0]]))
    if parts:
        lines = [line for part in parts for line in part.lines]
        return _Description(lines, {key: value for part in parts for key, value in part.document.items()})
    if matches:
        raise UsageError(f"{name!r} is the name of {len(matches)} experiments: give {' or '.join(matches)}")
    if sysctl := sysctl_name(name):
        return _Description(*parameter.sysctl_explained(sysctl))
    terms = [form for term in readable_glossary(catalog.root) for form in term.forms]
    names = dict.fromkeys([*modules, *map(short_name, experiments), *experiments, *spec.PARAMETERS, *terms])
    raise UsageError(
        unknown("module, experiment, parameter or term", name, names, "`tcptutor list` names them")
    )


def _module(module: course.Module) -> _Description:
    pages = [(f"{place}", step.title, ", ".join(step.kinds)) for place, step in enumerate(module.steps, 1)]
    lines = [
        toned(f"{module.id}: {module.title}, {module.minutes} minutes", "title"),
        *_paragraphs("objectives", module.objectives),
        *_paragraphs("sources", module.sources),
        "  pages",
        *table(pages, indent=4),
        "  experiments",
        *_experiment_rows(module, 4),
        "  open it",
        f"    tcptutor --module {module.id}",
    ]
    return _Description(lines, _described(module))


def _experiment(catalog: course.Course, experiment: spec.Experiment) -> _Description:
    settings = spec.settings(experiment)
    uses = [
        (module.id, f"{place} {step.title}")
        for module in catalog.modules
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
    return _Description(lines, _described_experiment(experiment))


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
