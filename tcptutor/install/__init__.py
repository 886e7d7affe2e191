"""Setup of a machine for the lab (`tcptutor setup`) and its diagnosis (`tcptutor doctor`)."""
