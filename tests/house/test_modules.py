"""Conventions of all modules: unique names, no circular imports, one module that decodes types, one for workers."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import grimp

import tcptutor

HOUSE = Path(tcptutor.__file__).parent


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(HOUSE.rglob("*.py")):
        yield str(path.relative_to(HOUSE.parent)), ast.parse(path.read_text())


def calls() -> Iterator[tuple[str, str, set[str]]]:
    """Each call: its module, the function as written, and the names of its keyword arguments."""
    for path, module in modules():
        for node in ast.walk(module):
            if isinstance(node, ast.Call):
                yield path, ast.unparse(node.func), {each.arg for each in node.keywords if each.arg}


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


def test_one_module_decodes_types() -> None:
    """Two threads that begin with one type crash msgspec itself."""
    found = [
        (path, words)
        for path, words, keywords in calls()
        if words.startswith("msgspec.")
        and (words.endswith((".convert", ".Decoder")) or (words.endswith(".decode") and "type" in keywords))
    ]
    assert {path for path, _ in found} == {"tcptutor/base/decoding.py"}, listed(found)


def test_one_module_starts_workers() -> None:
    """A coroutine given to Textual's own method is never awaited if the app ends before the worker starts."""
    found = [
        (path, words)
        for path, words, keywords in calls()
        if words.endswith(".run_worker") and "thread" not in keywords
    ]
    assert [path for path, _ in found] == ["tcptutor/ui/workers.py"], listed(found)


def test_no_modules_import_each_other_in_a_circle() -> None:
    """Whether at the top, inside a function or for a type checker; import-linter's contract sees siblings alone."""
    graph = grimp.build_graph("tcptutor", cache_dir=None)
    imports = {module: graph.find_modules_directly_imported_by(module) for module in graph.modules}
    assert len(imports) > 100
    # Raises CycleError, which names the modules.
    TopologicalSorter(imports).prepare()
