"""How the run stands and what came out of it, in sentences."""

from __future__ import annotations

from tcptutor.spec import Experiment
from tcptutor.ui import words
from tcptutor.ui.live import Live
from tcptutor.ui.widgets.bench.lines import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, Piece, paragraph

_TO_FIND = "that is yours to find. The lines are what the network should give as it was built."


def status(live: Live, width: int) -> list[Line]:
    """How far it is, or how it ended; wrapped."""
    (mark, style), *rest = told(live)
    if live.in_progress:
        return [Line.of((mark, style), *rest).fitted(width)]
    return paragraph(mark, style, "".join(text for text, _ in rest), width)


def told(live: Live) -> list[Piece]:
    """A mark and what it means."""
    run, total = live.run, live.run.experiment.seconds
    recorded = words.recorded(run.environment)
    again = f" {_again(live.run.experiment, bool(recorded))}" if live.is_repeatable else ""
    if live.state == "starting" or (live.in_progress and not live.has_samples):
        return [("… ", STRONG), (live.phase, TEXT), ("" if live.from_shell else "   s stops", MUTED)]
    if live.in_progress:
        mark = "▶ recorded run: " if recorded else "▶ "
        warmup = "  (warm-up, not in the mean)" if run.experiment_s < run.experiment.flows.warmup else ""
        far = f"{run.experiment_s:.0f} of {total:g} s{warmup}"
        if live.from_shell:
            far = f"{run.experiment_s:.0f} s, started by hand"
        return [(mark, STRONG), (far, TEXT), ("" if live.from_shell else "   s stops", MUTED)]
    if live.problem:
        kept = f" ({run.experiment_s:.1f} s of it are kept)" if run.samples else ""
        return [("✗ ", BAD), (f"{live.problem}{kept}", TEXT)]
    if live.is_aborted:
        return [
            ("✂ cut short ", WARN),
            (f"at {run.experiment_s:.1f} of {total:g} s: {run.note}.{again}", TEXT),
        ]
    done = f"done: {total:g} s of lab time in {run.wall_s:.0f} s.{again}"
    if recorded:
        done = f"played: not run now.{again}"
    elif live.from_shell:
        done = f"{total:.4g} s, started by hand; kept as {run.id}"
    elif run.environment.backend == "imported":
        done = f"{run.note}: {total:.4g} s."
    return [("✓ ", GOOD), (done, TEXT)]


def _again(experiment: Experiment, recorded: bool) -> str:
    """What the keys for another run do; where chance has no part, both give the same."""
    if recorded:
        return "r plays it again."
    drawn = words.drawn_by_chance(experiment)
    return f"r draws new {drawn}, R repeats" if drawn else "r runs it again."


def why(live: Live, width: int) -> list[Line]:
    """The verdict, what the analysis adds, and whether the lab believes itself."""
    lines: list[Line] = []
    if live.hides_fault:
        # What the lab thinks of itself would give the fault away too.
        return paragraph("why: ", STRONG, _TO_FIND, width) if live.state == "ended" else []
    if live.report:
        lines += paragraph("why: ", STRONG, live.report.verdict.sentence, width)
        # What the lab says of itself stands below.
        if live.report.note and live.report.note not in live.run.fidelity.reasons:
            lines += paragraph("", TEXT, live.report.note, width)
    if recorded := words.recorded(live.run.environment):
        lines += paragraph("replay: ", WARN, recorded, width)
    if live.unsaved:
        lines += paragraph("⚠ not saved: ", BAD, live.unsaved, width)
    fidelity = live.run.fidelity
    # Nobody has looked at one that goes on.
    if fidelity.status != "valid" and not (live.in_progress and fidelity.status == "unchecked"):
        reasons = "; ".join(fidelity.reasons) or "no reason given"
        style = BAD if fidelity.status == "invalid" else WARN
        lines += paragraph(f"⚠ this run is {fidelity.status}: ", style, reasons, width)
    return lines
