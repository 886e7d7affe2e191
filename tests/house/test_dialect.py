"""What holds for every module: names that are its own, docstrings that speak of their own field, no circle of imports.

One file is read by many: a name that two classes share, or a sentence that leans on its neighbour, costs each of them.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp
import pytest

import tcptutor

HOUSE = Path(tcptutor.__file__).parent

PARTICIPLES = {"Kept", "Held", "Seen", "Found", "Said"}
"""They tell that something happened to a thing, not what it is."""

NEIGHBOUR = re.compile(
    r"""
    \b (so|as|like) \s (is \s|are \s)? the \s next \b (?! \s \w)
    | (^|[.;:]\s) (so \s|and \s)? the \s next ([,:]|\s(is|are)\b)
    | \b the \s (ones?|two|three|others?|fields?|functions?|methods?) \s (above|below) \b (?! \s\d)
    | ^ the \s same \b
    | \b likewise [.,;]
    """,
    re.VERBOSE | re.IGNORECASE,
)
"""A sentence that only its neighbour explains."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(HOUSE.rglob("*.py")):
        yield str(path.relative_to(HOUSE.parent)), ast.parse(path.read_text())


def docstrings(module: ast.Module) -> Iterator[str]:
    """Each in one line: those of the module, its classes and functions, and of fields and constants."""
    for node in ast.walk(module):
        match node:
            case ast.Expr(value=ast.Constant(value=str(text))):
                yield " ".join(text.split())


def listed(found: Iterable[tuple[str, str]]) -> str:
    """A line for each finding, which has a place and words."""
    return "\n".join(f"{key}: {words}" for key, words in found)


def test_no_two_classes_have_one_name() -> None:
    places = defaultdict[str, list[str]](list)
    for path, module in modules():
        for node in module.body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places[node.name].append(path)
    assert len(places) > 100
    assert listed((name, ", ".join(where)) for name, where in places.items() if len(where) > 1) == ""


def test_classes_are_named_for_what_they_are() -> None:
    found = (
        (node.name, path)
        for path, module in modules()
        for node in ast.walk(module)
        if isinstance(node, ast.ClassDef) and node.name.strip("_") in PARTICIPLES
    )
    assert listed(found) == ""


@pytest.mark.parametrize(
    ("text", "leans"),
    [
        ("Share of the busy time; so is the next.", True),
        ("Mean; the next is the least that was ever measured.", True),
        ("Datagrams that did not arrive; the next, all that were sent.", True),
        ("Of the sample; None for a single run, as the two below.", True),
        ("The same with delayed ACKs.", True),
        ("The next line that the agent says; empty when the guest has ended.", False),
        ("What was found out; holds until the next boot.", False),
        ("Seconds from one run to the next.", False),
    ],
)
def test_what_counts_as_leaning_on_a_neighbour(text: str, leans: bool) -> None:
    assert bool(NEIGHBOUR.search(text)) is leans


def test_a_docstring_speaks_of_its_own_field() -> None:
    found = (
        (path, text) for path, module in modules() for text in docstrings(module) if NEIGHBOUR.search(text)
    )
    assert listed(found) == ""


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Whether at the top, inside a function or for a type checker; import-linter's contract sees siblings alone."""
    graph = grimp.build_graph("tcptutor", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 100
    # Raises CycleError, which names the modules.
    TopologicalSorter(imports).prepare()
