"""Tags and filters of every template (built in: no `{% load %}`). All of them escape what people or agents wrote."""

from collections.abc import Mapping
from datetime import datetime
from functools import cache
from typing import Any
from urllib.parse import urlencode
from uuid import UUID

from django import template
from django.forms import BoundField, CheckboxInput, Select
from django.templatetags.static import static
from django.urls import get_script_prefix, reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from memadmin.access.models import Person
from memadmin.access.rights import Right
from memadmin.lifecycle.forgetting import Rate
from memadmin.lifecycle.totals import Totals, TypeTotals
from memadmin.lifecycle.warnings import NOUNS
from memadmin.pages import container_names, times, wording
from memadmin.pages import text as texts
from memadmin.pages.words import word_named
from memadmin.store import hard_limits, holding
from memadmin.store.models import Container, HoldScope, LongTermMemory, Session, Subject
from retention.backtest import Loss

register = template.Library()
register.filter("changed_text", texts.changed_text)

# Rows are full of scores and addresses. A template for each score, or a look through all addresses for each link, would take
# longer than the rest of a page.
SCORE = (
    '<span class="score"><span class="visually-hidden">{} </span><span class="score-number">{}</span>'
    '<svg class="score-bar score-{}" viewBox="0 0 100 6" width="64" height="6" preserveAspectRatio="none" aria-hidden="true" '
    'focusable="false"><rect class="score-track" width="100" height="6"></rect>'
    '<rect class="score-fill" width="{}" height="6"></rect></svg></span>'
)
NO_UID = UUID(int=0)
LONGEST_NAME, LONGEST_TARGET = 16, 40  # characters of a uid or digest, and of all that an audit entry is about, in a column


@register.filter
def excerpt(text: str | None, length: int = 160) -> str:
    return texts.excerpt(text, length)


@register.filter
def visible(text: str | None) -> str:
    """The whole text, control characters shown and data URIs named; `isolate` it or put it in a `.user-text` block."""
    return texts.visible(text)


@register.filter
def isolate(text: object) -> SafeString:
    """Text of a user or agent inside our sentence: it may run in either direction without turning ours around."""
    return format_html('<bdi dir="auto" class="user-text">{}</bdi>', texts.visible("" if text is None else str(text)))


@register.filter
def grouped(number: int | float | None) -> str:
    """1312 as 1,312; None as "unknown", because a count that failed is not zero."""
    return "unknown" if number is None else f"{number:,}"


@register.filter
def may(person: object, right: str) -> bool:
    """{% if user|may:"memory.pin" %}: hides what a person could not do anyway; the view asks again."""
    return isinstance(person, Person) and person.may(Right(right))


@register.filter
def user_name(subject: Subject | None, length: int = 60) -> str:
    """Whom a page speaks of, on one line: the id, or what stands in its place. Put it in a <bdi>."""
    if subject is None:
        return "a user who has gone"
    if subject.user_id is None:
        return "unattributed"
    return texts.shown_id(subject.user_id, length) or "(empty id)"


@register.filter
def short_id(text: str | None, length: int = 40) -> str:
    """An id that an agent gave, on one line."""
    return texts.shown_id(text or "", length)


@register.filter
def strategy(name: str | None) -> str:
    return texts.excerpt(wording.strategy_in_words(name), 30) if name else ""


@register.filter
def reason(name: str, number: int = 1) -> str:
    """Why something went or goes, in words; {{ name|reason:number }} behind a number."""
    return wording.reason_in_words(name, number=number)


@register.filter
def short_target(target: str) -> str:
    """What an audit entry is about, short enough for a column: `containers/f31d9d04…`."""
    kind, _, which = target.rpartition("/")
    if len(which) > LONGEST_NAME and set(which) <= set("0123456789abcdef-"):  # a uid or a digest
        which = f"{which[:8]}…"
    return texts.shown_id(f"{kind}/{which}" if kind else which, LONGEST_TARGET)


@register.filter
def at(table: Mapping[Any, Any], key: object) -> Any:
    """{{ names|at:run.actor }}: what the table has under a key that is itself a value; "" when nothing."""
    return table.get(key, "")


