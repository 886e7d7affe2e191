"""`tcptutor run --repeat N`: the same experiment with N seeds, and what they say together."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Sequence
from contextlib import aclosing
from pathlib import Path
from typing import Any

import click
import msgspec

from tcptutor import units
from tcptutor.analysis import document
from tcptutor.backends.ending import run_until_signal
from tcptutor.errors import LabError, TutorError
from tcptutor.run import Run
from tcptutor.spec import Experiment
from tcptutor.sweep import place, pool, said
from tcptutor.sweep.cell import Row, row
from tcptutor.sweep.confidence import LEVEL
from tcptutor.sweep.grid import Cell
from tcptutor.sweep.place import Place
from tcptutor.sweep.points import Point, point
from tcptutor.sweep.progress import Bar

Keep = Callable[[Run], Path | None]


def run_repeated(
    experiments: Sequence[Experiment], backend: str, clock: str, as_json: bool, keep: Keep
) -> int:
    """The exit code. `experiments` differ in their seeds only; `keep` stores a run. Raises TutorError."""
    where = asyncio.run(place.find(experiments, backend, clock, None))
    repeats = _Repeats(experiments, as_json, keep)
    if not as_json:
        click.echo(f"{experiments[0].name}: {experiments[0].title}")
        runs = f"{said.count(len(experiments), 'run')}, {where.backend}, {where.clock} clock, {where.why}"
        click.echo(f"  {runs}: about {said.duration(place.expected_seconds(experiments, where))}")
    problem = run_until_signal(repeats.run(where))
    if repeats.rows:
        repeats.tell()
    if problem is not None:
        finished = f"{len(repeats.rows)} of {said.count(len(experiments), 'run')}"
        click.echo(f"tcptutor: {problem}; {finished} are finished and kept", err=True)
        return problem.exit_code
    return 0


class _Repeats:
    """Owns what has come out so far."""

    def __init__(self, experiments: Sequence[Experiment], as_json: bool, keep: Keep) -> None:
        self._experiments, self._as_json, self._keep = experiments, as_json, keep
        self._documents: dict[int, dict[str, object]] = {}
        self.rows: dict[int, Row] = {}

    async def run(self, where: Place) -> TutorError | None:
        """Run all of them; gives the first thing that went wrong."""
        problem: TutorError | None = None
        try:
            with Bar(self._experiments[0].name, len(self._experiments)) as bar:
                async with aclosing(pool.runs(self._experiments, where)) as results:
                    async for number, result in results:
                        if isinstance(result, TutorError):
                            problem = problem or result
                        else:
                            self._take(number, result)
                        bar.one_more()
        except asyncio.CancelledError:
            return LabError("stopped before the end")
        except TutorError as error:
            return error
        return problem

    def _take(self, number: int, run: Run) -> None:
        path = self._keep(run)
        self._documents[number] = document(run, str(path) if path else None)
        made = self.rows[number] = row(Cell(number, {}, run.experiment), run)
        if not self._as_json:
            best = made.predictions[0]
            doubt = "" if made.fidelity == "valid" else f"   {made.fidelity}: {made.reasons[0]}"
            click.echo(
                f"  seed {made.seed}   {units.rate(made.throughput_bps)}   {said.count(made.losses, 'loss event')}"
                f"   measured / {best.label} {best.ratio:.2f}{doubt}"
            )

    def tell(self) -> None:
        """Print one run or more: the documents with the summary, or the means with their intervals."""
        together = point([self.rows[number] for number in sorted(self.rows)])
        if self._as_json:
            whole = {
                "runs": [self._documents[number] for number in sorted(self._documents)],
                "summary": _summary(together),
            }
            click.echo(json.dumps(whole, allow_nan=False))
        else:
            for line in _lines(together):
                click.echo(f"  {line}")


def _summary(together: Point) -> dict[str, Any]:
    measured = {name: together.measured[name] for name in ("throughput_bps", "loss_rate", "losses")}
    ratios = {name: model.ratio for name, model in together.models.items()}
    whole = {
        "n": len(together.seeds),
        "seeds": together.seeds,
        "confidence": LEVEL,
        **measured,
        "ratios": ratios,
        "limited_by": together.limited_by,
        "not_valid": together.doubtful,
    }
    return msgspec.to_builtins(whole)  # type: ignore[no-any-return]


def _lines(together: Point) -> list[str]:
    measured = together.measured
    lines = [
        f"mean of {said.count(len(together.seeds), 'run')}, ± half the {LEVEL:.0%} confidence interval",
        f"  throughput   {said.rate_with_interval(measured['throughput_bps'])}",
        f"  loss rate    {said.with_interval(measured['loss_rate'], 1e-2, '%')}",
        f"  losses       {said.with_interval(measured['losses'], 1, '')}",
    ]
    for model in together.models.values():
        lines.append(f"  measured / {model.label:<24} {said.with_interval(model.ratio, 1, '')}")
    if together.doubtful:
        lines.append(
            f"  {together.doubtful} of {said.count(len(together.seeds), 'run')} not valid: see their files"
        )
    return lines
