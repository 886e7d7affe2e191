"""What of a lab could outlive it on this machine, beside processes: interfaces, mounts, named or held namespaces."""

from __future__ import annotations

import contextlib
from pathlib import Path
from typing import NamedTuple


class Machine(NamedTuple):
    interfaces: frozenset[str]
    mounts: frozenset[str]
    named: frozenset[str]
    """Network namespaces with a name (`ip netns`)."""
    orphans: frozenset[str]
    """Processes in another network namespace than ours that nobody but init waits for."""


def look() -> Machine:
    """The machine as it is now. Other programs' labs may run meanwhile: they have living parents, and no names."""
    return Machine(
        interfaces=frozenset(entry.name for entry in Path("/sys/class/net").iterdir()),
        mounts=frozenset(line.split()[4] for line in Path("/proc/self/mountinfo").read_text().splitlines()),
        named=frozenset(entry.name for folder in _NAMED if folder.is_dir() for entry in folder.iterdir()),
        orphans=frozenset(_orphans()),
    )


_NAMED = (Path("/run/netns"), Path("/var/run/netns"))


def _orphans() -> list[str]:
    ours = Path("/proc/self/ns/net").stat().st_ino
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with contextlib.suppress(OSError):
            parent = (folder / "stat").read_text().rpartition(")")[2].split()[1]
            if parent == "1" and (folder / "ns/net").stat().st_ino != ours:
                found.append(folder.name)
    return found
