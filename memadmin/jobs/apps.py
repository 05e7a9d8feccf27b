from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "memadmin.jobs"
    default_auto_field = "django.db.models.BigAutoField"
