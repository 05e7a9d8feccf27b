"""The addresses of the compatible API, as in OpenSearch."""

from django.urls import URLPattern

urlpatterns: list[URLPattern] = []
