"""Reading the environment: every value is checked, and a bad one stops the start with the variable's name.

`NAME_FILE` may name a file that holds the value of `NAME`, as container secrets do.
A message never repeats a value that could be a secret.
"""

import re
from datetime import date
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from django.core.exceptions import ImproperlyConfigured

_ENV = environ.FileAwareEnv()
_ENV.ENVIRON = environ.FileAwareMapping(cache=False)  # reads a file again, as a changed variable is
_YES, _NO = {"1", "true", "yes", "on"}, {"0", "false", "no", "off"}
_HOST = re.compile(r"\.?[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\]")
_ORIGIN = re.compile(r"https?://(\*\.)?([A-Za-z0-9_-]+(\.[A-Za-z0-9_-]+)*|\[[0-9A-Fa-f:.]+\])(:\d{1,5})?")
_ENDPOINT = re.compile(_ORIGIN.pattern.replace(r"(\*\.)?", "") + r"(/[A-Za-z0-9._~/-]*)?")
_DATABASE_SCHEMES = {"sqlite", "postgres", "postgresql"}
_SECRET_LENGTH = 50  # what `check --deploy` asks for


def env_text(name: str, default: str | None = None) -> str | None:
    """Return the stripped text; the default when it is not set or empty."""
    try:
        value = str(_ENV.str(name, default="")).strip()
    except (OSError, UnicodeError) as problem:
        raise ImproperlyConfigured(f"{name}_FILE names a file that cannot be read as text.") from problem
    return value or default


def env_bool(name: str, default: bool) -> bool:
    value = (env_text(name) or str(default)).lower()
    if value not in _YES | _NO:
        raise ImproperlyConfigured(f"{name} must be true or false, not {value!r}.")
    return value in _YES


def env_int(name: str, default: int, *, low: int, high: int) -> int:
    value = env_text(name) or str(default)
    if not re.fullmatch(r"-?\d{1,12}", value) or not low <= int(value) <= high:
        raise ImproperlyConfigured(f"{name} must be a whole number from {low} to {high}, not {value!r}.")
    return int(value)


def env_choice(name: str, default: str, *, choices: list[str]) -> str:
    value = (env_text(name) or default).upper()
    if value not in choices:
        raise ImproperlyConfigured(f"{name} must be one of {', '.join(choices)}, not {value!r}.")
    return value


def env_zone(name: str, default: str) -> ZoneInfo:
    """Return a time zone by its name in the IANA database."""
    value = env_text(name) or default
    try:
        return ZoneInfo(value)
    except (ZoneInfoNotFoundError, ValueError):
        raise ImproperlyConfigured(f"{name} must be a time zone such as Europe/Amsterdam, not {value!r}.") from None


def env_days(name: str) -> frozenset[date]:
    """Return days, given as 2026-12-25 and separated by commas."""
    try:
        return frozenset(date.fromisoformat(each) for each in env_list(name))
    except ValueError:
        raise ImproperlyConfigured(f"{name} takes days such as 2026-12-25, separated by commas.") from None


def env_hosts(name: str, default: list[str]) -> list[str]:
    """Return host names as in a Host header, without scheme and port; `*` is refused."""
    hosts = env_list(name) or default
    for host in hosts:
        if not _HOST.fullmatch(host):
            raise ImproperlyConfigured(f"{name} takes host names without scheme or port, separated by commas (no *), not {host!r}.")
    return hosts


def env_origins(name: str) -> list[str]:
    """Return origins: scheme and host, no path."""
    origins = env_list(name)
    for origin in origins:
        if not _ORIGIN.fullmatch(origin):
            raise ImproperlyConfigured(f"{name} takes origins like https://memory.example.org, separated by commas, not {origin!r}.")
    return origins


def env_endpoint(name: str) -> str | None:
    """Return the base address of a service, or None where it is not given. A key belongs into a variable of its own."""
    url = env_text(name)
    if url is not None and not _ENDPOINT.fullmatch(url):
        raise ImproperlyConfigured(f"{name} takes an address like https://models.example.org/v1, without a user, a query or a fragment.")
    return url


def env_folder(name: str, default: Path) -> Path:
    """Return a folder that exists and that only this user can look into; it is made when absent."""
    folder = Path(env_text(name) or default).absolute()
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as problem:
        raise ImproperlyConfigured(f"{name}: the folder {folder} cannot be made: {problem.strerror}.") from problem
    return folder


def env_secret(name: str) -> str | None:
    """Return a secret that is long enough to be one, or None where it is not given."""
    value = env_text(name)
    if value is not None and (len(value) < _SECRET_LENGTH or len(set(value)) < 5):
        raise ImproperlyConfigured(f"{name} must be {_SECRET_LENGTH} random characters or more.")
    return value


def env_database(name: str, *, default_file: Path) -> dict[str, Any]:
    """Return Django's description of a SQLite or PostgreSQL database; a `host` parameter may name a socket's folder."""
    url = env_text(name)
    if url is None:
        return {"ENGINE": "django.db.backends.sqlite3", "NAME": str(default_file)}
    if url.split(":")[0] not in _DATABASE_SCHEMES:
        raise ImproperlyConfigured(f"{name} must begin with postgres:// or sqlite:///.")
    try:
        database = dict(environ.Env.db_url_config(url))
    except ValueError as problem:
        raise ImproperlyConfigured(
            f"{name} cannot be read as an address: the port must be a number and a password percent-encoded."
        ) from problem
    options = dict(database.pop("OPTIONS", {}))
    database["HOST"] = options.pop("host", database.get("HOST", ""))
    database["OPTIONS"] = options
    _check_database_name(name, database)
    return database


def _check_database_name(name: str, database: dict[str, Any]) -> None:
    if not database["NAME"]:
        raise ImproperlyConfigured(f"{name} names no database: put its name (SQLite: its file) behind the last slash.")
    if database["ENGINE"].endswith("sqlite3"):
        if database["NAME"] == ":memory:":
            raise ImproperlyConfigured(f"{name} must name a file: web and worker are two processes and cannot share a database in memory.")
        database["NAME"] = str(Path(database["NAME"]).absolute())
        if not Path(database["NAME"]).parent.is_dir():
            raise ImproperlyConfigured(f"{name} names a file in a folder that does not exist: {Path(database['NAME']).parent}.")


def env_list(name: str) -> list[str]:
    return [part.strip() for part in (env_text(name) or "").split(",") if part.strip()]
