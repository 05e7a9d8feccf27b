"""What to know of a container before its policy is set."""

from __future__ import annotations

from uuid import UUID

from django.http import HttpResponse
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.visibility import get_container
from memadmin.pages.charts import stacked
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.store.measures import SHARES, measure


@require_safe
@may("container.view")
def container_measures(request: PersonRequest, uid: UUID) -> HttpResponse:
    container, now = get_container(request.user, uid), timezone.now()
    found = measure(container, now=now)
    columns = [(f"Week of {week.begin:%d %b %Y}: {week.created:,} memories", (("stays", week.created),)) for week in found.weeks]
    rows = [
        ("Long-term memories per user", found.memories),
        ("Tokens per user", found.tokens),
        ("Events per session", found.events),
    ]
    context = {"container": container, "found": found, "rows": rows, "shares": SHARES, "chart": stacked(columns), "now": now}
    return render_page(request, "containers/measures.html", "containers/_measures.html", context)
