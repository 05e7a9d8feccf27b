from django.apps import AppConfig


class RecallConfig(AppConfig):
    name = "memadmin.recall"
    default_auto_field = "django.db.models.BigAutoField"
