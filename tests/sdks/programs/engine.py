"""Runs one step of a program's life by the Automation API, and prints what came of it as JSON.

The program runs in this process and talks to the command line's engine itself, so that no language host is needed.
"""

import json
import sys
from typing import Any, Callable

from pulumi import automation


def run(program: Callable[[], None]) -> None:
    """Does what the first argument of the process says: `up`, or `preview`, in the folder that it runs in."""
    stack = automation.select_stack(
        "dev", project_name="e2e", program=program, opts=automation.LocalWorkspaceOptions(work_dir=".")
    )
    tell: Any = lambda text: print(text, file=sys.stderr)
    match sys.argv[1:]:
        case ["up"]:
            done = stack.up(on_output=tell)
            outputs = {name: {"value": output.value, "secret": output.secret} for name, output in done.outputs.items()}
            print(json.dumps({"changes": done.summary.resource_changes, "outputs": outputs}))
        case ["preview"]:
            foreseen = stack.preview(on_output=tell, diff=True)
            print(json.dumps({"changes": foreseen.change_summary}))
        case other:
            sys.exit(f"there is no step {other}")
