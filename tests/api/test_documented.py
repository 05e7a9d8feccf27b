"""The examples of docs/api-compatibility.md do what the page says."""

import json
import re
import shlex
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from memadmin.access.scopes import Scope
from tests.tokens import BASE, make_token

PAGE = settings.BASE_DIR / "docs" / "api-compatibility.md"
PAIR = re.compile(r"```sh\n(.*?)```\n```json\n(.*?)```", re.DOTALL)
ANYTHING = "…"


def request_of(command: str, secret: str) -> tuple[str, str, dict[str, str], str]:
    """Return method, address, headers and body of a curl command."""
    known = {"$TOKEN": secret, "$API": "", "$M": BASE}
    for name, value in known.items():
        command = command.replace(name, value)
    words = iter(shlex.split(command)[1:])
    method, address, headers, body = "GET", "", {}, ""
    for word in words:
        if word == "-X":
            method = next(words)
        elif word == "-H":
            name, _, value = next(words).partition(": ")
            headers[name] = value
        elif word == "-d":
            body = next(words)
        elif word == "-u":
            headers["Authorization"] = f"Bearer {next(words).partition(':')[2]}"
        else:
            address = word
    return method, address, headers, body


def same(told: Any, found: Any) -> bool:
    if told == ANYTHING:
        return True
    if isinstance(told, dict) and isinstance(found, dict):
        return told.keys() == found.keys() and all(same(told[name], found[name]) for name in told)
    return bool(told == found)


@pytest.mark.django_db
def test_every_example_answers_as_shown():
    _, secret = make_token("ana", all_access=True)
    client, examples = Client(), PAIR.findall(PAGE.read_text("utf8"))

    for command, told in examples:
        method, address, headers, body = request_of(command, secret)
        answer = client.generic(method, address, body, content_type="application/json", headers=headers)
        assert answer.status_code == 200, (command, answer.content)
        assert same(json.loads(told), answer.json()), (command, answer.json())
    assert len(examples) > 8


def test_the_page_lists_every_address_with_its_scope():
    table = [line for line in PAGE.read_text("utf8").splitlines() if line.startswith("| `")]

    for path, scopes in addresses():
        words = re.sub(r"<\w+:(\w+)>", lambda part: {"cid": "{container}", "name": "{type}", "mid": "{id}"}[part[1]], path)
        known = [line for line in table if f"{words.removeprefix(BASE)}`" in line or f" {words.removeprefix(BASE)}" in line]
        ending = [line for line in table if words.rsplit("/", 1)[1] in line.split("|")[1]]
        for scope in set(scopes.values()):
            assert [line for line in known or ending if f"`{scope}`" in line], (words, scope)


def test_the_page_names_every_scope_that_it_needs():
    page, needed = PAGE.read_text("utf8"), {scope for _, scopes in addresses() for scope in scopes.values()}

    assert [scope for scope in needed | {Scope.MEMORY_PIN, Scope.POLICY_WRITE} if f"`{scope}`" not in page] == []


def addresses() -> list[tuple[str, dict[str, Scope]]]:
    def walk(resolver: URLResolver, path: str) -> Any:
        for entry in resolver.url_patterns:
            if isinstance(entry, URLPattern):
                yield path + str(entry.pattern), getattr(entry.callback, "scopes", {})
            else:
                yield from walk(entry, path + str(entry.pattern))

    return [(path, scopes) for path, scopes in walk(get_resolver(), "/") if path.startswith("/_") and "<path:rest>" not in path]
