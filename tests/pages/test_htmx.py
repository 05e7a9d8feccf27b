import json

import pytest
from django.http import HttpResponse
from django.test import RequestFactory
from django_htmx.middleware import HtmxMiddleware

from memadmin.pages.htmx import page_address, render_page, toast, wants_part


def request_with(**headers: str):
    request = RequestFactory().get("/users/?page=2", headers={name.replace("_", "-"): value for name, value in headers.items()})
    HtmxMiddleware(lambda _: HttpResponse())(request)
    return request


def test_htmx_wants_the_part():
    assert wants_part(request_with(HX_Request="true"))


@pytest.mark.parametrize(
    "headers", [{}, {"HX_Request": "true", "HX_Boosted": "true"}, {"HX_Request": "true", "HX_History_Restore_Request": "true"}]
)
def test_browsers_boosted_links_and_history_want_the_page(headers):
    assert not wants_part(request_with(**headers))


@pytest.mark.parametrize(("headers", "expected"), [({"HX_Request": "true"}, "part"), ({}, "page")])
def test_page_or_part_is_rendered_with_the_headers_that_decided(headers, expected, settings, tmp_path):
    (tmp_path / "list.html").write_text("page {{ name }}")
    (tmp_path / "_table.html").write_text("part {{ name }}")
    settings.TEMPLATES = [{**settings.TEMPLATES[0], "DIRS": [tmp_path], "OPTIONS": {}}]

    answer = render_page(request_with(**headers), "list.html", "_table.html", {"name": "ann"}, status=422)

    assert answer.content.decode() == f"{expected} ann"
    assert answer.status_code == 422
    assert answer["Vary"] == "HX-Request, HX-Boosted, HX-History-Restore-Request"


def test_a_toast_travels_in_a_header_that_survives_every_script():
    answer = toast(HttpResponse(), "Pinned “чай” 👍", "/undo/", undo_target="#row-1")

    assert answer["HX-Trigger"].isascii()
    assert json.loads(answer["HX-Trigger"]) == {"memadmin:toast": {"text": "Pinned “чай” 👍", "undo": "/undo/", "replaces": "#row-1"}}


def test_the_page_behind_an_htmx_request_is_the_one_in_the_address_bar():
    assert page_address(request_with(HX_Request="true", HX_Current_URL="http://testserver/containers/?q=a")) == "/containers/?q=a"
    assert page_address(request_with(HX_Request="true", HX_Current_URL="http://elsewhere.example/")) == ""
    assert page_address(request_with()) == "/users/?page=2"
