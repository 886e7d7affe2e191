"""The notebook that a key writes into the student's home."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime
from pathlib import Path

from tcptutor.course.outline import Course
from tcptutor.journal import Journal
from tcptutor.notebook.content import NotebookSource, collect_notebook
from tcptutor.notebook.writer import write_notebook


async def write_in_home(course: Course, journal: Journal) -> str:
    """Write the notebook as HTML, and return a message for the student. Raises TutorError."""
    now = datetime.now(UTC).astimezone()
    target = Path.home() / f"tcptutor-notebook-{now.date()}.html"

    def write(source: NotebookSource) -> int:
        notebook = collect_notebook(course, source, now.isoformat())
        if notebook.pages:
            write_notebook(notebook, target)
        return notebook.pages

    pages = await asyncio.to_thread(write, NotebookSource.of(course, journal))
    if not pages:
        return "There is no work to write down yet."
    return f"Your notebook, with {pages} page{'' if pages == 1 else 's'}: ~/{target.name}"
