"""The list of containers, and the users of one."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Count, Q, Sum
from django.http import HttpResponse
from django.views.decorators.http import require_safe

from memadmin.access.visibility import get_container, visible_containers, visible_subjects
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import policies
from memadmin.store.identity import canonical_id
from memadmin.store.models import PolicyVersion, Subject

SORTS = {
    "user_id": "User",
    "long_term": "Memories",
    "tokens": "Tokens",
    "pinned_long_term": "Pinned",
    "sessions": "Sessions",
    "messages": "Messages",
    "archived": "Archived",
}


class UserFilter(forms.Form):
    q = SearchField(required=False, strip=False, label="Find a user by id")
    sort = forms.ChoiceField(required=False, choices=SORTS.items())
    down = forms.BooleanField(required=False)


@require_safe
@may("container.view")
def container_list(request: PersonRequest) -> HttpResponse:
    containers = list(visible_containers(request.user).by_name())
    users = Count("id", filter=Q(user_id__isnull=False))
    sums = (
        visible_subjects(request.user)
        .values("container_id")
        .annotate(
            users=users, memories=Sum("long_term"), stored_sessions=Sum("sessions"), kept=Sum("pinned_long_term") + Sum("pinned_sessions")
        )
        .order_by("container_id")
    )
    totals = {row["container_id"]: row for row in sums}
    scheduled = {version.container_id: version for version in PolicyVersion.objects.filter(container__in=containers, status="scheduled")}
    rows = [
        {"container": container, "totals": totals.get(container.pk), "scheduled": scheduled.get(container.pk)} for container in containers
    ]
    return render_page(request, "containers/list.html", "containers/_table.html", {"rows": rows})


@require_safe
@may("subject.view")
def user_list(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    form = UserFilter(request.GET)
    wanted: dict[str, Any] = form.cleaned_data if form.is_valid() else {}
    sort = wanted.get("sort") or "user_id"
    everyone = Subject.objects.of_container(container).attributed()
    rows = _matching(everyone, wanted.get("q", ""))
    page = slice_of(request, rows, key=sort, descending=wanted.get("down", False))
    context = {
        "container": container,
        "form": form,
        "sort": sort,
        "down": wanted.get("down", False),
        "sorts": SORTS,
        "users": in_order(Subject.objects.all(), page),
        "paging": paging(request, page, total=rows.count(), noun="users"),
        "unattributed": Subject.objects.of_container(container).filter(user_id__isnull=True).first(),
        "policy": policies.current(container),
    }
    return render_page(request, "users/list.html", "users/_table.html", context)


def _matching(rows: Any, text: str) -> Any:
    """Look the text up in the form in which ids that look alike are equal; the list shows them side by side."""
    return rows.filter(canonical_id__contains=canonical_id(text)) if canonical_id(text) else rows
