import logging
import sys

from memadmin.logs import FirstLineOfTask, QuietFormatter


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
