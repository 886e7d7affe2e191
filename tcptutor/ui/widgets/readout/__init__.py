"""Cursor in a run, and its readout."""
