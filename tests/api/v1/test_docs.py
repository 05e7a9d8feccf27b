"""The examples of docs/api.md, run one after the other as a reader would."""

import json
import re
import shlex
from string import Template

import pytest
from django.conf import settings

from tests.api.v1.calls import caller_of

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
