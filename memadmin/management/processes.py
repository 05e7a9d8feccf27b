"""The two processes of an installation, web and worker, and the watch over the worker."""

import http.client
import sys
import threading
import time
from pathlib import Path
from typing import IO

from django.conf import settings
from django.db import DatabaseError, connection
from django.utils import timezone

from memadmin.health import WORKER_IS_LATE_AFTER
from memadmin.jobs import heartbeat
from memadmin.management.addresses import Address
from memadmin.management.supervisor import Child

WORKER = "memadmin.management.web_worker.Worker"
THREADS = 8  # of one web process; on SQLite two processes were slower than one
# No query string: it can hold what somebody searched for. The path is what memadmin.wsgi lets be seen of it.
ACCESS_LOG = "%(m)s %({LOGGED_PATH}e)s %(s)s %(B)s bytes %(M)s ms"
LOG_LIMIT = 10_000_000  # bytes, looked at when `up` starts
CHECK_EVERY = 30.0  # seconds
CHECK_IS_OLD_AFTER = 90.0  # seconds: the database does not answer, which says nothing about the worker


class HeartbeatWatch:
    """Looks at the worker's heartbeat from a thread of its own, so that a database that hangs does not hang the supervisor."""

    def __init__(self) -> None:
        self._late = False
        self._checked_at = -CHECK_IS_OLD_AFTER
        self._thread = threading.Thread(target=self._watch, name="heartbeat-watch", daemon=True)

    def start(self) -> None:
        self._thread.start()

    def is_stuck(self, seconds_up: float) -> bool:
        """Whether a worker that has been up this long should have beaten by now, and has not."""
        check_is_fresh = time.monotonic() - self._checked_at < CHECK_IS_OLD_AFTER
        return self._late and check_is_fresh and seconds_up > WORKER_IS_LATE_AFTER.total_seconds()

    def check(self) -> None:
        age = heartbeat.age(timezone.now())
        self._late = age is None or age > WORKER_IS_LATE_AFTER
        self._checked_at = time.monotonic()

    def _watch(self) -> None:
        while True:
            time.sleep(CHECK_EVERY)
            try:
                self.check()
            except DatabaseError:
                pass  # not checked; said by the worker's own log and by /readyz
            finally:
                connection.close()


def web(address: Address, *, environment: dict[str, str], output: IO[bytes] | None) -> Child:
    options = ["--workers", str(settings.WEB_PROCESSES), "--threads", str(THREADS), "--worker-class", WORKER]
    logs = ["--access-logfile", "-", "--access-logformat", ACCESS_LOG]
    quiet = ["--no-control-socket", "--graceful-timeout", "15"]
    command = [sys.executable, "-m", "gunicorn", "--bind", str(address), *options, *logs, *quiet, "memadmin.serving:application"]
    return Child("web", command, output=output, environment=environment)


def worker(watch: HeartbeatWatch, *, environment: dict[str, str], output: IO[bytes] | None) -> Child:
    # macOS: django-q2 forks, which Apple's libraries would stop
    environment = {**environment, "OBJC_DISABLE_INITIALIZE_FORK_SAFETY": "YES"}
    command = [sys.executable, str(settings.BASE_DIR / "manage.py"), "qcluster"]
    return Child("worker", command, output=output, environment=environment, is_stuck=watch.is_stuck)


def open_log(name: str) -> IO[bytes]:
    """Open var/log/NAME.log to append; a long one is put aside as NAME.log.1 first."""
    path = settings.VAR_DIR / "log" / f"{name}.log"
    path.parent.mkdir(mode=0o700, exist_ok=True)
    if path.exists() and path.stat().st_size > LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    return path.open("ab")


def last_lines(path: Path, count: int = 8) -> str:
    return "\n".join(path.read_text(encoding="utf8", errors="replace").splitlines()[-count:])


def answers(address: Address) -> bool:
    """Whether a web server answers there; what it answers does not matter."""
    host = settings.ALLOWED_HOSTS[0].lstrip(".")
    web_server = http.client.HTTPConnection(address.host, address.port, timeout=2)
    try:
        web_server.request("GET", "/healthz", headers={"Host": host})
        web_server.getresponse()
    except (OSError, http.client.HTTPException):
        return False
    finally:
        web_server.close()
    return True
