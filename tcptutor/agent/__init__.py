"""What happens in the kernel: network, shaping, hosts, traffic and sampler, driven by one agent program.

Runs beside the kernel it measures, with the privileges that needs, and knows neither interface nor models.
"""
