"""Lesson texts as plain paragraphs: Markdown without markup, tables row by row, figures as descriptions."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from markdown_it import MarkdownIt
from markdown_it.tree import SyntaxTreeNode

from tcptutor.course import figure_places
from tcptutor.course.page_references import without_links
from tcptutor.figures.figure import Figure

_MARKDOWN = MarkdownIt("commonmark", {"html": False}).enable("table")


class Paragraph(NamedTuple):
    """Paragraph to print."""

    text: str
    is_exact: bool = False
    """True for code, which is printed unchanged, line by line."""


def paragraphs(markdown: str, figures: Sequence[Figure] = ()) -> Iterator[Paragraph]:
    """Yield the paragraphs of a lesson's text, with descriptions in place of figures."""
    for part in figure_places.split(markdown, figures):
        if isinstance(part, Figure):
            yield Paragraph(figure_words(part))
        else:
            yield from _blocks(SyntaxTreeNode(_MARKDOWN.parse(without_links(part))))


def figure_words(figure: Figure) -> str:
    """Return the description and the caption of a figure."""
    caption = f" {inline_text(figure.caption)}" if figure.caption else ""
    return f"Figure: {inline_text(figure.describe())}{caption}"


def inline_text(markdown: str) -> str:
    """Return Markdown as one paragraph of text."""
    return " ".join(each.text for each in paragraphs(markdown))


def sentence(text: str) -> str:
    """Return a message as a sentence: with a capital letter, unless it begins with a name, and a full stop."""
    first = text.partition(" ")[0]
    is_name = not first.isalpha()
    return f"{text if is_name else text[:1].upper() + text[1:]}{'' if text.rstrip()[-1:] in '.?!' else '.'}"


def _blocks(node: SyntaxTreeNode, lead: str = "") -> Iterator[Paragraph]:
    """Yield the paragraphs below `node`, with `lead` before the first."""
    for child in node.children:
        match child.type:
            case "paragraph" | "heading":
                yield Paragraph(lead + _inline(child))
            case "bullet_list" | "ordered_list":
                first = int(child.attrs.get("start", 1))
                for number, item in enumerate(child.children, first):
                    sign = "- " if child.type == "bullet_list" else f"{number}. "
                    yield from _blocks(item, sign)
            case "fence" | "code_block":
                yield Paragraph(child.content.rstrip("\n"), is_exact=True)
            case "table":
                yield from _rows(child)
            case "hr":
                continue
            case _:
                yield from _blocks(child, lead)
        lead = ""


def _rows(table: SyntaxTreeNode) -> Iterator[Paragraph]:
    """Yield a heading, then a paragraph per row with the column name before each cell."""
    head, *bodies = table.children
    names = [_inline(cell) for cell in head.children[0].children]
    rows = [[_inline(cell) for cell in row.children] for body in bodies for row in body.children]
    yield Paragraph(f"Table of {len(rows)} rows with {', '.join(filter(None, names))}:")
    for cells in rows:
        named = [f"{name}: {cell}" if name else cell for name, cell in zip(names, cells, strict=True) if cell]
        yield Paragraph(f"- {'; '.join(named)}")


def _inline(node: SyntaxTreeNode) -> str:
    """Return the text of inline nodes."""
    if node.type in ("text", "code_inline"):
        return str(node.content)
    if node.type in ("softbreak", "hardbreak"):
        return " "
    return "".join(map(_inline, node.children))
