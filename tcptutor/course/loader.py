"""Loading of pages: front matter becomes activities with their experiments."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from functools import partial
from pathlib import Path

import msgspec

from tcptutor.base.errors import ContentError, ParameterError, UsageError
from tcptutor.course.activities.challenge import ChallengeTable
from tcptutor.course.activities.run import ExperimentTable, SweepFrontMatter
from tcptutor.course.activity import Activity, Setting, Stage
from tcptutor.course.claim import PageSetup
from tcptutor.course.experiments import Catalogue
from tcptutor.course.figure_places import placed
from tcptutor.course.lesson_file import LessonFile, numbered, qualified_name
from tcptutor.course.lesson_format import StepText, Translate, read_step
from tcptutor.course.page_references import PageTitles
from tcptutor.course.paths import PRETEST
from tcptutor.course.step import Step
from tcptutor.course.translated_files import Translation
from tcptutor.figures.figure import Figure
from tcptutor.spec import Experiment


class StepLoader:
    """Loader of the pages below `root`, with experiments from `catalogue`."""

    def __init__(self, root: Path, catalogue: Catalogue, translation: Translation | None = None) -> None:
        self._catalogue, self._translation = catalogue, translation
        self._titles = PageTitles(root, translation.title) if translation else PageTitles(root)

    def load(self, module: str, file: LessonFile) -> Step:
        """Load a page of `module`, with its variants, in the original if its translation cannot be shown.

        Raises:
            ContentError: The file cannot be read.
        """
        if self._translation is not None:
            with suppress(ContentError):
                return self.load_translated(module, file, partial(self._translation.page, file.path))
        return self.load_translated(module, file, None)

    def load_translated(self, module: str, file: LessonFile, translate: Translate | None) -> Step:
        """Load a page with these translated words. Raises ContentError as `load`, also for words that do not fit."""
        entry = numbered(file.path.stem)
        if entry is None:
            raise file.problem("rename the file: steps are named like 02-one-lossy-flow.md")
        texts = read_step(file, self._titles.completing(module), translate)
        first, *others = (self._variant(module, file, entry[1], text) for text in texts)
        return msgspec.structs.replace(first, variants=tuple(others))

    def _variant(self, module: str, file: LessonFile, id_: str, text: StepText) -> Step:
        if text.path is None and id_ != PRETEST:
            raise file.problem('is missing: write "essential" or "deeper"', "path")
        activities = tuple(sorted(self._activities(module, file, text), key=lambda each: each.stage))
        step = Step(
            id=id_,
            title=text.title,
            subtitle=text.subtitle,
            path=text.path or "essential",
            teaser=text.teaser,
            idea=text.idea,
            formula=text.formula,
            prose=text.prose,
            activities=activities,
            after_run=text.after_run,
            published=text.published,
            claims=text.claims,
            setup=_setup(module, text),
            same_variant_as=text.same_variant_as,
        )
        return msgspec.structs.replace(step, figures=tuple(self._figures(module, file, text, step)))

    def _activities(self, module: str, file: LessonFile, text: StepText) -> Iterator[Activity]:
        ids: set[str] = set()
        ran = ""
        for key, table in text.tables:

            def named(name: str, overrides: Mapping[str, Setting], key: str = key) -> tuple[str, Experiment]:
                return self._experiment(module, file, key, name, overrides)

            activity = table.activity(named)
            if activity.id in ids:
                reason = f"{activity.id!r} is also the id of another {activity.table} on this page"
                raise file.problem(reason, f"{key}.id")
            ids.add(activity.id)
            if activity.stage is Stage.RUN and ran:
                raise file.problem(
                    f"the page already has [{ran}]: use one experiment, sweep or challenge per page", key
                )
            ran = activity.table if activity.stage is Stage.RUN else ran
            wrong = table.contradiction() or activity.contradiction()
            if wrong:
                raise file.problem(wrong[1], f"{key}.{wrong[0]}")
            yield activity

    def _figures(self, module: str, file: LessonFile, text: StepText, step: Step) -> Iterator[Figure]:
        ids: set[str] = set()
        for number, figure in enumerate(text.figures, start=1):
            key = f"figure[{number}]" if len(text.figures) > 1 else "figure"

            def find(name: str, key: str = key) -> Experiment:
                if name:
                    return self._experiment(module, file, key, name, {})[1]
                if step.network is None:
                    raise file.problem("is missing: the page has no network of its own", f"{key}.experiment")
                return step.network

            if figure.id in ids:
                raise file.problem(
                    f"{figure.id!r} is also the id of another figure on this page", f"{key}.id"
                )
            ids.add(figure.id)
            if wrong := figure.contradiction():
                raise file.problem(wrong[1], f"{key}.{wrong[0]}")
            yield figure.resolve(find)
        for key, words in (
            ("prose", text.prose),
            ("after_run", text.after_run),
            ("published", text.published),
        ):
            for id_ in placed(words):
                if id_ not in ids:
                    raise file.problem(f"places the figure {id_!r}, which the page does not have", key)

    def _experiment(
        self, module: str, file: LessonFile, key: str, name: str, overrides: Mapping[str, Setting]
    ) -> tuple[str, Experiment]:
        full = qualified_name(module, name)
        try:
            return full, self._catalogue.build(full, {each: str(value) for each, value in overrides.items()})
        except ParameterError as error:
            raise file.problem(str(error), f"{key}.set") from None
        except UsageError as error:
            raise file.problem(str(error), f"{key}.name") from None


def _setup(module: str, text: StepText) -> PageSetup | None:
    for _, table in text.tables:
        if isinstance(table, ExperimentTable | SweepFrontMatter | ChallengeTable):
            name = qualified_name(module, table.name)
            if not isinstance(table, SweepFrontMatter):
                return PageSetup(name, table.set)
            return PageSetup(name, table.set, {table.axis: table.values, **table.along})
    return None
