"""Runs one step of the example in Python, whose file the variable EXAMPLE names."""

import os
import runpy

import engine


def program() -> None:
    runpy.run_path(os.environ["EXAMPLE"], run_name="__main__")


if __name__ == "__main__":
    engine.run(program)
