from importlib import import_module

from django.apps import AppConfig
from django.utils.module_loading import autodiscover_modules


class StoreConfig(AppConfig):
    name = "memadmin.store"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        import_module("memadmin.store.own_locations")
        autodiscover_modules("locations", "bars")  # our own modules of these names are the registers that they fill
