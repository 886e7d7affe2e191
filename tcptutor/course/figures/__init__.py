"""Figures of an experiment or a run, which claims and goals refer to."""
