"""Command-line declarations of the commands for teaching: own courses, lectures, and the app in browsers."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from tcptutor.commands.completion import PAGES, complete_courses, complete_files
from tcptutor.commands.ending import end
from tcptutor.commands.exits import CommandGroup
from tcptutor.commands.group import main
from tcptutor.commands.options import BACKEND, CLOCK, COURSE, JSON, REPLACE, output_option


@main.command()
@click.argument("target", metavar="[MODULE[/PAGE]]", required=False, shell_complete=PAGES)
@click.option(
    "--lecture",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Present the slides of this lecture.toml.",
)
@click.option("--resume", is_flag=True, help="Return to the lecture after a lost line, at the same place.")
@click.option("--notes", is_flag=True, help="Show the speaker's notes of the running lecture here.")
@click.option("--watch", is_flag=True, help="Show what the room sees, without any control.")
@click.option(
    "--check", "check_first", is_flag=True, help="Prepare the runs, and list what will not work here."
)
@click.option(
    "--write-lecture",
    "write",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Write the lecture to a lecture.toml to edit.",
)
@click.option("--stop", is_flag=True, help="End the lecture from any terminal.")
@click.option("--no-votes", is_flag=True, help="Do without the page where students join and vote.")
@click.option(
    "--listen", metavar="ADDRESS:PORT", default="", help="Address of that page. Default: this machine only."
)
@click.option(
    "--public-url", metavar="URL", default="", help="URL of that page behind a proxy, as students see it."
)
@click.option("--names", is_flag=True, help="Ask students for their names. Default: votes are anonymous.")
@BACKEND
@CLOCK
@COURSE
def present(**given: Any) -> None:
    """Give a lecture: large slides with live runs, for a room. It goes on when a terminal is lost.

    Without a module, present the whole course. `tcptutor present --notes` in a second terminal is for the speaker.
    """
    from tcptutor.commands.present import present  # noqa: PLC0415
    from tcptutor.commands.present_request import PresentRequest  # noqa: PLC0415

    end(present, PresentRequest(**given))


@main.command()
@click.argument("target", metavar="URL|CODE")
@click.option("--name", default="", help="Your name, for a lecture that asks for names.")
def join(**given: Any) -> None:
    """Vote in a lecture from this terminal, instead of a browser.

    The URL is on the screen of the lecture. A code alone is enough for a lecture on this machine.
    """
    from tcptutor.commands.join import join  # noqa: PLC0415

    end(join, **given)


@main.command("new-course")
@click.argument("folder", type=click.Path(path_type=Path))
@click.option("--title", metavar="TITLE", help="Title of the course. Default: the folder's name.")
def new_course(**given: Any) -> None:
    """Begin a course of your own in FOLDER: a module with a commented example of every kind of page and figure."""
    from tcptutor.commands.course import begin_course  # noqa: PLC0415

    end(begin_course, **given)


@main.command()
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("page", metavar="[MODULE/PAGE]", shell_complete=PAGES, required=False)
@click.option("--language", metavar="TAG", help="Show this translation, such as de. Default: the original.")
@BACKEND
@CLOCK
def preview(**given: Any) -> None:
    """Show a course to its author: each save shows the page again, with the linter's lines next to it.

    Answers and runs are forgotten at the end.
    """
    from tcptutor.commands.preview import preview as show_preview  # noqa: PLC0415

    end(show_preview, **given)


@main.group("course", cls=CommandGroup)
def course() -> None:
    """List and update the courses that you use, or pack or translate a course of your own."""


@course.command("translate")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.argument("language", metavar="LANGUAGE")
@click.argument("target", metavar="[MODULE[/PAGE]|glossary]", shell_complete=PAGES, required=False)
@REPLACE
@JSON
def course_translate(**given: Any) -> None:
    """Show how far the course in FOLDER is translated, or write the files of a module or page to fill in.

    LANGUAGE is a tag such as de or pt-BR. The files are in FOLDER/LANGUAGE, and hold the words alone. What is not
    translated is shown in the original. With --replace, existing files keep their words and get what is missing.
    """
    from tcptutor.commands.translate import translate_course  # noqa: PLC0415

    end(translate_course, **given)


@course.command("pack")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@output_option(None, "The file to write. Default: ID.tcpcourse.")
@REPLACE
@JSON
def course_pack(**given: Any) -> None:
    """Write the course in FOLDER to one file, which --course opens and `tcptutor grade` recognizes."""
    from tcptutor.commands.course import pack_course  # noqa: PLC0415

    end(pack_course, **given)


@course.command("list")
@JSON
@COURSE
def course_list(**given: Any) -> None:
    """List the courses that you have worked in, each with a journal of its own."""
    from tcptutor.commands.course import list_courses  # noqa: PLC0415

    end(list_courses, **given)


@course.command("update")
@click.argument("given", metavar="ID|URL", shell_complete=complete_courses)
def course_update(**given: Any) -> None:
    """Fetch a course again from its git repository. Until then it stays as it was when you opened it first."""
    from tcptutor.commands.course import update_course  # noqa: PLC0415

    end(update_course, **given)


@main.command()
@click.option(
    "--listen",
    default="127.0.0.1:8787",
    show_default=True,
    metavar="ADDRESS:PORT",
    help="Where to listen. Only programs on this machine reach the default address.",
)
@click.option(
    "--public-url",
    default="",
    metavar="URL",
    help="The URL of a proxy in front, such as https://lab.example.edu.",
)
@click.option(
    "--students",
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="A link and a journal for each student: a name on each line, or a roster (.csv).",
)
@click.option(
    "--open-to",
    type=click.IntRange(1, 500),
    metavar="N",
    help="A link and a journal for each of N students without names.",
)
@click.option(
    "--new-link",
    "new_links",
    multiple=True,
    metavar="NAME",
    help="Print a new link for a student and exit; the server may be running. Can be repeated.",
)
@click.option(
    "--enrol",
    metavar="FILE|CODE",
    shell_complete=complete_files,
    help="Enrol each student in the graded course of this key.",
)
@click.option(
    "--collect",
    type=click.Path(file_okay=False, path_type=Path),
    metavar="FOLDER",
    help="Write the hand-in of each student to FOLDER and exit; the server may be running.",
)
@click.option(
    "--sessions", type=click.IntRange(1, 500), default=30, show_default=True, help="Most students at a time."
)
@click.option(
    "--labs",
    type=click.IntRange(1, 500),
    metavar="N",
    help="Most experiments at a time; others wait in a fair queue. By default one for each core, if memory allows.",
)
@click.option(
    "--shell-idle",
    default="5m",
    show_default=True,
    metavar="TIME",
    help="How long a terminal without a key keeps its lab while others wait for one.",
)
@click.option(
    "--keep",
    default="10m",
    show_default=True,
    metavar="TIME",
    help="How long an app lives on after its browser has gone.",
)
@click.option(
    "--idle", default="1h", show_default=True, metavar="TIME", help="How long an app lives without a key."
)
@BACKEND
@COURSE
def serve(**given: Any) -> None:
    """Serve the app to browsers: your own, or with --students or --open-to a class's.

    Each link works once and logs its browser in for 30 days.
    """
    from tcptutor.commands.serve import ServeRequest  # noqa: PLC0415
    from tcptutor.commands.serve import serve as serve_app  # noqa: PLC0415

    end(serve_app, ServeRequest(**given))
