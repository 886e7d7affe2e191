"""Networks of the lab: names of hosts and interfaces, what is set on each, and their drawing."""
