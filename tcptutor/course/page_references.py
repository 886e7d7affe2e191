"""References to pages in texts: Markdown links such as `[](page:PAGE)` and `[words](later:MODULE/PAGE)`.

`page:` names an earlier page, `later:` a later page, by its id in the same module, or as MODULE/PAGE.
Loading the course completes the module and fills empty words with the page's title.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal, NamedTuple

import tomli

from tcptutor.base.errors import ContentError
from tcptutor.course.figure_places import without_figures
from tcptutor.course.lesson_file import LessonFile, files_by_step, module_folders, qualified_name

REFERENCE = re.compile(r"\[(?P<words>[^\[\]]*)\]\((?P<scheme>page|later):(?P<page>[^()\s]*)\)")
_HREF = re.compile(r"(?:page|later):(.+)")
_TITLE = re.compile(r"^title\s*=.*$", re.MULTILINE)


class PageReference(NamedTuple):
    """Reference to a page in a text."""

    words: str
    scheme: Literal["page", "later"]
    page: str
    """MODULE/PAGE in the texts of a loaded course; PAGE is enough in a lesson file."""


def references(text: str) -> Iterator[PageReference]:
    """Yield the page references in `text`, in order."""
    for match in REFERENCE.finditer(text):
        yield PageReference(match["words"], "page" if match["scheme"] == "page" else "later", match["page"])


def without_links(text: str) -> str:
    """Replace each page reference by its words, and remove the places of figures: for exports and checks of texts."""
    return REFERENCE.sub(lambda match: match["words"], without_figures(text)) if "](" in text else text


def page_of_link(href: str) -> str:
    """Return the MODULE/PAGE that a link of a page refers to, or an empty string for other links."""
    match = _HREF.fullmatch(href)
    return match[1] if match else ""


class PageTitles:
    """Titles of the pages below `root`, each read on first use."""

    def __init__(self, root: Path, translated: Callable[[LessonFile], str] = lambda _: "") -> None:
        """Find titles in `root`; `translated` returns the translated title of a page, or an empty string."""
        self._root, self._translated = root, translated
        self._title = lru_cache(None)(self._read)
        self._files = lru_cache(None)(self._page_files)

    def completing(self, module: str) -> Callable[[Any], Any]:
        """Return a function that completes the page references of `module` in a text, or in all texts of a table."""

        def complete(value: Any) -> Any:
            match value:
                case str() if "](" in value:
                    return REFERENCE.sub(lambda match: self._link(match, module), value)
                case dict():
                    return {key: complete(each) for key, each in value.items()}
                case list():
                    return [complete(each) for each in value]
            return value

        return complete

    def link(self, page: str) -> str:
        """Return a reference to MODULE/PAGE, which comes earlier, with the page's title."""
        return f"[{self._title(page) or page}](page:{page})"

    def _link(self, match: re.Match[str], module: str) -> str:
        page = qualified_name(module, match["page"])
        title = self._title(page)
        words = match["words"].strip() or (f"“{title}”" if title else "another page")
        return f"[{words}]({match['scheme']}:{page})"

    def _read(self, page: str) -> str:
        """Return the title of MODULE/PAGE; empty for a page that is missing or damaged."""
        module, _, step = page.partition("/")
        path = self._files(module).get(step)
        if path is None:
            return ""
        file = LessonFile(path, self._root)
        if title := self._translated(file):
            return title
        try:
            found = _TITLE.search(file.text())
            return str(tomli.loads(found[0])["title"]) if found else ""
        except (ContentError, ValueError):
            return ""

    def _page_files(self, module: str) -> dict[str, Path]:
        folder = module_folders(self._root).get(module)
        return files_by_step(folder) if folder else {}
