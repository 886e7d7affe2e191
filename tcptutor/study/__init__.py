"""A student's work on the course, whichever front shows it: pages, runs, sweeps and reviews. Knows no screen."""
