"""The speaker's terminal: notes, the next step, the clock, the vote; it also drives the lecture."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import Callable
from functools import partial
from pathlib import PurePath
from typing import Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, VerticalScroll
from textual.content import Content
from textual.screen import Screen
from textual.widgets import Static

from tcptutor.base import columns, glyphs, places
from tcptutor.base.errors import JournalError
from tcptutor.base.printable import escaped
from tcptutor.figures.lines import MUTED, STRONG, WARN
from tcptutor.journal.saved import Settings
from tcptutor.room.protocol import FromTerminal, Shows, Tells, Welcome
from tcptutor.room.slides import Lecture
from tcptutor.room.talk import Talk, TeacherView
from tcptutor.ui import shutdown
from tcptutor.ui.bindings import priority
from tcptutor.ui.frame import SCREEN_STYLES, START_STYLES
from tcptutor.ui.present import large_text, speaker_model, stage_text
from tcptutor.ui.present.large_text import Size
from tcptutor.ui.present.lecture_app import LectureApp, LectureConnection
from tcptutor.ui.present.lecture_screen import LectureScreen
from tcptutor.ui.widgets.bars import KeyBar
from tcptutor.ui.widgets.prose.markdown import Prose

NOTES_STYLES = places.assets() / "ui" / "notes.tcss"

_STYLES = {STRONG: "bold $foreground", MUTED: "$text-muted", WARN: "bold $warning"}
_SCROLL_ROWS = 3
_LABEL = 8
"""Columns of a label next to the notes."""


class FittedText(Static):
    """Text that is laid out for the widget's width."""

    def __init__(self, id: str) -> None:
        super().__init__(id=id, markup=False)
        self._make: Callable[[int], Content] = lambda width: Content()  # noqa: ARG005

    def show(self, make: Callable[[int], Content]) -> None:
        """Show the content that `make` returns for a width in columns."""
        self._make = make
        self.on_resize()

    def on_resize(self) -> None:
        if self.content_size.width:
            self.update(self._make(self.content_size.width))


class NotesScreen(LectureScreen):
    """Notes of the step on the stage, and information hidden from the room."""

    BINDINGS: ClassVar[list[BindingType]] = [
        priority("down,j", "scroll_notes(1)", "scroll", "notes.down", "scroll the notes down"),
        priority("up,k", "scroll_notes(-1)", "scroll", "notes.up", "scroll the notes up"),
    ]
    FOOTER = (
        ("lecture.next", "next"),
        ("lecture.back", "back"),
        ("lecture.run lecture.prepared", "run"),
        ("lecture.vote", "vote"),
        ("lecture.discuss", "discuss"),
        ("lecture.results", "results"),
        ("lecture.black", "black"),
        ("lecture.list", "go to"),
        ("app.keys", "keys"),
        ("notes.up notes.down", "scroll"),
        ("lecture.larger lecture.smaller", "text size"),
    )

    def __init__(self, send: Callable[[FromTerminal], object], settings: Settings) -> None:
        super().__init__(send, settings)
        self._view = TeacherView()
        self._problem = ""
        self._shown_notes: str | None = None

    def compose(self) -> ComposeResult:
        yield Static(id="notes-head", markup=False)
        yield Static(id="notes-clock", markup=False)
        with Container(id="notes-body"):
            with VerticalScroll(id="notes-text", can_focus=False):
                yield Prose("")
                yield FittedText("notes-large")
            yield FittedText("notes-side")
        yield KeyBar()

    def on_mount(self) -> None:
        super().on_mount()
        self._show_size()
        # Messages may have arrived before the widgets.
        self.call_after_refresh(self.draw)

    def show_lecture(self, lecture: Lecture) -> None:
        """Show the notes of a lecture."""
        self.lecture, self._problem = lecture, ""
        self.draw()

    def show_talk(self, talk: Talk) -> None:
        """Show the new state of the lecture."""
        self.talk = talk
        self.draw()

    def show_view(self, view: TeacherView) -> None:
        """Show the clock, and the speaker's private information."""
        self._view = view
        self.draw()

    def show_problem(self, problem: str) -> None:
        """Show the reason why the screen may be out of date."""
        self._problem = problem
        self.draw()

    def draw(self) -> None:
        """Redraw the screen; notes only if they have changed."""
        if self.lecture is None or not self.is_mounted:
            return
        self.query_one("#notes-head", Static).update(self._head(self.lecture))
        self.query_one("#notes-clock", Static).update(self._clock(self.lecture))
        self.query_one("#notes-side", FittedText).show(partial(self._side, self.lecture))
        notes = speaker_model.notes_at(self.lecture, self.talk.place)
        if notes != self._shown_notes:
            self._shown_notes = notes
            self.query_one(Prose).update(notes or "*No notes for this step.*")
            self.query_one("#notes-large", FittedText).show(partial(_large_notes, notes))
            self.query_one("#notes-text").scroll_home(animate=False)

    def action_scroll_notes(self, by: int) -> None:
        self.query_one("#notes-text").scroll_relative(y=by * _SCROLL_ROWS, animate=False)

    def action_zoom(self, by: int) -> None:
        if self.settings.large_notes == (by > 0):
            self.app.notify(f"the notes have only two sizes: this is the {'larger' if by > 0 else 'smaller'}")
        with contextlib.suppress(JournalError):  # kept for this lecture
            self.settings.set_large_notes(by > 0)
        self._show_size()

    def _show_size(self) -> None:
        self.set_class(self.settings.large_notes, "-large")
        self.draw()

    def _head(self, lecture: Lecture) -> Content:
        place = self.talk.place
        slide = lecture.slides[place.slide]
        steps = f".{place.step + 1}" if len(slide.steps) > 1 else ""
        number = f"{place.slide + 1}{steps} of {len(lecture.slides)}"
        state = (
            "  BLACK " if self.talk.is_black else "" if self.talk.fronts else "  no terminal shows the stage"
        )
        return Content.assemble(
            (f"{number}  ", "$text-muted"), (slide.headline, "bold"), (state, "bold $warning")
        )

    def _clock(self, lecture: Lecture) -> Content:
        slide, view = lecture.slides[self.talk.place.slide], self._view
        compared = speaker_model.compare_with_plan(view, slide)
        drawn = large_text.draw(speaker_model.clock(view.elapsed_s), 3)
        planned = speaker_model.planned_seconds(lecture)
        of = f"of {speaker_model.clock(planned)}" if planned else ""
        on_slide = f"this slide {speaker_model.clock(view.slide_s)}"
        if slide.minutes:
            on_slide += f" of {speaker_model.clock(60 * slide.minutes)}"
        beside = ((of, MUTED), (on_slide, MUTED), (compared.text, compared.style))
        lines = [
            Content.assemble((digits, "bold"), "   ", (text, _STYLES[style]))
            for digits, (text, style) in zip(drawn, beside, strict=True)
        ]
        return Content("\n").join(lines)

    def _side(self, lecture: Lecture, width: int) -> Content:
        """Return the lines next to the notes: the next step, the vote, the run, and remarks."""
        place, talk, view = self.talk.place, self.talk, self._view
        # A poll may have been left for another slide.
        answer, share = ("", Content()) if talk.poll is None else (view.answer, self._share(width))
        vote = speaker_model.vote_words(talk.poll, talk.audience.joined) if talk.poll else ""
        run, run_style = speaker_model.run_words(talk.run)
        joined = str(talk.audience.joined) if talk.audience.address else ""
        problems = [self._problem, talk.audience.problem, *view.remarks]
        groups = [
            [
                _entry("next", speaker_model.next_step(lecture, place), width, "bold $accent"),
                _entry("then", speaker_model.next_headline(lecture, place), width),
            ],
            [_entry("right", answer, width, "bold $success"), _entry("vote", vote, width)],
            [share],
            [_entry("run", run, width, _STYLES[run_style]), _entry("joined", joined, width)],
            [_entry("note", text, width, _STYLES[WARN]) for text in problems],
        ]
        texts = [Content("\n").join([entry for entry in group if entry]) for group in groups]
        gap = "\n" if self.settings.large_notes else "\n\n"
        return Content(gap).join([text for text in texts if text])

    def _share(self, width: int) -> Content:
        """Return the share of right answers and the suggested next step, in large digits next to ordinary notes."""
        view = self._view
        if view.right_share is None:
            return Content()
        share, suggested = (
            f"{round(100 * view.right_share)}%",
            f"→ {view.suggestion}" if view.suggestion else "",
        )
        if self.settings.large_notes:
            return _entry("room", f"{share} right {suggested}".rstrip(), width, "bold $you")
        return Content("\n").join(
            [
                Content.assemble((digits, "bold $you"), "  ", (text, "bold"))
                for digits, text in zip(large_text.draw(share, 3), ("right", suggested, ""), strict=True)
            ]
        )


