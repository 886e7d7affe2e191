"""Order of the worked examples: each set has a solved example, an example with a gap, and a question."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Literal, NamedTuple

from tcptutor.course.activities.example import Example
from tcptutor.course.activities.numeric import ExampleSet, Numeric
from tcptutor.course.outline import Course
from tcptutor.course.step import Step

Form = Literal["solved", "gap", "alone"]

_BEFORE: dict[Form, Form] = {"gap": "solved", "alone": "gap"}
_NAMES: dict[Form, str] = {
    "solved": "a solved example",
    "gap": "an example with a gap",
    "alone": "a numeric question with that `example`",
}


class _Use(NamedTuple):
    """Example or question of a set, with its place."""

    module: str
    step: Step
    key: str
    form: Form


def example_problems(course: Course) -> Iterator[tuple[str, str, str, str]]:
    """Yield module, page, key and reason of each example or question that does not fade in course order.

    The essential path leaves the deeper pages out.
    """
    by_set: dict[ExampleSet, list[_Use]] = {}
    for name, use in _uses(course):
        by_set.setdefault(name, []).append(use)
    for name, uses in by_set.items():
        for number, use in enumerate(uses):
            before = _BEFORE.get(use.form)
            seen = {
                each.form
                for each in uses[:number]
                if use.step.path == "deeper" or each.step.path == "essential"
            }
            if before is not None and before not in seen:
                yield (
                    use.module,
                    use.step.id,
                    use.key,
                    f"{_NAMES[before]} of the set {name!r} must come first, on a page of the same path",
                )
        for form in ("gap", "alone"):
            if form not in {use.form for use in uses}:
                last = uses[-1]
                yield last.module, last.step.id, last.key, f"the set {name!r} lacks {_NAMES[form]}"


def _uses(course: Course) -> Iterator[tuple[ExampleSet, _Use]]:
    """Yield the examples and questions of all sets in course order."""
    for module in course.modules:
        for step in module.steps:
            for example in step.activities_of(Example):
                form: Form = "solved" if example.gap is None else "gap"
                yield example.topic, _Use(module.id, step, f"example {example.id}: set", form)
            for question in step.activities_of(Numeric):
                if question.example is not None:
                    key = f"question {question.id}: example"
                    yield question.example, _Use(module.id, step, key, "alone")
