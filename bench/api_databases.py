"""Importing this sets Django up on a database beside the one that DATABASE_URL names. Import it first."""

import os
import tempfile

import django
from django.db import connection

from bench import store_1m

FRESH, SMALL, LARGE = (store_1m.address_beside(suffix) for suffix in ("bench_api", "bench_10k", store_1m.SUFFIX))
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # the secret key of this process
os.environ.update(DATABASE_URL=FRESH, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", SECURE="false", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()


def use_fresh() -> None:
    """Make an empty store and connect to it."""
    connection.close()
    store_1m.recreate(FRESH)
    store_1m.migrate(FRESH)
    _use(FRESH)


def use_loaded(share: float, *, reuse: bool) -> None:
    """Connect to a store with a million memories, or a share of that."""
    connection.close()
    address = LARGE if share == 1.0 else SMALL
    store_1m.ready(address, share=share, reuse=reuse)
    _use(address)


def drop_fresh() -> None:
    connection.close()
    store_1m.drop(FRESH)
    store_1m.drop(SMALL)


def _use(address: str) -> None:
    connection.settings_dict["NAME"] = store_1m.name_of(address)
