"""The examples of docs/api.md, run one after the other as a reader would."""

import json
import re
import shlex
from string import Template

import pytest
from django.conf import settings

from memadmin.api.v1 import urls
from tests.api.v1.calls import caller_of
from tests.factories import make_memory
from tests.runs import a_policy, governed, preview

PAGE = (settings.BASE_DIR / "docs" / "api.md").read_text("utf8")
BLOCKS = re.findall(r"^```(sh|json)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)
ANY = "…"


def run(command, variables, client):
    """Do what curl would do with the command, and return the parts of the answer, one for each line."""
    words = shlex.split(Template(command.replace("\\\n", " ")).safe_substitute(variables))
    method, headers, body, address = "GET", {}, "", ""
    options = iter(words[1:])
    for word in options:
        if word == "-X":
            method = next(options)
        elif word == "-H":
            name, _, value = next(options).partition(": ")
            headers[name] = value
        elif word in ("-d", "--data-binary"):
            body = next(options)
        elif word == "-o":
            next(options)
        elif word != "-s":
            address = word
    kind = headers.pop("Content-Type", "application/json")
    answer = client.generic(method, address, body.encode(), content_type=kind, headers=headers)
    content = b"".join(answer.streaming_content) if answer.streaming else answer.content
    return [json.loads(line) for line in content.splitlines() if line]


def agrees(shown, found):
    """Whether what is shown stands in what was found; … stands for anything."""
    if shown == ANY:
        return True
    if isinstance(shown, dict):
        return isinstance(found, dict) and all(name in found and agrees(value, found[name]) for name, value in shown.items())
    if isinstance(shown, list):
        return len(found) >= len(shown) and all(agrees(*pair) for pair in zip(shown, found, strict=False))
    return shown == found


@pytest.mark.django_db
def test_the_examples_answer_what_the_page_shows():
    caller = caller_of("ana", all_access=True)
    variables, answers, ran = {"URL": "", "API": "/api/v1", "TOKEN": caller.secret, "CONTAINER": "support-bot"}, [], 0

    for kind, text in BLOCKS:
        if kind == "json":
            shown = [json.loads(line) for line in text.splitlines()]
            assert len(answers) == len(shown), text
            assert all(agrees(*pair) for pair in zip(shown, answers, strict=True)), (text, answers)
        elif text.startswith("curl"):
            answers, ran = run(text, variables, caller.client), ran + 1
            first = answers[0] if answers else {}
            variables |= {"MEMORY": first["uid"]} if first.get("id") == "fact-1" else {}
            variables |= {"RUN": str(first["number"])} if "number" in first else {}

    assert ran == 17
    assert answers[-1]["type"] == "end"


def table():
    """Return what the page lists: method and path, scope, and whether all access is needed."""
    found = set()
    for methods, path, scope, whole in re.findall(r"^\| (.*?)(/\S*)` \| `(\S+)` \| *(yes)? *\|$", PAGE, re.MULTILINE):
        found |= {(method, path, scope, bool(whole)) for method in re.findall(r"[A-Z]+", methods)}
    return found


def addresses():
    for pattern in urls.urlpatterns:
        if pattern.callback.cls.schema:
            path = re.sub(r"<\w+:(\w+)>", r"{\1}", str(pattern.pattern)).removeprefix("api/v1").replace("{cid}", "{container}")
            yield from ((method, path, scope.value) for method, scope in pattern.callback.scopes.items())


@pytest.mark.django_db
def test_the_page_lists_every_address_with_its_scope_and_who_needs_all_access():
    container = governed(a_policy(relevance={"max_records": 1}), external_id="c1", owner={"name": "ana"})
    memory, run, some = make_memory(container, owner="ana"), preview(container), caller_of("ana")

    def needs_all_access(method, path):
        number = run.number if path.startswith("/runs") else 1
        answer = some.call(method, Template(path.replace("{", "${")).substitute(container="c1", uid=memory.uid, number=number), {})
        return answer.status_code == 403

    assert table() == {(method, path, scope, needs_all_access(method, path)) for method, path, scope in addresses()}
