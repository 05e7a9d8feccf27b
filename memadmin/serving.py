"""What web processes are given: the site, after a look at whether the audit log is protected as it was installed."""

from django.db import connection
from django.utils.module_loading import import_string

from memadmin.wsgi import application

__all__ = ["application"]

import_string("memadmin.audit.protection.announce")(connection)  # by name: only now, with the site set up, can it be imported
connection.close()
