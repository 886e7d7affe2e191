"""Normalized page texts for comparison with claims."""


def in_one_line(text: str) -> str:
    """Remove line breaks and bold marks."""
    return " ".join(text.replace("**", "").split())
