import os
from collections.abc import Iterable
from typing import Any

from django.core.wsgi import get_wsgi_application

from memadmin.logs import logged_path

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memadmin.settings")
site = get_wsgi_application()


def application(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
    """The site, with a path for the access log beside the real one."""
    environ["LOGGED_PATH"] = logged_path(environ.get("PATH_INFO", ""))
    return site(environ, start_response)
