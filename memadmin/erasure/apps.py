from django.apps import AppConfig


class ErasureConfig(AppConfig):
    name = "memadmin.erasure"
    default_auto_field = "django.db.models.BigAutoField"
