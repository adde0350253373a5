"""Reads a file by both forms of a function."""

import os

import pulumi
import pulumi_local as local

import engine

FILE = os.path.abspath("secret.txt")


def program() -> None:
    found = local.get_sensitive_file_output(filename=FILE)
    pulumi.export("plain", local.get_sensitive_file(filename=FILE).content)
    pulumi.export("output", found.content)
    pulumi.export("id", found.id)


if __name__ == "__main__":
    engine.run(program)
