"""Status and outcome of a run, in sentences."""

from __future__ import annotations

from tcptutor.base.key_names import key_name
from tcptutor.figures.lines import BAD, GOOD, MUTED, STRONG, TEXT, WARN, Line, Piece, paragraph
from tcptutor.spec import Experiment
from tcptutor.study import words
from tcptutor.study.live import Live

_FAULT_HIDDEN = "finding the fault is your task. The lines show what the network gives without it."
_OBSERVE_FIRST = "first say what your run showed (Tab), or skip that with x."


def status(live: Live, width: int) -> list[Line]:
    """Return progress or outcome, wrapped."""
    (mark, style), *rest = status_pieces(live)
    if live.in_progress:
        return [Line.of((mark, style), *rest).fit(width)]
    return paragraph(mark, style, "".join(text for text, _ in rest), width)


def status_pieces(live: Live) -> list[Piece]:
    run, total = live.run, live.run.experiment.seconds
    recorded = words.recorded(run.environment)
    repeat_keys = f" {_repeat_keys(live.run.experiment, bool(recorded))}" if live.is_repeatable else ""
    stop = "" if live.from_shell else f"   {key_name('lesson.stop')} stops"
    if live.state == "starting" or (live.in_progress and not live.has_samples):
        return [("… ", STRONG), (live.phase, TEXT), (stop, MUTED)]
    if live.in_progress:
        mark = "▶ recorded run: " if recorded else "▶ "
        warmup = "  (warm-up, not in the mean)" if run.experiment_s < run.experiment.flows.warmup else ""
        progress = f"{run.experiment_s:.0f} of {total:g} s{warmup}"
        if live.from_shell:
            progress = f"{run.experiment_s:.0f} s, started by hand"
        return [(mark, STRONG), (progress, TEXT), (stop, MUTED)]
    if live.problem:
        saved_part = f" ({run.experiment_s:.1f} s are saved)" if run.samples else ""
        return [("✗ ", BAD), (f"{live.problem}{saved_part}", TEXT)]
    if live.is_aborted:
        return [
            ("✂ cut short ", WARN),
            (f"at {run.experiment_s:.1f} of {total:g} s: {run.note}.{repeat_keys}", TEXT),
        ]
    done = f"done: {total:g} s of lab time in {run.wall_s:.0f} s.{repeat_keys}"
    if recorded:
        done = f"replayed from a recording.{repeat_keys}"
    elif live.from_shell:
        done = f"{total:.4g} s, started by hand; saved as {run.id}"
    elif run.environment.backend == "imported":
        done = f"{run.note}: {total:.4g} s."
    return [("✓ ", GOOD), (done, TEXT)]


def _repeat_keys(experiment: Experiment, recorded: bool) -> str:
    """Return the keys that start a new run, and whether chance makes it differ."""
    run = key_name("lesson.run")
    if recorded:
        return f"{run} replays it."
    drawn = words.drawn_by_chance(experiment)
    return (
        f"{run} draws new {drawn}, {key_name('lesson.repeat')} repeats" if drawn else f"{run} runs it again."
    )


def explanation(live: Live, width: int) -> list[Line]:
    """Return the verdict, remarks of the analysis, and doubts about the lab's fidelity."""
    lines: list[Line] = []
    if live.hides_fault:
        # The lab's doubts would give the fault away, too.
        return paragraph("why: ", STRONG, _FAULT_HIDDEN, width) if live.state == "ended" else []
    if live.awaits_observation and live.state == "ended":
        lines += paragraph("why: ", STRONG, _OBSERVE_FIRST, width)
    elif live.report:
        lines += paragraph("why: ", STRONG, live.report.verdict.sentence, width)
        # Remarks of the lab are below.
        if live.report.note and live.report.note not in live.run.fidelity.reasons:
            lines += paragraph("", TEXT, live.report.note, width)
    if recorded := words.recorded(live.run.environment):
        label = "no marks: " if live.is_enrolled else "replay: "
        lines += paragraph(label, WARN, recorded, width)
    if live.unsaved:
        lines += paragraph("⚠ not saved: ", BAD, live.unsaved, width)
    fidelity = live.run.fidelity
    # A live run has not been checked yet.
    if fidelity.status != "valid" and not (live.in_progress and fidelity.status == "unchecked"):
        reasons = "; ".join(fidelity.reasons) or "no reason given"
        style = BAD if fidelity.status == "invalid" else WARN
        lines += paragraph(f"⚠ this run is {fidelity.status}: ", style, reasons, width)
    return lines
