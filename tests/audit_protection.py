"""Taking the protection off the audit log for a moment, to do what a thief with the database's password would do."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from memadmin.audit import protection


@contextmanager
def lifted() -> Iterator[None]:
    """Inside, the audit tables can be changed and emptied; afterwards the triggers stand again, whatever happened."""
    with transaction.atomic():  # an error puts the triggers back by rolling back
        protection.remove(connection)
        yield
        protection.install(connection)