@register.simple_tag(takes_context=True)
def container_name(context: Mapping[str, Any], name: str, uid: UUID) -> str:
    """The name of a container, with the beginning of its uid where another one that the person sees has a name that looks the same."""
    request = context["request"]
    if not hasattr(request, "containers_alike"):  # once for a page, and only on pages that name containers
        request.containers_alike = container_names.alike_for(request.user)
    return container_names.name_among(request.containers_alike, name, uid)


@register.filter
def points(millionths: int) -> str:
    """A score as people read it: 0 to 100."""
    return f"{millionths / 10_000:.0f}"


@register.filter
def answered(loss: Loss) -> str:
    """The share of recalls that a policy would not have lost: "98.2 %". 100 % is none lost, not few."""
    kept = 1_000 * (loss.recalls - loss.lost) // loss.recalls if loss.recalls else 0
    return f"{kept // 10}.{kept % 10} %" if loss.lost else "100 %"


@register.filter
def missed(rate: Rate) -> str:
    """The share of evictions that somebody missed: "0.04 %". Never 0 where there was one."""
    percent = 100 * rate.share
    return f"{percent:.1f} %" if percent >= 0.1 or not rate.missed else f"{percent:.2g} %"


@register.filter
def by_noun(totals: Totals) -> list[tuple[str, TypeTotals]]:
    """The totals of a run, type by type, with the noun of the type."""
    return [(NOUNS[memory_type], each) for memory_type, each in totals.by_type.items()]


@register.inclusion_tag("holds/_marks.html", takes_context=True)
def bindings(context: Any, item: Subject | Session | LongTermMemory) -> dict[str, Any]:
    """Why a user, session or memory is held or restricted, in full, and that somebody of this id was erased. Asks only where it is so."""
    person = context["user"]
    subject = item if isinstance(item, Subject) else None
    scope = HoldScope.SUBJECT if subject else HoldScope.SESSION if isinstance(item, Session) else HoldScope.MEMORY
    return {
        "user": person,
        "holds": holding.standing_on(item) if item.held else [],
        "scope": scope.value,
        "uid": item.uid,
        "may_read": may(person, Right.MEMORY_READ_TEXT),
        "erased": wording.suppressed_in_words(subject.suppressed) if subject else "",
    }


@register.inclusion_tag("components/_hard_limit.html", takes_context=True)
def hard_limit(context: Any, item: Session | LongTermMemory, container: Container) -> dict[str, Any]:
    """When an item passes its container's hard limit, or that it has: a pin does not save it from that."""
    now = timezone.now()
    at = hard_limits.passes_at(item, container.hard_limit_days, now=now)
    return {"user": context["user"], "item": item, "container": container, "at": at, "is_past": at is not None and at < now}


@register.simple_tag
@cache
def icon(name: str, css: str = "") -> SafeString:
    """An icon beside words, hidden from screen readers. `name` is a symbol of static/icons.svg."""
    return format_html(
        '<svg class="icon {}" width="20" height="20" aria-hidden="true" focusable="false"><use href="{}#{}"></use></svg>',
        css,
        static("icons.svg"),
        name,
    )


@register.simple_tag(takes_context=True)
def ago(context: Mapping[str, Any], at: datetime | None, missing: str = "unknown") -> SafeString:
    """A time as "3 days ago", with the exact UTC time on hover. Counts from the view's `now` when it gave one."""
    if at is None:
        return format_html('<span class="text-secondary">{}</span>', missing)
    now = context.get("now") or timezone.now()
    # Only what we write ourselves: there is nothing to escape.
    return mark_safe(f'<time datetime="{at.isoformat()}" title="{times.exact(at)}">{times.relative(at, now=now)}</time>')


@register.simple_tag
def exact_time(at: datetime | None, missing: str = "unknown") -> SafeString:
    """The time in full, for records: "2026-03-01 12:00:00 UTC"."""
    if at is None:
        return format_html('<span class="text-secondary">{}</span>', missing)
    return format_html('<time datetime="{}">{}</time>', at.isoformat(), times.exact(at))


