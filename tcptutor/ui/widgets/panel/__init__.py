"""Panel of a run: chart, strips, ruler and verdict, laid out for any size."""
