"""What a person sees of a page, and what a browser would do with it; markup is left to the other tests."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from html.parser import HTMLParser

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from memadmin.store.models import LongTermMemory, Session, Subject
from tests.people import HTMX

LOADS = {"src", "href", "action", "formaction", "data", "poster", "srcset"}
VOID = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
HTMX_ASKS = {"hx-get", "hx-post", "hx-put", "hx-patch", "hx-delete"}
SHOWN_OF_EACH = 3  # memories and sessions that are opened of each user


@dataclass
class Element:
    tag: str
    attributes: dict[str, str]
    words: str = ""


class Seen(HTMLParser):
    """A page, parsed into its elements, each with all the words inside it."""

    def __init__(self, response: HttpResponse) -> None:
        super().__init__(convert_charrefs=True)
        self.status = response.status_code
        self.size = len(response.content)
        self.all: list[Element] = []
        self._words: list[str] = []
        self._open: list[Element] = []
        self.feed(response.content.decode())
        self.close()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.all.append(Element(tag, {name: value or "" for name, value in attrs}))
        if tag not in VOID:
            self._open.append(self.all[-1])

    def handle_endtag(self, tag: str) -> None:
        if tag in {element.tag for element in self._open}:
            while self._open.pop().tag != tag:
                pass

    def handle_data(self, data: str) -> None:
        self._words.append(data)
        for element in self._open:
            element.words += data

    def words_in(self, css: str = "", *, tag: str = "") -> list[str]:
        """The words of each element of a class or tag, with every run of blanks as one."""
        chosen = (each for each in self.all if (css in each.attributes.get("class", "").split() if css else each.tag == tag))
        return [" ".join(each.words.split()) for each in chosen]

    @property
    def words(self) -> str:
        return "".join(self._words)

    @property
    def flat(self) -> str:
        """The words with every run of blanks as one."""
        return " ".join(self.words.split())

    def says(self, number: int) -> bool:
        """Whether the number stands anywhere, by itself."""
        return re.search(rf"(?<![\d,.]){number:,}(?![\d,.])", self.words) is not None

    def links(self, *, rel: str = "") -> list[str]:
        return [each.attributes["href"] for each in self.all if each.tag == "a" and each.attributes.get("rel", "") == rel]

    def foreign(self) -> list[str]:
        """Everything in the page that only a text that came alive can have put there."""
        found = []
        for tag, attributes in ((each.tag, each.attributes) for each in self.all):
            if tag in {"iframe", "object", "embed", "base", "style"} or (tag == "script" and not attributes.get("src", "").startswith("/")):
                found.append(f"<{tag}>")
            for name, value in attributes.items():
                leaves = name in LOADS | HTMX_ASKS and not value.startswith(("/", "#", "?")) and value != ""
                if name.startswith("on") or name == "style" or leaves or value.startswith("//"):
                    found.append(f'<{tag} {name}="{value}">')
        return found


def look(client: Client, view: str, *arguments: object, htmx: bool = False, **query: object) -> Seen:
    """Open a page as a browser does, or ask for its part as htmx does. A page that fails raises."""
    return Seen(client.get(reverse(f"pages:{view}", args=arguments), query, headers=HTMX if htmx else {}))


def pages_about(client: Client, subject: Subject) -> Iterator[tuple[str, Seen]]:
    """Yield every page on which a user shows up, by the view's name."""
    yield "user-list", look(client, "user-list", subject.container.uid)
    if subject.user_id is not None:
        yield "user-list search", look(client, "user-list", subject.container.uid, q=subject.user_id)
    yield "user-memories part", look(client, "user-memories", subject.uid, htmx=True)
    for view in ("user-memories", "user-sessions", "user-history", "user-archive"):
        yield view, look(client, view, subject.uid)
    for memory in LongTermMemory.objects.filter(subject=subject).order_by("id")[:SHOWN_OF_EACH]:
        yield "memory-detail", look(client, "memory-detail", memory.uid)
        yield "memory-detail part", look(client, "memory-detail", memory.uid, htmx=True)
        yield "memory-row", look(client, "memory-row", memory.uid, htmx=True)
    for session in Session.objects.filter(subject=subject).order_by("id")[:SHOWN_OF_EACH]:
        yield "session-detail", look(client, "session-detail", session.uid)
