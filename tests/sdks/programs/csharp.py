"""Parses every C# file below a folder, and says how many there were. It fails on what the grammar does not know."""

import pathlib
import sys

import tree_sitter
import tree_sitter_c_sharp

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c_sharp.language()))
files = sorted(pathlib.Path(sys.argv[1]).rglob("*.cs"))


def faults(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    if node.is_error or node.is_missing:
        return [node]
    return [fault for child in node.children if child.has_error for fault in faults(child)]


found = 0
for file in files:
    text = file.read_bytes()
    for fault in faults(parser.parse(text).root_node):
        found += 1
        print(f"{file}:{fault.start_point.row + 1}: {text.splitlines()[fault.start_point.row].decode()}", file=sys.stderr)
print(len(files))
sys.exit(1 if found else 0)
