"""A real `qcluster` on the test database, in a process group of its own."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.conf import settings

from tests.databases import database_url


@contextmanager
def running_cluster(settings_module: str, *, log: Path) -> Iterator[int]:
    """Start the workers, give the id of their process group, and kill the whole group at the end."""
    # The checkpoints of another test would be those of a newer database: work is held until somebody says what to do.
    own = {name: str(getattr(settings, name)) for name in ("AUDIT_ANCHORS", "AUDIT_KEYS", "SUPPRESSION_KEYS")}
    own["ERASURE_LEDGERS"] = ",".join(map(str, settings.ERASURE_LEDGERS))
    environment = {**os.environ, **own, "DATABASE_URL": database_url(), "DJANGO_SETTINGS_MODULE": settings_module}
    command = [sys.executable, "manage.py", "qcluster"]
    with log.open("wb") as output:
        started = subprocess.Popen(command, cwd=settings.BASE_DIR, env=environment, stdout=output, stderr=output, start_new_session=True)
        try:
            yield started.pid
        finally:
            os.killpg(started.pid, signal.SIGKILL)
            started.wait()
