"""Texts of a page as claims read them."""


def in_one_line(text: str) -> str:
    """Where an author broke a line, and what stands in bold, is no matter."""
    return " ".join(text.replace("**", "").split())
