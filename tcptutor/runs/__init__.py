"""Run files on this machine: conducting a run, saving it as it grows, and recovering it after a crash."""
