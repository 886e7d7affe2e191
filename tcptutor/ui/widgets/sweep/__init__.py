"""The sweep's side of the screen: the curve, the table of its runs."""
