"""What the code and the documents tell people to type, found in their texts."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
FILLED = "FILLED_IN"
"""Stands for what a program puts into its text."""
DOCUMENTS = [
    ROOT / "README.md",
    ROOT / "tcptutor/start",
    *sorted((ROOT / "assets/documentation").glob("*.md")),
    *sorted((ROOT / "lessons").rglob("*.md")),
    *sorted((ROOT / "lessons").rglob("*.toml")),
]

_TICKED = re.compile(r"`(?:\w+=\S+ )*tcptutor ([^`]*)`")
_SHOWN = re.compile(r"^ {4}(?:\w+=\S+ )*tcptutor (.*?)(?: {2,}.*)?$", re.MULTILINE)
"""A line of a document that is set as code, up to the gap before what it is for."""
_SPOKEN = re.compile(r"\b(?:run|type|see|try|start):? tcptutor (\S+)")


class Told(NamedTuple):
    """A piece of text, and where it stands."""

    where: str
    text: str


def _strings(module: ast.Module) -> Iterator[tuple[int, str]]:
    """The line and text of each string, an f-string in one piece."""
    inside = {
        id(part) for node in ast.walk(module) if isinstance(node, ast.JoinedStr) for part in ast.walk(node)
    }
    for node in ast.walk(module):
        match node:
            case ast.JoinedStr(values=values):
                parts = [part.value if isinstance(part, ast.Constant) else FILLED for part in values]
                yield node.lineno, "".join(map(str, parts))
            case ast.Constant(value=str(text)) if id(node) not in inside:
                yield node.lineno, text


def texts() -> Iterator[Told]:
    """Every string of every module, docstrings too, for --help is made of them, and every document, whole."""
    for path in sorted((ROOT / "tcptutor").rglob("*.py")):
        for line, text in _strings(ast.parse(path.read_text())):
            yield Told(f"{path.relative_to(ROOT)}:{line}", text)
    for path in DOCUMENTS:
        yield Told(str(path.relative_to(ROOT)), path.read_text())


def commands() -> list[Told]:
    """The words after `tcptutor` of each command that is named."""
    found = [
        Told(told.where, words[1].strip())
        for told in texts()
        for pattern in (_TICKED, _SPOKEN, *([_SHOWN] if told.where.endswith(".md") else []))
        for words in pattern.finditer(told.text)
    ]
    return [told for told in found if told.text]


def debian_packages() -> set[str]:
    """Those that a text names, and those that the start script installs."""
    named = {
        package
        for told in texts()
        for words in re.findall(r"(?:apt-get|apt) install ([^\n\"`;|&)]+)", told.text)
        for package in words.split()
        if re.fullmatch(r"[a-z0-9][a-z0-9.+-]+", package)
    }
    script = (ROOT / "tcptutor/start").read_text()
    for words in re.findall(r'packages "[^"]*" ([a-z0-9 .+-]+)', script):
        named |= set(words.split())
    return named
