"""Network of the lab: hosts, switches and interfaces, with what an experiment sets on each, or what the kernel holds.

[[figure]]
id = "lab"
kind = "network"
experiment = ""                      # whose settings are shown; empty for the page's own; left out for none
pairs = 4                            # host pairs of a network without an experiment, 1 by default
mark = ["s1-eth2"]                   # interfaces that the text is about

[[figure.note]]
at = "s1-eth2"
text = "delay, loss and rate belong here"

On a page with a shell, the app shows what the kernel holds while the shell is open.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from tcptutor.base.errors import unknown
from tcptutor.figures.figure import Figure, FindExperiment, Problem
from tcptutor.figures.lines import MUTED, Line
from tcptutor.figures.network import drawing
from tcptutor.figures.network.settings import NetworkSettings, of_hosts, planned, reported, shared_mtu
from tcptutor.spec import Experiment, Topology, interface_names
from tcptutor.wire.kernel_state import SessionState

MAX_PAIRS = 4
_NOTHING_SET = "no delay, loss or rate is set"


class InterfaceNote(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """Text about an interface: `[[figure.note]]`."""

    at: str
    """An interface, such as s1-eth2."""
    text: str
    """Text next to its settings."""


class NetworkFigure(Figure, frozen=True, kw_only=True, tag_field="kind", tag="network"):
    """Network of host pairs around the two switches."""

    experiment: str | None = None
    """Experiment whose settings are shown; empty for the page's own, left out for none."""
    pairs: int = 1
    """Host pairs without an experiment."""
    mark: tuple[str, ...] = ()
    """Interfaces to mark."""
    notes: tuple[InterfaceNote, ...] = msgspec.field(name="note", default=())

    def resolve(self, find: FindExperiment) -> Figure:
        if self.experiment is None:
            return self
        return of_experiment(find(self.experiment), self)

    def contradiction(self) -> Problem | None:
        if not 1 <= self.pairs <= MAX_PAIRS:
            return "pairs", f"{self.pairs} is out of bounds: 1 to {MAX_PAIRS}"
        if self.experiment is not None and self.pairs != 1:
            return "pairs", "is fixed by the experiment: remove it"
        return None

    def problems(self) -> Iterator[Problem]:
        names = interface_names(self.pairs)
        for key, name in (
            *(("mark", name) for name in self.mark),
            *(("note", note.at) for note in self.notes),
        ):
            if name not in names:
                yield key, unknown("interface", name, names)

    def draw(self, width: int, t: float = 0.0) -> list[Line]:  # noqa: ARG002
        return [*drawing.draw(self._topology(), width, self.mark), *self._details(width)]

    def describe(self) -> str:
        sentences = [drawing.sentence(self._topology())]
        for name, lines in self._settings().items():
            sentences.append(f"{name}: {'; '.join(f'{each.kind} {each.text}'.strip() for each in lines)}.")
        sentences += [f"{note.at}: {note.text.rstrip('.')}." for note in self.notes]
        if shared := self._shared():
            sentences.append(f"{shared[:1].upper()}{shared[1:]}.")
        if self.mark:
            sentences.append(f"Marked: {', '.join(self.mark)}.")
        return " ".join(sentences)

    def _topology(self) -> Topology:
        return Topology(self.pairs)

    def _settings(self) -> NetworkSettings:
        return {}

    def _shared(self) -> str:
        """Return a setting of all interfaces."""
        return ""

    def _details(self, width: int) -> Iterator[Line]:
        notes = {note.at: note.text for note in self.notes}
        lines = list(drawing.draw_settings(self._settings(), notes, width, self.mark))
        lines += [Line.of((f" {text}", MUTED)) for text in [self._shared()] if text]
        if lines:
            yield Line()
            yield from lines


class SettledNetwork(NetworkFigure, frozen=True, kw_only=True):
    """Network with settings: of an experiment, or as the kernel reports them."""

    settings: NetworkSettings
    topology: Topology
    shared: str = ""

    def _topology(self) -> Topology:
        return self.topology

    def _settings(self) -> NetworkSettings:
        return self.settings

    def _shared(self) -> str:
        return self.shared or ("" if self.settings or self.notes else _NOTHING_SET)


KIND = NetworkFigure


def of_experiment(
    experiment: Experiment, figure: NetworkFigure | None = None, *, hosts: bool = False
) -> SettledNetwork:
    """Return the network that an experiment sets up, with marks and notes of `figure`.

    Args:
        experiment: The experiment.
        figure: Figure of a page.
        hosts: Whether to describe the hosts' flows and limits.
    """
    settings = {**planned(experiment), **(of_hosts(experiment) if hosts else {})}
    return _settled(figure, experiment.topology, settings, shared_mtu(experiment))


def of_state(
    state: SessionState, pairs: int, figure: NetworkFigure | None = None, mark: Iterable[str] = ()
) -> SettledNetwork:
    """Return the network as the kernel holds it, with the interfaces in `mark` marked and the notes of `figure`."""
    found = _settled(figure, Topology(pairs), reported(state.interfaces, pairs), "")
    return msgspec.structs.replace(found, mark=tuple(dict.fromkeys((*found.mark, *mark))))


def _settled(
    figure: NetworkFigure | None, topology: Topology, settings: NetworkSettings, shared: str
) -> SettledNetwork:
    own = figure or NetworkFigure(id="network")
    return SettledNetwork(
        id=own.id,
        caption=own.caption,
        experiment=own.experiment,
        pairs=topology.pairs,
        topology=topology,
        mark=own.mark,
        notes=own.notes,
        settings=settings,
        shared=shared,
    )
