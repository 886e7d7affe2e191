"""`tcptutor list`: the course's modules with their steps and experiments."""

from __future__ import annotations

import click

from tcptutor import course, spec
from tcptutor.commands.output import print_json, warn


def list_course(as_json: bool) -> int:
    """The exit code: 1 when a part of the course cannot be read."""
    whole, problems = course.read_course()
    if as_json:
        print_json({"modules": [_described(module) for module in whole.modules]})
    else:
        for module in whole.modules:
            click.echo(
                f"{module.number}  {module.id}: {module.title}, {len(module.steps)} steps, {module.minutes} minutes"
            )
            for name, each in module.experiments.items():
                text = ", ".join(f"{key} {value}" for key, value in spec.settings(each).items())
                click.echo(f"     {name}: {each.title}\n         {text}")
    for problem in problems:
        warn(str(problem))
    return 1 if problems else 0


def _described(module: course.Module) -> dict[str, object]:
    return {
        "id": module.id,
        "title": module.title,
        "steps": [{"id": step.id, "title": step.title, "kinds": list(step.kinds)} for step in module.steps],
        "experiments": [
            {"id": name, "title": each.title, "parameters": each.parameters, "sources": list(each.sources)}
            for name, each in module.experiments.items()
        ],
    }
