"""Which functions of the product come to the audit log outside of any transaction, read from their source.

The log refuses to be written outside of a transaction, and most tests are inside of one: only the source shows it to all of them.
"""

import ast
from collections import defaultdict
from collections.abc import Iterator

from tests import call_graph, sources

# Decorators by which a function, and inside a function blocks by which statements, are one transaction.
OPENING = ("transaction.atomic", "audited")


def outside(goals: tuple[str, ...], modules: dict[str, ast.Module]) -> set[str]:
    """Return the functions from which a goal is reached without a transaction, and that no other function of the product calls."""
    calls, named = defaultdict(set), defaultdict(set)
    for name, node, names in call_graph.parts(modules):
        for called in _called(node, names):
            named[called].add(name)
        if not _is_atomic(node):
            calls[name] = set(_called(node, names, outside_of_blocks=True))
    found, grown = set(goals), True
    while grown:
        more = {name for name, called in calls.items() if name not in found and called & found}
        found |= more
        grown = bool(more)
    return {name for name in found - set(goals) if not named[name] - {name}}


def _is_atomic(node: ast.AST) -> bool:
    return isinstance(node, call_graph.Function) and any(ast.unparse(each).startswith(OPENING) for each in node.decorator_list)


def _is_block(node: ast.AST) -> bool:
    return isinstance(node, ast.With) and any(ast.unparse(each.context_expr).startswith("transaction.atomic") for each in node.items)


def _called(node: ast.AST, names: dict[str, str], *, outside_of_blocks: bool = False) -> Iterator[str]:
    bodies = node.body if isinstance(node, call_graph.Function) else [node]
    for body in bodies:
        for inner in _walked(body, outside_of_blocks=outside_of_blocks):
            chain = sources.dotted(inner) if isinstance(inner, ast.Attribute | ast.Name) else []
            if chain and chain[0] in names:
                yield ".".join([names[chain[0]], *chain[1:]])


def _walked(node: ast.AST, *, outside_of_blocks: bool) -> Iterator[ast.AST]:
    if outside_of_blocks and (_is_atomic(node) or _is_block(node)):
        return
    yield node
    for child in ast.iter_child_nodes(node):
        yield from _walked(child, outside_of_blocks=outside_of_blocks)
