"""The tables of the report, in Markdown, each from the results alone; a dash where there are none yet."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterable, Sequence

from tcptutor import theory
from tcptutor.base import units
from tests.validation import figures, judge, models, plan
from tests.validation.judge import Comparison, Error
from tests.validation.kept import Result
from tests.validation.models import Model

PRINTED_KNEES = {4418: "3 or 4", 3000: "5", 1500: "10"}
_OF_LOAD = ((0.0, 0.7, "up to 0.7"), (0.7, 1.4, "0.7 to 1.4: the knee"), (1.4, 99.0, "above 1.4"))


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table; columns whose head ends in a space are text, the others numbers."""
    marks = ["---" if name.endswith(" ") or not name else "---:" for name in head]
    lines = ["| " + " | ".join(cells) + " |" for cells in ([name.strip() for name in head], marks, *rows)]
    return "\n".join(lines) if len(lines) > 2 else "Not run yet."


def compared(which: Iterable[Model], found: Sequence[Result]) -> list[Comparison]:
    return [one for model in which if (one := judge.compare(model, found)) is not None]


def where(result: Result) -> str:
    """The cell in a few words."""
    if result.study == "sockets":
        return f"{result.experiment.flows.streams} sockets, MSS {result.mss}"
    if result.study == "window":
        return units.size(result.experiment.hosts.window or 0)
    if result.study == "buffer":
        return f"{models.buffer_ratio(result):.2g} BDP"
    if result.study == "mss":
        return f"MSS {result.mss}, {units.percent(models.loss(result))}"
    return f"{units.percent(models.loss(result))}, {units.seconds(result.experiment.path.delay)}"


def regimes(which: Iterable[Model], found: Sequence[Result]) -> str:
    head = ("model ", "regime ", "cells", "median error", "bias", "worst ", "within 2 s.e.")
    return markdown(head, (_regime(one) for one in compared(which, found)))


def _regime(one: Comparison) -> list[str]:
    chance = f"{one.within_chance} of {len(one.errors)}" if any(error.chance for error in one.errors) else "–"
    worst = f"{one.worst.relative:+.0%} at {where(one.worst.result)}"
    return [
        one.model.label, one.model.regime, str(len(one.errors)), f"{one.median:.1%}", f"{one.bias:+.1%}", worst, chance,
    ]  # fmt: skip


def laws(found: Sequence[Result]) -> str:
    """Loss by RTT for each algorithm."""
    parts = []
    for name in plan.ALGORITHMS:
        cells = {
            (models.loss(one), one.experiment.path.delay): one for one in figures.of(found, f"laws-{name}")
        }
        rows = [
            [
                units.percent(loss),
                *(_cell(models.named(OWN[name]), cells.get((loss, rtt))) for rtt in plan.RTTS),
            ]
            for loss in plan.LOSSES
        ]
        parts.append(
            markdown((f"{figures.NAMES[name]}: loss", *(units.seconds(rtt) for rtt in plan.RTTS)), rows)
        )
    return "\n\n".join(parts)


OWN = {"reno": "reno", "cubic": "cubic", "htcp": "htcp", "bbr": "bbr"}
"""The model of each algorithm."""


def _cell(model: Model, one: Result | None) -> str:
    if one is None:
        return "not run"
    if reason := judge.why_not(model, one):
        return f"left out: {reason}"
    chance = judge.chance(one)
    error = one.throughput / model.predict(one) - 1
    return f"{error:+.0%}" + (f" ± {chance:.0%} ({one.events})" if chance else "")


def stops(found: Sequence[Result]) -> str:
    head = ("model ", "loss from ", "median errors by loss ", "RTT from ", "median errors by RTT ")
    rows = []
    for one in compared((*models.MODELS, *models.OTHERS), found):
        if not one.model.studies[0].startswith("laws-"):
            continue
        loss, rtt = judge.stops(one, models.loss), judge.stops(one, _delay)
        rows.append([
            one.model.label,
            units.percent(loss) if loss else "nowhere", _medians(one, models.loss, units.percent),
            units.seconds(rtt) if rtt else "nowhere", _medians(one, _delay, units.seconds),
        ])  # fmt: skip
    return markdown(head, rows)


def _delay(one: Result) -> float:
    return one.experiment.path.delay


def _medians(one: Comparison, key: Callable[[Result], float], say: Callable[[float], str]) -> str:
    medians = judge.by((*one.errors, *one.beyond), key)
    return ", ".join(f"{say(at)}: {value:.0%}" for at, value in medians.items())


def why(found: Sequence[Result]) -> str:
    """Where an error comes from: the formula, or the law that it stands for, or the path."""
    head = (
        "", "loss", "law / formula", "code / formula", "measured / code", "measured / formula",
        "timeouts' share by Padhye", "RTT / set", "loss events / set",
    )  # fmt: skip
    rows = []
    for name in ("reno", "cubic", "htcp"):
        model = models.named(OWN[name])
        for loss in plan.LOSSES:
            cells = [one for one in figures.of(found, f"laws-{name}") if models.loss(one) == loss]
            cells = [one for one in cells if not judge.why_not(model, one)]
            if cells:
                rows.append([figures.NAMES[name], units.percent(loss), *_causes(model, cells)])
    return markdown(head, rows)


