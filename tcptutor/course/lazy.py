"""Lazily loaded parts of a course: the first frame needs module titles, not pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from threading import Lock
from typing import Generic, TypeVar, overload

from tcptutor.course.model import Step
from tcptutor.spec import Experiment

T = TypeVar("T")


class Later(Generic[T]):
    """Value computed once on first access; thread-safe."""

    def __init__(self, read: Callable[[], T]) -> None:
        self._read, self._lock = read, Lock()
        self._value: list[T] = []

    @property
    def is_read(self) -> bool:
        return bool(self._value)

    @property
    def value(self) -> T:
        with self._lock:
            if not self._value:
                self._value.append(self._read())
            return self._value[0]


class LaterSteps(Sequence[Step]):
    """Steps of a module, in order, loaded on first access."""

    def __init__(self, files: Sequence[str], read: Callable[[], Sequence[Step]]) -> None:
        self._files, self._steps = tuple(files), Later(read)

    @property
    def ids(self) -> tuple[str, ...]:
        """Ids of the steps; before they are loaded, taken from file names, some of which may be damaged."""
        return tuple(step.id for step in self) if self._steps.is_read else self._files

    @overload
    def __getitem__(self, place: int) -> Step: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Step]: ...
    def __getitem__(self, place: int | slice) -> Step | Sequence[Step]:
        return self._steps.value[place]

    def __len__(self) -> int:
        return len(self._steps.value)

    def __iter__(self) -> Iterator[Step]:
        return iter(self._steps.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    __hash__ = None  # type: ignore[assignment]  # unhashable like a list


class LaterExperiments(Mapping[str, Experiment]):
    """Experiments by full name, loaded on first access."""

    def __init__(self, read: Callable[[], Mapping[str, Experiment]]) -> None:
        self._experiments = Later(read)

    def __getitem__(self, name: str) -> Experiment:
        return self._experiments.value[name]

    def __len__(self) -> int:
        return len(self._experiments.value)

    def __iter__(self) -> Iterator[str]:
        return iter(self._experiments.value)
