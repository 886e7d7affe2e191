"""Measurements from samples, without models: throughput, losses, phases, and the evidence of a verdict."""
