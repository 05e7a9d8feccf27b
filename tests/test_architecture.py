"""The rules of the house that no single test of a part would notice."""

import ast
import re
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest
from django.apps import apps
from django.core.management import call_command

from memadmin.access.rights import Right
from memadmin.access.scopes import Scope
from memadmin.audit.actions import Action
from memadmin.pages.decorators import SIGNED_IN
from memadmin.store import configuration
from memadmin.store.coverage import uncovered
from tests import sources
from tests.addresses import addresses

MEMORY_MODELS = {"Session", "WorkingMemory", "LongTermMemory", "HistoryEntry"}
MEMORY_TABLES = {"store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry"}
KEPT_MODELS = MEMORY_MODELS | {"Container", "Subject"}  # deleting these would take memories along
DOORS_IN = {
    "memadmin/store/ingest.py",
    "memadmin/store/appending.py",
    "memadmin/store/archive.py",
    "memadmin/store/bulk.py",
}  # bulk: what the two others insert with
DOORS_OUT = {"memadmin/store/removal.py", "memadmin/store/removal_by_list.py"}
MAKING = {"create", "acreate", "get_or_create", "update_or_create", "bulk_create"}
ENDING = {"delete", "adelete", "_raw_delete"}
PUBLIC_PAGES = {"login", "logout", "theme", "healthz", "readyz", "notice-acknowledge", "access-export", "access-export-collect"}
PAGES_FOR_EVERYBODY_SIGNED_IN = {"help", "overview", "question", "shown"}
API_PATHS = ("/_", "/api/")
REFUSALS = {302, 401, 403, 405}
SAMPLES = {"uuid": "00000000-0000-0000-0000-000000000000", "int": "1"}  # for the parts of an address, by converter
NOT_OURS_TO_EXPLAIN = {"CI"}
MAY_CATCH_EVERYTHING = "memadmin/jobs/"
WAYS_THROUGH = """
Session(uid=1)
Session.objects.bulk_create(rows)
models.LongTermMemory.objects.create(a=1)
run(f"COPY {table} FROM STDIN")
run('insert into "store_session" values (1)')
insert_rows(model, rows)
insert_columns(model, columns, count=1)
memory.delete()
Session.objects.filter(a=1).delete()
run("DELETE FROM store_longtermmemory")
run(f"TRUNCATE TABLE {table}")
Preview.objects.filter(a=1).delete()
Preview.objects.create(a=1)
run("delete from lifecycle_runvictim")
insert_rows(Preview, rows)
"""


def test_the_import_contracts_hold():
    answer = subprocess.run([Path(sys.executable).parent / "lint-imports"], cwd=sources.ROOT, capture_output=True, text=True, check=False)

    assert answer.returncode == 0, answer.stdout + answer.stderr


@pytest.mark.django_db
def test_no_migration_is_missing():
    call_command("makemigrations", check=True, dry_run=True, verbosity=1)


def test_what_runs_before_the_installation_needs_the_standard_library_only():
    before = ast.walk(sources.tree_of(sources.ROOT / "memadmin" / "bootstrap.py"))
    start = sources.tree_of(sources.ROOT / "manage.py").body  # what stands below `if __name__` runs inside .venv

    assert _modules([*before, *start]) - sys.stdlib_module_names == {"memadmin"}


def test_no_function_imports():
    found = [
        f"{sources.name_of(path)}:{inner.lineno}"
        for path in sources.product_files()
        for function in sources.functions(sources.tree_of(path))
        for inner in ast.walk(function)
        if isinstance(inner, ast.Import | ast.ImportFrom)
    ]

    assert found == []


def test_no_file_is_over_400_lines():
    long = [sources.name_of(path) for path in [*sources.product_files(), *sources.test_files()] if path.read_text("utf8").count("\n") > 400]

    assert long == []


