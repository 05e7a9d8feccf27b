"""Where accounts, tokens and the sessions of browsers could hold the data of somebody whom agents remember."""

from __future__ import annotations

import json

from django.contrib.sessions.backends.db import SessionStore
from django.contrib.sessions.models import Session as BrowserSession

from memadmin.access.models import ApiToken, Person
from memadmin.store.finding import raw_delete, searched
from memadmin.store.locations import Act, ItemClass, Location, register, waive

WORD = "one of our own fixed words"


def decoded(data: str) -> str:
    """Return what the server keeps for one browser, but for who is signed in: messages that wait to be shown may name a user."""
    kept = {name: value for name, value in SessionStore().decode(data).items() if not name.startswith("_auth_")}
    return json.dumps(list(kept.values()), ensure_ascii=False, default=str)


def encoded(word: str) -> str:
    """Return what the server would keep for a browser that was shown this word."""
    return SessionStore().encode({"shown": word})


register(
    Location(
        name="access.browser_sessions",
        title="What the server keeps for signed-in browsers",
        order=14,
        table="django_session",
        columns={"session_data": ItemClass.COPY},
        waived={"session_key": "a random name of a browser's session"},
        item_class=ItemClass.COPY,
        find=searched("access.browser_sessions", BrowserSession, ("session_data",), read={"session_data": decoded}),
        read={"session_data": decoded},
        pack={"session_data": encoded},
        delete=raw_delete(BrowserSession),
    ),
    Location(
        name="access.tokens",
        title="Labels and owners of API tokens",
        order=77,
        table="access_apitoken",
        columns=dict.fromkeys(("label", "owner_name", "backend_roles", "tenant"), ItemClass.MENTION),
        waived={
            "uid": "a random name of ours",
            "digest": "a digest of a random secret",
            "beginning": "the first letters of a random secret",
            "scopes": WORD,
            "created_by": "an opaque name of an account",
        },
        item_class=ItemClass.MENTION,
        act=Act.KEEP,
        find=searched("access.tokens", ApiToken, ("label", "owner_name", "backend_roles", "tenant"), at="created_at"),
    ),
)

register(
    Location(
        name="access.people",
        title="Accounts of people who work with this installation",
        order=77,
        table="access_person",
        columns=dict.fromkeys(("login", "name"), ItemClass.MENTION),
        waived={
            "uid": "a random name of ours",
            "password": "a digest of a secret, with salt",
            "roles": WORD,
        },
        item_class=ItemClass.MENTION,
        act=Act.KEEP,
        find=searched("access.people", Person, ("login", "name"), at="created_at"),
        example={"roles": []},
    ),
)

_STAFF = "is about people who work with this installation, not about those whom agents remember; ends with the account"
waive("access_person_containers", _STAFF)
waive("access_apitoken_containers", "numbers of rows")
waive("access_tokenuse", "counts requests")
for _table in ("auth_group", "auth_permission", "auth_group_permissions", "django_content_type", "django_migrations"):
    waive(_table, "names of what the program consists of")
