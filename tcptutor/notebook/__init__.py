"""A student's notebook and certificate: predictions, runs with charts, answers and notes."""
