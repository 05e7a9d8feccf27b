"""Importing this sets Django up on a copy of the store with one large person. Import it first."""

import os
import tempfile

import django

from bench import store_1m, store_person

ADDRESS, COPY = (store_1m.address_beside(suffix) for suffix in (store_person.SUFFIX, "bench_person_copy"))
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # the secret key and the ledger of this process
os.environ.update(DATABASE_URL=COPY, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()

from memadmin.access.models import Person  # noqa: E402
from memadmin.access.roles import Role  # noqa: E402


def officers() -> list[Person]:
    """Make the two people whom an erasure needs."""
    return [Person.objects.create(login=f"officer-{number}", roles=[Role.COMPLIANCE.value], all_containers=True) for number in (1, 2)]
