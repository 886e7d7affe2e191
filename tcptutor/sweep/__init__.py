"""Many runs: a grid of settings and seeds, as many guests at a time as there are cores, one result file that plots."""
