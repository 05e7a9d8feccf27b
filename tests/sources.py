"""Reading the product's own source, for the rules that `test_architecture.py` holds."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PRODUCT = ("memadmin", "retention")
_WRITES = re.compile(r"\b(insert\s+into|copy|delete\s+from|truncate(?:\s+table)?)\s+(?:only\s+)?[\"`]?(\{\}|[a-z_]+)", re.IGNORECASE)


def product_files() -> list[Path]:
    """Return every Python file of the product but the migrations."""
    files = (path for package in PRODUCT for path in (ROOT / package).rglob("*.py"))
    return sorted(path for path in files if "migrations" not in path.parts)


def test_files() -> list[Path]:
    return sorted((ROOT / "tests").rglob("*.py"))


def name_of(path: Path) -> str:
    """Return the path from the root of the repository, for messages and lists."""
    return path.relative_to(ROOT).as_posix()


def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf8"), filename=str(path))


def functions(tree: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    return (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


def calls(tree: ast.AST) -> Iterator[tuple[ast.Call, list[str]]]:
    """Yield each call with its dotted chain: `Session.objects.filter(x).delete()` is ["Session", "objects", "filter", "delete"].

    A chain that does not begin with a name begins with "?".
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.Call):
            yield node, _chain(node.func)


def dotted(node: ast.AST) -> list[str]:
    """Return the words of a plain chain of attributes; [] for anything else."""
    names: list[str] = []
    while isinstance(node, ast.Attribute):
        names.append(node.attr)
        node = node.value
    return [node.id, *names[::-1]] if isinstance(node, ast.Name) else []


def _chain(node: ast.expr) -> list[str]:
    names: list[str] = []
    while True:
        if isinstance(node, ast.Attribute):
            names.append(node.attr)
            node = node.value
        elif isinstance(node, ast.Call | ast.Subscript):
            node = node.func if isinstance(node, ast.Call) else node.value
        else:
            names.append(node.id if isinstance(node, ast.Name) else "?")
            return names[::-1]


def texts(tree: ast.AST) -> Iterator[tuple[int, str]]:
    """Yield line and text of every string; what an f-string fills in reads `{}`."""
    inside = {id(part) for node in ast.walk(tree) if isinstance(node, ast.JoinedStr) for part in node.values}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            yield node.lineno, "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in inside:
            yield node.lineno, node.value


def sql_writes(tree: ast.AST) -> Iterator[tuple[int, str, str]]:
    """Yield line, verb ("insert", "copy", "delete", "truncate") and table of every row-making or row-ending SQL text."""
    for line, text in texts(tree):
        for verb, table in _WRITES.findall(text):
            yield line, verb.split()[0].lower(), table.lower()
