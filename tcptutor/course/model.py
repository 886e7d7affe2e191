"""A course as frozen data: modules of steps, each with prose and what the student does."""

from __future__ import annotations

from typing import Literal

import msgspec

from tcptutor.spec import Experiment

Kind = Literal["read", "predict", "experiment", "question"]


class Predict(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A number that the student commits to before the run."""

    ask: str
    unit: Literal["rate", "time", "ratio", "size"] = "rate"
    """The kind of quantity; a rate is compared with the measured aggregate throughput."""
    hints: tuple[str, ...] = ()


class StepExperiment(msgspec.Struct, frozen=True, kw_only=True):
    """An experiment to run in this step."""

    name: str
    """Full name, `module/experiment`."""
    experiment: Experiment
    """With the step's overrides in it."""


class Choice(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One answer of a single or multiple question."""

    text: str
    correct: bool = False
    feedback: str
    """Why it is right or wrong; shown when it was chosen."""


class Question(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A question with automatic marking."""

    id: str
    """Unique in its step, stable when the text is edited."""
    kind: Literal["single", "multiple", "numeric"]
    ask: str
    choices: tuple[Choice, ...] = msgspec.field(default=(), name="choice")
    """In a lesson file each is one `[[question.choice]]`."""
    answer: str = ""
    """numeric: the right value with its unit."""
    unit: Literal["rate", "time", "ratio", "size", "count"] | None = None
    tolerance: float = 0.05
    """numeric: relative difference that still counts."""
    feedback: str = ""
    """numeric: what a wrong value is told."""
    hints: tuple[str, ...] = ()
    explanation: str = ""
    """Shown after a right answer."""


class Step(msgspec.Struct, frozen=True, kw_only=True):
    """One page: prose, then (each if it is there) prediction, experiment, questions."""

    id: str
    """Unique in its module; the file's name without number and ending, such as `one-lossy-flow`."""
    title: str
    prose: str
    """Markdown."""
    predict: Predict | None = None
    experiment: StepExperiment | None = None
    questions: tuple[Question, ...] = ()
    after: str = ""
    """Markdown shown when the run is finished: what was to be seen, beside the published figure."""

    @property
    def kinds(self) -> tuple[Kind, ...]:
        """What the student does here."""
        parts: tuple[tuple[Kind, object], ...] = (
            ("predict", self.predict),
            ("experiment", self.experiment),
            ("question", self.questions),
        )
        return tuple(kind for kind, part in parts if part) or ("read",)


class Module(msgspec.Struct, frozen=True, kw_only=True):
    """A lesson module: a folder `NN-slug`."""

    id: str
    """The slug, such as `parallel-streams`."""
    number: int
    title: str
    objectives: tuple[str, ...]
    minutes: int
    sources: tuple[str, ...]
    steps: tuple[Step, ...]
    experiments: dict[str, Experiment]
    """By full name, `slug/name`, as their files have them."""
    extra: tuple[str, ...] = ()
    """Experiments that no step runs, kept for the command line; by their short names."""


class Course(msgspec.Struct, frozen=True, kw_only=True):
    """All modules, in order."""

    title: str
    modules: tuple[Module, ...]


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer is told."""

    correct: bool
    feedback: str
