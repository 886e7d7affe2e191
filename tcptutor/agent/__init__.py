"""Privileged side of the lab: network, shaping, hosts, traffic and sampling, driven by the agent program.

The agent runs on the kernel that it measures and depends on neither the interface nor the models.
"""