def test_no_function_is_over_40_lines():
    long = [
        f"{sources.name_of(path)}:{function.name}"
        for path in [*sources.product_files(), *sources.test_files()]
        for function in sources.functions(sources.tree_of(path))
        if (function.end_lineno or 0) - function.lineno >= 40
    ]

    assert long == []


def test_only_the_job_runner_catches_everything():
    found = [
        f"{sources.name_of(path)}:{node.lineno}"
        for path in sources.product_files()
        for node in ast.walk(sources.tree_of(path))
        if isinstance(node, ast.ExceptHandler) and getattr(node.type, "id", "BaseException") in {"Exception", "BaseException"}
        if not sources.name_of(path).startswith(MAY_CATCH_EVERYTHING) and not isinstance(node.type, ast.Attribute | ast.Tuple)
    ]

    assert found == []


def test_every_management_command_is_named_in_a_test():
    commands = [path.stem for path in sources.product_files() if path.parent.name == "commands" and path.stem != "__init__"]
    named = "".join(path.read_text("utf8") for path in sources.test_files() if path != Path(__file__))

    assert [command for command in commands if not re.search(rf"""["' ]{command}["' ]""", named)] == []


def test_memory_rows_are_made_in_ingest_and_archive_only():
    made = [found for path in _outside(DOORS_IN) for found in _makings(path)]

    assert made == []


def test_memory_rows_end_in_removal_only():
    ended = [found for path in _outside(DOORS_OUT) for found in _endings(path)]

    assert ended == []


def test_the_rules_about_doors_see_every_way_through():
    ways = ast.parse(WAYS_THROUGH)

    assert [line for line, _ in _made(ways, others={"Preview"})] == [2, 3, 4, 5, 6, 7, 8]
    assert [line for line, _ in _ended(ways, deletable={"Preview"})] == [9, 10, 11, 12]


def test_every_address_names_a_right():
    pages = [(name, view) for _, name, view in addresses() if name not in PUBLIC_PAGES and not hasattr(view, "scopes")]
    asked = {name: getattr(view, "required_right", None) for name, view in pages}
    signed_in = {name for name, right in asked.items() if right == SIGNED_IN}

    assert [name for name, right in asked.items() if right not in Right.values and name not in signed_in] == []
    assert signed_in <= PAGES_FOR_EVERYBODY_SIGNED_IN


def test_every_address_of_the_api_names_a_scope_for_each_method():
    api = {path: getattr(view, "scopes", None) for path, _, view in addresses() if path.startswith(API_PATHS)}

    assert [path for path, scopes in api.items() if not scopes or not set(scopes.values()) <= set(Scope)] == []


@pytest.mark.django_db
def test_a_stranger_sees_no_page(client: Any):
    shown = []
    for pattern, name, _ in addresses():
        path = re.sub(r"<(?:(\w+):)?\w+>", lambda part: SAMPLES.get(part[1], "x"), pattern)
        for method in (client.get, client.post):
            if name not in PUBLIC_PAGES and (code := method(path).status_code) not in REFUSALS:
                shown.append(f"{path}: {code}")

    assert shown == []


def test_every_column_is_known_to_the_erasure():
    """When this fails, a column is new. What it holds must be found and erased, or somebody says why it can hold nobody's data."""
    assert list(uncovered(apps.get_models(include_auto_created=True))) == []


def test_every_audited_action_is_explained():
    page = sources.ROOT / "docs" / "audit.md"

    assert [action for action in Action.values if f"`{action}`" not in page.read_text("utf8")] == []


def test_every_setting_is_explained():
    page = (sources.ROOT / "docs" / "settings.md").read_text("utf8")

    assert [name for name in [*_environment_variables(), *configuration.REGISTRY] if f"`{name}`" not in page] == []


def test_no_setting_is_explained_twice():
    rows = re.findall(r"^\| `(\w+)`", (sources.ROOT / "docs" / "settings.md").read_text("utf8"), re.MULTILINE)

    assert sorted(rows) == sorted(set(rows))


