"""Makes a machine ready for the lab (`tcptutor setup`) and says what it has (`tcptutor doctor`)."""

from tcptutor.install.doctor import diagnose, run_doctor
from tcptutor.install.finding import Finding
from tcptutor.install.setup import run_setup

__all__ = ["Finding", "diagnose", "run_doctor", "run_setup"]
