"""Model predictions of an experiment before its run, with tolerances and window trajectories."""
