"""`up`: everything for a running installation, in one command and one process that keeps the others alive."""

import fcntl
import logging
import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from django.core.management import call_command
from django.core.management.base import BaseCommand, CommandError
from django.db import OperationalError, connection

from memadmin.erasure.restoring import guard
from memadmin.management import first_steps, processes
from memadmin.management.addresses import Address, BadAddress, is_free, next_free, parse_address
from memadmin.management.supervisor import POLL, Supervisor

READY_WITHIN = 60.0  # seconds


class Command(BaseCommand):
    help = "Prepare the database, then run web and worker until Ctrl-C. Exit code 0: stopped when asked; 1: could not start."
    requires_system_checks: list[str] = []

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("--demo", action="store_true", help="fill an empty store with the demo and print its logins")
        parser.add_argument(
            "--bind", default="127.0.0.1:8000", metavar="HOST:PORT", help="where the web server listens (default: %(default)s)"
        )

    def handle(self, *args: Any, demo: bool, bind: str, **options: Any) -> None:
        address = self._checked(bind, demo=demo)
        try:
            notes = self._prepare(demo=demo)
        except KeyboardInterrupt:
            raise CommandError("Stopped while preparing. Run the same command again: it goes on where it stopped.") from None
        code = self._run(address, notes=notes)
        if code:
            sys.exit(code)

    def _checked(self, bind: str, *, demo: bool) -> Address:
        """Return the address, before anything is started or changed for it."""
        try:
            address = parse_address(bind)
            free = is_free(address)
        except BadAddress as problem:
            raise CommandError(f"--bind: {problem}") from problem
        again = "python3 manage.py up" + (" --demo" if demo else "")
        if demo and not address.is_loopback:
            raise CommandError(f"--demo prints logins that anybody could use, so it stays on this machine: not on {address}.")
        if not free:
            other = next_free(address)
            hint = f", or use another: {again} --bind {other}" if other else ""
            raise CommandError(f"Port {address.port} is taken; perhaps memadmin runs already. Stop what runs there{hint}")
        if not address.is_loopback:
            self._warn_public(address)
        return address

    def _warn_public(self, address: Address) -> None:
        self.stdout.write(
            f"{address} can be reached from other machines. Hosts that are answered (ALLOWED_HOSTS): {', '.join(settings.ALLOWED_HOSTS)}."
        )
        if settings.SECURE:
            self.stdout.write("Plain HTTP is sent on to HTTPS: put a proxy with a certificate in front (docs/operations.md).")
        else:
            self.stdout.write("SECURE is off: passwords and memories cross the network unencrypted.")

    def _prepare(self, *, demo: bool) -> list[str]:
        """Migrate, gather the static files, load the demo or make the first person; return what to tell at the end."""
        with one_at_a_time():
            try:
                call_command("migrate", interactive=False, verbosity=0)
            except OperationalError as problem:
                raise CommandError(f"The database of DATABASE_URL cannot be used: {problem}") from problem
            call_command("collectstatic", interactive=False, verbosity=0)
            notes = first_steps.load_demo(self.stdout) if demo else []
        if not demo:
            notes = first_steps.offer_administrator(self.stdout)
        state = guard.state()
        if not state.is_open:
            why = "; ".join(reason.label for reason in state.reasons)
            notes = [*notes, f"NOBODY IS SERVED: {why}. Run `python3 manage.py reapply_erasures` (docs/operations.md)."]
        connection.close()  # the children open their own
        return notes

    def _run(self, address: Address, *, notes: list[str]) -> int:
        environment = {} if "SECURE" in os.environ or not address.is_loopback else {"SECURE": "false"}
        on_terminal = sys.stdout.isatty()
        logs = {name: processes.open_log(name) if on_terminal else None for name in ("web", "worker")}
        watch = processes.HeartbeatWatch()
        children = [
            processes.web(address, environment=environment, output=logs["web"]),
            processes.worker(watch, environment=environment, output=logs["worker"]),
        ]
        supervisor = Supervisor(children)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, supervisor.request_stop)
        logging.getLogger("memadmin.up").setLevel(logging.INFO)
        if not self._become_ready(supervisor, address):
            supervisor.stop()
            return 0 if supervisor.stop_requests else 1
        watch.start()
        lines = [f"memadmin runs at {address.url}", *notes, *(["Logs: " + str(settings.VAR_DIR / "log")] if on_terminal else [])]
        self.stdout.write("\n".join(["", *lines, "Stop with Ctrl-C.", ""]))
        self.stdout.flush()
        supervisor.run()
        self.stdout.write("Stopped.")
        return 0

    def _become_ready(self, supervisor: Supervisor, address: Address) -> bool:
        """Start the children and wait for the first answer; False when one of them dies or none comes."""
        supervisor.start()
        deadline = time.monotonic() + READY_WITHIN
        while time.monotonic() < deadline and not supervisor.stop_requests:
            dead = next((child for child in supervisor.children if not child.is_running()), None)
            if dead is not None:
                self.stderr.write(f"The {dead.name} process ended at once, so nothing was started.")
                if dead.output is not None:
                    self.stderr.write(processes.last_lines(settings.VAR_DIR / "log" / f"{dead.name}.log"))
                return False
            if processes.answers(address):
                return True
            time.sleep(POLL)
        if not supervisor.stop_requests:
            self.stderr.write(f"The web server gave no answer within {READY_WITHIN:.0f} s, so everything was stopped.")
        return False


@contextmanager
def one_at_a_time() -> Iterator[None]:
    """Let a second `up` on this machine wait until the first has prepared the database."""
    with open(settings.VAR_DIR / "up.lock", "w", encoding="utf8") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
