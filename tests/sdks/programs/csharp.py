"""Checks every C# file below a folder, and says how many there were.

It fails on what the grammar does not know, and on what the compiler would refuse for a name: a member called like its type, two
members or types of one name, and a type of the SDK's own `Inputs` or `Outputs` that is not there.
"""

import collections
import pathlib
import re
import sys

import tree_sitter
import tree_sitter_c_sharp

parser = tree_sitter.Parser(tree_sitter.Language(tree_sitter_c_sharp.language()))
TYPES = {"class_declaration", "struct_declaration", "enum_declaration", "interface_declaration"}
OWN = re.compile(rb"\b(?:Inputs|Outputs)\.(\w+)")


def text(node: tree_sitter.Node) -> str:
    return node.text.decode() if node.text else ""


def syntax_faults(node: tree_sitter.Node) -> list[tree_sitter.Node]:
    if node.is_error or node.is_missing:
        return [node]
    return [fault for child in node.children if child.has_error for fault in syntax_faults(child)]


def names(member: tree_sitter.Node) -> list[str]:
    """The names that a member takes; methods may share theirs."""
    if member.type == "field_declaration":
        return [text(name) for part in member.named_children if part.type == "variable_declaration"
                for declared in part.named_children if declared.type == "variable_declarator"
                for name in declared.named_children[:1]]
    name = member.child_by_field_name("name")
    return [text(name)] if name is not None and member.type in TYPES | {"property_declaration"} else []


def name_faults(node: tree_sitter.Node) -> list[str]:
    found = []
    if node.type in TYPES:
        own = text(node.child_by_field_name("name"))
        body = node.child_by_field_name("body")
        members = collections.Counter(name for member in (body.named_children if body else []) for name in names(member))
        found += [f"{own} has a member called like itself" for name in members if name == own]
        found += [f"{own} has {count} members called {name}" for name, count in members.items() if count > 1]
    return found + [fault for child in node.named_children for fault in name_faults(child)]


folder = pathlib.Path(sys.argv[1])
files = sorted(folder.rglob("*.cs"))
faults = []
for package in sorted({file.relative_to(folder).parts[0] for file in files}):
    declared: collections.Counter[tuple[str, str]] = collections.Counter()
    used: dict[str, str] = {}
    for file in sorted((folder / package).rglob("*.cs")):
        # The grammar has no variables called `async` and `await`, which C# has.
        source = re.sub(rb"\b(async|await);", rb"@\1;", file.read_bytes())
        root = parser.parse(source).root_node
        lines = source.splitlines()
        faults += [f"{file}:{fault.start_point.row + 1}: {lines[fault.start_point.row].decode()}" for fault in syntax_faults(root)]
        faults += [f"{file}: {fault}" for fault in name_faults(root)]
        for space in root.named_children:
            body = space.child_by_field_name("body") or space
            for declaration in body.named_children:
                if declaration.type in TYPES:
                    declared[text(space.child_by_field_name("name")), text(declaration.child_by_field_name("name"))] += 1
        used.update({match.decode(): str(file) for match in OWN.findall(source)})
    faults += [f"{package}: {count} types are called {space}.{name}" for (space, name), count in declared.items() if count > 1]
    known = {name for _, name in declared}
    faults += [f"{file}: there is no type {name}" for name, file in used.items() if name not in known]
for fault in faults:
    print(fault, file=sys.stderr)
print(len(files))
sys.exit(1 if faults else 0)
