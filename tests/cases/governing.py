"""What tests of the fault cases share: a night to come, the form of a policy, answers as a person reads them."""

import html
from typing import Any

from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from memadmin.jobs.models import Schedule
from memadmin.store.models import Container
from retention.policy import RetentionPolicy
from tests.factories import NOON, days
from tests.runs import a_policy, governed

NO_LIMITS = (
    "sessions_days",
    "sessions_count",
    "long_term_days",
    "long_term_count",
    "history_count",
    "ttl_days",
    "max_records",
    "max_tokens",
)
NIGHT = NOON + days(0.625)  # 03:00


def under(policy: RetentionPolicy | None = None, *, name: str = "pharmacy", **relevance: Any) -> Container:
    """Return a container under a policy, or under these limits for each user, with the nightly run to come."""
    Schedule.objects.update_or_create(kind="nightly", defaults={"cron": "0 3 * * *", "next_run_at": NIGHT})
    return governed(policy or a_policy(relevance=relevance), name)


def form(**limits: Any) -> dict[str, Any]:
    """Return a policy form as a browser posts it: these limits, "no limit" ticked for all others."""
    usual = {"base": "", "use_relevance": "on", "half_life_days": "30", "recency": "0.4", "frequency": "0.2", "importance": "0.4"}
    return {**usual, **{f"{name}_none": "on" for name in NO_LIMITS if name not in limits}, **limits}


def address(view: str, *arguments: object) -> str:
    return reverse(f"pages:{view}", args=arguments)


def post(client: Client, view: str, *arguments: object, **data: Any) -> HttpResponse:
    return client.post(address(view, *arguments), data, follow=True)


def words(response: HttpResponse) -> str:
    """What is sent, with its entities read and every run of blanks as one."""
    return " ".join(html.unescape(response.content.decode()).split())
