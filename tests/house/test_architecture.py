"""The contributors' pages are true in their names: each file and Python name in backquotes exists."""

from __future__ import annotations

import pkgutil
import re
import tomllib
from pathlib import Path

import pytest

import tcptutor
from tcptutor.base import places
from tests.each import each

HOUSE = Path(tcptutor.__file__).parent
PAGES = [
    places.assets() / "documentation" / name
    for name in ("architecture.md", "architecture-room.md", "extending.md")
]
TEXTS = [page.read_text() for page in PAGES]
NAMES = sorted({name for text in TEXTS for name in re.findall(r"`([^`\n]+)`", text)})
WORDS = {
    "guest", "host", "is_done", "mark", "model", "problems", "qdisc", "reference", "same_variant_as", "tcptutor",
    "terminal",
}  # fmt: skip
"""What is in backquotes and is neither a file nor a path to a Python name: markers, methods, a parameter, a key."""


def exists(name: str) -> bool:
    """Whether `name` is a file or folder, or what can be imported below tcptutor."""
    if any((root / name).exists() for root in (HOUSE, HOUSE.parent)):
        return True
    if "/" in name or not re.fullmatch(r"\w+(\.\w+)*", name):
        return False
    try:
        pkgutil.resolve_name(f"tcptutor.{name}")
    except (ImportError, AttributeError):
        return False
    return True


@each("name", [name for name in NAMES if name not in WORDS])
def test_a_name_exists(name: str) -> None:
    assert exists(name)


@pytest.mark.parametrize(
    "name", ["lab.shaping.no_such", "lab/no_such.py", "no_such", "errors.py.no", "spec no"]
)
def test_a_name_that_does_not_exist_is_seen(name: str) -> None:
    assert not exists(name)


def test_every_word_is_used() -> None:
    assert set(NAMES) >= WORDS


@pytest.mark.parametrize("text", TEXTS, ids=[page.name for page in PAGES])
def test_a_page_is_short(text: str) -> None:
    assert len(text.splitlines()) <= 120


def test_the_rooms_are_those_of_the_contract() -> None:
    """In the contract's order; those on one line there may be in any order."""
    project = tomllib.loads((HOUSE.parent / "pyproject.toml").read_text())
    layers = project["tool"]["importlinter"]["contracts"][0]["layers"]
    levels = {
        room.strip(): number
        for number, layer in enumerate(layers)
        for room in re.split(r"[|:]", layer)
        if not room.strip().startswith("(") and not room.strip().startswith("__")
    }
    cells = [line.split("|")[1] for line in TEXTS[0].splitlines() if line.startswith("| `")]
    rooms = [Path(name).stem for cell in cells for name in re.findall(r"`([^`]+)`", cell)]
    assert set(rooms) == set(levels)
    assert [levels[room] for room in rooms] == sorted(levels[room] for room in rooms)
