"""How the run stands and what came out of it, in sentences."""

from __future__ import annotations

from textual.content import Content

from tcptutor.ui import words
from tcptutor.ui.live import Live


def status(live: Live) -> Content:
    """How far it is, or how it ended."""
    run, total = live.run, live.run.experiment.seconds
    if live.state == "starting" or (live.going_on and not run.samples):
        return Content.assemble(("… ", "bold"), live.phase, ("   s stops", "$text-muted"))
    recorded = words.recorded(run.environment)
    if live.going_on:
        mark = "▶ recorded run: " if recorded else "▶ "
        warmup = "  (warm-up, not in the mean)" if run.experiment_s < run.experiment.flows.warmup else ""
        return Content.assemble(
            (mark, "bold"), f"{run.experiment_s:.0f} of {total:g} s{warmup}", ("   s stops", "$text-muted")
        )
    if live.problem:
        kept = f" ({run.experiment_s:.1f} s of it are kept)" if run.samples else ""
        return Content.assemble(("✗ ", "$error bold"), f"{live.problem}{kept}")
    again = f" r {'plays' if recorded else 'runs'} it again." if live.repeatable else ""
    if live.cut_short:
        return Content.assemble(
            ("✂ cut short ", "$warning bold"),
            f"at {run.experiment_s:.1f} of {total:g} s: {run.note}.{again}",
        )
    if recorded:
        done = f"played: not run now.{again}"
    elif run.environment.backend == "imported":
        done = f"{run.note}: {total:.4g} s."
    else:
        done = f"done: {total:g} s of lab time in {run.wall_s:.0f} s.{again}"
    return Content.assemble(("✓ ", "$success bold"), done)


def why(live: Live, width: int) -> Content:
    """The verdict, what the analysis adds, and whether the lab believes itself."""
    lines = []
    if live.report:
        lines.append(_paragraph("why: ", "bold", live.report.verdict.sentence, width))
        # Under the binding model its reason stands already.
        shown = {*live.run.fidelity.reasons, *(each.reason for each in live.report.compared[:1])}
        if live.report.note and live.report.note not in shown:
            lines.append(_paragraph("", "", live.report.note, width))
    if recorded := words.recorded(live.run.environment):
        lines.append(_paragraph("replay: ", "$warning bold", recorded, width))
    if live.unsaved:
        lines.append(_paragraph("⚠ not saved: ", "$error bold", live.unsaved, width))
    fidelity = live.run.fidelity
    if fidelity.status != "valid":
        style = "$error bold" if fidelity.status == "invalid" else "$warning bold"
        reasons = "; ".join(fidelity.reasons) or "no reason given"
        lines.append(_paragraph(f"⚠ this run is {fidelity.status}: ", style, reasons, width))
    return Content("\n").join(lines)


def _paragraph(what: str, style: str, text: str, width: int) -> Content:
    return Content("\n".join(words.wrapped(what + text, width))).stylize(style, 0, len(what))
