"""`tcptutor list [NAME]`: list the course's modules and experiments, or describe a name."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from tcptutor import course, spec
from tcptutor.base.columns import table
from tcptutor.base.errors import UsageError, unknown
from tcptutor.commands.names import find_page, is_page_number, page_numbers, what_runs
from tcptutor.commands.output import count, print_json, print_lines, toned, warn, width
from tcptutor.course import duration
from tcptutor.course.experiments import short_name
from tcptutor.course.glossary import of_name, readable_glossary
from tcptutor.course.page_references import without_links
from tcptutor.course.paths import PATHS
from tcptutor.course.step import Step
from tcptutor.spec import Experiment, Parameter
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


def _examples(catalog: course.Course) -> str:
    of_a_parameter = "the values of a parameter with `list loss`"
    module = next((each for each in catalog.modules if each.experiments), None)
    if module is None:
        return of_a_parameter
    name = next(iter(module.experiments))
    return (
        f"the pages of a module with `list {module.id}`, the settings of an experiment with"
        f" `list {short_name(name)}` (in full {name}), {of_a_parameter}"
    )


def _overview(catalog: course.Course) -> list[str]:
    """Format a line per experiment; settings and pages are shown by name."""
    lines = []
    for module in catalog.modules:
        lines += [
            toned(f"{module.number}  {module.id}: {module.title}, {_size(module)}", "title"),
            *_experiment_rows(module, 3),
            "",
        ]
    return [
        *lines,
        toned("Parameters, for --set", "title"),
        *_folded(", ".join(spec.PARAMETERS), 3),
        "",
        *_folded(f"`tcptutor list NAME` describes one of them: {_examples(catalog)}", 0),
    ]


def _size(module: course.Module) -> str:
    """Return "28 pages in 1 h 50, 12 of them essential in 40 min"."""
    essential = [step for step in module.steps if step.path == "essential"]
    everything = f"{count(len(module.steps), 'page')} in {_time(module.steps)}"
    if len(essential) == len(module.steps):
        return everything
    return f"{everything}, {len(essential)} of them essential in {_time(essential)}"


def _time(steps: Sequence[Step]) -> str:
    return duration.in_words(duration.total_minutes(steps))


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
    text = without_links(term.text)
    lines = [*matches.lines, toned(term.title, "title"), *_folded(text, 2), f"  read on: {term.page}"]
    document = {
        "word": term.word,
        "abbreviation": term.abbreviation,
        "synonyms": list(term.synonyms),
        "text": text,
        "page": term.page,
    }
    return _Description(lines, {**matches.document, "term": document})


def _describe_runnable(catalog: course.Course, name: str) -> _Description:
    """Describe a module, experiment or parameter; a shared name describes both, the parameter first."""
    modules = {word: module for module in catalog.modules for word in (module.id, str(module.number))}
    experiments = {full: each for module in catalog.modules for full, each in module.experiments.items()}
    matches = [full for full in experiments if name in (full, short_name(full))]
    parts = []
    if (known := name.replace("-", "_")) in spec.PARAMETERS:
        parts.append(_Description(*explained(catalog, spec.PARAMETERS[known])))
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
        return _Description(*sysctl_explained(sysctl))
    try:
        return _page(*find_page(name))
    except UsageError:
        if is_page_number(name):
            raise
    terms = [form for term in readable_glossary(catalog.root) for form in term.forms]
    names = dict.fromkeys([*modules, *map(short_name, experiments), *experiments, *spec.PARAMETERS, *terms])
    names |= dict.fromkeys(f"{module.id}/{page}" for module in catalog.modules for page in module.step_ids)
    raise UsageError(
        unknown("module, experiment, parameter or term", name, names, "`tcptutor list` names them")
    )


def _module(module: course.Module) -> _Description:
    pages = [
        (f"{place}", step.title, step.path, f"{duration.minutes(step)} min", ", ".join(step.kinds))
        for place, step in enumerate(module.steps, 1)
    ]
    lines = [
        toned(f"{module.id}: {module.title}, {_size(module)}", "title"),
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


def _page(module: course.Module, step: Step) -> _Description:
    number, minutes = page_numbers([(module, step)]), duration.minutes(step)
    does, command = what_runs(module, step, "tcptutor run")
    lines = [
        toned(f"{module.id}/{step.id}: {step.title}, page {number}", "title"),
        *_folded(f"{', '.join(step.kinds)}; {minutes} min, {step.path}; it {does}", 2),
        *(["  run it", f"    {command}"] if command else []),
    ]
    run = step.experiment or step.challenge or step.sweep
    return _Description(lines, {"module": module.id, **_described_page(step), "experiment": run and run.name})


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
    lines = [line for text in texts for line in _folded(text, 4)]
    return [f"  {title}", *lines] if lines else []


def _described(module: course.Module) -> dict[str, Any]:
    return {
        "id": module.id,
        "title": module.title,
        "minutes": {
            path: duration.total_minutes(step for step in module.steps if step.is_on(path)) for path in PATHS
        },
        "steps": [_described_page(step) for step in module.steps],
        "experiments": [_described_experiment(each) for each in module.experiments.values()],
    }


def _described_experiment(experiment: spec.Experiment) -> dict[str, Any]:
    return {
        "id": experiment.name,
        "title": experiment.title,
        "parameters": experiment.parameters,
        "sources": list(experiment.sources),
    }


def _described_page(step: Step) -> dict[str, Any]:
    return {
        "id": step.id,
        "title": step.title,
        "path": step.path,
        "minutes": duration.minutes(step),
        "kinds": list(step.kinds),
    }


_UNITS = {
    "rate": "a rate: bit/s, kbit/s, Mbit/s, Gbit/s",
    "time": "a time: s, ms, us, min",
    "ratio": "a probability: a number with %",
    "size": "a size: bytes, kB, MB, KiB, MiB",
    "window": "a size: bytes, kB, MB, KiB, MiB; or BDP, times the rate and the delay",
    "count": "a whole number",
    "number": "a number",
}
_KIND_EXAMPLES = {
    "rate": "20Mbit/s", "time": "20ms", "ratio": "0.2%", "size": "16KiB", "window": "0.5BDP", "count": "4",
    "number": "3", "name": "cubic",
}  # fmt: skip
_EXAMPLES = {
    "acks": "on",
    "algorithms": "reno,cubic",
    "bytes": "2MB",
    "capture": "on",
    "capture_at": "h1-eth0,s1-eth2",
    "crosses": "both,first",
    "capture_size": "64MiB",
    "ce_threshold": "1ms",
    "changes": "'10s rate=5Mbit/s'",
    "directions": "forward,reverse",
    "duration": "10s",
    "messages": "200kB",
    "off_time": "2s",
    "on_times": "3s",
    "requests": "50kB",
    "short_arrivals": "5",
    "short_load": "20%",
    "short_size": "10kB",
    "think_time": "500ms",
    "mss": "1000",
    "mtu": "1400",
    "offloads": "on",
    "pair_delays": "10ms,40ms",
    "rate_trace": "'0s 10Mbit/s; 5s 2Mbit/s'",
    "snaplen": "1514",
    "starts": "0s,5s",
    "udp_streams": "1",
    "warmup": "2s",
}
"""Examples for parameters where the example of the kind would be out of bounds, or odd."""
_WITH = {
    "algorithms": ("streams=2",),
    "capture_at": ("capture=on",),
    "second_delay": ("second_rate=20Mbit/s",),
    "second_queue": ("second_rate=20Mbit/s", "second_delay=20ms"),
    "crosses": ("second_rate=20Mbit/s", "pairs=2"),
    "capture_size": ("capture=on",),
    "ce_threshold": ("rate=20Mbit/s", "qdisc=fq_codel", "ecn=on"),
    "directions": ("streams=2",),
    "interval": ("messages=200kB",),
    "off_time": ("on_times=3s",),
    "short_load": ("rate=20Mbit/s",),
    "short_size": ("short_arrivals=5",),
    "short_sizes": ("short_arrivals=5",),
    "think_time": ("requests=50kB",),
    "jitter_shape": ("jitter=2ms",),
    "pair_delays": ("pairs=2",),
    "reverse_queue": ("reverse_rate=1Mbit/s",),
    "snaplen": ("capture=on",),
    "starts": ("streams=2",),
    "udp_rate": ("udp_streams=1",),
}
"""Other settings that the example needs."""


def explained(whole: course.Course, known: Parameter) -> tuple[list[str], dict[str, Any]]:
    """Describe the parameter in lines and as a JSON document."""
    defaults = Experiment(name="")
    default, sample = known.text(known.of(defaults)), example(known)
    if known.name == "queue":
        default = "1 BDP, at least 64 full frames"
    users = _users(whole, known, defaults)
    rows = [
        ("what", known.help),
        ("written as", _UNITS.get(known.kind, "one of its values" if known.choices else "a name")),
        ("values", known.bounds),
        ("default", default),
        *(
            ("set by" if place == 0 else "", f"{who}: {value}")
            for place, (who, value) in enumerate(users.items())
        ),
        ("example", sample),
    ]
    if known.kind in ("changes", "trace"):
        rows[1] = ("written as", "a list, separated by semicolons")
    elif known.is_list:
        rows[1] = ("written as", f"a list, separated by commas, of {rows[1][1]}")
    room = width()
    lines = table(rows, (10,), fold=room is not None, width=room or 0)
    document = {
        "parameter": known.name,
        "help": known.help,
        "kind": known.kind,
        "values": known.bounds,
        "default": known.of(defaults),
        "set_by": users,
        "example": sample,
    }
    return [toned(known.name, "title"), *lines], document


def sysctl_explained(name: str) -> tuple[list[str], dict[str, Any]]:
    """Describe a sysctl below net.ipv4, which --set accepts as well."""
    what = f"the hosts' sysctl net.ipv4.{name}, passed to the kernel unchanged"
    sample = f"tcptutor run random-loss --set {name}=VALUE"
    lines = table(
        [("what", what), ("see", "man 7 tcp; ip-sysctl.rst of the kernel"), ("example", sample)], (10,)
    )
    return [toned(name, "title"), *lines], {"parameter": name, "help": what, "example": sample}


def example(known: Parameter) -> str:
    """Return a command that sets the parameter."""
    usual = known.choices[-1] if known.choices else _KIND_EXAMPLES.get(known.kind, "")
    settings = [f"{known.name}={_EXAMPLES.get(known.name, usual)}", *_WITH.get(known.name, ())]
    return " ".join(["tcptutor run random-loss", *(f"--set {each}" for each in settings)])


def _users(whole: course.Course, known: Parameter, defaults: Experiment) -> dict[str, str]:
    """Return the experiments and pages with a value other than the default, and that value."""
    users: dict[str, str] = {}
    files = {name: each for module in whole.modules for name, each in module.experiments.items()}
    for module in whole.modules:
        for name, experiment in module.experiments.items():
            if (value := known.of(experiment)) != known.of(defaults):
                users[name] = known.text(value)
        for place, step in enumerate(module.steps, 1):
            if ran := step.experiment or step.sweep:
                usual = known.of(files[ran.name])
                values = [known.of(each) for each in step.experiments]
                if any(value != usual for value in values):
                    shown = dict.fromkeys(known.text(value) for value in values)
                    users[f"{module.id}, page {place}"] = ", ".join(shown)
    return users
