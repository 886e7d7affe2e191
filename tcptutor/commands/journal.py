"""`tcptutor journal export` and `import`: a student's work on two machines."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from tcptutor import __version__
from tcptutor.base import sizes
from tcptutor.base.errors import JournalError, TutorError, UsageError, quoted
from tcptutor.commands.output import Bar, count, print_json, print_lines, warn
from tcptutor.commands.targets import check_targets
from tcptutor.journal import opened_journal
from tcptutor.journal.chains import export_events, read_events
from tcptutor.journal.journal_file import (
    SUFFIX,
    DamagedRun,
    JournalManifest,
    add_run,
    missing_runs,
    open_journal_file,
    run_files,
    write_journal_file,
)


def export_journal(output: Path, replace: bool, as_json: bool) -> int:
    """Write the journal and its runs to a file, and return the exit code. Raises TutorError."""
    if output.suffix != SUFFIX:
        raise UsageError(
            f"{quoted(output.name)} is not the name of an exported journal: use one that ends in {SUFFIX}"
        )
    check_targets([output], [], replace=replace)
    with opened_journal(warn) as journal:
        rows, folder = list(journal.events()), journal.run_folder or Path()
    if not rows:
        raise UsageError("there is no work to export yet: `tcptutor` opens the course")
    try:
        for _ in read_events(export_events(rows)):
            pass
    except JournalError as error:
        raise TutorError(f"your journal is damaged and cannot be merged with another: {error}") from error
    runs = [file for name in run_files(rows) if (file := folder / name).is_file()]
    made = datetime.now(UTC).isoformat(timespec="seconds")
    with Bar("runs", len(runs)) as bar:
        manifest = JournalManifest(tcptutor=__version__, made=made, events=len(rows))
        write_journal_file(output, manifest, rows, runs, bar.advance)
    size = output.stat().st_size
    if as_json:
        print_json({"file": str(output), "bytes": size, "events": len(rows), "runs": len(runs)})
    else:
        contents = f"{count(len(rows), 'event')}, {count(len(runs), 'run')}"
        print_lines(
            [
                f"wrote {output}, {sizes.decimal(size)}: {contents}",
                f"`tcptutor journal import {output.name}` adds it to your work on another machine",
            ]
        )
    return 0


def import_journal(file: Path, as_json: bool) -> int:
    """Merge an exported journal into the student's journal, and return the exit code. Raises TutorError."""
    damaged: list[str] = []
    with open_journal_file(file) as found, opened_journal(warn) as journal:
        try:
            added = journal.merge(found.events)
        except UsageError as error:
            raise UsageError(f"cannot import {file}: {error}") from error
        folder = journal.run_folder or Path()
        missing = missing_runs(found, folder)
        with Bar("runs", len(missing)) as bar:
            for name, digest in missing.items():
                try:
                    add_run(found, name, digest, folder)
                except DamagedRun as error:
                    damaged.append(name)
                    warn(f"left out: {error}")
                bar.advance(name)
    runs = len(missing) - len(damaged)
    if as_json:
        print_json({"file": str(file), "events": added, "runs": runs, "damaged_runs": damaged})
    elif added or runs:
        print_lines([f"imported {count(added, 'event')} and {count(runs, 'run')} from {file}"])
    else:
        print_lines([f"nothing to import: all that can be read in {file} is here already"])
    return 1 if damaged else 0
