"""The content linter: what a lesson's author should mend before a student reads it.

`load` refuses what cannot be read or marked; the linter also judges what can: prose that fits its column,
feedback for every choice, hints in levels, files that nothing uses.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path

from tcptutor import places
from tcptutor.course import claims, prose
from tcptutor.course.activity import Question
from tcptutor.course.experiments import module_folders
from tcptutor.course.files import LessonFile
from tcptutor.course.load import read_course
from tcptutor.course.model import Course, Module, Step
from tcptutor.course.published import unresolved
from tcptutor.course.spoilers import spoilers, texts_after
from tcptutor.course.wording import wording
from tcptutor.errors import unknown
from tcptutor.run import Run
from tcptutor.spec import Experiment


def lint(folder: Path | None = None) -> list[str]:
    """Every problem of the course in `folder` (default: where it is installed), one line each."""
    root = folder or places.lessons()
    course, damage = read_course(root)
    problems = [str(error) for error in damage]
    say = _speaker(LessonFile(root / "course.toml", root))
    if not damage and not course.modules:
        problems.append(say("the course has none", "modules"))
    folders = module_folders(root)
    listed = {module.id for module in course.modules}
    for id_, path in folders.items():
        if id_ not in listed and not any(path.name in line for line in problems):
            problems.append(say(f"does not list the module {id_!r}, which has a folder", "modules"))
    steps = [step for module in course.modules for step in module.steps]
    used = {step.experiment.name for step in steps if step.experiment}
    for module in course.modules:
        problems += _module(module, folders[module.id], root)
        problems += _experiments(module, used, folders[module.id], root)
    problems += wording(course, root, _files(course, folders))
    return problems


PUBLISHED = "**Published**"
"""Begins a paragraph with others' figures."""
Say = Callable[..., str]


def _speaker(file: LessonFile) -> Say:
    return lambda reason, key="": str(file.problem(reason, key))


def _module(module: Module, folder: Path, root: Path) -> Iterator[str]:
    say = _speaker(LessonFile(folder / "module.toml", root))
    for key in ("title", "objectives", "sources", "steps"):
        if not getattr(module, key):
            yield say("is empty", key)
    if module.minutes <= 0:
        yield say(f"{module.minutes} is not a time that a student can plan with", "minutes")
    files = sorted(folder.glob("[0-9][0-9]-*.md"))
    for path in sorted(set(folder.glob("*.md")) - set(files)):
        yield _speaker(LessonFile(path, root))("is not read: a step is named like 02-one-lossy-flow.md")
    numbers = Counter(path.name[:2] for path in files)
    for path in files:
        if numbers[path.name[:2]] > 1:
            yield _speaker(LessonFile(path, root))("shares its number with another step: their order is open")
    # Backwards: of two files with one id the first was read, so it shall win.
    by_id = {path.stem[3:]: path for path in reversed(files)}
    for number, step in enumerate(module.steps):
        say = _speaker(LessonFile(by_id[step.id], root))
        yield from _step(step, say)
        before = {each.id for each in module.steps[:number] if each.experiment}
        if step.experiment and step.experiment.beside and step.experiment.beside not in before:
            yield say(f"no page before this one runs as {step.experiment.beside!r}", "experiment.beside")
        for asked in step.of(Question):
            if asked.read and asked.read not in by_id:
                reason = unknown("page", asked.read, [each.id for each in module.steps])
                yield say(reason, f"question {asked.id}: read")


def _experiments(module: Module, used: set[str], folder: Path, root: Path) -> Iterator[str]:
    say = _speaker(LessonFile(folder / "module.toml", root))
    for name, experiment in module.experiments.items():
        short = name.partition("/")[2]
        yield from _experiment(experiment, _speaker(LessonFile(folder / f"experiments/{short}.toml", root)))
        if name not in used and short not in module.extra:
            yield say(f"no step uses the experiment {short!r}: use it, or list it here", "extra")
    for short in module.extra:
        if f"{module.id}/{short}" not in module.experiments:
            yield say(f"no experiment {short!r}", "extra")


def _experiment(experiment: Experiment, say: Say) -> Iterator[str]:
    if not experiment.title.strip():
        yield say("is empty", "title")
    if not experiment.sources:
        yield say("names no published result that it corresponds to", "sources")
    for source in experiment.sources:
        reason = unresolved(source)
        if reason:
            yield say(reason, "sources")


def _claims(step: Step, experiment: Experiment | None, say: Say) -> Iterator[str]:
    for number, claim in enumerate(step.claims, start=1):
        where = f"claim[{number}]"
        wrong = [(f"{where}.{key}", reason) for key, reason in claims.malformed(claim, texts_after(step))]
        if experiment is None:
            wrong.append((where, "there is no experiment on this page to claim anything of"))
        elif not wrong and (reason := claims.wrong_before(claim, experiment)):
            wrong.append((where, reason))
        yield from (say(reason, key) for key, reason in wrong)
    if experiment is None:
        return
    for paragraph in step.after.split("\n\n"):
        if not paragraph.startswith(PUBLISHED):
            for written in claims.unclaimed(paragraph, step.claims, experiment):
                yield say(f"{written!r} needs a [[claim]] that says what it is of", "after")


def _files(course: Course, folders: dict[str, Path]) -> dict[tuple[str, str], Path]:
    """The pages' files by module and step."""
    return {
        (module.id, path.stem[3:]): path
        for module in course.modules
        # Backwards: of two files with one id the first was read.
        for path in sorted(folders[module.id].glob("[0-9][0-9]-*.md"), reverse=True)
    }


def claiming(folder: Path) -> Iterator[tuple[str, Step]]:
    """The pages of the course in `folder` that claim something of their run, by MODULE/STEP."""
    for module in read_course(folder)[0].modules:
        yield from (
            (f"{module.id}/{step.id}", step) for step in module.steps if step.experiment and step.claims
        )


def contradicted(step: Step, run: Run) -> list[str]:
    """What `run` says otherwise than the page."""
    return [reason for claim in step.claims if (reason := claims.wrong_after(claim, run))]


def _step(step: Step, say: Say) -> Iterator[str]:
    if not step.title.strip():
        yield say("is empty", "title")
    for reason in prose.problems(step.prose, step.title, prose.MAX_WORDS):
        yield say(reason, "prose")
    if step.experiment:
        for reason in prose.problems(step.after, step.title, prose.MAX_WORDS_AFTER):
            yield say(reason, "after")
    elif step.after:
        yield say("there is no experiment on this page, so it is never used", "after")
    experiment = step.experiment.experiment if step.experiment else None
    yield from (say(reason, key) for key, reason in spoilers(step))
    yield from _claims(step, experiment, say)
    for activity in step.activities:
        where = f"{activity.table} {activity.id}: " if activity.many else f"{activity.table}."
        for key, reason in activity.problems(experiment):
            yield say(reason, f"{where}{key}".rstrip(".: "))
