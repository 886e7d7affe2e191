"""A notebook as Markdown, with charts drawn in characters."""

from __future__ import annotations

import re
from collections.abc import Iterator

from tcptutor.base import chart
from tcptutor.notebook.content import Notebook, NotebookAnswer, NotebookPage, NotebookPrediction, NotebookRun
from tcptutor.notebook.sentences import answered, compared, day

_COLUMNS, _ROWS = 76, 20
_ESCAPES = re.compile(r"\x1b\[[0-9;]*m")


def as_markdown(notebook: Notebook) -> str:
    """Return the notebook as Markdown."""
    return "\n".join(_lines(notebook)).rstrip() + "\n"


def _lines(notebook: Notebook) -> Iterator[str]:
    yield f"# {notebook.title}: my notebook"
    yield ""
    yield f"{f'{notebook.student}, ' if notebook.student else ''}{day(notebook.at)}"
    for module in notebook.modules:
        yield ""
        yield f"## {module.title}"
        yield ""
        yield f"{module.done} of {module.total} pages finished"
        for page in module.pages:
            yield ""
            yield from _page(page)


def _page(page: NotebookPage) -> Iterator[str]:
    yield f"### {page.number} {page.title}"
    if page.idea:
        yield ""
        yield f"*{page.idea}*"
    for prediction in page.predictions:
        yield ""
        yield from _prediction(prediction)
    if page.run is not None:
        yield ""
        yield from _run(page.run)
    if page.sweep is not None:
        yield ""
        yield from _chart(page.sweep)
    if page.problem:
        yield ""
        yield f"No run is shown: {page.problem}."
    for answer in page.answers:
        yield ""
        yield from _answer(answer)
    if page.note:
        yield ""
        yield "**My note**"
        yield ""
        yield from (f"> {line}".rstrip() for line in page.note.splitlines())


def _prediction(prediction: NotebookPrediction) -> Iterator[str]:
    yield f"**Prediction.** {prediction.prompt}"
    yield ""
    yield compared(prediction)


def _run(run: NotebookRun) -> Iterator[str]:
    yield f"**Run of {day(run.at)}.** {run.verdict}"
    yield ""
    yield f"{run.title} ({run.settings}; {run.origin})"
    if run.doubt:
        yield ""
        yield f"The lab has doubts about this run: {run.doubt}."
    if run.models:
        yield ""
        yield "| model | predicts | measured over predicted | formula |"
        yield "| --- | --- | --- | --- |"
        for model in run.models:
            yield f"| {model.name} | {model.throughput} | {model.ratio} | {_cell(model.formula)} |"
    if run.chart is not None:
        yield ""
        yield from _chart(run.chart)


def _chart(drawn: chart.Chart) -> Iterator[str]:
    yield "```"
    yield from (_ESCAPES.sub("", line).rstrip() for line in chart.render(drawn, _COLUMNS, _ROWS, plain=True))
    yield "```"


def _answer(answer: NotebookAnswer) -> Iterator[str]:
    yield f"**Question.** {answer.prompt}"
    yield ""
    yield f"{answered(answer)}: {answer.answer}"
    if answer.explanation:
        yield ""
        yield answer.explanation


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
