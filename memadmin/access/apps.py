from importlib import import_module

from django.apps import AppConfig


class AccessConfig(AppConfig):
    name = "memadmin.access"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("memadmin.access.signals")
