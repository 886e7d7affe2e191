"""Terminal column: shell, host tabs, goals and the chart of traffic."""
