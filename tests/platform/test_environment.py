from collections.abc import Callable
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from memadmin.environment import (
    env_bool,
    env_choice,
    env_database,
    env_endpoint,
    env_folder,
    env_hosts,
    env_int,
    env_origins,
    env_secret,
    env_text,
)

FILE = Path("/srv/memadmin.sqlite3")


def database(url: str, monkeypatch: pytest.MonkeyPatch) -> dict[str, object]:
    monkeypatch.setenv("DATABASE_URL", url)
    return env_database("DATABASE_URL", default_file=FILE)


@pytest.mark.parametrize(
    ("name", "value", "read"),
    [
        ("DEBUG", "maybe", lambda: env_bool("DEBUG", False)),
        ("HSTS_SECONDS", "-1", lambda: env_int("HSTS_SECONDS", 3600, low=0, high=10)),
        ("HSTS_SECONDS", "1.5", lambda: env_int("HSTS_SECONDS", 3600, low=0, high=10)),
        ("HSTS_SECONDS", "9" * 5000, lambda: env_int("HSTS_SECONDS", 3600, low=0, high=10)),
        ("LOG_LEVEL", "LOUD", lambda: env_choice("LOG_LEVEL", "INFO", choices=["INFO"])),
        ("ALLOWED_HOSTS", "*", lambda: env_hosts("ALLOWED_HOSTS", [])),
        ("ALLOWED_HOSTS", "https://memory.example.org", lambda: env_hosts("ALLOWED_HOSTS", [])),
        ("ALLOWED_HOSTS", "memory.example.org:8000", lambda: env_hosts("ALLOWED_HOSTS", [])),
        ("CSRF_TRUSTED_ORIGINS", "memory.example.org", lambda: env_origins("CSRF_TRUSTED_ORIGINS")),
        ("CSRF_TRUSTED_ORIGINS", "https://memory.example.org/admin", lambda: env_origins("CSRF_TRUSTED_ORIGINS")),
        ("LLM_URL", "models.example.org", lambda: env_endpoint("LLM_URL")),
        ("LLM_URL", "https://key:secret@models.example.org/v1", lambda: env_endpoint("LLM_URL")),
        ("LLM_URL", "https://models.example.org/v1?key=secret", lambda: env_endpoint("LLM_URL")),
        ("LLM_URL", "file:///etc/passwd", lambda: env_endpoint("LLM_URL")),
        ("VAR_DIR", "/dev/null/var", lambda: env_folder("VAR_DIR", Path("var"))),
        ("SECRET_KEY", "short", lambda: env_secret("SECRET_KEY")),
        ("SECRET_KEY", "a" * 60, lambda: env_secret("SECRET_KEY")),
        ("DATABASE_URL", "mysql://u@h/name", lambda: env_database("DATABASE_URL", default_file=FILE)),
        ("DATABASE_URL", "rubbish", lambda: env_database("DATABASE_URL", default_file=FILE)),
        ("DATABASE_URL", "postgres://u@h", lambda: env_database("DATABASE_URL", default_file=FILE)),
        ("DATABASE_URL", "postgres://u@h:port/name", lambda: env_database("DATABASE_URL", default_file=FILE)),
        ("DATABASE_URL", "sqlite://:memory:", lambda: env_database("DATABASE_URL", default_file=FILE)),
        ("DATABASE_URL", "sqlite:////nowhere/at/all.sqlite3", lambda: env_database("DATABASE_URL", default_file=FILE)),
    ],
)
def test_a_bad_value_is_refused_by_the_name_of_its_variable(
    name: str, value: str, read: Callable[[], object], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv(name, value)

    with pytest.raises(ImproperlyConfigured, match=f"^{name}"):
        read()


def test_a_refusal_does_not_repeat_a_password(monkeypatch: pytest.MonkeyPatch):
    for url in ("postgres://u:pa55word@h:port/name", "postgres://u:pa55word@h", "mysql://u:pa55word@h/name"):
        with pytest.raises(ImproperlyConfigured) as refusal:
            database(url, monkeypatch)
        assert "pa55word" not in str(refusal.value)


def test_an_empty_value_means_the_default(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEBUG", " ")
    monkeypatch.setenv("DATABASE_URL", "")

    assert env_bool("DEBUG", False) is False
    assert env_database("DATABASE_URL", default_file=FILE)["NAME"] == str(FILE)


def test_good_values_are_read(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("DEBUG", "Yes")
    monkeypatch.setenv("ALLOWED_HOSTS", "memory.example.org, .example.com,[::1]")
    monkeypatch.setenv("CSRF_TRUSTED_ORIGINS", "https://memory.example.org, https://*.example.com:8443")

    assert env_bool("DEBUG", False) is True
    assert env_hosts("ALLOWED_HOSTS", []) == ["memory.example.org", ".example.com", "[::1]"]
    assert env_origins("CSRF_TRUSTED_ORIGINS") == ["https://memory.example.org", "https://*.example.com:8443"]


def test_postgresql_is_reached_by_host_or_by_the_folder_of_its_socket(monkeypatch: pytest.MonkeyPatch):
    by_host = database("postgres://ann:p%40ss@db.example.org:5433/memories?sslmode=require", monkeypatch)
    by_socket = database("postgresql://ann@/memories?host=/run/postgresql", monkeypatch)

    assert (by_host["HOST"], by_host["PORT"], by_host["PASSWORD"], by_host["OPTIONS"]) == (
        "db.example.org",
        5433,
        "p@ss",
        {"sslmode": "require"},
    )
    assert (by_socket["HOST"], by_socket["NAME"], by_socket["OPTIONS"]) == ("/run/postgresql", "memories", {})


def test_sqlite_takes_a_path_with_spaces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "a folder").mkdir()

    assert database(f"sqlite:///{tmp_path}/a folder/m.sqlite3", monkeypatch)["NAME"] == f"{tmp_path}/a folder/m.sqlite3"


def test_a_value_can_come_from_a_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "secret").write_text("0123456789" * 6 + "\n")
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("SECRET_KEY_FILE", str(tmp_path / "secret"))

    assert env_secret("SECRET_KEY") == "0123456789" * 6


def test_a_missing_file_is_refused_by_name(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("SECRET_KEY", raising=False)
    monkeypatch.setenv("SECRET_KEY_FILE", "/nowhere/secret")

    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY_FILE"):
        env_text("SECRET_KEY")


def test_a_new_folder_is_for_this_user_only(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("VAR_DIR", str(tmp_path / "a" / "var"))

    assert env_folder("VAR_DIR", Path("var")).stat().st_mode & 0o777 == 0o700
