"""Every experiment and figure of the five documents is an experiment of the course: files name the rows that they are.

The rows are those of assets/documentation/settings.toml; what a student types in a shell is a lesson's to show.
"""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor import spec
from tcptutor.base import places
from tcptutor.base.errors import ParameterError
from tcptutor.course.experiments import Catalogue
from tcptutor.spec import Experiment
from tests.documentation.settings import Row, rows
from tests.each import each

CATALOGUE = Catalogue(places.lessons())
ROWS = {f"{row.document}: {row.where}": row for row in rows()}
NAMED = [(experiment, row) for experiment, named in CATALOGUE.rows.items() for row in named]
TRAFFIC = {name for name, known in spec.PARAMETERS.items() if known.part == "flows"} | {
    "algorithm",
    "algorithms",
}


def different(ours: Experiment, row: Row, scale: str) -> set[str]:
    """The parameters in which an experiment is not that row: those of the nearest of its runs."""
    found = [_different(ours, theirs, row) for theirs in row.experiments(scale)]
    return min(found, key=len)


def _different(ours: Experiment, theirs: Experiment, row: Row) -> set[str]:
    names = {name for name, value in ours.parameters.items() if theirs.parameters.get(name) != value}
    names |= theirs.parameters.keys() - ours.parameters.keys()
    if not row.parameters:  # a network, on which anything may run
        return names & {"pairs"}
    if "duration" not in row.parameters:  # a path, on which any traffic may go
        return names - (TRAFFIC - row.parameters.keys())
    return names


def scales(name: str) -> Iterator[tuple[str, Experiment]]:
    """The experiment as it is run here, and as it was printed where its file has that."""
    yield "bench", CATALOGUE.build(name)
    try:
        yield "paper", CATALOGUE.build(name, scale="paper")
    except ParameterError:
        return


@each(("name", "row"), NAMED, ids=lambda part: part)
def test_an_experiment_is_the_rows_that_it_names(name: str, row: str) -> None:
    assert row in ROWS, f"no row of settings.toml is {row!r}"
    for scale, experiment in scales(name):
        if scale == "bench" or ROWS[row].paper:
            assert different(experiment, ROWS[row], scale) == set(), scale


def test_every_row_that_is_an_experiment_or_a_figure_is_an_experiment_of_the_course() -> None:
    reached = {row for _, row in NAMED}
    missing = [name for name, row in ROWS.items() if not row.shell and name not in reached]
    assert missing == []
