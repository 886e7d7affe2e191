"""What this machine and the lab's agent say to each other, in memory and in messages. Without mininet and pyroute2."""
