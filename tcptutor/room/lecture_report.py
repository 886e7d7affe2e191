"""Report of a lecture: actual and planned time per slide, and results of the questions."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.room.lecture_state import LectureState
from tcptutor.room.slides import Lecture

_HEADLINE = 48


def report_text(lecture: Lecture, state: LectureState, votes: str) -> str:
    """Return the report as text; `votes` are the results of the questions, empty without any."""
    parts = [lecture.title, "\n".join(_times(lecture, state)), votes.strip()]
    return "\n\n".join(filter(None, parts)) + "\n"


def _times(lecture: Lecture, state: LectureState) -> Iterator[str]:
    yield f"{'minutes':>7} {'planned':>7}  slide"
    for number, slide in enumerate(lecture.slides):
        if number in state.slide_seconds:
            yield _row(
                state.slide_seconds[number] / 60, slide.minutes, f"{number + 1}  {slide.headline[:_HEADLINE]}"
            )
    planned = lecture.planned_minutes or sum(slide.minutes for slide in lecture.slides)
    yield _row(state.elapsed_s / 60, planned, "all")


def _row(minutes: float, planned: float, name: str) -> str:
    return f"{minutes:>7.1f} {f'{planned:.1f}' if planned else '':>7}  {name}"
