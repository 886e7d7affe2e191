"""Content linter: problems a lesson's author should fix before students read it.

`load` rejects files that cannot be read or marked; the linter also checks quality: prose that fits its
column, feedback for every choice, levels of hints, unused files.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from tcptutor.authoring.banks import bank_problems
from tcptutor.authoring.choices import choice_problems, module_choice_problem
from tcptutor.authoring.claim_problems import claim_problems, settings_of, unclaimed
from tcptutor.authoring.claims import claim_run
from tcptutor.authoring.examples import example_problems
from tcptutor.authoring.figures import figure_problems
from tcptutor.authoring.observations import observation_problems
from tcptutor.authoring.page_order import PageOrder, position_problems
from tcptutor.authoring.paths import misplaced_skips, pretest_problems, teaser_problems
from tcptutor.authoring.recall import opening_problem
from tcptutor.authoring.reference import reference_problems
from tcptutor.authoring.source_figures import unsupported
from tcptutor.authoring.texts import (
    MAX_WORDS,
    MAX_WORDS_AFTER,
    all_texts,
    length_problems,
    readability_problems,
    spoilers,
    texts_after,
    texts_by_key,
    where,
)
from tcptutor.authoring.translations import find_problems
from tcptutor.authoring.unit_systems import unit_problems
from tcptutor.authoring.wording import wording
from tcptutor.base import places
from tcptutor.base.errors import UsageError, unknown
from tcptutor.course import glossary
from tcptutor.course.activities.predict import Predict
from tcptutor.course.activities.read_off import ReadOff
from tcptutor.course.activity import Question
from tcptutor.course.claim import Claim
from tcptutor.course.experiments import Catalogue
from tcptutor.course.lesson_file import (
    PRETEST_FILE,
    LessonFile,
    files_by_step,
    module_folders,
    step_files,
)
from tcptutor.course.outline import Course, Module, read_course
from tcptutor.course.paths import PRETEST
from tcptutor.course.published import damaged, implausible, is_citation, is_of_document, unresolved
from tcptutor.course.step import Step
from tcptutor.spec import Experiment


def lint(folder: Path | None = None) -> list[str]:
    """Return every problem of the course in `folder` (default: the installed course), one line each."""
    root = folder or places.lessons()
    course, damage = read_course(root)
    problems = [*map(str, (*damage, *damaged())), *(f"published/{line}" for line in implausible())]
    say = _speaker(LessonFile(root / "course.toml", root))
    if not damage and not course.modules:
        problems.append(say("is empty: list at least one module", "modules"))
    folders, catalogue = module_folders(root), Catalogue(root)
    listed = {module.id for module in course.modules}
    for id_, path in folders.items():
        if id_ not in listed and not any(path.name in line for line in problems):
            problems.append(say(f"does not list the module {id_!r}, although its folder exists", "modules"))
    steps = [step for module in course.modules for step in module.steps]
    used = {
        ran.name
        for step in steps
        for ran in (step.experiment or step.sweep, step.shell, step.challenge)
        if ran
    }
    # An unreadable page may use any experiment.
    is_whole = all(len(step_files(folders[each.id])) == len(each.steps) for each in course.modules)
    for module in course.modules:
        problems += _module(module, folders[module.id], root, catalogue)
        if reason := opening_problem(module, course):
            problems.append(str(LessonFile(folders[module.id] / "module.toml", root).problem(reason)))
        problems += _experiments(module, used if is_whole else None, folders[module.id], root)
    files = _files(course, folders)
    unread = _unread(course, folders)
    problems += _references(course, files, root, unread)
    for module_id, page, key, reason in example_problems(course):
        problems.append(_speaker(LessonFile(files[module_id, page], root))(reason, key))
    problems += wording(course, root, files, unread)
    problems += find_problems(root).problems
    return list(dict.fromkeys(problems))


Say = Callable[..., str]


def _speaker(file: LessonFile) -> Say:
    return lambda reason, key="": str(file.problem(reason, key))


def _module(module: Module, folder: Path, root: Path, catalogue: Catalogue) -> Iterator[str]:
    say = _speaker(LessonFile(folder / "module.toml", root))
    files = step_files(folder)
    for key in ("title", "objectives", *(["sources"] if _is_shipped(root) else [])):
        if not getattr(module, key):
            yield say("is empty", key)
    if not files:
        yield say("has no page: add a file named like 01-first-page.md next to this one")
    for path in sorted(set(folder.glob("*.md")) - {*files, folder / PRETEST_FILE}):
        yield _speaker(LessonFile(path, root))("is ignored: name a page like 02-one-lossy-flow.md")
    if reason := module_choice_problem(module):
        yield say(reason)
    numbers = Counter(path.name[:2] for path in files)
    for path in files:
        if numbers[path.name[:2]] > 1:
            yield _speaker(LessonFile(path, root))(
                "has the same number as another page: renumber one of them"
            )
    yield from _pretest(module, catalogue, _speaker(LessonFile(folder / PRETEST_FILE, root)))
    by_id = files_by_step(folder)
    for number, step in enumerate(module.steps):
        say = _speaker(LessonFile(by_id[step.id], root))
        for variant in (step, *step.variants):
            yield from _step(variant, module.id, catalogue, say)
        before = {each.id for each in module.steps[:number] if each.experiment}
        if step.experiment and step.experiment.compare_with and step.experiment.compare_with not in before:
            yield say(
                f"no earlier page of this module runs an experiment as {step.experiment.compare_with!r}",
                "experiment.compare_with",
            )
        yield from _drawn(step, module.steps[:number], say)
        for asked in step.activities_of(Question):
            if asked.page and asked.page not in by_id:
                reason = unknown("page", asked.page, [each.id for each in module.steps])
                yield say(reason, f"question {asked.id}: page")


def _pretest(module: Module, catalogue: Catalogue, say: Say) -> Iterator[str]:
    if module.pretest is not None:
        yield from _step(module.pretest, module.id, catalogue, say)
        yield from (say(reason, key) for key, reason in pretest_problems(module))


def _drawn(step: Step, before: Sequence[Step], say: Say) -> Iterator[str]:
    """Check that a page and the page it is compared with use the same variant."""
    earlier = {each.id: each for each in before}
    first = earlier.get(step.same_variant_as)
    if step.same_variant_as and (
        first is None or first.same_variant_as or len(first.variants) != len(step.variants)
    ):
        yield say(
            "must name an earlier page with the same number of variants and no same_variant_as of its own",
            "same_variant_as",
        )
    compared = earlier.get(step.experiment.compare_with) if step.experiment else None
    if compared and compared.variants and compared.variant_page != step.variant_page:
        yield say(
            f"variants must match those of {compared.id!r}: set same_variant_as = {compared.variant_page!r}",
            "same_variant_as",
        )


def _is_shipped(root: Path) -> bool:
    """Return whether the course is ours, which names the source of everything."""
    return root.resolve() == places.shipped_lessons().resolve()


def _experiments(module: Module, used: set[str] | None, folder: Path, root: Path) -> Iterator[str]:
    """Check the experiments of a module; `used` is unknown if a page cannot be read."""
    say = _speaker(LessonFile(folder / "module.toml", root))
    for name, experiment in module.experiments.items():
        short = name.partition("/")[2]
        of_file = _speaker(LessonFile(folder / f"experiments/{short}.toml", root))
        yield from _experiment(experiment, of_file, needs_source=_is_shipped(root))
        if used is not None and name not in used and short not in module.extra_experiments:
            yield say(f"no page uses the experiment {short!r}: use it, or list it here", "extra_experiments")
    for short in module.extra_experiments:
        if not (folder / f"experiments/{short}.toml").exists():
            yield say(f"no experiment {short!r}", "extra_experiments")


def _experiment(experiment: Experiment, say: Say, *, needs_source: bool) -> Iterator[str]:
    if not experiment.title.strip():
        yield say("is empty", "title")
    if not experiment.sources and needs_source:
        yield say(
            'is empty: name the published result it corresponds to, or a work, "author: title, year"',
            "sources",
        )
    for source in experiment.sources:
        reason = unresolved(source)
        if reason and not is_citation(source) and (needs_source or is_of_document(source)):
            yield say(reason, "sources")


def _claims(step: Step, module: str, catalogue: Catalogue, say: Say) -> Iterator[str]:
    later = texts_after(step)
    after, anywhere = [text for _, text in later], all_texts(step)
    built: list[Experiment | None] = []
    for number, claim in enumerate(step.claims, start=1):
        where = f"claim[{number}]"
        texts = anywhere if claim.may_precede_run else after
        for key, reason in claim_problems(claim, texts, module, step.setup, catalogue.build):
            yield say(reason, f"{where}.{key}".rstrip("."))
        with suppress(UsageError):  # reported above
            built += claim_run(claim, module, step.setup, catalogue.build)
    if step.setup is not None:
        with suppress(UsageError):
            built.append(claim_run(OWN, module, step.setup, catalogue.build).of)
    columns = step.setup.columns.values() if step.setup else ()
    values = [str(value) for column in columns for value in column]
    settings = list(settings_of(filter(None, built), values))
    for key, text in texts_by_key(step):
        yield from (say(reason, key) for reason in unsupported(key, text, step.claims, settings))
    if step.setup is None:
        return
    for key, text in later:
        if key.endswith(STATES):
            for written in unclaimed(text, step.claims, settings):
                yield say(
                    f"{written!r} has no [[claim]]: add one with this text and the quantity to measure", key
                )


STATES = ("after_run", "idea", "explanation", "feedback")
"""Key suffixes of texts that report results of the run."""
OWN = Claim(text="", quantity="link")
"""Placeholder claim about the page's own experiment."""


