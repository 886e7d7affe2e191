"""A survey as a page of HTML without scripts or network."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from tcptutor.grading.survey import PredictionRow, Survey
from tcptutor.grading.views import BAR_CHARACTERS, TableView, ratio_counts, table_views

_STYLE = """
:root { color-scheme: light dark; --ink: #1c2430; --paper: #fcfcfa; --line: #d8d8d2; --mark: #2f6f9f; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e4e7ea; --paper: #15191e; --line: #343b44; --mark: #74b4de; }
}
body { font: 16px/1.45 system-ui, sans-serif; color: var(--ink); background: var(--paper);
       max-width: 72rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem } h2 { font-size: 1.15rem; margin-top: 2.5rem }
nav a { margin-right: 1rem } a { color: var(--mark) }
table { border-collapse: collapse; width: 100% }
th, td { text-align: left; padding: .25rem .6rem .25rem 0; border-bottom: 1px solid var(--line);
         vertical-align: top; font-variant-numeric: tabular-nums }
.number { text-align: right } .bar { color: var(--mark); white-space: pre; font-family: monospace }
svg rect { fill: var(--mark) }
.note { opacity: .8 }
@media print { nav { display: none } }
"""
_HTML_BAR_WIDTH, _HTML_BAR_HEIGHT = 14, 28
"""Size of a bar in the chart of predictions, pixels."""


def class_page(found: Survey) -> str:
    """Return the HTML page of a class."""
    return "\n".join(_html_lines(found)) + "\n"


def _html_lines(found: Survey) -> Iterator[str]:
    tables = table_views(found)
    yield "<!doctype html>"
    yield '<html lang="en"><head><meta charset="utf-8">'
    yield '<meta name="viewport" content="width=device-width, initial-scale=1">'
    yield f"<title>{escape(found.title)}: the class</title><style>{_STYLE}</style></head><body>"
    yield f"<h1>{escape(found.title)}: the class</h1>"
    links = (f'<a href="#{view.id}">{escape(view.title.partition(",")[0])}</a>' for view in tables)
    yield f"<nav>{''.join(links)}</nav>"
    for view in tables:
        yield f'<section id="{view.id}"><h2>{escape(view.title)}</h2>'
        yield from _html_table(view, found)
        yield from (f'<p class="note">{escape(note)}</p>' for note in view.notes)
        yield "</section>"
    yield "</body></html>"


def _html_table(view: TableView, found: Survey) -> Iterator[str]:
    if not view.rows:
        return
    yield "<table><thead><tr>"
    for head, right in zip(view.head, view.right, strict=True):
        yield f"<th{' class=number' if right else ''}>{escape(head)}</th>"
    yield "</tr></thead><tbody>"
    for number, row in enumerate(view.rows):
        cells = [_html_cell(*each) for each in zip(row, view.right, strict=True)]
        if details := view.details[number]:
            lines = "<br>".join(map(escape, details))
            cells[0] = f"<td><details><summary>{escape(row[0])}</summary>{lines}</details></td>"
        if view.id == "predictions":
            cells[4] = f"<td>{_html_bins(found.predictions[number], details)}</td>"
        yield f"<tr>{''.join(cells)}</tr>"
    yield "</tbody></table>"


def _html_cell(text: str, right: bool) -> str:
    kind = "number" if right else "bar" if text and set(text) <= BAR_CHARACTERS else ""
    return f"<td{f' class={kind}' if kind else ''}>{escape(text)}</td>"


def _html_bins(row: PredictionRow, description: Sequence[str]) -> str:
    """Return a small chart of predictions over measurements; `description` is its text for screen readers."""
    found = ratio_counts(row)
    if not found:
        return ""
    most = max(found) or 1
    bars = "".join(
        f'<rect x="{at * _HTML_BAR_WIDTH}" y="{_HTML_BAR_HEIGHT * (1 - each / most):.1f}"'
        f' width="{_HTML_BAR_WIDTH - 2}" height="{_HTML_BAR_HEIGHT * each / most:.1f}"/>'
        for at, each in enumerate(found)
    )
    words = escape(" ".join(description))
    return (
        f'<svg role="img" aria-label="{words}" width="{len(found) * _HTML_BAR_WIDTH}" height="{_HTML_BAR_HEIGHT}">'
        f"<title>{words}</title>{bars}</svg>"
    )
