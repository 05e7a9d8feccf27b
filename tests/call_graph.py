"""Which functions of the product call which, read from its source: enough to ask whether a verb can come to the audit log at all.

A name counts as called where it is mentioned, so that handing a function on counts too, and who names a class as calling all its methods.
Methods of objects that come from elsewhere are not followed: a verb is a function of a module.
"""

import ast
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

from tests import sources

Function = ast.FunctionDef | ast.AsyncFunctionDef


def module_of(path: Path) -> str:
    return sources.name_of(path).removesuffix(".py").removesuffix("/__init__").replace("/", ".")


@cache
def product() -> dict[str, ast.Module]:
    """Return the tree of each module that may act, by its dotted name: `retention` only decides."""
    return {module_of(path): sources.tree_of(path) for path in sources.product_files() if sources.name_of(path).startswith("memadmin")}


def reaching(goals: Iterable[str], modules: dict[str, ast.Module], *, past: Iterable[str] = ()) -> set[str]:
    """Return the dotted names of all functions that mention one of the goals, or another function that does; ways through `past` do not
    count."""
    mentions = {name: mentioned for module, tree in modules.items() for name, mentioned in _mentions(module, tree).items()}
    for name in past:
        mentions.pop(name, None)
    found, grown = set(goals), True
    while grown:
        more = {name for name, mentioned in mentions.items() if name not in found and mentioned & found}
        found |= more
        grown = bool(more)
    return found


def parts(modules: dict[str, ast.Module]) -> Iterator[tuple[str, ast.AST, dict[str, str]]]:
    """Yield the dotted name and node of each function, class, method and table of functions, with what its names stand for."""
    for module, tree in modules.items():
        yield from _defined(module, tree)


def verbs(modules: dict[str, ast.Module]) -> Iterator[str]:
    """Yield the public functions that are told who acts."""
    for module, tree in modules.items():
        for node in tree.body:
            if isinstance(node, Function) and not node.name.startswith("_") and _is_told_who(node):
                yield f"{module}.{node.name}"


def _is_told_who(node: Function) -> bool:
    return "actor" in {argument.arg for argument in (*node.args.args, *node.args.kwonlyargs)}


@cache
def _mentions(module: str, tree: ast.Module) -> dict[str, set[str]]:
    return {name: _mentioned(node, name, names) for name, node, names in _defined(module, tree)}


def _defined(module: str, tree: ast.Module) -> Iterator[tuple[str, ast.AST, dict[str, str]]]:
    """Yield the name and node of each function and class of a module, and of each method, with what its names stand for."""
    names = {
        alias.asname or alias.name: f"{node.module}.{alias.name}"
        for node in tree.body
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    for node in tree.body:
        if isinstance(node, Function | ast.ClassDef):
            names[node.name] = f"{module}.{node.name}"
        elif isinstance(node, ast.Assign):  # a table of functions, such as the acts of a command
            names |= {target.id: f"{module}.{target.id}" for target in node.targets if isinstance(target, ast.Name)}
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            names[node.target.id] = f"{module}.{node.target.id}"
    for node in tree.body:
        yield from _parts(module, node, names)


def _parts(module: str, node: ast.stmt, names: dict[str, str]) -> Iterator[tuple[str, ast.AST, dict[str, str]]]:
    if isinstance(node, Function):
        yield f"{module}.{node.name}", node, names
    elif isinstance(node, ast.ClassDef):
        yield f"{module}.{node.name}", node, names  # who makes an object calls its methods
        yield from ((f"{module}.{node.name}.{part.name}", part, names) for part in node.body if isinstance(part, Function))
    elif isinstance(node, ast.Assign | ast.AnnAssign) and node.value is not None:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        yield from ((f"{module}.{target.id}", node.value, names) for target in targets if isinstance(target, ast.Name))


def _mentioned(node: ast.AST, name: str, names: dict[str, str]) -> set[str]:
    found = set()
    bodies = node.body if isinstance(node, Function) else [node]  # a decorator guards an act and is none
    for inner in (inner for body in bodies for inner in ast.walk(body)):
        chain = sources.dotted(inner) if isinstance(inner, ast.Attribute | ast.Name) else []
        if chain[:1] == ["self"] and len(chain) > 1:
            found.add(f"{name.rpartition('.')[0]}.{chain[1]}")
        elif chain and chain[0] in names:
            found.add(".".join([names[chain[0]], *chain[1:]]))
    return found
