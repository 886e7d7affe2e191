"""Top level of the dialogue: home, the pages, and the commands that work everywhere."""

from __future__ import annotations

from collections.abc import Iterator

from tcptutor.base.errors import TutorError, UsageError
from tcptutor.course.outline import Module
from tcptutor.course.paths import PATHS
from tcptutor.plain import lookup
from tcptutor.plain.commands import COMMANDS, HOME_HELP, Command, parse
from tcptutor.plain.console import MIN_WIDTH
from tcptutor.plain.page import PageDialogue
from tcptutor.plain.prose import sentence
from tcptutor.plain.review import ReviewDialogue
from tcptutor.plain.sitting import Destination, Sitting
from tcptutor.study import pages
from tcptutor.study.pages import ModulePage
from tcptutor.study.reviews import find_now


class Leave(Exception):
    """Signal that the student leaves the dialogue."""


class Front:
    """Top level of the dialogue."""

    def __init__(self, sitting: Sitting, greeting: Iterator[str]) -> None:
        """Create the dialogue; its first lines come from `greeting`."""
        self._sitting, self._greeting = sitting, greeting
        self.page: PageDialogue | None = None
        """Open page; None at home."""

    async def hold(self, module: Module | None = None) -> None:
        """Run the dialogue until the student leaves, starting in `module` if given.

        Raises:
            EndOfInput: The input has no more lines.
        """
        self._sitting.console.say(*self._greeting)
        step = pages.resume(self._sitting.journal, module) if module is not None else None
        destination = Destination(
            ModulePage(module, step) if module is not None and step is not None else None
        )
        try:
            while True:
                destination = await (self._page(destination.page) if destination.page else self._home())
        except Leave:
            self._sitting.console.say(self._sitting.farewell)

    async def _page(self, place: ModulePage) -> Destination:
        self.page = PageDialogue(self._sitting, place.module, place.step, self.obey)
        try:
            return await self.page.hold()
        finally:
            self.page = None

    # Home

    async def _home(self) -> Destination:
        sitting = self._sitting
        sitting.console.say("", *self._overview())
        await self._report_reviews()
        while True:
            resumed = self._resumed
            first = f"Enter goes on with {resumed.title}; a" if resumed else "A"
            line = await sitting.console.ask(f"{first} module's number, review, find, ? for help, or quit:")
            if changed := sitting.own.update():
                sitting.console.say(changed)
            try:
                destination = await self._obey_at_home(line, resumed)
            except TutorError as error:
                sitting.console.say(sentence(str(error)))
            else:
                if destination is not None:
                    return destination

    def _overview(self) -> Iterator[str]:
        course = self._sitting.course
        yield f"{course.title}. Modules:"
        yield from lookup.modules(course, self._sitting.journal)

    async def _report_reviews(self) -> None:
        found = await find_now(self._sitting.course, self._sitting.journal)
        if found.session:
            number = len(found.session)
            are = "questions are" if number > 1 else "question is"
            self._sitting.console.say(f"{number} {are} due for review, about {found.session_minutes} min.")

    @property
    def _resumed(self) -> ModulePage | None:
        """Page where the student left off, or the first page."""
        course, journal = self._sitting.course, self._sitting.journal
        position = journal.position()
        if position is not None and (found := pages.find_page(course, "/".join(position))) is not None:
            return ModulePage(*found)
        for module in course.modules:
            if (step := pages.resume(journal, module)) is not None:
                return ModulePage(module, step)
        return None

    async def _obey_at_home(self, line: str, resumed: ModulePage | None) -> Destination | None:
        if not line and resumed is not None:
            return Destination(resumed)
        command = parse(line)
        if command is None:
            return self._module(line)
        if command.name == "next" and resumed is not None:
            return Destination(resumed)
        if command.name in ("help", "again", "where", "home", "read"):
            if command.name == "help":
                self._help(command, HOME_HELP)
            else:
                self._sitting.console.say(*self._overview())
            return None
        if command.name not in HOME_HELP:
            raise UsageError(f"{command.name} works on a page: open a module by its number first")
        return await self.obey(command)

    def _module(self, line: str) -> Destination:
        if "." in line or "/" in line:
            return Destination(lookup.page_of_number(self._sitting.course, line))
        for module in self._sitting.course.modules:
            if line.casefold() in (str(module.number), module.id, module.title.casefold()):
                step = pages.resume(self._sitting.journal, module)
                if step is None:
                    raise UsageError(
                        f"no page of module {module.number} can be read: `tcptutor doctor` says why"
                    )
                return Destination(ModulePage(module, step))
        numbers = ", ".join(str(each.number) for each in self._sitting.course.modules)
        raise UsageError(
            f"{line[:60]!r} is not possible here: the modules are {numbers}. Type ? for all commands"
        )

    def _help(self, command: Command, names: tuple[str, ...]) -> None:
        shown = (command.words,) if command.words in COMMANDS else names
        self._sitting.console.say(*(f"{name}: {COMMANDS[name]}" for name in shown))

    # Everywhere

    async def obey(self, command: Command) -> Destination | None:
        """Execute a command that works everywhere; return its destination, or None to stay.

        Raises:
            UsageError: The command is not possible.
        """
        match command.name:
            case "quit":
                raise Leave
            case "home":
                return Destination()
            case "go":
                return self._go(command.words)
            case "find":
                return await self._find(command.words)
            case "review":
                await ReviewDialogue(self._sitting).hold()
                return Destination(self.page.place if self.page else None)
            case "path":
                self._choose_path(command.words)
            case "width":
                self._set_width(command.words)
            case _:
                self._sitting.console.say(*self._information(command))
        return None

    def _information(self, command: Command) -> Iterator[str]:
        """Yield the lines of a command that only prints information."""
        course = self._sitting.course
        match command.name:
            case "pages":
                module = self.page.module if self.page else course.modules[0]
                yield from lookup.module_pages(course, module, self._sitting.journal)
            case "term":
                if not command.words:
                    raise UsageError("write the term behind it, such as term RTT")
                yield from lookup.term_lines(course, command.words)
            case "marks":
                yield from lookup.mark_lines(course, self._student)

    def _go(self, words: str) -> Destination:
        if not words:
            raise UsageError("write the page's number behind it, such as go 1.3")
        if self.page is not None and words.isdecimal():
            words = f"{self.page.module.number}.{words}"
        return Destination(lookup.page_of_number(self._sitting.course, words))

    @property
    def _student(self) -> str:
        known = self._sitting.own.enrolment
        if known is None:
            return "You are not enrolled. Your teacher has a code for you: tcptutor enrol CODE STUDENT"
        return f"{known.student}, in the course {known.course}."

    async def _find(self, words: str) -> Destination | None:
        console, course = self._sitting.console, self._sitting.course
        if not words:
            raise UsageError("write what to search behind it, such as find slow start")
        hits = lookup.found(words, course)
        if not hits:
            raise UsageError(f"nothing is found for {words[:40]!r}")
        console.say(*(f"{number}. {lookup.hit_line(hit)}" for number, hit in enumerate(hits, start=1)))
        line = await console.ask(f"A number from 1 to {len(hits)} opens a page, Enter goes back:")
        if not line:
            return None
        if not line.isdecimal() or not 1 <= int(line) <= len(hits):
            raise UsageError(f"{line[:40]!r} is not one of 1 to {len(hits)}")
        entry = hits[int(line) - 1].entry
        if entry.group == "terms":
            console.say(*lookup.term_lines(course, entry.title.partition(",")[0]))
            return None
        return Destination(lookup.page_of_number(course, entry.kind.rpartition(" ")[2]))

    def _choose_path(self, words: str) -> None:
        journal, console = self._sitting.journal, self._sitting.console
        chosen = next((each for each in PATHS if each == words.casefold()), None)
        if chosen is None:
            if words:
                raise UsageError(f"{words[:40]!r} is no path: choose {' or '.join(PATHS)}")
            console.say(
                f"Your path has {_path_name(journal.record.path)}. path everything or path essential changes it."
            )
            return
        journal.choose_path(chosen)
        console.say(f"Your path has {_path_name(chosen)} now.")

    def _set_width(self, words: str) -> None:
        if not words.isdecimal() or 0 < int(words) < MIN_WIDTH:
            raise UsageError(f"width takes a number of columns, at least {MIN_WIDTH}, or 0 to break no lines")
        self._sitting.console.chosen_width = int(words)
        self._sitting.console.say(
            f"Lines are broken at {words} columns." if int(words) else "Lines are not broken."
        )


def _path_name(path: str) -> str:
    return "all pages" if path == "everything" else "the essential pages"
