"""What the samples say of a run, without any model: throughput, losses, phases, and the evidence of a verdict."""
