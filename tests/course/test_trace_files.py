"""Files with a trace of the rate, named on the command line or by an experiment of a course."""

from __future__ import annotations

from pathlib import Path

import pytest

from tcptutor.base.errors import ContentError, ParameterError
from tcptutor.course.experiments import Catalogue

STEPS = ((0.0, 5e6), (2.0, 1e6))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "course" / "01-links" / "experiments"
    place.mkdir(parents=True)
    (place / "cell.toml").write_text('title = "A cell"\n[parameters]\nrate_trace = "cell.csv"\n')
    (place / "cell.csv").write_text("seconds,Mbit/s\n0,5\n2,1\n")
    (place / "outside.toml").write_text('title = "Outside"\n[parameters]\nrate_trace = "../../../x.csv"\n')
    (tmp_path / "x.csv").write_text("seconds,Mbit/s\n0,5\n")
    return tmp_path / "course"


def test_an_experiment_takes_its_trace_from_a_file_next_to_it(folder: Path) -> None:
    assert Catalogue(folder).build("cell").path.rate_trace == STEPS


def test_a_course_reads_no_file_outside_its_experiments(folder: Path) -> None:
    with pytest.raises(ContentError, match="outside the course"):
        Catalogue(folder).build("outside")


def test_a_user_names_any_file_and_a_changed_file_is_read_again(folder: Path) -> None:
    catalogue, file = Catalogue(folder), folder.parent / "mine.csv"
    for rate in (3, 4):
        file.write_text(f"seconds,Mbit/s\n0,{rate}\n")
        assert catalogue.build("cell", {"rate_trace": str(file)}).path.rate_trace == ((0.0, rate * 1e6),)


def test_a_file_that_is_no_trace_is_named_in_one_line(folder: Path) -> None:
    (folder.parent / "bad").write_bytes(b"\xff\xfe\x00")
    (folder.parent / "empty.csv").write_text("\n")
    (folder.parent / "late.csv").write_text("seconds,Mbit/s\n1,5\n")
    for name, said in (
        ("missing.csv", "no file"),
        ("bad", "is not a text"),
        ("empty.csv", "is empty"),
        ("late.csv", "the first step is not at 0 s"),
        (".", "cannot read"),
    ):
        with pytest.raises(ParameterError, match=f"^rate_trace: .*{said}"):
            Catalogue(folder).build("cell", {"rate_trace": str(folder.parent / name)})
