import logging
import sys

import pytest

from memadmin import wsgi
from memadmin.logs import FirstLineOfTask, NamesOfAgents, QuietFormatter, logged_path
from memadmin.management.processes import ACCESS_LOG


def record(message: str, *args: object, **more: object) -> logging.LogRecord:
    return logging.LogRecord("x", logging.ERROR, __file__, 1, message, args, more.get("exc_info"))  # type: ignore[arg-type]


def test_a_logged_error_shows_its_place_and_class_but_not_its_text():
    try:
        raise ValueError("Key (user_id)=(john) already exists")
    except ValueError:
        line = QuietFormatter("{message}", style="{").format(record("write failed", exc_info=sys.exc_info()))

    assert line.startswith("write failed\n")
    assert line.endswith("builtins.ValueError")
    assert "test_logs.py" in line
    assert "john)" not in line.replace('raise ValueError("Key (user_id)=(john) already exists")', "")


def test_a_failed_task_is_logged_without_its_error_text():
    failed = record("Failed 'memadmin.jobs.tasks.run_job' (red-fox) - john likes tea : Traceback\n  more")

    FirstLineOfTask().filter(failed)

    assert failed.getMessage() == "Failed 'memadmin.jobs.tasks.run_job' (red-fox)"


@pytest.mark.parametrize(
    ("path", "shown"),
    [
        ("/_plugins/_ml/memory_containers/bot/memories/sessions/ann%40example.org", "/memories/sessions/..."),
        ("/_plugins/_ml/memory_containers/bot/memories/sessions/smith/ann at\nexample", "/memories/sessions/..."),
        ("/_plugins/_ml/memory_containers/bot/memories/long-term/_search", "/memories/long-term/_search"),
        ("/_plugins/_ml/memory_containers/bot/memories/working", "/bot/memories/working"),
        ("/memories/00000000-0000-0000-0000-000000000000/row/", "/memories/00000000-0000-0000-0000-000000000000/row/"),
    ],
)
def test_a_name_that_an_agent_gave_is_no_part_of_a_logged_address(path, shown):
    assert logged_path(path).endswith(shown)
    assert "ann" not in logged_path(path)


def test_what_django_says_of_a_request_names_no_session():
    refused = record("%s: %s", "Bad Request", "/_plugins/_ml/memory_containers/bot/memories/sessions/ann")

    NamesOfAgents().filter(refused)

    assert refused.getMessage() == "Bad Request: /_plugins/_ml/memory_containers/bot/memories/sessions/..."


def test_the_access_log_takes_the_path_that_may_be_seen(monkeypatch):
    seen = {}
    monkeypatch.setattr(wsgi, "site", lambda environ, start_response: seen.update(environ) or [])

    wsgi.application({"PATH_INFO": "/_plugins/_ml/memory_containers/bot/memories/sessions/ann"}, None)

    assert seen["LOGGED_PATH"].endswith("/memories/sessions/...")
    assert "{LOGGED_PATH}e" in ACCESS_LOG
    assert "(U)" not in ACCESS_LOG
