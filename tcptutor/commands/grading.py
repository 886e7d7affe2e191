"""Command-line declarations of the commands for graded courses."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor.commands.completion import MODULES, PAGES, complete_files
from tcptutor.commands.ending import end
from tcptutor.commands.group import main
from tcptutor.commands.options import COURSE, JSON, LANGUAGE, PLOT, REPLACE

_KEY = click.option(
    "--key",
    metavar="FILE|CODE",
    shell_complete=complete_files,
    help="Count only students enrolled in the course of this key.",
)
_OUTPUT = click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write it there instead of printing it.",
)
_VERSIONS = click.option(
    "--versions",
    type=click.Path(exists=True, file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Grade each hand-in by the version of the course that it was made with, from the courses in FOLDER.",
)
_MODULES = click.option(
    "--module",
    "modules",
    multiple=True,
    metavar="ID",
    shell_complete=MODULES,
    help="Count only this module. Can be repeated.",
)
_CLUSTER = click.option(
    "--cluster", metavar="ADDRESS", help="Grade and repeat runs on the workers of this Dask scheduler."
)
_FILE = click.Path(exists=True, dir_okay=False, path_type=Path)
_ROSTER = click.option(
    "--roster",
    type=_FILE,
    metavar="FILE",
    help="The course's list of students, as CSV from its system: report who is missing or unknown.",
)
_ROSTER_COLUMN = click.option(
    "--roster-column", metavar="HEADING", help="The roster's column of ids. Default: found by its heading."
)
_SECTION = click.option("--section", metavar="NAME", help="Count only this section of the roster.")
_EXCEPTIONS = click.option(
    "--exceptions",
    type=click.Path(path_type=Path),
    metavar="FILE",
    help="Your decisions on single students, which `tcptutor decide` writes.",
)
_JOBS = click.option(
    "-j", "--jobs", type=click.IntRange(1, 256), help="Parallel hand-ins and guests. Default: one per core."
)


@main.command("course-key")
@click.argument("target", metavar="FILE", shell_complete=complete_files)
@click.option("--code", "code_alone", is_flag=True, help="Print only the code of an existing key.")
def course_key(target: str, code_alone: bool) -> None:
    """Create the key of a graded course, and print the code that its students enrol with.

    With --code no key is created: print the code of an existing key FILE, or check that the argument is a
    valid code.
    """
    from tcptutor.commands.graded_course import make_key, print_code  # noqa: PLC0415

    end(print_code if code_alone else make_key, target)


@main.command()
@click.argument("code")
@click.argument("student")
@COURSE
def enrol(code: str, student: str) -> None:
    """Enrol in a graded course: CODE is the course's code, STUDENT your name in it."""
    from tcptutor.commands.graded_course import enrol as enrol_student  # noqa: PLC0415

    end(enrol_student, code, student)


@main.command()
@COURSE
@click.option(
    "-o",
    "--output",
    metavar="FILE",
    shell_complete=complete_files,
    help="The file to write. Default: hand-in.tcphandin in this folder.",
)
@REPLACE
@JSON
def submit(**given: Any) -> None:
    """Write a file to hand in: your answers, predictions and runs, with the journal that proves them.

    Prints what the file is worth, graded as your teacher grades it, and what is left to do. This needs neither a
    lab nor root.
    """
    from tcptutor.commands.submit import submit as write  # noqa: PLC0415

    end(write, **given)


@main.command()
@click.argument("names", metavar="FILE|FOLDER...", shell_complete=complete_files, nargs=-1, required=True)
@_KEY
@COURSE
@_VERSIONS
@_MODULES
@_ROSTER
@_ROSTER_COLUMN
@_SECTION
@_EXCEPTIONS
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
            "lti",
            "junit",
            "gradescope",
            "classroom50",
            "prairielearn",
        ]
    ),
    default="text",
    show_default=True,
    help="What the course's own system reads.",
)
@_OUTPUT
@REPLACE
@click.option("--json", "kind", flag_value="json", help="The same as --format json.")
@click.option("--all", "everything", is_flag=True, help="Show every mark, not only refused ones.")
@click.option(
    "--rerun",
    metavar="all|failed|N",
    help="Repeat runs in the guest and compare: all, those without marks, or N of each hand-in.",
)
@click.option(
    "--audit",
    metavar="SHARE",
    help="Repeat this share of the runs, such as 5%, drawn with the course's key.",
)
@click.option(
    "--comments",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Also write a file of comments for each student, to edit and to send back.",
)
@click.option(
    "--sheets",
    type=click.Path(path_type=Path),
    metavar="FOLDER",
    help="Also write a page for each student, with every mark, its reason and how to appeal.",
)
@LANGUAGE
@_JOBS
@_CLUSTER
def grade(**given: Any) -> None:
    """Grade hand-ins from the evidence in them."""
    from tcptutor.commands.grade import GradeRequest, grade_files  # noqa: PLC0415

    end(grade_files, GradeRequest(**given))


