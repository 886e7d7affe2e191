"""Messages and shared memory between the host and the agent in the lab. Imports neither Mininet nor pyroute2."""
