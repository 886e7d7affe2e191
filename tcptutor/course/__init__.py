"""Course content: parsing of lesson files, activities, and the marking of responses."""

from tcptutor.course.outline import Course, Module, OpenedCourse, load, read_course

__all__ = ["Course", "Module", "OpenedCourse", "load", "read_course"]
