"""A run's panel: chart, strips, comparison with models, cursor."""
