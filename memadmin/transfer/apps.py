from django.apps import AppConfig


class TransferConfig(AppConfig):
    name = "memadmin.transfer"
    default_auto_field = "django.db.models.BigAutoField"
