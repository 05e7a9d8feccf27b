from django.apps import AppConfig


class WebhooksConfig(AppConfig):
    name = "memadmin.webhooks"
    default_auto_field = "django.db.models.BigAutoField"
