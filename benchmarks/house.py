"""How large the house is, in a table: lines, files, what has one importer, circles of imports.

    python benchmarks/house.py

Every import counts: within functions, under TYPE_CHECKING, and by a text given to `import_module`
(of a folder's files, those that fit the text). Rooms are folders of `report/` with Python files;
floors are the rooms, and single files of the root, on the longest way down through what they
import, circles taken as one.
"""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[1]


def lines(*folders: str) -> int:
    """Lines of all Python files below folders."""
    paths = (path for folder in folders for path in (ROOT / folder).rglob("*.py"))
    return sum(len(path.read_text("utf-8").splitlines()) for path in paths)


def modules() -> dict[str, Path]:
    """Dotted name -> file, of the package."""
    found = {}
    for path in (ROOT / "report").rglob("*.py"):
        name = ".".join(path.relative_to(ROOT).with_suffix("").parts)
        found[name.removesuffix(".__init__")] = path
    return found


def imports(known: dict[str, Path]) -> dict[str, set[str]]:
    """Module -> the modules of the package that it imports, in whatever way."""
    found = defaultdict(set)
    for name, path in known.items():
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ImportFrom):
                asked = [f"{node.module}.{alias.name}" for alias in node.names]
                found[name] |= {each if each in known else node.module for each in asked}
            elif isinstance(node, ast.Import):
                found[name] |= {alias.name for alias in node.names}
            elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
                text = "".join(
                    re.escape(part.value) if isinstance(part, ast.Constant) else r"\w+"
                    for part in getattr(node.args[0], "values", node.args[:1])
                )
                found[name] |= {each for each in known if re.fullmatch(text, each)}
        found[name] &= known.keys() - {name}
    return found


def circles(graph: dict[str, set[str]]) -> list[list[str]]:
    """Groups that all lead to each other (Tarjan, 1972), or that are alone, the deepest first."""
    order, low, stack, found = {}, {}, [], []

    def visit(at):
        order[at] = low[at] = len(order)
        stack.append(at)
        for to in sorted(graph[at]):
            if to not in order:
                visit(to)
            if to in stack:
                low[at] = min(low[at], low[to])
        if low[at] == order[at]:
            place = stack.index(at)
            found.append(stack[place:])
            del stack[place:]

    for each in sorted(graph):
        if each not in order:
            visit(each)
    return found


def rings(graph: dict[str, set[str]]) -> list[list[str]]:
    """The circles of a graph: groups of more than one."""
    return [group for group in circles(graph) if len(group) > 1]


def floors(graph: dict[str, set[str]]) -> int:
    """How many groups lie on the longest way down."""
    height, group_of = {}, {}
    for group in circles(graph):  # what a group imports comes before it
        group_of |= dict.fromkeys(group, group[0])
        below = {group_of[to] for at in group for to in graph[at]} - {group[0]}
        height[group[0]] = 1 + max((height[each] for each in below), default=0)
    return max(height.values())


NO_NAMES = {"told", "said", "found", "asked", "kept", "written", "shown", "some", "own", "one"}
"""Participles and pronouns, which say nothing of what a name stands for."""


def no_names(path: Path) -> list[str]:
    """Functions, arguments, variables and fields of a file that are called so, in their order."""
    names = []
    for node in ast.walk(ast.parse(path.read_text("utf-8"))):
        if isinstance(node, ast.Name | ast.Attribute) and isinstance(node.ctx, ast.Store):
            names.append(node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.arg):
            names.append(node.arg)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef | ast.ExceptHandler):
            names.append(node.name or "")
        elif isinstance(node, ast.alias):
            names.append(node.asname or "")
    return [name for name in names if name.strip("_") in NO_NAMES]


def main():
    known = modules()
    graph = imports(known)
    graph = {name: graph[name] for name in known}
    users = defaultdict(set)
    for name, others in graph.items():
        for other in others:
            users[other].add(name)
    beside = [
        name
        for name, by in users.items()
        if len(by) == 1 and name.rpartition(".")[0] == next(iter(by)).rpartition(".")[0]
    ]
    rooms = defaultdict(set)
    folder = {name: path.parent.relative_to(ROOT).as_posix() for name, path in known.items()}
    room = {name: name if at == "report" else at for name, at in folder.items()}
    for name, others in graph.items():
        rooms[room[name]] |= {room[other] for other in others} - {room[name]}
    in_circles = rings(graph)
    for what, number in {
        "lines of Python in report/": lines("report"),
        "files of Python in report/": len(known),
        "lines of Python in tests/": lines("tests"),
        "files with one importer, in its folder": len(beside),
        "circles of files": len(in_circles),
        "files in them": sum(map(len, in_circles)),
        "rooms": len({*folder.values()}),
        "floors of rooms": floors(rooms),
        "told, said, found and the like as names": sum(len(no_names(at)) for at in known.values()),
    }.items():
        print(f"{what:<40}{number:>8,}")


if __name__ == "__main__":
    main()
