"""The course: lessons on disk to objects, questions, marking, and the content linter."""

from tcptutor.course.experiments import experiment
from tcptutor.course.lint import lint
from tcptutor.course.load import load, read_course
from tcptutor.course.marking import Answer, mark, solution
from tcptutor.course.model import (
    Choice,
    Course,
    Kind,
    Mark,
    Module,
    Predict,
    Question,
    Step,
    StepExperiment,
)

__all__ = [
    "Answer",
    "Choice",
    "Course",
    "Kind",
    "Mark",
    "Module",
    "Predict",
    "Question",
    "Step",
    "StepExperiment",
    "experiment",
    "lint",
    "load",
    "mark",
    "read_course",
    "solution",
]
