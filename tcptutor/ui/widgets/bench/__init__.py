"""The run: chart, throughput, comparison."""
