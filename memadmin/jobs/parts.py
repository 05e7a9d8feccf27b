"""For a job of several parts that must not suffer from each other, such as a night over many containers."""

import logging
from collections.abc import Callable

from django.db import InterfaceError, OperationalError, close_old_connections, transaction

from memadmin.jobs.failure import code_of
from memadmin.jobs.lease import LeaseLost

logger = logging.getLogger(__name__)


BROKEN = (OperationalError, InterfaceError)  # no connection, no room, a time-out: it may go better a little later


def do_part(part: Callable[[], None], *, name: str, raising: tuple[type[Exception], ...] = ()) -> str:
    """Do one part of a job. Return "", or the class name of the error that stopped it: the job records it and goes on with the next.

    The error's text goes nowhere: it may quote a memory. Raises LeaseLost, which is the whole job's affair, and what `raising` names.
    """
    passed_on: tuple[type[Exception], ...] = (LeaseLost, *raising)
    try:
        part()
    except passed_on:
        raise
    except Exception as error:  # noqa: BLE001  # that is what a part is for
        if transaction.get_autocommit():
            close_old_connections()  # the error may have been the connection's
        logger.error("%s: stopped with %s", name, code_of(error))
        return code_of(error)
    return ""
