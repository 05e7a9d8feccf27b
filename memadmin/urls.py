"""The addresses of everything. Where a program and a person meet at one, each gets the answer in their own form."""

from django.http import HttpRequest, HttpResponse
from django.http.response import HttpResponseBase
from django.urls import include, path
from django.views.decorators.csrf import csrf_exempt

from memadmin import health
from memadmin.api import failures, notices
from memadmin.api.opensearch.endpoints import route
from memadmin.api.opensearch.info import get_info
from memadmin.pages import errors
from memadmin.pages.overview import overview

info = route(GET=get_info)


@csrf_exempt  # the overview is only read, and no cookie opens the version
def root(request: HttpRequest) -> HttpResponseBase:
    """The overview for people; for a client that comes with credentials and wants no page, the version."""
    return info(request) if failures.is_program(request) else overview(request)


root.required_right = overview.required_right  # type: ignore[attr-defined]

urlpatterns = [
    path("healthz", health.healthz, name="healthz"),
    path("readyz", health.readyz, name="readyz"),
    path("erasure-notices/<uuid:uid>/acknowledge", notices.notice_acknowledge, name="notice-acknowledge"),
    path("", root, name="overview"),
    path("", include("memadmin.api.urls")),
    path("", include("memadmin.pages.urls")),
]


def handler400(request: HttpRequest, exception: Exception) -> HttpResponse:
    return failures.bad_request(request) if failures.is_api(request) else errors.bad_request(request, exception)


def handler404(request: HttpRequest, exception: Exception) -> HttpResponse:
    return failures.not_found(request) if failures.is_api(request) else errors.not_found(request, exception)


def handler500(request: HttpRequest) -> HttpResponse:
    return failures.broken(request) if failures.is_api(request) else errors.broken(request)


handler403 = "memadmin.pages.errors.forbidden"
