"""Runs that were read and judged in other hand-ins before: a class has many with the same samples."""

from __future__ import annotations

from collections import OrderedDict
from pathlib import Path

import msgspec

from tcptutor.grading.evidence.physics import impossibilities
from tcptutor.run import Environment, Fidelity, Run, load
from tcptutor.run.files import KnownTables
from tcptutor.run.record import TABLES

_MOST_JUDGED = 4096


class SeenRuns:
    """A cache of decoded and judged runs, so that equal runs are processed once."""

    def __init__(self) -> None:
        self._tables = KnownTables()
        self._judged: OrderedDict[bytes, tuple[str, ...]] = OrderedDict()

    def load(self, path: Path, text: bytes) -> Run:
        """Read the run in `text`, see `run.load`."""
        return load(path, text, self._tables)

    def impossibilities(self, run: Run) -> tuple[str, ...]:
        """Return the sentences of `physics.impossibilities`."""
        bare, tables = _without_names(run), self._tables.key(run)
        if not tables:
            return tuple(impossibilities(bare))
        head = {name: getattr(bare, name) for name in bare.__struct_fields__ if name not in TABLES}
        key = tables + msgspec.json.encode(head)
        found = self._judged.get(key)
        if found is None:
            found = self._judged[key] = tuple(impossibilities(bare))
            if len(self._judged) > _MOST_JUDGED:
                self._judged.popitem(last=False)
        return found


def _without_names(run: Run) -> Run:
    """Strip fields that differ between students and machines, so that no rule depends on them."""
    is_virtual = run.environment.clock == "virtual"
    return msgspec.structs.replace(
        run,
        id="",
        started="",
        note="",
        wall_s=0.0 if is_virtual else run.wall_s,
        environment=Environment(backend="", clock=run.environment.clock, kernel=""),
        fidelity=Fidelity(status=run.fidelity.status),
    )
