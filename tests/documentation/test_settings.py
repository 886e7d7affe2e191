"""Every numbered step and experiment of the five documents can be run here, and settings.md says how."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from tcptutor import spec
from tests.documentation.settings import PAGE, Row, documents, page, rows
from tests.each import each

ROWS = rows()
STEPS = {
    "lab06_congestion_control": {
        "2": 3, "2.1": 3, "2.2": 3, "2.3": 2, "3": 1, "3.1": 1, "3.2": 1, "3.3": 3, "4.1": 3, "4.2": 1, "4.3": 2,
        "5.1.1": 4, "5.1.2": 4, "5.1.3": 4, "5.2": 3, "5.2.1": 4, "5.2.2": 4, "5.2.3": 4,
    },
    "lab09_parallel_streams": {"2": 3, "2.1": 3, "2.2": 3, "2.3": 5, "3": 3, "4.1": 5, "4.2": 2},
    "lab12_pacing": {"2": 3, "2.1": 3, "2.2": 3, "2.3": 8, "3": 4, "4": 3, "5": 4, "6": 2, "7": 10, "8": 6},
    "hacker_parallel_sockets": {},
    "tcp_performance_experiments": {},
}  # fmt: skip
"""The last step of every section of the documents that has steps."""
OTHERS = {
    "lab06_congestion_control": ["figure 2(b)", "figure 3, Reno", "figure 3, H-TCP", "figure 3, without loss"],
    "lab09_parallel_streams": ["figure 2", "section 1.2, unequal RTTs"],
    "lab12_pacing": ["figure 2(a)", "figure 2(b)", "figure 2(c)", "section 4, both limits"],
    "hacker_parallel_sockets": [
        "section 3.0, jumbo frames", "section 3.2, losses in bursts", "section 3.2, unfair queues", "table 1",
        "section 3.2, doubled loss", "figures 1, 4, 7 and 10", "figures 2, 5 and 8", "figures 3, 6 and 9", "figure 11",
        "figures 12 and 13", "section 4, unequal RTTs", "section 4.1",
    ],
    "tcp_performance_experiments": [
        "experiment 1", "experiment 2", "experiment 3", "experiment 4, method", "experiment 4, table 4.1",
        "experiment 4, table 4.2", "experiment 5, method", "experiment 5", "experiment 6, without loss",
        "experiment 6, with loss", "experiment 8, table 6.1", "experiment 8, table 6.2", "experiment 9",
    ],
}  # fmt: skip
"""What else the documents set up or measure; there is no experiment 7."""
RESULTS = {
    "experiment 1": 10, "experiment 2": 12, "experiment 3": 8, "experiment 4, table 4.1": 14,
    "experiment 4, table 4.2": 8, "experiment 5": 11, "experiment 6, without loss": 5, "experiment 6, with loss": 5,
    "experiment 8, table 6.1": 6, "experiment 8, table 6.2": 3, "experiment 9": 8, "table 1": 5,
}  # fmt: skip
"""The lines of the printed tables."""
STEP = re.compile(r"section ([\d.]+), steps? (\d+)(?:-(\d+))?")


def name(row: Row) -> str:
    return f"{row.document}: {row.where}"


@each("row", ROWS, ids=name)
def test_a_row_builds_with_each_of_its_values_at_each_scale(row: Row) -> None:
    for scale in row.scales:
        built = list(row.experiments(scale))
        assert len(built) == 1 + max(map(len, row.varied(scale).values()), default=0)
        assert {experiment.scale for experiment in built} == {scale}


@each("row", ROWS, ids=name)
def test_bench_scale_is_for_small_machines(row: Row) -> None:
    for experiment in row.experiments("bench"):
        assert (experiment.path.rate or 0) <= 1e8
        assert experiment.path.delay <= 0.1
        assert experiment.seconds <= 90


@each("row", ROWS, ids=name)
def test_a_row_sets_something_or_belongs_to_the_shell(row: Row) -> None:
    assert row.shell or row.parameters or row.pairs is not None
    assert not (row.paper_vary and not row.paper)
    assert all(row.parameters.get(key) != value for key, value in row.paper.items()), "paper repeats a value"


def test_all_five_documents_are_there() -> None:
    assert set(documents()) == {row.document for row in ROWS} == set(STEPS) == set(OTHERS)


@pytest.mark.parametrize("document", STEPS)
def test_every_numbered_step_has_a_row(document: str) -> None:
    found: dict[str, set[int]] = {}
    for row in ROWS:
        match = STEP.fullmatch(row.where)
        if row.document == document and match:
            section, first, last = match[1], int(match[2]), int(match[3] or match[2])
            found.setdefault(section, set()).update(range(first, last + 1))
    assert found == {section: set(range(1, last + 1)) for section, last in STEPS[document].items()}


@pytest.mark.parametrize("document", OTHERS)
def test_every_experiment_table_and_figure_has_a_row(document: str) -> None:
    others = [row.where for row in ROWS if row.document == document and not STEP.fullmatch(row.where)]
    assert others == OTHERS[document]


def test_no_place_has_two_rows() -> None:
    twice = [place for place, count in Counter(name(row) for row in ROWS).items() if count > 1]
    assert twice == []


def test_every_line_of_the_printed_tables_is_a_run() -> None:
    counts = {
        row.where: len(next(iter(row.varied("paper").values())))
        for row in ROWS
        if row.where in RESULTS and row.vary
    }
    assert counts == RESULTS


def test_the_window_is_the_part_of_the_bdp_that_was_printed() -> None:
    row = next(row for row in ROWS if name(row) == "lab09_parallel_streams: section 2.3, steps 3-5")
    bench, paper = (next(row.experiments(scale)) for scale in ("bench", "paper"))
    for size in ("window", "queue"):
        parts = [
            getattr(run.hosts if size == "window" else run.path, size) / (run.bdp or 0)
            for run in (bench, paper)
        ]
        assert parts[0] == pytest.approx(parts[1], rel=0.02)


def test_the_page_is_what_the_table_says_now() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(), "run python -m tests.documentation"


@each("parameter", spec.PARAMETERS.values(), ids=lambda parameter: parameter.name)
def test_every_parameter_is_documented(parameter: spec.Parameter) -> None:
    line = next(line for line in PAGE.read_text().splitlines() if line.startswith(f"| `{parameter.name}` |"))
    assert parameter.help in line
    assert parameter.bounds in line


def test_the_readme_leads_to_the_page() -> None:
    root = PAGE.parents[2]
    assert f"({PAGE.relative_to(root)})" in (root / "README.md").read_text(encoding="utf-8")
