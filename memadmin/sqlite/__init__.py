"""Django's SQLite with a fairer wait for the one write lock, as `settings.DATABASES` names it."""