def _files(course: Course, folders: dict[str, Path]) -> dict[tuple[str, str], Path]:
    return {
        (module.id, step): path
        for module in course.modules
        for step, path in {
            **files_by_step(folders[module.id]),
            PRETEST: folders[module.id] / PRETEST_FILE,
        }.items()
    }


def _unread(course: Course, folders: dict[str, Path]) -> frozenset[str]:
    """Return the pages whose files are there and could not be read, MODULE/PAGE: references to them may be right."""
    on_disk = {f"{id_}/{page}" for id_, folder in folders.items() for page in files_by_step(folder)}
    return frozenset(
        on_disk - {f"{module.id}/{step.id}" for module in course.modules for step in module.steps}
    )


def _references(
    course: Course, files: dict[tuple[str, str], Path], root: Path, unread: frozenset[str]
) -> Iterator[str]:
    """Check the page references of pages and glossary entries."""
    order = PageOrder(course, unread)
    for module in course.modules:
        for step in module.steps:
            say = _speaker(LessonFile(files[module.id, step.id], root))
            for variant in (step, *step.variants):
                for key, reason in order.problems(variant, f"{module.id}/{step.id}"):
                    yield say(reason, key)
    say = _speaker(LessonFile(root / glossary.NAME, root))
    for term in glossary.readable_glossary(root):
        for reason in (*order.missing(term.text), *position_problems(term.text)):
            yield say(reason, f"term {term.word!r}.text")


