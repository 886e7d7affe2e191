"""Sweeps: many runs over a grid of settings and seeds, in parallel guests, with one result file that can be plotted."""