def _entry(label: str, text: str, width: int, style: str = "$foreground") -> Content:
    """Return a text next to its label; empty for an empty text."""
    if not text:
        return Content()
    first, *others = columns.wrapped(escaped(text), width - _LABEL) or [""]
    head = Content.assemble((label.ljust(_LABEL), "$text-muted"), (first, style))
    return Content("\n").join([head, *(Content.styled(" " * _LABEL + line, style) for line in others)])


def _large_notes(markdown: str, width: int) -> Content:
    """Return notes in block letters."""
    lines: list[str] = []
    for block in stage_text.blocks_of(markdown):
        size: Size = 3 if not block.is_literal and large_text.is_drawable(block.text) else 1
        for line in large_text.wrap(f"{block.lead} {block.text}".strip(), width, size):
            lines += large_text.draw(line, size)
        lines.append("")
    return Content("\n".join(lines))


class NotesApp(LectureApp):
    """App of the speaker's terminal, with notes hidden from the room."""

    CSS_PATH: ClassVar[list[str | PurePath]] = [START_STYLES, SCREEN_STYLES, NOTES_STYLES]

    def __init__(self, connection: LectureConnection, *, settings: Settings | None = None) -> None:
        super().__init__(connection, settings)
        self._screen = NotesScreen(self.send, self.settings)

    @property
    def come_back(self) -> str:
        return "tcptutor present --notes"

    def get_default_screen(self) -> Screen[None]:
        return self._screen

    def take_message(self, message: Any) -> None:
        match message:
            case Welcome(lecture=lecture):
                self._screen.show_lecture(lecture)
            case Shows(talk=talk):
                self._screen.show_talk(talk)
            case Tells(view=view):
                self._screen.show_view(view)
            case _ if problem := getattr(message, "problem", ""):
                self._screen.show_problem(problem)


def show_notes(connection: LectureConnection) -> int:
    """Show the speaker's notes until the lecture ends or the terminal leaves, and return the exit code."""
    app = NotesApp(connection)
    app.glyphs = glyphs.for_terminal(os.environ)
    shutdown.signals.catch()
    asyncio.run(app.run_async())
    return app.return_code or 0
