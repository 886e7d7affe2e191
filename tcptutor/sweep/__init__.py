"""Sweeps: many runs over a grid of settings and seeds, with a result file that can be plotted."""
