"""tcptutor: learn how TCP gets its throughput, with live experiments on a real Linux network."""

__version__ = "0.1.0"
