"""The product's settings and Django's own admin beside it, to be measured against. Never used to serve anybody."""

from memadmin.settings import *  # noqa: F403
from memadmin.settings import INSTALLED_APPS, TEMPLATES

INSTALLED_APPS = [*INSTALLED_APPS, "django.contrib.admin.apps.SimpleAdminConfig"]
TEMPLATES = [{**TEMPLATES[0], "APP_DIRS": True}]  # the admin's templates lie in its own folder
ROOT_URLCONF = "bench.stock_urls"
