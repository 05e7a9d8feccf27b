"""What may stand in a log: ids, counts, seconds. Never memory text, user ids or query strings."""

import logging
import re
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


NOWHERE = "an address that is not ours"
_ITEM = re.compile(r"(/memory_containers/[^/]+/memories/[^/]+/)(.+)", re.DOTALL)
_OURS = re.compile(r"_[a-z_]+|[0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}")  # a word of the API, or a uid


def logged_path(path: str) -> str:
    """Return an address as it may be logged: the compatible API names sessions as the agent does, which can be by a person's name."""
    return _ITEM.sub(lambda part: part[0] if _OURS.fullmatch(part[2]) else f"{part[1]}...", path)


class NamesOfAgents(logging.Filter):
    """Takes the names that agents gave to sessions, and all of an address that we do not know, out of what Django says about a request."""

    def filter(self, record: logging.LogRecord) -> bool:
        text = record.getMessage()
        request = getattr(record, "request", None)
        shown = text.replace(request.path, NOWHERE) if request is not None and leads_nowhere(request) else logged_path(text)
        if shown != text:
            record.msg, record.args = shown, None
        return True


def leads_nowhere(request: Any) -> bool:
    """Whether no page and no part of an API is at the address of a request: it can be any words then."""
    found = getattr(request, "resolver_match", None)
    return found is None or ":rest>" in found.route


def logging_config(level: str) -> dict[str, Any]:
    """Return the dictConfig: everything to standard error, one line each."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "filters": {"first_line": {"()": FirstLineOfTask}, "names": {"()": NamesOfAgents}},
        "formatters": {"quiet": {"()": QuietFormatter, "format": "{asctime} {levelname} {name} {message}", "style": "{"}},
        "handlers": {"console": {"class": "logging.StreamHandler", "formatter": "quiet", "filters": ["first_line", "names"]}},
        "root": {"handlers": ["console"], "level": level},
        "loggers": {
            # Django's own set-up would mail errors with the whole request to the administrators.
            "django": {"handlers": ["console"], "level": level, "propagate": False},
            "httpx2": {"level": "WARNING"},  # it would log the address of every call
        },
    }
