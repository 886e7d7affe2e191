"""A lecture as frozen data: slides, each revealed step by step."""

from __future__ import annotations

from typing import TypeAlias

import msgspec

SOLVED = "solved"
"""Setting of a run with a challenge's solution."""


class SlideStep(msgspec.Struct, frozen=True, kw_only=True, tag=True):
    """Content that a key press adds to a slide."""

    notes: str = ""
    """Speaker's notes on this step; Markdown."""


class Sentence(SlideStep, frozen=True, kw_only=True):
    """A sentence below the headline, such as the first sentence of a page or its main idea."""

    text: str


class OwnText(SlideStep, frozen=True, kw_only=True):
    """Markdown of a custom slide, or a single bullet of it."""

    markdown: str


class FigureShown(SlideStep, frozen=True, kw_only=True):
    """A figure of the page, as large as the terminal allows."""

    figure: str
    """Name of the figure on the page."""


class Ask(SlideStep, frozen=True, kw_only=True):
    """A question or prediction of the page for the room: voted on, or by a show of hands."""

    activity: str
    """Id of the question or prediction."""


class NetworkShown(SlideStep, frozen=True, kw_only=True):
    """The network that a prediction is about, before its run."""

    setting: str = ""
    """Same as `RunShown.setting`."""


class RunShown(SlideStep, frozen=True, kw_only=True):
    """A run of the page: its network, its chart while it grows, and its key figures."""

    setting: str = ""
    """Value of a sweep's axis, or SOLVED for a challenge; empty for the page's experiment as it is."""


class CurveShown(SlideStep, frozen=True, kw_only=True):
    """The curve of a page's sweep, with a point for each prepared run."""


class VerdictShown(SlideStep, frozen=True, kw_only=True):
    """Limit of the run, next to the predictions of the models and the room."""


class Answer(SlideStep, frozen=True, kw_only=True):
    """Right answer of a question, with feedback on the popular wrong answer."""

    activity: str


class FlowsShown(SlideStep, frozen=True, kw_only=True):
    """Room experiment: each student owns a flow on a shared bottleneck."""

    experiment: str
    """Full name of an experiment with a bottleneck."""
    algorithms: tuple[str, ...] = ("reno", "cubic", "bbr")


AnyStep: TypeAlias = (
    Sentence
    | OwnText
    | FigureShown
    | Ask
    | NetworkShown
    | RunShown
    | CurveShown
    | VerdictShown
    | Answer
    | FlowsShown
)


class Slide(msgspec.Struct, frozen=True, kw_only=True):
    """Slide with a constant headline, and steps that are revealed below it."""

    headline: str
    steps: tuple[AnyStep, ...] = ()
    """The first step is shown with the headline; without steps the slide is its headline."""
    module: str = ""
    """Module id of the page; empty for a custom slide."""
    page: str = ""
    """Page id in the module; empty for a custom slide."""
    minutes: float = 0.0
    """Planned minutes; 0 without a plan."""
    notes: str = ""
    """Speaker's notes on the slide; Markdown."""


class Lecture(msgspec.Struct, frozen=True, kw_only=True):
    """The slides of a lecture in order."""

    title: str
    slides: tuple[Slide, ...]
    planned_minutes: float = 0.0
    """Available minutes for the lecture; 0 for the sum of its slides."""
    course: str = ""
    """Id of the course of the pages; empty for the shipped course."""
    digest: str = ""
    """SHA-256 of slides and pages, so that a resumed lecture is recognized as the same."""
