from django.apps import AppConfig


class LifecycleConfig(AppConfig):
    name = "memadmin.lifecycle"
    default_auto_field = "django.db.models.BigAutoField"