@register.simple_tag
def score(value: float | None, label: str = "Score", most: float = 1.0) -> SafeString:
    """A number 0 to 100 with a bar. `value` lies between 0 and `most`; millionths have most=1000000."""
    if value is None:
        return mark_safe('<span class="score"><span class="text-secondary">unknown</span></span>')
    points = min(max(100 * value / most, 0.0), 100.0)
    return format_html(SCORE, label, f"{points:.0f}", _level(points), f"{points:.1f}")


@register.simple_tag
def badge(text: object, tone: str = "secondary", symbol: str = "", title: str = "") -> SafeString:
    """`tone` is secondary, blue, green, yellow, orange, red or purple; neither it nor the icon says what the text does not."""
    titled = format_html(' title="{}"', title) if title else ""
    drawn = format_html("{} ", icon(symbol, "icon-badge")) if symbol else ""
    return format_html('<span class="badge tone tone-{}"{}>{}{}</span>', tone, titled, drawn, text)


@register.inclusion_tag("components/_uid.html")
def uid(value: object, name: str = "id", short: bool = True) -> dict[str, Any]:
    """An id in code type with a button that copies all of it. `name` says of what, for the button: "memory id"."""
    whole = str(value)
    return {"whole": whole, "shown": f"{whole[:8]}…" if short and len(whole) > 12 else whole, "name": name}


@register.inclusion_tag("components/_field.html")
def field(bound: BoundField, css: str = "") -> dict[str, Any]:
    """A form field with label, help and errors, tied together for screen readers."""
    widget = bound.field.widget
    checkbox = isinstance(widget, CheckboxInput)
    look = "form-check-input" if checkbox else "form-select" if isinstance(widget, Select) else "form-control"
    classes = " ".join(filter(None, [widget.attrs.get("class", ""), look, "is-invalid" if bound.errors else ""]))
    return {"field": bound, "widget": bound.as_widget(attrs={"class": classes}), "checkbox": checkbox, "css": css}


@register.inclusion_tag("components/_empty.html")
def empty(kind: str, title: str, text: str = "", url: str = "", label: str = "") -> dict[str, Any]:
    """`kind`: nothing (yet), nomatch (url resets the filters), failed (url tries again), notallowed."""
    icons = {"nothing": "box", "nomatch": "funnel", "failed": "triangle-alert", "notallowed": "lock"}
    return {"kind": kind, "icon": icons[kind], "title": title, "text": text, "url": url, "label": label}


@register.simple_tag(takes_context=True)
def address(context: Mapping[str, Any], **changes: object) -> str:
    """This page's address with some parameters changed; None or "" takes one out. Use it in href and hx-get alike."""
    request = context["request"]
    query = request.GET.copy()
    for name, value in changes.items():
        if value is None or value == "":
            query.pop(name, None)
        else:
            query[name] = str(value)
    return f"{request.path}?{query.urlencode()}" if query else request.path


@register.simple_tag
def link(view: str, *args: object, **query: object) -> str:
    """{% link "pages:run-list" state="failed" %}: an address with a query, without the empty parameters."""
    given = {name: value for name, value in query.items() if value not in (None, "")}
    url = reverse(view, args=args)
    return f"{url}?{urlencode(given)}" if given else url


@register.simple_tag
def page_of(view: str, uid: UUID | SafeString) -> SafeString:
    """{% page_of "pages:memory-detail" memory.uid %}: what {% url %} says, for addresses that stand in every row of a list."""
    before, after = _around_uid(view, get_script_prefix())
    return mark_safe(f"{before}{uid}{after}")


@cache
def _around_uid(view: str, prefix: str) -> tuple[str, str]:
    before, _, after = reverse(view, args=[NO_UID]).partition(str(NO_UID))
    return before, after


@register.simple_tag
def word(name: str, shown: str = "") -> SafeString:
    """A word of the field as a link to its explanation on the help page."""
    entry = word_named(name)
    return format_html('<a class="word" href="{}#{}" title="{}">{}</a>', reverse("pages:help"), entry.anchor, entry.meaning, shown or name)


def _level(points: float) -> str:
    return "low" if points < 20 else "middle" if points < 50 else "high"
