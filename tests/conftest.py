"""What every test may use: the database of the run, the browser, the shared data, fast passwords."""

import gc
import json
import math
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import hypothesis
import psycopg
import pytest
from django.conf import settings
from django.core.management.commands import flush
from django.db import connection, connections
from playwright.sync_api import Browser, ConsoleMessage, Error, Page, expect, sync_playwright
from pytest_django.live_server_helper import LiveServer
from pytest_django.plugin import DjangoDbBlocker

from memadmin.erasure.restoring import guard
from tests import browser as chrome
from tests import migrated, unaudited
from tests.databases import describe_database, is_sqlite
from tests.flushing import flush_with_triggers_aside, rows_of_migrations

TEST_FOLDER = pytest.StashKey[str]()
COPIES = pytest.StashKey[migrated.OnSqlite | migrated.OnPostgres | None]()
BROWSER_FIXTURES = {"page", "browser"}
PATIENCE = 20_000  # ms that a page may take: a busy machine must not fail a test

hypothesis.settings.register_profile("usual", max_examples=40, deadline=None, derandomize=bool(os.environ.get("CI")))
hypothesis.settings.register_profile("thorough", max_examples=2000, deadline=None)
hypothesis.settings.load_profile(os.environ.get("MEMADMIN_HYPOTHESIS", "usual"))


def pytest_configure(config: pytest.Config) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]  # the real one is slow on purpose
    settings.STORAGES["staticfiles"] = {"BACKEND": "django.contrib.staticfiles.storage.StaticFilesStorage"}  # no collectstatic before
    settings.WHITENOISE_USE_FINDERS = settings.WHITENOISE_AUTOREFRESH = True
    expect.set_options(timeout=PATIENCE)
    settings.SECURE_SSL_REDIRECT = settings.SESSION_COOKIE_SECURE = settings.CSRF_COOKIE_SECURE = False  # the test client speaks plain HTTP
    if not hasattr(config, "workerinput"):
        migrated.begin_run()
    if is_sqlite():  # a file, as in production: an in-memory database cannot be opened by two threads or processes
        config.stash[TEST_FOLDER] = tempfile.mkdtemp(prefix="memadmin-test-")
        settings.DATABASES["default"].setdefault("TEST", {})["NAME"] = f"{config.stash[TEST_FOLDER]}/test.sqlite3"


def pytest_unconfigure(config: pytest.Config) -> None:
    if not hasattr(config, "workerinput"):
        migrated.end_run()
    if TEST_FOLDER in config.stash:
        shutil.rmtree(config.stash[TEST_FOLDER], ignore_errors=True)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Leave the counts for `manage.py test`, which adds up both databases."""
    path = os.environ.get("MEMADMIN_TEST_COUNTS")
    if path:
        names = {"passed": ["passed", "xfailed"], "failed": ["failed", "error", "xpassed"], "skipped": ["skipped"]}
        found = {name: sum(len(terminalreporter.stats.get(kind, [])) for kind in kinds) for name, kinds in names.items()}
        Path(path).write_text(json.dumps(found), encoding="utf8")


def pytest_report_header() -> list[str]:
    try:
        return [f"database: {describe_database()}", f"browser: {chrome.describe_browser()}"]
    except psycopg.OperationalError as problem:
        raise pytest.UsageError(f"The database of DATABASE_URL cannot be reached: {problem}") from problem


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if BROWSER_FIXTURES & set(getattr(item, "fixturenames", ())):
            item.add_marker("browser")


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the garbage collector pass over what was collected, and come less often: it took a twentieth of the time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(20_000, 20, 20)


@pytest.fixture(scope="session")
def django_db_keepdb(django_db_keepdb: bool) -> bool:
    return django_db_keepdb or is_sqlite()  # the folder of an SQLite database goes as a whole


def copies(config: pytest.Config) -> migrated.OnSqlite | migrated.OnPostgres | None:
    """Return where a migrated database is left for other processes, and on SQLite for other runs, if pytest keeps anything."""
    if is_sqlite():
        return migrated.OnSqlite(config.cache.mkdir("databases")) if config.pluginmanager.has_plugin("cacheprovider") else None
    return migrated.OnPostgres(os.environ[migrated.RUN]) if hasattr(config, "workerinput") else None


@pytest.fixture(scope="session")
def django_db_modify_db_settings(django_db_modify_db_settings: None, pytestconfig: pytest.Config) -> None:
    pytestconfig.stash[COPIES] = copies(pytestconfig)
    if found := pytestconfig.stash[COPIES]:
        found.begin(connection.settings_dict["TEST"])


@pytest.fixture(scope="session")
def django_db_setup(django_db_setup: None, django_db_blocker: DjangoDbBlocker, pytestconfig: pytest.Config) -> Iterator[None]:
    with django_db_blocker.unblock(), pytest.MonkeyPatch.context() as patched:
        if found := pytestconfig.stash[COPIES]:
            found.leave()
        patched.setattr(type(connection.ops), "execute_sql_flush", flush_with_triggers_aside(rows_of_migrations()))
        patched.setattr(flush, "emit_post_migrate_signal", lambda *_, **__: None)  # what it makes is there again, or still
        yield


@pytest.fixture(autouse=True)
def keys_and_anchors_of_its_own(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """No test finds the keys or the checkpoints of another one, or of the installation."""
    with tempfile.TemporaryDirectory(prefix="memadmin-keys-") as folder:
        monkeypatch.setattr(settings, "SUPPRESSION_KEYS", f"{folder}/suppression.json")
        monkeypatch.setattr(settings, "AUDIT_KEYS", f"{folder}/keys")
        monkeypatch.setattr(settings, "AUDIT_ANCHORS", f"{folder}/anchors")
        monkeypatch.setattr(settings, "ERASURE_LEDGERS", [f"{folder}/ledger.jsonl"])
        monkeypatch.setattr(guard, "_seen", guard._Seen(until=math.inf))  # its tests look; in others no query comes from it
        yield


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """The folder of real conversations, formats and nasty inputs that lies beside the repository."""
    found = next((folder / "shared" / "data" for folder in settings.BASE_DIR.parents if (folder / "shared" / "data").is_dir()), None)
    if found is None:
        pytest.skip("the shared/data folder with real conversations is not beside this repository")
    return found


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    path = chrome.find_browser()
    if path is None:
        pytest.skip(chrome.HOW_TO_GET_ONE)
    # Beside Playwright's event loop Django keeps other connections for this thread. A copy of this process has no loop, would find the
    # old ones, and share them with other copies.
    connections.close_all()
    with sync_playwright() as playwright:
        os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"  # Playwright keeps an event loop in this thread; the tests' queries run beside it
        with playwright.chromium.launch(executable_path=path, args=chrome.flags()) as started:
            yield started


@pytest.fixture
def page(browser: Browser, live_server: LiveServer) -> Iterator[Page]:
    """A new browser window on the running site. A script error or a refusal by the content security policy fails the test."""
    faults: list[str] = []

    def on_console(message: ConsoleMessage) -> None:
        if "Content Security Policy" in message.text:
            faults.append(message.text)

    def on_error(error: Error) -> None:
        faults.append(str(error))

    with browser.new_context(base_url=live_server.url) as context:
        opened = context.new_page()
        opened.set_default_timeout(PATIENCE)
        opened.on("console", on_console)
        opened.on("pageerror", on_error)
        yield opened
    assert not faults, faults


@pytest.fixture(autouse=True)
def nothing_is_done_unaudited() -> Iterator[None]:
    """Every request and command of every test is watched: what changed something has left an entry in the audit log."""
    with unaudited.net():
        yield
