"""Session with manual experiments: terminals on the hosts, detection of flows, and changes of settings."""
