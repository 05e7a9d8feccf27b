"""A net under tests: a request or a command that changed something must have left an entry in the audit log.

It is on in every test (`conftest.py`). What was rolled back does not count. What agents write over the APIs says itself who wrote it and
when (docs/audit.md); all else that is changed over them needs its entry.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.core.management.base import BaseCommand
from django.db import connection
from django.test import Client

_WRITE = re.compile(r'\s*(INSERT|UPDATE|DELETE|REPLACE)\b(?:\s+OR\s+\w+)?(?:\s+(?:INTO|FROM|ONLY))*\s+"?(\w+)', re.IGNORECASE)
_SAVEPOINT = re.compile(r'(SAVEPOINT|ROLLBACK TO SAVEPOINT) "?(\w+)', re.IGNORECASE)
LOG = {"audit_entry", "audit_pending"}
SAY_NOTHING = {
    "audit_head": "the log itself",
    "audit_payload": "the log itself",
    "django_session": "who is signed in in which browser",
    "access_tokenuse": "when a token was used last",
}
# What agents write: memories with what hangs on them, the users whom they name, and jobs and keys that come with a write.
OF_AGENTS = {
    "store_session", "store_workingmemory", "store_longtermmemory", "store_historyentry", "store_subject", "store_provenance",
    "store_recallevent", "store_appstate", "store_userstate", "store_profileentry", "store_making", "jobs_job", "django_q_ormq",
    "access_apitoken", "api_keyedcall", "store_fts",
}  # fmt: skip
COMMANDS_WITHOUT = {"memadmin.lifecycle.management.commands.embed_memories": "makes vectors of texts that are there: nobody's decision"}
NO_DECISION = {("INSERT", "jobs_schedule")}  # the row of a schedule that has its first times
SAFE = {"GET", "HEAD", "OPTIONS"}


class Unaudited(AssertionError):
    """Something was changed, and the log does not know."""


class Watch:
    """What was written, in order, between savepoints."""

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []

    def __call__(self, execute: Any, sql: Any, params: Any, many: bool, context: Any) -> Any:
        result = execute(sql, params, many, context)
        text = str(sql)
        if point := _SAVEPOINT.match(text):
            self._move(point[1].upper(), point[2])
        elif write := _WRITE.match(text):
            verb, table = write[1].upper(), write[2]
            # SQLite counts the rows of INSERT … RETURNING only when they are fetched
            if (verb == "INSERT" or context["cursor"].rowcount) and (verb, table) not in NO_DECISION:
                self.seen.append(("write", table))
        return result

    def _move(self, verb: str, name: str) -> None:
        if verb == "SAVEPOINT":
            self.seen.append(("savepoint", name))
        elif ("savepoint", name) in self.seen:
            del self.seen[self.seen.index(("savepoint", name)) + 1 :]

    def let(self, tables: set[str]) -> None:
        """Ask for no entry of changes in these."""
        self.seen = [(kind, name) for kind, name in self.seen if kind != "write" or name not in tables]

    @property
    def tables(self) -> set[str]:
        return {name for kind, name in self.seen if kind == "write"}

    def judge(self, what: str) -> None:
        changed = self.tables - SAY_NOTHING.keys()
        if changed and not changed & LOG:
            raise Unaudited(f"{what} changed {', '.join(sorted(changed))} and left no entry in the audit log")


def _is_api(path: str) -> bool:
    return path.startswith(("/_", "/api/"))


@contextmanager
def net() -> Iterator[None]:
    """Put the net under every request of a test client, and under every command."""
    request, execute = Client.request, BaseCommand.execute

    def watched_request(self: Client, **asked: Any) -> Any:
        watch = Watch()
        with connection.execute_wrapper(watch):
            answer = request(self, **asked)
        if _is_api(str(asked.get("PATH_INFO"))):
            watch.let(OF_AGENTS)
        if asked.get("REQUEST_METHOD") not in SAFE and answer.status_code < 400:
            watch.judge(f"{asked.get('REQUEST_METHOD')} {asked.get('PATH_INFO')}")
        return answer

    def watched_command(self: BaseCommand, *given: Any, **named: Any) -> Any:
        watch = Watch()
        with connection.execute_wrapper(watch):
            result = execute(self, *given, **named)
        if type(self).__module__.startswith("memadmin.") and type(self).__module__ not in COMMANDS_WITHOUT:
            watch.judge(type(self).__module__)
        return result

    Client.request, BaseCommand.execute = watched_request, watched_command  # type: ignore[method-assign]
    try:
        yield
    finally:
        Client.request, BaseCommand.execute = request, execute  # type: ignore[method-assign]
