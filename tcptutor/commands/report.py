"""The report of a run for people: figures, model predictions, the limit, and fidelity."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path

from tcptutor.analysis import (
    FlowFigures,
    ModelComparison,
    Report,
    counted_by_sender,
    is_imported,
    is_parameter_known,
)
from tcptutor.base import units
from tcptutor.base.columns import length, table
from tcptutor.commands.latency import latency_lines
from tcptutor.commands.output import Tone, count, toned, width
from tcptutor.run import FlowResult, Run, UdpResult, sum_or_none
from tcptutor.runs import packets
from tcptutor.spec import Experiment, shown_settings
from tcptutor.study import words

_FACTS = 9
"""Width of the column of names."""
_MAX_FLOWS = 8
"""Largest number of flows with a line each; above it only the fastest and slowest have a line."""
_EXTREMES = 3
"""Number of fastest and of slowest flows shown."""
FIDELITY: dict[str, Tone] = {"valid": "good", "suspect": "doubt", "invalid": "bad", "unchecked": "doubt"}

Row = tuple[str, ...]


def report_lines(
    run: Run, result: Report, file: Path | None, all_flows: bool = False, of_path: bool = True
) -> list[str]:
    """Format the report of a run.

    Args:
        run: The run.
        result: Its analysis.
        file: Its file, if saved.
        all_flows: Show every flow, not only the fastest and slowest of many.
        of_path: Include the settings of path and hosts, and the predictions from them.
    """
    experiment, environment, fidelity = run.experiment, run.environment, run.fidelity
    shown_below = (result.verdict.sentence, *fidelity.reasons)
    reason = f" ({environment.reason})" if environment.reason else ""
    where = f"{environment.backend}, {environment.clock} clock, {environment.system}{reason}"
    return [
        toned(f"{experiment.name}: {experiment.title}", "title"),
        *_facts(
            ("NOT RUN", environment.reason) if environment.backend == "replay" else ("ran on", where),
            *((("with", _settings(run)),) if of_path else ()),
            ("measured", _measured(run, result)),
            *_fairness(result),
        ),
        *_flows(experiment, result.flows, all_flows),
        *_udp(experiment, result.udp, all_flows),
        *latency_lines(result.latency, experiment.flows.warmup, width(), of_path),
        *(_models(result.comparisons) if of_path else ()),
        *_facts(
            ("why", result.verdict.sentence),
            *((("", result.note),) if result.note and result.note not in shown_below else ()),
            ("fidelity", toned(fidelity.status, FIDELITY[fidelity.status])),
            *(("", reason) for reason in fidelity.reasons),
            *((("cut short", run.note),) if not run.complete and run.note else ()),
            ("took", f"{run.wall_s:.1f} s for {run.experiment_s:.1f} s of the lab's time"),
            *((("file", str(file)),) if file else ()),
            *_packets(run, file),
        ),
    ]


def _facts(*facts: Row) -> list[str]:
    """Format facts, folded to the terminal; paths are not folded, to be copied."""
    room = width()
    lines = []
    for name, text in facts:
        whole = room is None or name in ("file", "packets")
        lines += table([(name, text)], (_FACTS,), fold=not whole, width=room or 0)
    return lines


def _packets(run: Run, file: Path | None) -> list[Row]:
    """Return the file and the counts of captured packets."""
    if not run.captured:
        return []
    parts = [
        f"{each.interface} {count(each.packets, 'packet')}"
        + (f", and {each.dropped} more did not fit: use a larger capture_size" if each.dropped else "")
        for each in run.captured
    ]
    is_saved = file is not None and packets.file_of(file).exists()
    where = str(packets.file_of(file)) if file is not None and is_saved else "missing: the file was deleted"
    return [("packets", where), *(("", each) for each in parts)]


def _settings(run: Run) -> str:
    given = {
        name: text for name, text in shown_settings(run.experiment).items() if is_parameter_known(run, name)
    }
    # Imported runs and runs by hand have no seed.
    if not is_imported(run) and run.experiment.name != "by-hand":
        given["seed"] = str(run.experiment.seed)
    path = run.experiment.path
    if path.queue_packets is not None:
        given["queue"] = path.queue_text
    if path.rate is None:
        given.pop("queue", None)  # a default, and unused without a rate
    if path.unread:
        given["not read:"] = ", ".join(path.unread)
    return ", ".join(f"{name} {value}" for name, value in given.items())


def _measured(run: Run, result: Report) -> str:
    parts = []
    if result.flows:
        parts.append(
            f"{_throughput(run, result)}   {count(len(result.flows), 'flow')},"
            f" {_counted(result.loss_events, 'loss event')}"
            + (f" ({result.spurious_events} of them spurious and undone)" if result.spurious_events else "")
            + f", {_counted(result.retransmits, 'retransmission')}"
            + (f", {count(result.mark_cuts, 'cut')} by marks" if result.mark_cuts else "")
        )
        if len(result.flows) == 1 and (steady := result.flows[0].cov) is not None:
            parts.append(f"CoV {units.share(steady)} over the seconds")
    if result.udp:
        total = sum_or_none(flow.received_bps for flow in result.udp)
        parts.append(
            f"UDP {units.or_dash(total, units.rate)}"
            + (f" in {len(result.udp)} flows" if len(result.udp) > 1 else "")
        )
    return ", ".join(parts) or "nothing"


def _throughput(run: Run, result: Report) -> str:
    """Return the throughput of all flows or of each direction; names the counting end if not the receiver."""
    rates = []
    for each in result.directions:
        reverse = each.direction == "reverse"
        flows = [flow for flow in run.flows if run.experiment.reversed(flow.flow) == reverse]
        rates.append(f"{each.direction} {units.rate(each.throughput_bps)}{_counting_end(run, flows)}")
    return " and ".join(rates) or units.rate(result.throughput_bps) + _counting_end(run, run.flows)


def _counting_end(run: Run, flows: Sequence[FlowResult]) -> str:
    return " by the sender's count" if is_imported(run) and counted_by_sender(flows) else ""


def _counted(number: int | None, what: str) -> str:
    return f"{units.UNKNOWN} {what}s" if number is None else count(number, what)


def _fairness(result: Report) -> list[Row]:
    if len(result.flows) < 2:
        return []
    if result.directions:
        shares = [
            f"{each.direction} Jain's index {each.jain_index:.3f} of {each.flows} flows"
            for each in result.directions
            if each.jain_index is not None
        ]
        return [("shared", ", ".join(shares))] if shares else []
    between = (
        "" if result.cov_between is None else f", CoV {units.share(result.cov_between)} between the flows"
    )
    during = "" if result.shared_s is None else f" from {result.shared_s[0]:g} to {result.shared_s[1]:.4g} s"
    steady = any(flow.cov is not None for flow in result.flows)
    below = "; below, CoV is each flow's over the seconds" if steady else ""
    return [
        (
            "shared",
            f"Jain's index {units.or_dash(result.jain_index, '{:.3f}'.format)}{between}{during}{below}",
        )
    ]


def _flows(experiment: Experiment, flows: Sequence[FlowFigures], all_flows: bool) -> list[str]:
    """Format a table with a line per flow; empty for a single flow: its figures are shown above."""
    if len(flows) < 2:
        return []
    mixed = len({experiment.algorithm(flow.flow) for flow in flows}) > 1
    scale, unit = _scale([flow.throughput_bps for flow in flows])
    both = {experiment.reversed(flow.flow) for flow in flows} == {True, False}
    changing = any(flow.span_s is not None for flow in flows)
    head = (
        "flow",
        "",
        "",
        "from, s" if changing else "",
        "to, s" if changing else "",
        unit,
        "share, %",
        "CoV, %",
        "RTT, ms",
        "cwnd",
        "losses",
        "retrans",
    )
    rows = [
        (
            str(flow.flow + 1),
            _direction(experiment, flow.pair, experiment.reversed(flow.flow), both),
            experiment.algorithm(flow.flow) if mixed else "",
            *("" if flow.span_s is None else f"{t:.1f}" for t in flow.span_s or (0, 0)),
            f"{flow.throughput_bps / scale:.2f}",
            f"{100 * flow.share:.1f}",
            "" if flow.cov is None else f"{100 * flow.cov:.0f}",
            units.or_dash(flow.mean_rtt_s, lambda rtt: f"{1e3 * rtt:.1f}"),
            units.or_dash(flow.mean_cwnd_segments, "{:.1f}".format),
            units.or_dash(flow.losses),
            units.or_dash(flow.retransmits),
        )
        for flow in flows
    ]
    return _listed(head, rows, [flow.throughput_bps for flow in flows], all_flows)


def _udp(experiment: Experiment, flows: Sequence[UdpResult], all_flows: bool) -> list[str]:
    if not flows:
        return []
    scale, unit = _scale([max(flow.sent_bps or 0.0, flow.received_bps or 0.0) for flow in flows])
    both = {flow.reverse for flow in flows} == {True, False}
    head = ("UDP", "", f"sent, {unit}", "received", "lost, %", "datagrams", "jitter, ms", "out of order")
    rows = [
        (
            str(flow.flow + 1),
            _direction(experiment, flow.pair, flow.reverse, both),
            units.or_dash(flow.sent_bps, lambda rate: f"{rate / scale:.2f}"),
            units.or_dash(flow.received_bps, lambda rate: f"{rate / scale:.2f}"),
            _lost(flow),
            f"{units.or_dash(flow.lost)} of {units.or_dash(flow.datagrams)}",
            f"{1e3 * flow.jitter_s:.2f}" if flow.jitter_s is not None else "",
            "" if flow.out_of_order is None else str(flow.out_of_order),
        )
        for flow in flows
    ]
    return _listed(head, rows, [flow.received_bps or 0.0 for flow in flows], all_flows)


def _lost(flow: UdpResult) -> str:
    if flow.lost is None or flow.datagrams is None:
        return units.UNKNOWN
    return f"{100 * flow.lost / flow.datagrams:.2f}" if flow.datagrams else ""


def _scale(rates: Sequence[float]) -> tuple[float, str]:
    """Return the factor and name of the rate unit that suits the largest rate, for a column."""
    return units.axis_unit(max(rates), "rate")


def _direction(experiment: Experiment, pair: int, reverse: bool, both: bool) -> str:
    if experiment.pairs == 1:
        return ("reverse" if reverse else "forward") if both else ""
    ends = f"h{2 * pair + 1}", f"h{2 * pair + 2}"
    way = " to ".join(reversed(ends) if reverse else ends)
    return f"{way}, both links" if len(experiment.links_of(pair)) > 1 else way


def _listed(head: Row, rows: Sequence[Row], rates: Sequence[float], all_flows: bool) -> list[str]:
    """Format the rows below their head, without empty columns; of many rows only the extreme `rates`."""
    used = [place for place in range(len(head)) if any(row[place] for row in rows)]
    by_rate = sorted(range(len(rows)), key=lambda place: -rates[place])
    few = all_flows or len(rows) <= _MAX_FLOWS
    shown = [
        rows[place] for place in (range(len(rows)) if few else [*by_rate[:_EXTREMES], *by_rate[-_EXTREMES:]])
    ]
    lines = table([tuple(row[place] for place in used) for row in (head, *shown)], right=True, indent=4)
    if not few:
        between = f"{len(rows) - 2 * _EXTREMES} more: --flows shows them"
        lines.insert(1 + _EXTREMES, toned(f"    ... {between}", "faint"))
    return lines


def _models(compared: Sequence[ModelComparison]) -> list[str]:
    """Format a line per prediction and its error's reason, once for several with the same reason.

    Formulas go on lines of their own where they do not fit.
    """
    if not compared:
        return []
    cells = [
        (
            ("▸" if place == 0 else " ") + (toned("✓", "good") if each.within else " "),
            each.prediction.label,
            units.rate(each.prediction.throughput_bps),
            _error(each),
        )
        for place, each in enumerate(compared)
    ]
    formulas = [each.prediction.formula for each in compared]
    lines, room = table([(*row, formula) for row, formula in zip(cells, formulas, strict=True)]), width()
    below = room is not None and any(length(line) > room for line in lines)
    if below:
        lines = table(cells)
    parts = _facts(("models", "▸ binds, ✓ explains the run; error of each (± tolerance)"))
    for place, (each, after) in enumerate(zip_longest(compared, compared[1:])):
        parts += [lines[place], *(_below(formulas[place]) if below else [])]
        if each.reason and (after is None or after.reason != each.reason):
            parts += _below(each.reason)
    return parts


def _error(each: ModelComparison) -> str:
    if each.judgement == "capped":
        return "capped by the link"
    return f"{units.signed_percent(each.difference)} ({words.tolerance(each.prediction.tolerance)})"


def _below(text: str) -> list[str]:
    room = width()
    return table([(text,)], indent=7, fold=room is not None, width=room or 0)
