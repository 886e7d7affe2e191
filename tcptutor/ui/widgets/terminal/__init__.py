"""A terminal on the screen: the cells of a shell, its tabs, and the chart of what is sent there."""
