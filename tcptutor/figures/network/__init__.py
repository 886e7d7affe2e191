"""Networks of the lab: names of hosts and interfaces, their settings, and their drawing."""
