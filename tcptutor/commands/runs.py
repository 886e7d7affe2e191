"""`tcptutor runs` and `tcptutor show`: list the stored runs, and show a run or a sweep's table."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from pathlib import Path

import msgspec

from tcptutor import course, exchange
from tcptutor.analysis import document, report
from tcptutor.base import places, units
from tcptutor.base.columns import length, table
from tcptutor.base.errors import JournalError, TutorError, UsageError, unknown
from tcptutor.commands.names import find_experiment, find_page, is_page_name, open_run
from tcptutor.commands.output import count, on_terminal, print_json, print_lines, toned, warn, width
from tcptutor.commands.report import FIDELITY, report_lines
from tcptutor.course.experiments import Catalogue, short_name
from tcptutor.exchange.captured import captured_rtts
from tcptutor.history.index import RunIndex
from tcptutor.history.listing import ListedRun, pages_of, words_of
from tcptutor.history.names import RunNames
from tcptutor.history.summary import RunSummary
from tcptutor.journal import opened_journal
from tcptutor.journal.saved import Benches
from tcptutor.runs import packets
from tcptutor.runs.parts import recover
from tcptutor.sweep.results_file import is_sweep
from tcptutor.sweep.results_file import load as load_sweep

_PLACE = tuple[str, str]
"""Module and step of a page."""


class StoredRun(RunSummary, frozen=True, kw_only=True):
    """A stored run as --json prints it."""

    short: str
    module: str | None
    page: str | None
    """Step of the page where it was made; None for the command line and the workbench."""
    name: str | None
    """Name given to the run, or on the workbench."""
    file: str
    packets: str | None
    """File with its packets; None without any."""


def list_runs(
    experiment: str | None,
    module: str | None,
    page: str | None,
    words: str,
    most: int,
    as_json: bool,
) -> int:
    """List the runs and return the exit code. Raises UsageError for an unknown name."""
    full_name, page = _experiment_and_page(experiment, page, Catalogue(places.lessons()))
    steps = _steps(module, page)
    index = RunIndex(places.runs(), places.lessons())
    matches: list[StoredRun] = []
    more = False
    for listed in _listed_runs(index):
        place = listed.page[:2] if listed.page else None
        if page is not None and place not in steps:
            continue
        if most and len(matches) == most:
            more = True
            break
        if (run := _summarized(listed, index)) is None or run.summary is None:
            continue
        of_module = module in (run.summary.experiment.partition("/")[0], place and place[0])
        if (
            (full_name is None or run.summary.experiment == full_name)
            and (module is None or of_module)
            and run.matches(words_of(words))
        ):
            matches.append(_stored_run(run, run.summary))
    index.save()
    if as_json:
        print_json({"runs": msgspec.to_builtins(matches)})
    elif matches:
        print_lines(_lines(matches))
        if more:
            print_lines([toned(f"the newest {most}: -n 0 lists all", "faint")])
    else:
        matching = "matching " if experiment or module or page or words else ""
        print_lines([f"no {matching}runs in {places.runs()}: make one with `tcptutor run random-loss`"])
    return 0


def _listed_runs(index: RunIndex) -> Iterator[ListedRun]:
    """Yield all stored runs, newest first; their summaries may be missing."""
    recover(index.folder, warn)
    files = index.read()
    if index.notice:
        warn(index.notice)
    begun, names = places_of_runs(), names_of_runs()
    pages = pages_of(begun, course.load()) if files else {}
    for file in files:
        yield ListedRun(file, index.known(file), pages.get(file.stem), names.get(file.stem, ""))


def _summarized(run: ListedRun, index: RunIndex) -> ListedRun | None:
    try:
        return replace(run, summary=index.summary(run.file))
    except TutorError as error:
        warn(f"left out: {error}")
        return None


def _experiment_and_page(
    name: str | None, page: str | None, catalogue: Catalogue
) -> tuple[str | None, str | None]:
    """Return the full name of the experiment and the page, which may have been named in its place."""
    if name is None:
        return None, page
    with contextlib.suppress(UsageError):
        return catalogue.full_name(name), page
    if page is None:
        with contextlib.suppress(UsageError):
            find_page(name)
            return None, name
    return find_experiment(name, "tcptutor runs"), page


def _steps(module: str | None, page: str | None) -> set[_PLACE]:
    """Return the pages that match. Raises UsageError for an unknown module or page."""
    modules = {each.id: each for each in course.load().modules}
    if module is not None and module not in modules:
        raise UsageError(unknown("module", module, modules))
    if page is not None and is_page_name(page):
        found, step = find_page(page)
        return {(found.id, step.id)}
    all_pages = [
        (each.id, number, step.id)
        for each in modules.values()
        for number, step in enumerate(each.steps, 1)
        if module in (None, each.id)
    ]
    steps = {(id_, step) for id_, number, step in all_pages if page in (str(number), step)}
    if page is not None and not steps:
        ids = dict.fromkeys(step for _, _, step in all_pages)
        raise UsageError(unknown("page", page, ids, "write it like 1.7 or MODULE/PAGE"))
    return steps


def places_of_runs() -> Mapping[str, _PLACE]:
    """Return module and step of each run of the journal, by run id; runs of the command line have none."""
    if not os.path.lexists(places.state() / "journal.db"):
        return {}
    try:
        with opened_journal(warn) as journal:
            return journal.pages_of_runs()
    except JournalError as error:
        warn(str(error))
        return {}


def names_of_runs() -> Mapping[str, str]:
    """Return the student's names of runs, by id: names of saved benches and of runs."""
    names: dict[str, str] = {}
    try:
        names |= {each.run: each.name for each in Benches.of_user().all() if each.run}
    except JournalError as error:
        warn(str(error))
    try:
        names |= RunNames.of_user().all()
    except JournalError as error:
        warn(str(error))
    return names


