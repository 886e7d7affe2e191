"""Import parts of libraries whose other parts take several times as long: the agent starts in half the time.

pyroute2 imports every protocol that it knows when any module of it is imported. Mininet imports distutils, and with it
all of setuptools, to compare versions of Open vSwitch.
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
    found = find_spec(name) if name not in sys.modules else None
    if found is None:
        yield
        return
    package = ModuleType(name)
    package.__path__ = found.submodule_search_locations or []
    with _registered({name: package}):
        yield


@contextmanager
def no_distutils() -> Iterator[None]:
    """Let modules import `distutils.version.StrictVersion` within the block, which they then cannot use."""
    if "distutils" in sys.modules:
        yield
        return
    package, version = ModuleType("distutils"), ModuleType("distutils.version")
    package.__path__, version.__dict__["StrictVersion"] = [], None
    with _registered({"distutils": package, "distutils.version": version}):
        yield


@contextmanager
def _registered(modules: dict[str, ModuleType]) -> Iterator[None]:
    sys.modules.update(modules)
    try:
        yield
    finally:
        for name in modules:
            del sys.modules[name]
