"""What may stand in a log: ids, counts, seconds. Never memory text, user ids or query strings."""

import logging
import traceback
from types import TracebackType
from typing import Any

ExcInfo = tuple[type[BaseException], BaseException, TracebackType | None] | tuple[None, None, None]


class QuietFormatter(logging.Formatter):
    """Shows where an error happened and its class, not its text: a database error quotes the row."""

    def formatException(self, ei: ExcInfo) -> str:
        kind, _, place = ei
        name = f"{kind.__module__}.{kind.__qualname__}" if kind else "unknown"
        return "".join(traceback.format_tb(place)) + name


class FirstLineOfTask(logging.Filter):
    """Cuts the error text and traceback that django-q2 appends to "Failed 'function' (task)"."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        if text.startswith("Failed "):
            record.msg, record.args = text.split(" - ")[0], None
        return True


def logging_config(level: str) -> dict[str, Any]:
    """Return the dictConfig: everything to standard error, one line each."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"first_line": {"()": FirstLineOfTask}},
        "formatters": {"quiet": {"()": QuietFormatter, "format": "{asctime} {levelname} {name} {message}", "style": "{"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "quiet", "filters": ["first_line"]}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # Django's own set-up would mail errors with the whole request to the administrators.
            "django": {"handlers": ["console"], "level": level, "propagate": False},
            "httpx2": {"level": "WARNING"},  # it would log the address of every call
        },
    }
