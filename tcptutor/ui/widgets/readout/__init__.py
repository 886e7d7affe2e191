"""Cursor in a run, and what it reads out."""
