"""Importing this sets Django up on the store of the measurements, with the stock admin beside the product. Import it first."""

import os
import tempfile

import django

from bench import store_1m

ADDRESS = store_1m.address_beside(store_1m.SUFFIX)
FOLDER = tempfile.TemporaryDirectory(prefix="memadmin-bench-")  # static files and the secret key of this process
os.environ.update(DATABASE_URL=ADDRESS, VAR_DIR=FOLDER.name, LOG_LEVEL="WARNING", DJANGO_SETTINGS_MODULE="bench.stock_settings")
django.setup()