@main.command("decide")
@click.argument("student")
@click.argument("place", metavar="[MODULE[/PAGE[/ACTIVITY]]]", shell_complete=PAGES, required=False)
@click.option("--marks", type=float, metavar="NUMBER", help="Give these marks, instead of the computed ones.")
@click.option("--excuse", is_flag=True, help="Leave the work out of the student's maximum.")
@click.option("--hours", type=float, metavar="NUMBER", help="Put the deadline off by so many hours.")
@click.option("--deadline", metavar="TIME", help="Set the deadline, such as 2027-02-07T23:59+01:00.")
@click.option("--accept", is_flag=True, help="Count refused work; without a page: settle the remarks.")
@click.option("--file", metavar="NAME", help="With --accept: of several hand-ins, this one counts.")
@click.option("--same-as", metavar="ID", help="Count the hand-ins of STUDENT for the student with this id.")
@click.option("--reason", required=True, help="Your reason, which the student reads.")
@click.option("--by", required=True, metavar="INITIALS", help="Who decided.")
@click.option(
    "--exceptions",
    type=click.Path(path_type=Path),
    default=Path("exceptions.toml"),
    show_default=True,
    metavar="FILE",
    help="The file to append to.",
)
@COURSE
def decide(**given: Any) -> None:
    """Decide on a student's marks: override, excuse, extend, accept. Grading with --exceptions applies it.

    STUDENT is the id in the course, or the name of a hand-in whose student never enrolled. Without a place,
    the decision is about the whole course. To take it back, delete it from the file.
    """
    from tcptutor.commands.decide import DecideRequest  # noqa: PLC0415
    from tcptutor.commands.decide import decide as append  # noqa: PLC0415

    end(append, DecideRequest(**given))


@main.command("comments")
@click.argument("names", metavar="FILE...", shell_complete=complete_files, nargs=-1, required=True)
@COURSE
@JSON
def comments(**given: Any) -> None:
    """Read in your teacher's comments, which the pages then show."""
    from tcptutor.commands.comments import read_in  # noqa: PLC0415

    end(read_in, **given)


@main.command("class")
@click.argument("names", metavar="FOLDER|FILE...", shell_complete=complete_files, nargs=-1, required=True)
@_KEY
@COURSE
@_VERSIONS
@_MODULES
@_ROSTER
@_ROSTER_COLUMN
@_SECTION
@_EXCEPTIONS
@JSON
@click.option(
    "--csv",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write marks to FILE: a row per student, a column per module.",
)
@click.option(
    "--html",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write everything to FILE, as one HTML page.",
)
@click.option(
    "--items",
    metavar="FILE",
    shell_complete=complete_files,
    help="Write statistics to FILE: a row per question, with difficulty, discrimination, answers, hints and time.",
)
@PLOT
@REPLACE
@click.option("--anonymous", is_flag=True, help="Replace names by numbers.")
@click.option("--text", "as_text", is_flag=True, help="Print text, even on a terminal.")
@_JOBS
@_CLUSTER
def class_(**given: Any) -> None:
    """Show a class's results: marks, wrong answers, predictions next to measurements, similar hand-ins."""
    from tcptutor.commands.grade import ClassRequest, show_class  # noqa: PLC0415

    end(show_class, ClassRequest(**given))


@main.command("bank")
@click.argument("targets", metavar="[MODULE[/PAGE]...]", shell_complete=PAGES, nargs=-1)
@click.option(
    "--format",
    "kind",
    type=click.Choice(["gift", "qti"]),
    required=True,
    help="gift: text for Moodle; qti: a zip file of QTI 1.2 for Canvas.",
)
@_OUTPUT
@click.option(
    "--variants",
    type=click.IntRange(1, 100),
    default=5,
    show_default=True,
    help="Variants of each question with drawn numbers.",
)
@click.option(
    "--key",
    metavar="FILE",
    shell_complete=complete_files,
    help="Draw numbers, and the order of choices, with the course's key: no student can draw them.",
)
@click.option("--exam", metavar="NAME", help="Name of an exam, which gets numbers of its own; needs --key.")
@COURSE
@REPLACE
def question_bank(**given: Any) -> None:
    """Export the course's questions as a question bank, with feedback, drawn numbers and charts of runs.

    Questions about a student's own run or work are left out.
    """
    from tcptutor.commands.bank import BankRequest, write_bank  # noqa: PLC0415

    end(write_bank, BankRequest(**given))
