"""Markdown of a page: without syntax colors, with links to pages."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence

from tcptutor.course.page_references import page_of_link


class PlainFence(MarkdownFence):
    """Drawing, formula or command, without syntax colors.

    Textual guesses the language of a block without a language. That imports every lexer it knows, 0.6 s of a
    processor.
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:  # noqa: ARG003
        return Content("\n".join(code.splitlines()))


class Prose(Markdown):
    """Markdown with plain code blocks, and with links to pages."""

    def __init__(self, text: str, id: str | None = None) -> None:
        super().__init__(text, id=id, open_links=False)

    def on_markdown_link_clicked(self, event: Markdown.LinkClicked) -> None:
        event.stop()
        if page := page_of_link(event.href):
            self.app.call_later(self.app.run_action, f"app.open_page({page!r})")
        else:
            self.app.open_url(event.href)

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        return PlainFence if block_name in ("fence", "code_block") else super().get_block_class(block_name)
