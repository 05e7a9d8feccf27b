"""What every page shows around its content: navigation by rights, theme, the signed-in person. Asks the database nothing."""

from dataclasses import dataclass
from typing import Any

from django.http import HttpRequest
from django.urls import NoReverseMatch, reverse

from memadmin.access.models import Person
from memadmin.access.rights import Right

THEME_COOKIE = "theme"
THEMES = ("light", "dark")


@dataclass(frozen=True)
class NavEntry:
    label: str
    icon: str
    view: str
    right: Right | None
    covers: tuple[str, ...]  # first words of the URL names under this entry

    def url(self) -> str | None:
        try:
            return reverse(f"pages:{self.view}")
        except NoReverseMatch:
            return None


NAVIGATION = (
    NavEntry("Overview", "layout-dashboard", "overview", Right.CONTAINER_VIEW, ("overview",)),
    NavEntry(
        "Containers",
        "box",
        "container-list",
        Right.CONTAINER_VIEW,
        ("container", "policy", "default", "whatif", "feedback", "user", "memory", "session", "working", "import"),
    ),
    NavEntry("Runs", "play", "run-list", Right.RUN_VIEW, ("run", "preview", "job", "schedule")),
    NavEntry("Pins", "pin", "pin-list", Right.MEMORY_VIEW, ("pin",)),
    NavEntry("Holds", "lock", "hold-list", Right.ERASURE_VIEW, ("hold", "suppression", "returned")),
    NavEntry(
        "Erasure",
        "shield-check",
        "erasure-list",
        Right.ERASURE_VIEW,
        ("erasure", "certificate", "backup", "recipient", "notice", "recheck", "store"),
    ),
    NavEntry("Audit", "scroll-text", "audit-list", Right.AUDIT_VIEW, ("audit",)),
    NavEntry("People", "users", "person-list", Right.PERSON_MANAGE, ("person",)),
    NavEntry("API tokens", "lock", "token-list", Right.TOKEN_MANAGE, ("token",)),
    NavEntry("Webhooks", "link", "webhook-list", Right.WEBHOOK_MANAGE, ("webhook",)),
    NavEntry("Settings", "settings", "setting-list", Right.SETTING_VIEW, ("setting",)),
    NavEntry("Help", "circle-question-mark", "help", None, ("help",)),
)


def shell(request: HttpRequest) -> dict[str, Any]:
    """Context processor of every template."""
    person = getattr(request, "user", None)
    entries = navigation(person, _url_name(request)) if isinstance(person, Person) else []
    theme = request.COOKIES.get(THEME_COOKIE, "")
    return {"navigation": entries, "theme": theme if theme in THEMES else ""}


def navigation(person: Person, url_name: str) -> list[dict[str, Any]]:
    """Return the entries this person may open, in order; `current` marks the one that covers the page `url_name`."""
    here = url_name.partition("-")[0]
    return [
        {"label": entry.label, "icon": entry.icon, "url": url, "current": here in entry.covers}
        for entry in NAVIGATION
        if (entry.right is None or person.may(entry.right)) and (url := entry.url())
    ]


def home_url(person: Person) -> str:
    """Return where this person starts: the first page that they may open."""
    return str(navigation(person, "")[0]["url"])


def _url_name(request: HttpRequest) -> str:
    match = request.resolver_match
    return (match.url_name or "") if match else ""
