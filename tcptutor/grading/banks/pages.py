"""HTML of a bank's texts, and the context of questions about runs: page text, measurements and a chart."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from html import escape
from pathlib import Path
from typing import NamedTuple

from markdown_it import MarkdownIt

from tcptutor import spec
from tcptutor.analysis import Report, report
from tcptutor.backends import replay
from tcptutor.base import units
from tcptutor.course.activities.run import RunActivity, SweepActivity
from tcptutor.course.figure_places import split
from tcptutor.course.measures import MEASURES
from tcptutor.course.outline import Module
from tcptutor.course.page_references import without_links
from tcptutor.course.page_sweep import models, page_cell, summaries
from tcptutor.course.pointers import EVERYWHERE, SWEPT, without_pointers
from tcptutor.course.step import OTHERS, Step
from tcptutor.figures.figure import Figure
from tcptutor.run import Run, load, mean_of_known, sum_or_none
from tcptutor.spec import Experiment

PANELS = ("cwnd", "rtt", "throughput", "queue")
"""Quantities in the chart of a run."""
_FIGURE_COLUMNS = 72
_MOST_LISTED = 8
"""Flows up to which each is listed; more flows are only summed."""


class PageContext(NamedTuple):
    """A page as the student sees it before the question, without the sentences that point at the app."""

    html: str
    charts: Mapping[str, bytes]


class RecordedPages:
    """Pages with their recorded runs."""

    def __init__(self, draw: Callable[[Run], bytes] | None, folder: Path | None = None) -> None:
        """Use the recordings in `folder`, by default the shipped ones.

        Args:
            draw: Makes a chart of a run; None for pages without charts.
            folder: Folder of recorded runs.
        """
        self._draw = draw
        folder = folder or replay.recordings_folder()

        @cache
        def runs(module: str) -> tuple[Run, ...]:
            return tuple(load(path) for path in sorted(folder.glob(f"{module}/**/*.tcprun")))

        self._runs = runs

    def page(self, module: Module, step: Step) -> PageContext | None:
        """Return the context of a page; None if a run of the page is not recorded."""
        charts: dict[str, bytes] = {}
        if step.sweep is not None:
            measured = self._sweep_table(step.sweep)
        elif step.experiment is not None:
            measured = self._run_table(module, step, step.experiment, charts)
        else:
            return None
        if measured is None:
            return None
        head = f"<p><strong>{inline(step.title)}</strong></p>"
        prose, after, published = (
            illustrated(without_pointers(text, SWEPT if step.sweep else EVERYWHERE), step.figures)
            for text in (step.prose, step.after_run, step.published)
        )
        others = f"<p><strong>{OTHERS}</strong></p>{published}" if published else ""
        return PageContext(f"{head}{prose}{measured}{after}{others}<hr>", charts)

    def _run_table(self, module: Module, step: Step, of: RunActivity, charts: dict[str, bytes]) -> str | None:
        run = self._find(of.experiment)
        if run is None:
            return None
        named = {"": run}
        other = next((each for each in module.steps if each.id == of.compare_with), None)
        if other is not None and other.experiment is not None:
            other_run = self._find(other.experiment.experiment)
            named = {step.title: run, **({other.title: other_run} if other_run is not None else {})}
        if self._draw is None:
            return _measurements(named)
        name = f"{module.id}-{step.id}.png"
        charts[name] = self._draw(run)
        return _measurements(named) + chart(name, f"cwnd, RTT, throughput and queue over time: {step.title}")

    def _sweep_table(self, sweep: SweepActivity) -> str | None:
        found = [(at, self._find(experiment)) for at, experiment in sweep.cells()]
        cells = [page_cell(sweep, at, run) for at, run in found if run is not None]
        if len(cells) < len(found):
            return None
        measure, lines = MEASURES[sweep.measure], models(sweep)[:1]
        rows = [
            [
                value,
                "none" if summary is None else measure.written(summary.mean),
                *(measure.written(line.values[at]) for line in lines),
            ]
            for at, (value, summary) in enumerate(zip(sweep.values, summaries(sweep, cells), strict=True))
        ]
        head = [
            sweep.axis.replace("_", " "),
            f"{measure.label}, measured",
            *(f"expected ({line.name})" for line in lines),
        ]
        return _sweep_settings(sweep) + table(head, rows) + _published(sweep)

    def _find(self, experiment: Experiment) -> Run | None:
        runs = self._runs(experiment.name.partition("/")[0])
        return next((run for run in runs if replay.same_experiment(run.experiment, experiment)), None)


def _sweep_settings(sweep: SweepActivity) -> str:
    """Return the settings that all runs of the sweep share."""
    first, *others = (spec.settings(experiment) for _, experiment in sweep.cells())
    shared = {name: value for name, value in first.items() if all(each.get(name) == value for each in others)}
    return f"<p>Set to: {inline(_settings(shared))}</p>"


def _settings(of: Mapping[str, str]) -> str:
    return ", ".join(f"{name} {value}" for name, value in of.items())


def _published(sweep: SweepActivity) -> str:
    """Return a table of the published points that the page compares with; empty for none."""
    if sweep.published is None:
        return ""
    scaled = f", {sweep.published.scale_reason}" if sweep.published.scale_reason else ""
    rows = [
        [units.rounded(x, sweep.kind), MEASURES[sweep.measure].written(y)]
        for x, y in sweep.published.points()
    ]
    head = [
        sweep.axis.replace("_", " "),
        f"{MEASURES[sweep.measure].label}, {sweep.published.called}{scaled}",
    ]
    return table(head, rows)


def _measurements(named: Mapping[str, Run]) -> str:
    """Return a table of the runs side by side, by name, without rows that all lack."""
    columns = [_figures(run) for run in named.values()]
    names = dict.fromkeys(name for column in columns for name in column)
    rows = [[name, *(column.get(name, "") for column in columns)] for name in names]
    return table(["", *(name or "measured" for name in named)], rows)


def _figures(run: Run) -> dict[str, str]:
    """Return the settings of a run and its measurements."""
    measured = report(run)
    found = {"set to": _settings(spec.settings(run.experiment))}
    if measured.flows:
        found |= {"throughput": units.rate(measured.throughput_bps), **_flow_figures(measured)}
    if measured.udp:
        found |= {
            "UDP sent": units.or_dash(sum_or_none(flow.sent_bps for flow in measured.udp), units.rate),
            "UDP received": units.or_dash(
                sum_or_none(flow.received_bps for flow in measured.udp), units.rate
            ),
            "UDP lost": units.or_dash(MEASURES["udp-loss"].compute(measured), units.share),
        }
    return found


def _flow_figures(measured: Report) -> dict[str, str]:
    flows = measured.flows
    found = {
        "mean RTT": units.or_dash(mean_of_known(flow.mean_rtt_s for flow in flows), units.seconds),
        "mean cwnd": units.or_dash(
            mean_of_known(flow.mean_cwnd_segments for flow in flows), "{:.1f} segments".format
        ),
        "loss events": units.or_dash(measured.loss_events),
        "retransmitted": units.or_dash(measured.retransmits),
    }
    if len(flows) == 1:
        return found
    found |= {"flows": str(len(flows)), "Jain's index": units.or_dash(measured.jain_index, "{:.3f}".format)}
    if any(flow.cov is not None for flow in flows):
        found["CoV of a flow"] = units.share(_mean([flow.cov for flow in flows if flow.cov is not None]))
    if len(flows) <= _MOST_LISTED:
        found["each flow"] = ", ".join(units.rate(flow.throughput_bps) for flow in flows)
    return found


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


_MARKS = re.compile(r"`([^`]+)`|\*\*([^*]+)\*\*|\*([^*\s][^*]*)\*")
"""Inline marks as the app reads them in questions: code, strong, emphasis."""
_TAGS = ("code", "strong", "em")
_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table").disable("image")
"""CommonMark with tables, without HTML and images: a terminal shows no images, and a bank adds its own."""

_CHART = re.compile(r'(?<=<img src=")chart:([^"]+)(?=")')


def inline(text: str) -> str:
    """Render inline marks and collapse white space."""
    parts, end, text = [], 0, without_links(text)
    for match in _MARKS.finditer(text):
        assert match.lastindex is not None
        tag = _TAGS[match.lastindex - 1]
        parts += [
            escape(text[end : match.start()], quote=False),
            f"<{tag}>{escape(match[match.lastindex], quote=False)}</{tag}>",
        ]
        end = match.end()
    return " ".join("".join([*parts, escape(text[end:], quote=False)]).split())


def paragraphs(text: str) -> str:
    """Render paragraphs separated by empty lines; a single line break is a space."""
    return "".join(f"<p>{inline(block)}</p>" for block in re.split(r"\n\s*\n", text.strip()) if block)


def page(text: str) -> str:
    """Render a page's Markdown. HTML in it is escaped."""
    return str(_MARKDOWN.render(without_links(text))).strip()


