"""The Markdown of a lesson's texts."""

from __future__ import annotations

from textual.content import Content
from textual.widgets import Markdown
from textual.widgets.markdown import MarkdownBlock, MarkdownFence


class PlainFence(MarkdownFence):
    """A drawing, a formula or a command, without colors.

    Textual guesses the language of a block without one. That imports every lexer it knows, 0.6 s of a processor.
    """

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:  # noqa: ARG003
        return Content("\n".join(code.splitlines()))


class Prose(Markdown):
    """Markdown whose blocks of code are shown as they are written."""

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        return PlainFence if block_name in ("fence", "code_block") else super().get_block_class(block_name)
