"""Errors, units, files, places, printable text, archives and columns, used by every package."""
