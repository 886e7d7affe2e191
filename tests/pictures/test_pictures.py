"""The README's pictures: all are there, small, and one of them moves."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tcptutor.base import places
from tests.pictures import svg
from tests.pictures.scenes import LOOK, SCENES

README = (Path(__file__).parents[2] / "README.md").read_text()
MOST_BYTES = 400_000


@pytest.mark.parametrize("name", SCENES)
def test_a_picture_is_shown_and_described(name: str) -> None:
    path = places.assets() / "pictures" / f"{name}.svg"
    assert path.stat().st_size < MOST_BYTES
    ElementTree.parse(path)  # well-formed
    described = re.search(rf"!\[([^\]]+)\]\(assets/pictures/{name}\.svg\)", README)
    assert described
    assert len(described[1]) > 40


def test_there_are_no_other_pictures() -> None:
    assert {path.stem for path in (places.assets() / "pictures").iterdir()} == set(SCENES)


def test_frames_of_the_moving_figure_differ() -> None:
    root = ElementTree.parse(places.assets() / "pictures" / "moving-figure.svg").getroot()
    frames = [each for each in root.iter() if each.get("class", "").split()[:1] == ["f"]]
    assert len({_content(each) for each in frames}) > 50
    assert [each.get("class") for each in frames].count("f rest") == 1


def test_an_animation_repeats_only_the_rows_that_change() -> None:
    still = (svg.Piece(0, "stays ⣀", LOOK.text, LOOK.ground, "b"),)
    frames = [(still, (svg.Piece(number, "■ <", LOOK.text, LOOK.ground, ""),)) for number in (0, 1, 0)]
    drawn = svg.animation("a figure", LOOK, frames, 0.5, 1)
    assert drawn.count("stays") == 1
    assert drawn.count("&lt;") == 2
    assert re.findall(r"animation-delay:(\S+?)s", drawn) == ["-1.500", "-1.000", "-0.500"]
    ElementTree.fromstring(drawn)


def _content(frame: ElementTree.Element) -> bytes:
    return b"".join(ElementTree.tostring(each) for each in frame)
