"""A congestion window over time: what an algorithm should do on a path, to be drawn beside what it did."""

from tcptutor.theory.trajectory.path import MOST_ROUNDS, Bottleneck, Point, Source, Trajectory
from tcptutor.theory.trajectory.play import LAWS, trajectories

__all__ = ["LAWS", "MOST_ROUNDS", "Bottleneck", "Point", "Source", "Trajectory", "trajectories"]
