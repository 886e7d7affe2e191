"""The terms that a course explains: a lesson sets each in **bold** where it is first used, and nowhere else."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from tcptutor.course.model import Course, Module, Step

_BOLD = re.compile(r"\*\*([^*]+)\*\*(?:, (\w+)(?=[:,.;]))?")
_END = re.compile(r"(?<=[.!?])\s+|\n\s*\n|\n- ")


class Term(NamedTuple):
    """A word, and where it is explained."""

    word: str
    """With its short form where it has one: "round-trip time, RTT"."""
    sentence: str
    """In which it is first used, without marks."""
    module: Module
    step: Step


def glossary(course: Course) -> list[Term]:
    """In the order of the course; the first place of each."""
    found: dict[str, Term] = {}
    for module in course.modules:
        for step in module.steps:
            for word, sentence in bold(step.prose):
                found.setdefault(word.lower(), Term(word, sentence, module, step))
    return list(found.values())


def bold(prose: str) -> Iterator[tuple[str, str]]:
    """What stands in bold, and its sentence."""
    for match in _BOLD.finditer(prose):
        ends = [0, *(end.end() for end in _END.finditer(prose, 0, match.start()))]
        after = _END.search(prose, match.end())
        sentence = prose[ends[-1] : after.start() if after else len(prose)]
        word = ", ".join(part for part in match.groups() if part)
        yield " ".join(word.split()), " ".join(re.sub(r"[*`]|^- ", "", sentence).split()).strip("();")
