from django.apps import AppConfig


class ApiConfig(AppConfig):
    name = "memadmin.api"
    default_auto_field = "django.db.models.BigAutoField"
