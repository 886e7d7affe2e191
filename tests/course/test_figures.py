"""The figures of the shipped course: each says in words what it shows."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from tcptutor.authoring.figures import figure_problems
from tcptutor.course import load
from tcptutor.figures.figure import Figure
from tcptutor.figures.lines import DATA, Line

FIGURES = [
    pytest.param(figure, id=f"{module.id}/{step.id}/{figure.id}")
    for module in load().modules
    for step in module.steps
    for figure in step.figures
]
NUMBER = re.compile(r"\d+(?:\.\d+)?")
LABELS = ("text", "label", "note", "limit", "share")
"""Keys of what is written in a figure as it stands in its table."""


def labels(data: Any) -> Iterator[str]:
    if isinstance(data, dict):
        for key, value in data.items():
            if key in LABELS and isinstance(value, str):
                yield value
            if key != "set":  # parameters of laws
                yield from labels(value)
    elif isinstance(data, list | tuple):
        for each in data:
            yield from labels(each)


@pytest.mark.parametrize("figure", FIGURES)
def test_a_description_names_the_numbers_of_the_figure(figure: Figure) -> None:
    words = figure.describe()
    numbers = {number for label in labels(msgspec.to_builtins(figure)) for number in NUMBER.findall(label)}
    assert numbers <= set(NUMBER.findall(words)), words
    rest = figure.motion.rest if figure.motion else 0.0
    if any(NUMBER.search(line.text) for line in figure.draw(72, rest)):
        assert NUMBER.search(words), words


class Tower(Figure, frozen=True, kw_only=True, tag_field="kind", tag="tower"):
    """A figure of some lines."""

    floors: int

    def draw(self, width: int, t: float = 0.0) -> list[Line]:
        return [Line.of(("▒", DATA))] * self.floors

    def describe(self) -> str:
        return "A tower."


def test_a_figure_and_its_caption_fit_a_small_terminal() -> None:
    def problems(floors: int, caption: str = "") -> list[str]:
        tower = Tower(id="tower", floors=floors, caption=caption)
        page = msgspec.structs.replace(
            load().modules[0].steps[0],
            prose="![](figure:tower)",
            after_run="",
            published="",
            figures=(tower,),
        )
        return [reason for _, reason in figure_problems(page)]

    assert not problems(19)
    assert any("20 lines" in reason for reason in problems(20))
    assert any("20 lines" in reason for reason in problems(19, "A tall tower."))
