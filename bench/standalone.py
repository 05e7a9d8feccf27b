"""Importing this sets Django up on a database beside the one that DATABASE_URL names. Import it first."""

import os
import tempfile

import django

from bench import store_1m

LOADED, PREPARED, COPY, STEADY = (
    store_1m.address_beside(suffix) for suffix in (store_1m.SUFFIX, "bench_retention", "bench_copy", "bench_steady")
)
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # the secret key of this process
os.environ.update(DATABASE_URL=PREPARED, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="memadmin.settings")
django.setup()
