"""A notebook as a single HTML file, with charts as inline pictures and without external resources."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape

from markdown_it import MarkdownIt

from tcptutor.base.chart import Chart
from tcptutor.notebook.content import (
    Notebook,
    NotebookAnswer,
    NotebookModule,
    NotebookPage,
    NotebookPrediction,
    NotebookRun,
)
from tcptutor.notebook.sentences import answered, commented, compared, day
from tcptutor.notebook.svg import as_svg

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")

STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --dim: #59636e; --line: #d5dae0; --ground: #fff; --good: #116329;
  --bad: #a40e26; --box: #f4f6f8; --hue-a: #0072b2; --hue-b: #009e73; --hue-c: #b8860b; --hue-d: #aa4499;
  --hue-e: #56b4e9;
  --hue-f: #d55e00; --hue-g: #555; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6e9ec; --dim: #9aa4ae; --line: #3a424a; --ground: #14181c;
  --good: #56d364; --bad: #ff7b72; --box: #1d2329; --hue-a: #56b4e9; --hue-b: #2ac79a; --hue-c: #e6b422;
  --hue-d: #d58bc6;
  --hue-e: #9cd3f5; --hue-f: #ff8c42; --hue-g: #bbb; } }
body { font: 16px/1.5 system-ui, sans-serif; color: var(--ink); background: var(--ground); max-width: 50rem;
  margin: 2rem auto; padding: 0 1rem; }
h1 { margin-bottom: 0; } h2 { border-bottom: 1px solid var(--line); margin-top: 3rem; } h3 { margin-top: 2.2rem; }
.idea { font-size: 1.1em; font-weight: 600; }
.dim { color: var(--dim); } .good { color: var(--good); } .bad { color: var(--bad); }
blockquote { background: var(--box); border-left: 4px solid var(--hue-a); margin: 1rem 0; padding: .2rem 1rem; }
.teacher { border-left-color: var(--hue-d); }
table { border-collapse: collapse; font-size: .9em; } td:not(:last-child) { white-space: nowrap; }
td, th { padding: .2rem .7rem .2rem 0; text-align: left;
  border-bottom: 1px solid var(--line); }
code, pre { font-family: ui-monospace, monospace; font-size: .92em; } pre { overflow-x: auto; }
nav a { margin-right: 1rem; } a { color: var(--hue-a); }
svg { max-width: 100%; height: auto; font-size: 12px; } svg text { fill: var(--dim); }
svg .head { fill: var(--ink); font-weight: 600; } svg .end { text-anchor: end; } svg .middle { text-anchor: middle; }
.grid { stroke: var(--line); stroke-width: .7; } .axis { stroke: var(--dim); fill: none; }
.event { stroke: var(--bad); }
.line { fill: none; stroke-width: 1.6; stroke-linejoin: round; } .dashed { stroke-dasharray: 5 4; }
.line.ink { stroke: var(--ink); } .dot.ink { fill: var(--ink); } .line.gray { stroke: var(--dim); }
.dot.gray { fill: var(--dim); }
.line.hue0 { stroke: var(--hue-a); } .dot.hue0 { fill: var(--hue-a); }
.line.hue1 { stroke: var(--hue-b); } .dot.hue1 { fill: var(--hue-b); }
.line.hue2 { stroke: var(--hue-c); } .dot.hue2 { fill: var(--hue-c); }
.line.hue3 { stroke: var(--hue-d); } .dot.hue3 { fill: var(--hue-d); }
.line.hue4 { stroke: var(--hue-e); } .dot.hue4 { fill: var(--hue-e); }
.line.hue5 { stroke: var(--hue-f); } .dot.hue5 { fill: var(--hue-f); }
.line.hue6 { stroke: var(--hue-g); } .dot.hue6 { fill: var(--hue-g); }
"""
"""Style sheet of the notebook."""


