from django.apps import AppConfig


class DemoConfig(AppConfig):
    name = "memadmin.demo"
    default_auto_field = "django.db.models.BigAutoField"
