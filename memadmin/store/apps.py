from django.apps import AppConfig


class StoreConfig(AppConfig):
    name = "memadmin.store"
    default_auto_field = "django.db.models.BigAutoField"
