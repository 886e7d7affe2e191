"""The list of runs, and several runs drawn over each other."""