def as_html(notebook: Notebook) -> str:
    """Return the notebook as a page of HTML."""
    return "\n".join(document(f"{notebook.title}: my notebook", _body(notebook))) + "\n"


def document(title: str, body: Iterator[str]) -> Iterator[str]:
    """Yield a page of HTML."""
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(title)}</title><style>{STYLE}</style></head><body>"
    yield from body
    yield "</body></html>"


def _body(notebook: Notebook) -> Iterator[str]:
    yield f"<h1>{escape(notebook.title)}: my notebook</h1>"
    who = f"{notebook.student}, " if notebook.student else ""
    yield f'<p class="dim">{escape(who)}{escape(day(notebook.at))}</p>'
    links = (
        f'<a href="#module{number}">{escape(module.title)}</a>'
        for number, module in enumerate(notebook.modules)
    )
    yield f"<nav>{''.join(links)}</nav>"
    for number, module in enumerate(notebook.modules):
        yield from _module(module, number)


def _module(module: NotebookModule, number: int) -> Iterator[str]:
    yield f'<section id="module{number}"><h2>{escape(module.title)}</h2>'
    yield f'<p class="dim">{module.done} of {module.total} pages finished</p>'
    for page in module.pages:
        yield from _page(page)
    yield "</section>"


def _page(page: NotebookPage) -> Iterator[str]:
    yield f"<article><h3>{escape(page.number)} {escape(page.title)}</h3>"
    if page.idea:
        yield f'<p class="idea">{_line(page.idea)}</p>'
    for prediction in page.predictions:
        yield from _prediction(prediction)
    if page.run is not None:
        yield from _run(page.run)
    if page.sweep is not None:
        yield _picture(page.sweep, page.sweep.title[0])
    if page.problem:
        yield f'<p class="dim">No run is shown: {escape(page.problem)}.</p>'
    for answer in page.answers:
        yield from _answer(answer)
    if page.note:
        yield f"<blockquote>{_prose(page.note)}</blockquote>"
    for comment in page.comments:
        yield f"<p><strong>{escape(commented(comment))}</strong> {_line(comment.prompt)}</p>"
        yield f'<blockquote class="teacher">{_prose(comment.text)}</blockquote>'
    yield "</article>"


def _prediction(prediction: NotebookPrediction) -> Iterator[str]:
    yield f"<p><strong>Prediction.</strong> {_line(prediction.prompt)}</p>"
    yield f"<p>{escape(compared(prediction))}</p>"


def _run(run: NotebookRun) -> Iterator[str]:
    yield f"<p><strong>Run of {escape(day(run.at))}.</strong> {escape(run.verdict)}</p>"
    if run.chart is not None:
        yield _picture(run.chart, run.verdict)
    yield f'<p class="dim">{escape(run.title)} ({escape(run.settings)}; {escape(run.origin)})</p>'
    if run.doubt:
        yield f'<p class="bad">The lab has doubts about this run: {escape(run.doubt)}.</p>'
    if run.models:
        yield "<table><thead><tr><th>model<th>predicts<th>measured over predicted<th>formula</tr></thead><tbody>"
        for model in run.models:
            yield f"<tr>{''.join(f'<td>{escape(cell)}' for cell in model)}</tr>"
        yield "</tbody></table>"


def _picture(chart: Chart, description: str) -> str:
    return f"<p>{as_svg(chart, description)}</p>"


def _answer(answer: NotebookAnswer) -> Iterator[str]:
    hue = {True: "good", False: "bad", None: "dim"}[answer.is_right]
    yield f"<p><strong>Question.</strong> {_line(answer.prompt)}</p>"
    yield f'<p><span class="{hue}">{escape(answered(answer))}:</span> {_line(answer.answer)}</p>'
    if answer.explanation:
        yield _prose(answer.explanation)


def _line(text: str) -> str:
    return str(_MARKDOWN.renderInline(text))


def _prose(text: str) -> str:
    return str(_MARKDOWN.render(text))
