"""What models say of an experiment before it runs: predictions, windows over time, and how sure they are."""
