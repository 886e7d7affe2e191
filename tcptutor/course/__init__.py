"""Course content: parsing of lesson files, activities, and the marking of responses."""

from tcptutor.course.activity import Activity, Mark, MarkContext, Question
from tcptutor.course.experiments import experiment
from tcptutor.course.loader import OpenedCourse, load, read_course
from tcptutor.course.model import Course, Module, Step

__all__ = [
    "Activity",
    "Course",
    "Mark",
    "MarkContext",
    "Module",
    "OpenedCourse",
    "Question",
    "Step",
    "experiment",
    "load",
    "read_course",
]