def _of_sweep(step: Step) -> Iterator[tuple[str, str]]:
    """Yield the mistakes of predictions and questions on a sweep page."""
    for predict in step.activities_of(Predict):
        if step.sweep is not None:
            yield from ((f"predict.{key}", reason) for key, reason in step.sweep.prediction_problems(predict))
        elif predict.about_curve:
            yield (
                "predict.knee" if predict.knee else "predict.at",
                "has no effect without a sweep on this page: remove it",
            )
    if step.sweep is not None:
        for asked in step.activities_of(ReadOff):
            yield (
                f"question {asked.id}: kind",
                "a sweep has no single run to read off: ask for a value of the curve",
            )


def _step(step: Step, module: str, catalogue: Catalogue, say: Say) -> Iterator[str]:
    if not step.title.strip():
        yield say("is empty", "title")
    for reason in readability_problems(step.prose, step.title, MAX_WORDS):
        yield say(reason, "prose")
    yield from (say(reason, "prose") for reason in length_problems(step.prose))
    if step.experiments:
        for reason in readability_problems(step.after_run, step.title, MAX_WORDS_AFTER):
            yield say(reason, "after_run")
    elif step.after_run:
        yield say("is never shown without an experiment on this page: remove it", "after_run")
    if step.published:
        for reason in readability_problems(step.published, step.title, MAX_WORDS_AFTER):
            yield say(reason, "published")
    yield from (say(reason, "teaser") for reason in teaser_problems(step))
    yield from (say(reason, key) for key, reason in reference_problems(step))
    yield from (say(reason, key) for key, reason in misplaced_skips(step))
    experiment = next(iter(step.experiments), None)
    yield from (say(reason, key) for key, reason in spoilers(step))
    yield from (say(reason, key) for key, reason in unit_problems(step))
    yield from (say(reason, key) for key, reason in choice_problems(step))
    yield from (say(reason, key) for key, reason in bank_problems(step))
    yield from (say(reason, key) for key, reason in figure_problems(step))
    yield from (say(reason, key) for key, reason in _of_sweep(step))
    yield from _claims(step, module, catalogue, say)
    yield from (say(reason, key) for key, reason in observation_problems(step, module))
    for activity in step.activities:
        for key, reason in activity.problems(experiment):
            yield say(reason, f"{where(activity)}{key}".rstrip(".: "))
