"""Figures of a run, or of an experiment before it, by the names that claims and goals use."""
