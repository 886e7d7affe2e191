"""Partial imports of slow libraries, which halve the agent's start.

Importing any module of pyroute2 imports all its protocols. Mininet imports distutils, and with it all of setuptools, to
compare versions of Open vSwitch.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from types import ModuleType


@contextmanager
def bare_package(name: str) -> Iterator[None]:
    """Import modules of the package `name` within the block without running its `__init__`."""
    spec = find_spec(name) if name not in sys.modules else None
    if spec is None:
        yield
        return
    package = ModuleType(name)
    package.__path__ = spec.submodule_search_locations or []
    with _temporary({name: package}):
        yield


@contextmanager
def no_distutils() -> Iterator[None]:
    """Let a module import `distutils.version.StrictVersion` within the block; the imported class is unusable."""
    if "distutils" in sys.modules:
        yield
        return
    package, version = ModuleType("distutils"), ModuleType("distutils.version")
    package.__path__, version.__dict__["StrictVersion"] = [], None
    with _temporary({"distutils": package, "distutils.version": version}):
        yield


@contextmanager
def _temporary(modules: dict[str, ModuleType]) -> Iterator[None]:
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
