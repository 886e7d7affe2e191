"""Makes a machine ready for the lab (`tcptutor setup`) and says what it has (`tcptutor doctor`)."""