def _causes(model: Model, cells: Sequence[Result]) -> list[str]:
    def median(of: Callable[[Result], float]) -> float:
        return statistics.median(of(one) for one in cells)

    return [
        f"{median(lambda one: models.law(one) / model.predict(one)):.2f}",
        f"{median(lambda one: models.kernel(one) / model.predict(one)):.2f}",
        f"{median(lambda one: one.throughput / models.kernel(one)):.2f}",
        f"{median(lambda one: one.throughput / model.predict(one)):.2f}",
        f"{median(models.timeouts):.0%}",
        f"{median(lambda one: (one.row.mean_rtt_s or 0) / models.rtt(one)):.3f}",
        f"{median(lambda one: one.row.loss_rate / models.loss(one)):.2f}",
    ]


def knees(found: Sequence[Result]) -> str:
    head = (
        "MTU",
        "MSS",
        "knee, printed",
        "knee, throughput",
        "knee, loss",
        "knee, model",
        "throughput at the knee",
    )
    rows = []
    for mtu in plan.SOCKETS:
        cells = figures.sockets(found, mtu)
        if len(cells) < len(plan.SOCKETS[mtu]):
            continue
        knee = judge.knee({one.experiment.flows.streams: one.throughput for one in cells})
        of_loss = judge.loss_knee({one.experiment.flows.streams: one.row.loss_rate for one in cells})
        there = next(one for one in cells if one.experiment.flows.streams == knee)
        rows.append([
            str(mtu), str(cells[0].mss), PRINTED_KNEES[mtu], str(knee), str(of_loss or "none"),
            f"{cells[0].experiment.flows.streams / models.sockets_load(cells[0]):.1f}",
            f"{there.throughput / models.link(there):.0%} of the link",
        ])  # fmt: skip
    return markdown(head, rows)


def loads(found: Sequence[Result]) -> str:
    """The sockets by how much of the link they could use."""
    comparison = judge.compare(models.named("aggregate"), found)
    rows = []
    for low, high, name in _OF_LOAD if comparison else ():
        assert comparison is not None
        errors = [error for error in comparison.errors if low <= models.sockets_load(error.result) < high]
        if errors:
            rows.append([name, *_load(errors)])
    head = (
        "K × one / link ",
        "cells",
        "median error",
        "worst ",
        "loss events over the path's",
        "RTT over the path's",
    )
    return markdown(head, rows)


def _load(errors: Sequence[Error]) -> list[str]:
    worst = max(errors, key=lambda error: abs(error.relative))
    lost = statistics.median(one.result.row.loss_rate / models.loss(one.result) for one in errors)
    waited = statistics.median((one.result.row.mean_rtt_s or 0) / models.rtt(one.result) for one in errors)
    median = statistics.median(abs(error.relative) for error in errors)
    place = f"{worst.relative:+.0%} at {where(worst.result)}"
    return [str(len(errors)), f"{median:.1%}", place, f"{lost:.2f}", f"{waited:.2f}"]


def figure10(found: Sequence[Result]) -> str:
    head = ("MSS", "C", "n", "mean difference, Mbit/s", "90 % interval ", "t", "p", "the model ")
    rows = []
    for mtu in plan.SOCKETS:
        cells = figures.sockets(found, mtu)
        for c in (1.0, theory.MATHIS_RANDOM) if len(cells) > 2 else ():
            test = judge.paired([(one.throughput - models.estimated(one, c)) / 1e6 for one in cells])
            said = (
                "overestimates"
                if test.high < 0
                else "underestimates"
                if test.low > 0
                else "is not told apart"
            )
            chance = f"{test.p:.2g}" if test.p > 1e-8 else "< 1e-8"
            interval = f"{test.low:+.2f} to {test.high:+.2f}"
            rows.append(
                [
                    str(cells[0].mss),
                    f"{c:g}",
                    str(test.n),
                    f"{test.mean:+.2f}",
                    interval,
                    f"{test.t:+.1f}",
                    chance,
                    said,
                ]
            )
    return markdown(head, rows)


def limits(found: Sequence[Result]) -> str:
    rows = []
    for name in ("window", "buffer", "mss"):
        for one in figures.of(found, name):
            said = models.named(name).predict(one)
            error = judge.why_not(models.named(name), one) or f"{one.throughput / said - 1:+.1%}"
            rows.append([
                f"{name}: {where(one)}", f"{one.throughput / 1e6:.2f}", f"{said / 1e6:.2f}", error, one.row.limited_by,
            ])  # fmt: skip
    return markdown(("", "measured, Mbit/s", "model, Mbit/s", "error", "limited by "), rows)


def figure3(found: Sequence[Result]) -> str:
    cells = {
        (one.experiment.path.delay, one.experiment.hosts.algorithm, models.loss(one) > 0): one
        for one in figures.of(found, "figure3")
    }
    rows = []
    for rtt in plan.FIGURE3_RTTS:
        free, reno, htcp = (
            cells.get((rtt, *key)) for key in (("reno", False), ("reno", True), ("htcp", True))
        )
        if free and reno and htcp:
            manual = models.mathis(1.0)(reno)
            share = f"{reno.throughput / models.link(reno):.0%}"
            measured = [f"{one.throughput / 1e6:.2f}" for one in (free, reno, htcp)]
            rows.append(
                [
                    units.seconds(rtt),
                    *measured,
                    f"{manual / 1e6:.2f}",
                    f"{reno.throughput / manual:.2f}",
                    share,
                ]
            )
    head = ("RTT", "no loss", "Reno", "H-TCP", "MSS / (RTT √L)", "Reno over it", "Reno over the link")
    return markdown(head, rows)
