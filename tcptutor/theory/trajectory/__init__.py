"""A congestion window over time: what an algorithm should do on a path, to be drawn beside what it did."""

from tcptutor.theory.trajectory.path import Bottleneck, Source, Trajectory
from tcptutor.theory.trajectory.play import LAWS, trajectories

__all__ = ["LAWS", "Bottleneck", "Source", "Trajectory", "trajectories"]
