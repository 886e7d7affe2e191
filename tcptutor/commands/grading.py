"""The command line of courses that grade: what each of their commands takes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor.commands.exits import end
from tcptutor.commands.group import main
from tcptutor.commands.options import JSON, REPLACE

_KEY = click.option(
    "--key", metavar="FILE|CODE", help="Count only who is enrolled in the course of this key."
)
_LESSONS = click.option(
    "--lessons",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="The course's own lessons. Default: those that ship with tcptutor.",
)
_MODULES = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="ID",
    help="Count this module alone; may be given several times.",
)
_CLUSTER = click.option(
    "--cluster", metavar="ADDRESS", help="Grade, and make runs again, on the workers of this Dask scheduler."
)
_JOBS = click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), help="Hand-ins, and guests, at a time. Default: one a core."
)


@main.command("course-key")
@click.argument("target", metavar="FILE")
@click.option("--code", "code_alone", is_flag=True, help="Print the code alone, of the key that is there.")
def course_key(target: str, code_alone: bool) -> None:
    """For teachers: make the key of a course that grades, and tell the code that its students enrol with.

    With --code no key is made; a code in the place of FILE is told whether it is one.
    """
    from tcptutor.commands.course_key import make_key, tell_code  # noqa: PLC0415

    end(tell_code if code_alone else make_key, target)


@main.command()
@click.argument("code")
@click.argument("student")
def enrol(code: str, student: str) -> None:
    """Take part in a course that grades: CODE is the course's, STUDENT what it knows you by."""
    from tcptutor.commands.course_key import enrol as enrol_student  # noqa: PLC0415

    end(enrol_student, code, student)


@main.command()
@click.option("-o", "--output", metavar="FILE", help="What to write. Default: hand-in.tcphandin here.")
@REPLACE
@JSON
def submit(**given: Any) -> None:
    """Write one file to hand in: your answers, predictions and runs, with the journal that proves them.

    It tells first what is missing. Whoever grades it needs neither a lab nor root.
    """
    from tcptutor.commands.submit import submit as write  # noqa: PLC0415

    end(write, **given)


@main.command()
@click.argument("names", metavar="FILE|FOLDER...", nargs=-1, required=True)
@_KEY
@_LESSONS
@_MODULES
@click.option(
    "--format",
    "kind",
    type=click.Choice(
        [
            "text",
            "json",
            "csv",
            "moodle",
            "canvas",
            "nbgrader",
            "lti",
            "junit",
            "gradescope",
            "classroom50",
            "prairielearn",
            "github-classroom",
        ]
    ),
    default="text",
    show_default=True,
    help="What the course's own system reads.",
)
@click.option("-o", "--output", metavar="FILE", help="Write it there instead of printing it.")
@REPLACE
@click.option("--json", "kind", flag_value="json", help="The same as --format json.")
@click.option("--all", "everything", is_flag=True, help="Tell each mark, not only those that were refused.")
@click.option(
    "--rerun",
    metavar="all|failed|N",
    help="Make runs again in the guest and compare: all, those that gave no marks, or N of each hand-in.",
)
@click.option(
    "--audit",
    metavar="SHARE",
    help="Make this share of the runs again, such as 5%, as the course's key draws them.",
)
@_JOBS
@_CLUSTER
def grade(**given: Any) -> None:
    """Work out anew what hand-ins are worth, from their evidence."""
    from tcptutor.commands.grade import GradeRequest, grade_files  # noqa: PLC0415

    end(grade_files, GradeRequest(**given))


@main.command("class")
@click.argument("names", metavar="FOLDER|FILE...", nargs=-1, required=True)
@_KEY
@_LESSONS
@_MODULES
@JSON
@click.option("--csv", metavar="FILE", help="Write marks there: a row a student, a column a module.")
@click.option("--html", metavar="FILE", help="Write all of it there, as one page for a browser.")
@REPLACE
@click.option("--anonymous", is_flag=True, help="Numbers in the place of names.")
@click.option("--text", "as_text", is_flag=True, help="Print it, also on a terminal.")
@_JOBS
@_CLUSTER
def class_(**given: Any) -> None:
    """What a class did: marks, wrong answers and why, predictions beside measurements, hand-ins that are alike."""
    from tcptutor.commands.classroom import ClassRequest, show_class  # noqa: PLC0415

    end(show_class, ClassRequest(**given))


@main.command("bank")
@click.argument("targets", metavar="[MODULE[/PAGE]...]", nargs=-1)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["gift", "qti"]),
    required=True,
    help="gift: a text, for Moodle; qti: a zip of QTI 1.2, for Canvas.",
)
@click.option("-o", "--output", metavar="FILE", help="Write it there instead of printing it.")
@click.option(
    "--variants",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Draws of each question that draws numbers.",
)
@_LESSONS
@REPLACE
def question_bank(**given: Any) -> None:
    """Write the course's questions as a question bank, with their feedback, drawn numbers and charts of runs.

    Left out is what can only be asked about a student's own run or work.
    """
    from tcptutor.commands.bank import BankRequest, write_bank  # noqa: PLC0415

    end(write_bank, BankRequest(**given))