def _stored_run(run: ListedRun, summary: RunSummary) -> StoredRun:
    return StoredRun(
        **msgspec.structs.asdict(summary),
        short=exchange.short_id(run.file),
        module=run.page.module if run.page else None,
        page=run.page.step if run.page else None,
        name=run.name or None,
        file=str(run.file),
        packets=str(packet_file) if (packet_file := packets.file_of(run.file)).exists() else None,
    )


def _lines(matches: Sequence[StoredRun]) -> list[str]:
    """Format the runs in columns, with seed and settings on a second line if the terminal is narrow."""
    head = ("id", "started", "experiment", "throughput", "limited by", "fidelity")
    rows = [head, *(_cells(one, matches) for one in matches)]
    changed = [", ".join(f"{name} {value}" for name, value in one.settings.items()) for one in matches]
    extra = [
        ("seed", "settings"),
        *((units.or_dash(one.seed), text) for one, text in zip(matches, changed, strict=True)),
    ]
    right = (False, False, False, True, False, False)
    full_rows = [(*row, *more) for row, more in zip(rows, extra, strict=True)]
    lines, room = table(full_rows, indent=0, right=(*right, True, False)), width()
    if room is None or max(map(length, lines)) <= room:
        return [toned(lines[0], "title"), *lines[1:]]
    lines = table(rows, indent=0, right=right)
    output = [toned(lines[0], "title")]
    for line, one, text in zip(lines[1:], matches, changed, strict=True):
        below = ", ".join([f"seed {units.or_dash(one.seed)}", *([text] if text else [])])
        output += [line, *table([(below,)], indent=8, fold=True, width=room)]
    return output


def _cells(one: StoredRun, all_of_them: Sequence[StoredRun]) -> tuple[str, ...]:
    short = short_name(one.experiment)
    same = {each.experiment for each in all_of_them if short_name(each.experiment) == short}
    rates = [] if one.throughput_bps is None else [units.rate(one.throughput_bps)]
    rates += [] if one.udp_bps is None else [f"UDP {units.rate(one.udp_bps)}"]
    fidelity = toned(one.fidelity, FIDELITY[one.fidelity]) if one.complete else toned("cut short", "doubt")
    experiment = short if len(same) == 1 else one.experiment
    return (
        one.short,
        _local_minute(one.started),
        f"{experiment} “{one.name}”" if one.name else experiment,
        ", ".join(rates) or "nothing",
        one.limited_by or "",
        fidelity,
    )


def _local_minute(started: str) -> str:
    try:
        return f"{datetime.fromisoformat(started):%Y-%m-%d %H:%M}"
    except ValueError:
        return started


def show_run(name: str, as_json: bool, as_text: bool, all_flows: bool) -> int:
    """Show a run, or the table of a sweep, and return the exit code. Without a terminal it prints the text.

    Raises TutorError for a file that cannot be opened.
    """
    if name and is_sweep(path := Path(name)) and path.is_file():
        return _show_sweep(path, as_json)
    run, path = open_run(name)
    if not (as_json or as_text or all_flows) and on_terminal():
        from tcptutor.ui.frame import show_run as show_on_screen  # noqa: PLC0415  # importing Textual is slow

        return show_on_screen(run, path)
    rtts = captured_rtts(run, path)
    result = report(run, rtts=rtts)
    if as_json:
        print_json(document(run, str(path), rtts))
    if result.is_empty:
        raise TutorError(f"nothing was measured in {path}: {run.unmeasured_reason}")
    if not as_json:
        print_lines(report_lines(run, result, path, all_flows))
    return 0


def _show_sweep(path: Path, as_json: bool) -> int:
    """Print the table that `tcptutor sweep` printed when it wrote the file."""
    from tcptutor.commands import sweep  # noqa: PLC0415  # a list of runs needs less

    results = load_sweep(path)
    if as_json:
        print_json(sweep.document(results, str(path)))
        return 0
    if not results.rows:
        raise TutorError(f"no cell of {path} has a result: finish its sweep")
    print_lines([*sweep.lines(results), f"file  {path}"])
    missing = results.definition.cells - len(results.rows)
    if missing:
        warn(
            f"{count(missing, 'cell')} of {results.definition.cells} are missing: repeat the sweep to continue"
        )
    return 0