def illustrated(text: str, figures: Sequence[Figure]) -> str:
    """Render a page's Markdown with its figures."""
    return "".join(page(part) if isinstance(part, str) else figure(part) for part in split(text, figures))


def figure(drawn: Figure) -> str:
    """Render a figure at rest, followed by its description for readers who cannot see it."""
    lines = drawn.draw(_FIGURE_COLUMNS, drawn.motion.rest if drawn.motion else 0.0)
    picture = "\n".join(escape(line.text.rstrip(), quote=False) for line in lines)
    caption = drawn.caption and drawn.caption.rstrip(".") + "."
    words = f"{caption} {drawn.describe()}".strip()
    return f'<pre aria-hidden="true">{picture}</pre><p><em>{escape(words, quote=False)}</em></p>'


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Render a table; the first cell of each row is its name."""
    top = "".join(f"<th>{escape(cell, quote=False)}</th>" for cell in head)
    body = "".join(
        f"<tr><th>{escape(name, quote=False)}</th>"
        + "".join(f"<td>{escape(cell, quote=False)}</td>" for cell in cells)
        + "</tr>"
        for name, *cells in rows
    )
    return f"<table><thead><tr>{top}</tr></thead><tbody>{body}</tbody></table>"


def chart(name: str, description: str) -> str:
    """Render a reference to a chart of the bank, with `description` for readers who cannot see it."""
    return f'<p><img src="chart:{escape(name)}" alt="{escape(description)}"></p>'


def with_charts(text: str, address: Callable[[str], str]) -> str:
    """Replace the name of each chart in `text` by its address."""
    return _CHART.sub(lambda found: escape(address(found[1])), text)
