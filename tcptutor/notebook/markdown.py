"""A notebook as Markdown, with charts drawn in characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.base import chart
from tcptutor.notebook.content import Notebook, NotebookAnswer, NotebookPage, NotebookRun
from tcptutor.notebook.sentences import answered, commented, compared, day

_COLUMNS, _ROWS = 76, 20
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def as_markdown(notebook: Notebook) -> str:
    """Return the notebook as Markdown."""
    return "\n\n".join(_blocks(notebook)).rstrip() + "\n"


def _blocks(notebook: Notebook) -> Iterator[str]:
    yield f"# {notebook.title}: my notebook"
    yield f"{f'{notebook.student}, ' if notebook.student else ''}{day(notebook.at)}"
    for module in notebook.modules:
        yield f"## {module.title}"
        yield f"{module.done} of {module.total} pages finished"
        for page in module.pages:
            yield from _page(page)


def _page(page: NotebookPage) -> Iterator[str]:
    yield f"### {page.number} {page.title}"
    if page.idea:
        yield f"*{page.idea}*"
    for prediction in page.predictions:
        yield f"**Prediction.** {prediction.prompt}"
        yield compared(prediction)
    if page.run is not None:
        yield from _run(page.run)
    if page.sweep is not None:
        yield _chart(page.sweep)
    if page.problem:
        yield f"No run is shown: {page.problem}."
    for answer in page.answers:
        yield from _answer(answer)
    if page.note:
        yield "**My note**"
        yield _quoted(page.note)
    for comment in page.comments:
        yield f"**{commented(comment)}**{f' {comment.prompt}' if comment.prompt else ''}"
        yield _quoted(comment.text)


def _run(run: NotebookRun) -> Iterator[str]:
    yield f"**Run of {day(run.at)}.** {run.verdict}"
    yield f"{run.title} ({run.settings}; {run.origin})"
    if run.doubt:
        yield f"The lab has doubts about this run: {run.doubt}."
    if run.models:
        head = ["| model | predicts | measured over predicted | formula |", "| --- | --- | --- | --- |"]
        rows = [
            f"| {model.name} | {model.throughput} | {model.ratio} | {_cell(model.formula)} |"
            for model in run.models
        ]
        yield "\n".join([*head, *rows])
    if run.chart is not None:
        yield _chart(run.chart)


def _chart(drawn: chart.Chart) -> str:
    lines = (_ESCAPES.sub("", line).rstrip() for line in chart.render(drawn, _COLUMNS, _ROWS, plain=True))
    return "\n".join(["```", *lines, "```"])


def _answer(answer: NotebookAnswer) -> Iterator[str]:
    yield f"**Question.** {answer.prompt}"
    yield f"{answered(answer)}: {answer.answer}"
    if answer.explanation:
        yield answer.explanation


def _quoted(text: str) -> str:
    return "\n".join(f"> {line}".rstrip() for line in text.splitlines())


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