def test_no_text_has_the_marks_of_a_merge_left_in_it():
    texts = [path for pattern in ("*.md", "docs/*.md", "templates/**/*.html", "static/*.*") for path in sources.ROOT.glob(pattern)]

    assert [path.name for path in texts if re.search(r"^(<{7}|>{7}) ", path.read_text("utf8"), re.MULTILINE)] == []


def test_templates_need_no_loosening_of_the_content_security_policy():
    forbidden = re.compile(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son\w+=|javascript:|hx-on|hx-vals=.js:", re.IGNORECASE)
    found = [
        f"{sources.name_of(path)}:{number}"
        for path in (sources.ROOT / "templates").rglob("*.html")
        for number, line in enumerate(path.read_text("utf8").splitlines(), 1)
        if forbidden.search(line)
    ]

    assert found == []


def _modules(nodes: Iterable[ast.AST]) -> set[str]:
    imports = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    imports += [node.module or "" for node in nodes if isinstance(node, ast.ImportFrom)]
    return {name.split(".")[0] for name in imports}


def _outside(doors: set[str]) -> list[Path]:
    return [path for path in sources.product_files() if sources.name_of(path) not in doors]


def _models() -> set[str]:
    return {model.__name__ for model in apps.get_models()}


def _makings(path: Path) -> list[str]:
    others = _models() - MEMORY_MODELS
    return [f"{sources.name_of(path)}:{line} {what}" for line, what in _made(sources.tree_of(path), others=others)]


def _endings(path: Path) -> list[str]:
    deletable = _models() - KEPT_MODELS
    return [f"{sources.name_of(path)}:{line} {what}" for line, what in _ended(sources.tree_of(path), deletable=deletable)]


def _made(tree: ast.Module, *, others: set[str]) -> list[tuple[int, str]]:
    found = []
    for call, chain in sources.calls(tree):
        model_at = next((place for place, word in enumerate(chain[:3]) if word in MEMORY_MODELS), None)
        made = model_at is not None and (len(chain) == model_at + 1 or chain[-1] in MAKING)
        inserted = chain[-1] in {"insert_rows", "insert_columns"} and not (isinstance(call.args[0], ast.Name) and call.args[0].id in others)
        if made or inserted:
            found.append((call.lineno, ".".join(chain)))
    writes = sources.sql_writes(tree)
    return sorted(
        found
        + [(line, f"{verb} {table}") for line, verb, table in writes if verb in {"insert", "copy"} and table in MEMORY_TABLES | {"{}"}]
    )


def _ended(tree: ast.Module, *, deletable: set[str]) -> list[tuple[int, str]]:
    """Where a file has to do with memories, a row of unknown kind counts as one: write `Model.objects.filter(...).delete()`."""
    knows_memories = any(isinstance(node, ast.Name) and node.id in KEPT_MODELS for node in ast.walk(tree))
    found = [
        (call.lineno, ".".join(chain))
        for call, chain in sources.calls(tree)
        if chain[-1] in ENDING and len(chain) > 1 and not deletable & set(chain[:2]) and knows_memories
    ]
    writes = sources.sql_writes(tree)
    return sorted(
        found
        + [(line, f"{verb} {table}") for line, verb, table in writes if verb in {"delete", "truncate"} and table in MEMORY_TABLES | {"{}"}]
    )


def _environment_variables() -> list[str]:
    trees = [sources.tree_of(path) for path in sources.product_files()]
    return sorted(
        {value for tree in trees for call, chain in sources.calls(tree) if (value := _variable(call, chain))} - NOT_OURS_TO_EXPLAIN
    )


def _variable(call: ast.Call, chain: list[str]) -> str | None:
    reads = chain[-1].startswith("env_") or chain[-3:] == ["os", "environ", "get"]
    first = call.args[0] if call.args else None
    return first.value if reads and isinstance(first, ast.Constant) and str(first.value).isupper() else None
