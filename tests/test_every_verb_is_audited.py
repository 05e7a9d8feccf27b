"""Nothing is done without an entry in the audit log: read from the source here; `unaudited.py` watches it happen under
all tests.

A verb is a public function that is told who acts; an entrance is an address that is written to, or a command. Each must come to
`log.append` or `log.note`, by whatever way. Where one rightly does not, it stands below with the reason.
"""

import ast
import inspect
from collections.abc import Iterator
from typing import Any

import pytest

from tests import call_graph, sources
from tests.addresses import addresses

REFUSALS = ("memadmin.access.refusals.note",)  # that an act was refused is not the entry of the act
LOG = ("memadmin.audit.log.append", "memadmin.audit.log.note", "memadmin.audit.log.note_each")
WRITING = {"POST", "PUT", "PATCH", "DELETE"}
VERBS_WITHOUT = {
    "memadmin.access.refusals.note": "it is itself the entry of a refusal",
    "memadmin.access.humans.human_of": "reads who is behind an account",
    "memadmin.lifecycle.approval.may_decide": "reads who may decide",
    "memadmin.lifecycle.causes.person_behind": "reads who is behind a change",
    "memadmin.erasure.intake.note": "part of a verb: keeps its words apart from the request; the verb appends",
    "memadmin.erasure.bulk_decisions.decide": "part of a verb: who decides about a line, a class or all of them appends",
    "memadmin.erasure.correction_checks.ask": "queues a look at what was corrected, which appends what it found",
    "memadmin.erasure.drills.guarding.check_approver": "reads who approves a drill",
    "memadmin.erasure.drills.guarding.is_about": "reads what a drill is about",
    "memadmin.erasure.drills.names.is_drill_actor": "reads who acts",
    "memadmin.erasure.execution.steps.enqueue": "queues the execution of what two people approved; its claim appends",
    "memadmin.lifecycle.embedding.request": "queues vectors of texts that are there: derived, and nobody's decision",
    "memadmin.lifecycle.inference.jobs.request": "queues a reading; what the model adds or changes is `memory.inferred`",
    "memadmin.lifecycle.inference.summaries.request": "queues the title of a session: derived, and nobody's decision",
    "memadmin.lifecycle.planning.open_run": "part of a verb: `run.previewed` is appended when the list is whole",
    "memadmin.lifecycle.planning.open_version": "part of a verb: `run.previewed` is appended when the list is whole",
    "memadmin.store.ingest.write_released": "part of a verb: releasing an arrival appends",
    "memadmin.store.ingest.hold_users": "part of a verb: placing a hold appends",
}
ENTRANCES_WITHOUT = {
    "memadmin.pages.login.logout": "Django's signal appends `login.ended`",
    "memadmin.pages.erasure.intake.erasure_find": "reads; a POST, so that an id stands in no address",
    "memadmin.pages.erasure.intake.erasure_topic": "reads; a POST, so that words stand in no address",
    "memadmin.urls.root": "reads: the overview, and the version for clients of the API",
    "memadmin.pages.login.theme": "the colours of one browser",
    "memadmin.api.v1.memories.Recall.post": "reads; that a memory was recalled stands in its own counter",
    "memadmin.api.v1.governing.Preview.post": "reads: what a policy would evict, nothing is stored",
    "memadmin.api.opensearch.retention.dry_run": "reads: what a policy would evict, nothing is stored",
    "memadmin.api.opensearch.retention.dry_run_all": "reads: what a policy would evict, nothing is stored",
    "memadmin.api.opensearch.searches.search_containers": "reads",
    "memadmin.api.opensearch.searches.search_memories": "reads",
    "memadmin.api.opensearch.similarity.semantic_search": "reads",
    "memadmin.api.opensearch.similarity.hybrid_search": "reads",
    "memadmin.api.opensearch.elsewhere.no_handler": "does nothing: there is no such address",
}
COMMANDS_WITHOUT = {
    "memadmin.audit.management.commands.verify_audit_log": "reads the log, perhaps of a database that must not be written to",
    "memadmin.lifecycle.management.commands.backtest": "reads",
    "memadmin.lifecycle.management.commands.embed_memories": "makes vectors of texts that are there: derived, and nobody's decision",
    "memadmin.management.commands.test": "runs these tests",
    "memadmin.store.management.commands.store_counts": "reads",
}


@pytest.fixture(scope="module")
def audited() -> set[str]:
    return call_graph.reaching(LOG, call_graph.product(), past=REFUSALS)


def test_every_verb_comes_to_the_log(audited: set[str]):
    found = set(call_graph.verbs(call_graph.product()))

    assert sorted(found - audited) == sorted(VERBS_WITHOUT)


def test_every_address_that_is_written_to_comes_to_the_log(audited: set[str]):
    assert sorted(set(_entrances()) - audited) == sorted(ENTRANCES_WITHOUT)


def test_every_command_comes_to_the_log(audited: set[str]):
    files = [path for path in sources.product_files() if path.parent.name == "commands" and path.stem != "__init__"]
    commands = {call_graph.module_of(path) for path in files}

    assert sorted(name for name in commands if f"{name}.Command.handle" not in audited) == sorted(COMMANDS_WITHOUT)


@pytest.mark.parametrize(
    ("module", "line"),
    [
        ("memadmin.store.pinning", "log.append("),
        ("memadmin.webhooks.subscriptions", "log.append("),
        ("memadmin.jobs.schedules", "log.append("),
    ],
)
def test_a_verb_that_loses_its_entry_is_noticed(module: str, line: str):
    modules = call_graph.product()
    spoilt = ast.parse(ast.unparse(modules[module]).replace(line, "print("))

    audited = call_graph.reaching(LOG, {**modules, module: spoilt})

    assert [verb for verb in call_graph.verbs({module: spoilt}) if verb not in audited]


def test_a_new_verb_without_an_entry_is_noticed():
    modules = {**call_graph.product(), "memadmin.store.new": ast.parse("def rename(memory, *, actor, now):\n    memory.save()\n")}

    assert set(call_graph.verbs(modules)) - call_graph.reaching(LOG, modules) - set(VERBS_WITHOUT) == {"memadmin.store.new.rename"}


def _entrances() -> Iterator[str]:
    """Yield the dotted name of every function that answers a writing method of some address."""
    for _, _, view in addresses():
        scopes = getattr(view, "scopes", None)
        if scopes is None:
            yield from _page(view)
        elif hasattr(view, "view_class"):
            cls = view.view_class
            methods = [getattr(cls, method.lower(), None) for method in scopes if method in WRITING]
            yield from (f"{cls.__module__}.{cls.__name__}.{one.__name__}" for one in methods if one)
        else:
            handlers = inspect.getclosurevars(inspect.unwrap(view)).nonlocals["by_method"]
            yield from (_name_of(handler) for method, handler in handlers.items() if method in WRITING)


def _page(view: Any) -> Iterator[str]:
    """A page that is only read says so: everything else can be posted to."""
    source = inspect.getsource(inspect.unwrap(view))
    if "@require_safe" not in source and "@require_GET" not in source:
        yield _name_of(view)


def _name_of(view: Any) -> str:
    bare = inspect.unwrap(view)
    return f"{bare.__module__}.{bare.__qualname__}"
