#!/usr/bin/env python3
"""Entry point of every command. Outside of `.venv` it first makes that, with all that is needed, and goes on there."""

import os
import sys

if sys.version_info < (3, 11):  # noqa: UP036 (an old Python reads this far, so: no new syntax in this file)
    sys.exit("memadmin needs Python 3.11 or newer; this is %d.%d. Try: python3.11 manage.py ..." % sys.version_info[:2])  # noqa: UP031

from memadmin import bootstrap

if __name__ == "__main__":
    bootstrap.enter_environment(sys.argv[1:])

    import django
    from django.core.exceptions import ImproperlyConfigured
    from django.core.management import execute_from_command_line

    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "memadmin.settings")
    try:
        django.setup()
        from memadmin.management.refusing import refusal_of  # needs the settings

        refusal = refusal_of(sys.argv[1:])
        if refusal:
            sys.exit(refusal)
        execute_from_command_line(sys.argv)
    except ImproperlyConfigured as problem:
        sys.exit(str(problem))
    except BrokenPipeError:  # whoever read us has seen enough, as `| head` does
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(1)
