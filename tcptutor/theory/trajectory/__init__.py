"""Trajectories of cwnd: the expected behavior of an algorithm on a path, for comparison with a run."""

from tcptutor.theory.trajectory.path import Bottleneck, Source, Trajectory
from tcptutor.theory.trajectory.play import LAWS, trajectories

__all__ = ["LAWS", "Bottleneck", "Source", "Trajectory", "trajectories"]
