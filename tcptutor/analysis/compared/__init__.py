"""Comparison of a run with the models: limiting cause, differences and their reasons, JSON document."""
