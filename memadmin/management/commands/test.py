"""`test`: pytest on SQLite, then on PostgreSQL, with one closing line for both."""

import importlib.util
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError

from memadmin.management.temporary_postgres import NoServer, temporary_postgres

# What a person has set for the installation must not leak into its tests.
OWN_VARIABLES = {
    "ALLOWED_HOSTS",
    "AUDIT_ANCHORS",
    "AUDIT_KEYS",
    "CSRF_TRUSTED_ORIGINS",
    "DATABASE_URL",
    "DEBUG",
    "EMBEDDING_API_KEY",
    "EMBEDDING_MODEL",
    "EMBEDDING_URL",
    "ERASURE_LEDGERS",
    "ERASURE_SINGLE_OPERATOR",
    "FORWARDED_ALLOW_IPS",
    "HSTS_SECONDS",
    "LEGAL_HOLIDAYS",
    "LEGAL_TIME_ZONE",
    "LLM_API_KEY",
    "LLM_MODEL",
    "LLM_TIMEOUT_SECONDS",
    "LLM_URL",
    "LOG_LEVEL",
    "PUBLIC_URL",
    "SECRET_KEY",
    "SECURE",
    "SUPPRESSION_KEYS",
    "VAR_DIR",
    "WEBHOOKS_TO_PRIVATE_NETWORKS",
    "WEB_CONCURRENCY",
}
INTERRUPTED = 2  # pytest's exit code
FOR_EACH_PROCESSOR, MOST_PROCESSES = 2, 8  # much of the time a test waits: for a browser, a killed worker, the disk


@dataclass(frozen=True)
class Outcome:
    database: str
    code: int
    passed: int = 0
    failed: int = 0
    skipped: int = 0
    seconds: float = 0.0

    def __str__(self) -> str:
        return f"{self.passed} passed, {self.failed} failed, {self.skipped} skipped"


@contextmanager
def kept_bytecode() -> Iterator[dict[str, str]]:
    """Yield variables with which Python compiles each module once for the whole run, where it may leave nothing beside the sources.

    Otherwise each of the many processes that tests start compiles all of Django anew, and each pytest process all of the tests.
    """
    with tempfile.TemporaryDirectory(prefix="memadmin-bytecode-") as folder:
        yield {"PYTHONDONTWRITEBYTECODE": "", "PYTHONPYCACHEPREFIX": folder} if sys.dont_write_bytecode else {}


class Command(BaseCommand):
    help = "Run the tests on SQLite and on PostgreSQL. Arguments are pytest's: python3 manage.py test tests/store -k pinned"
    requires_system_checks: list[str] = []

    def run_from_argv(self, argv: list[str]) -> None:
        """Hand everything to pytest: its options must not be read as Django's."""
        if {"-h", "--help"} & set(argv[2:]):
            self.print_help(argv[0], argv[1])
            return
        try:
            sys.exit(self.run_both(argv[2:]))
        except CommandError as problem:
            sys.exit(f"{problem}")

    def handle(self, *args: Any, **options: Any) -> None:
        raise CommandError("Call it from a shell: python3 manage.py test")

    def run_both(self, arguments: Sequence[str]) -> int:
        if importlib.util.find_spec("pytest") is None:
            raise CommandError("The test tools are not installed. Outside of .venv this command installs them: python3 manage.py test")
        signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the temporary server is stopped
        missing = None
        with kept_bytecode() as variables:
            outcomes = [self._pytest("SQLite", arguments, variables)]
            if outcomes[0].code != INTERRUPTED:
                try:
                    outcomes.append(self._on_postgres(arguments, variables))
                except NoServer as problem:
                    missing = str(problem)
        return self._close(outcomes, missing=missing)

    def _on_postgres(self, arguments: Sequence[str], variables: dict[str, str]) -> Outcome:
        with ExitStack() as stack:
            url = os.environ.get("DATABASE_URL", "") if not settings.ON_SQLITE else stack.enter_context(temporary_postgres())
            return self._pytest("PostgreSQL", arguments, variables | {"DATABASE_URL": url})

    def _pytest(self, database: str, arguments: Sequence[str], variables: dict[str, str]) -> Outcome:
        self.stdout.write(f"\n== Tests on {database} ==")
        self.stdout.flush()
        began = time.monotonic()
        with tempfile.TemporaryDirectory(prefix="memadmin-tests-") as folder:
            counts = Path(folder) / "counts.json"
            environment = {key: value for key, value in os.environ.items() if key.removesuffix("_FILE") not in OWN_VARIABLES}
            environment |= variables | {"MEMADMIN_TEST_COUNTS": str(counts), "VAR_DIR": f"{folder}/var"}
            command = [sys.executable, "-m", "pytest", *(arguments or self._all())]
            code = subprocess.run(command, cwd=settings.BASE_DIR, env=environment, check=False).returncode
            found = json.loads(counts.read_text("utf8")) if counts.exists() else {}
        return Outcome(database, code, **found, seconds=time.monotonic() - began)

    def _all(self) -> list[str]:
        processes = min((os.cpu_count() or 1) * FOR_EACH_PROCESSOR, MOST_PROCESSES)
        return ["-n", str(processes), "--dist", "worksteal"]

    def _close(self, outcomes: list[Outcome], *, missing: str | None) -> int:
        """Print one line for each database and one for both; return the worse exit code."""
        self.stdout.write("\n== Both databases ==")
        for outcome in outcomes:
            self.stdout.write(f"{outcome.database}: {outcome} in {outcome.seconds:.0f} s")
        if missing is not None:
            self.stdout.write(f"PostgreSQL: not run, no server could be started ({missing})")
            self.stdout.write(
                "Give one by DATABASE_URL=postgres://user:password@host/name, or install it (Debian: apt-get install postgresql)."
            )
        total = Outcome("", 0, *(sum(getattr(outcome, name) for outcome in outcomes) for name in ("passed", "failed", "skipped")))
        self.stdout.write(f"{total}")
        half_is_missing = missing is not None and bool(os.environ.get("CI"))
        return max([*(outcome.code for outcome in outcomes), int(half_is_missing)])
