"""The addresses of the compatible API, as in OpenSearch."""

from django.urls import include, path

urlpatterns = [path("", include("memadmin.api.opensearch.search_urls"))]
