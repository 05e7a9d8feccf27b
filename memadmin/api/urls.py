"""The addresses of the API."""

from django.urls import include, path

urlpatterns = [path("", include("memadmin.api.v1.urls")), path("", include("memadmin.api.opensearch.urls"))]
