"""When a memory goes if nobody recalls it, and what would keep it, in words. An address of its own, as it looks at all of the user's."""

from __future__ import annotations

from datetime import datetime
from typing import Any
from uuid import UUID

from django.http import HttpResponse
from django.shortcuts import get_object_or_404
from django.utils import timezone
from django.views.decorators.http import require_safe

from memadmin.access.visibility import visible_memories
from memadmin.lifecycle.forecast import BY_CAPS, Forecast, Keeps, forecast
from memadmin.pages import wording
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, render_page
from memadmin.pages.standing import Standing, standing_of
from memadmin.store.models import LongTermMemory
from retention.forecast import Fate
from retention.rules import MemoryType, RetentionPolicy
from retention.victims import Reason

FAR = "no run of the next two years"


@require_safe
@may("memory.view")
def memory_forecast(request: PersonRequest, uid: UUID) -> HttpResponse:
    memory, now = get_object_or_404(visible_memories(request.user), uid=uid), timezone.now()
    standing = standing_of(request.user, memory.subject.uid)
    context: dict[str, Any] = {"memory": memory, "subject": standing.subject, "standing": standing, "now": now}
    if standing.policy is not None and not (memory.pinned or memory.held):
        found = forecast(memory, standing.policy, first=max(now, standing.next_run_at or now), now=now)
        context.update(said=_sentence(found, standing), keeps=_ways(found, memory, standing.policy), fate=found.fate, until=found.until)
    return render_page(request, "memories/forecast.html", "memories/_forecast.html", context)


def _sentence(found: Forecast, standing: Standing) -> str:
    fate = found.fate
    if fate is None:
        return f"If nobody recalls it and all else stays as it is, {FAR} takes it."
    why = "; ".join(wording.reason_in_words(reason) for reason in fate.reasons)
    if fate.number == 0:
        return f"{_now(standing)}: {why}."
    takes = "takes" if not standing.blocked else "would take"
    idle = " A recall by an agent does not move the date." if found.keeps and _moves_nothing(fate, found.keeps.recalled) else ""
    return f"If nobody recalls it, the run of {_day(fate.at)} {takes} it, and none before: {why}.{idle}"


def _now(standing: Standing) -> str:
    if standing.blocked:
        return "A run would take it"
    return "The next run takes it" if standing.waiting_run is None else f"It goes {standing.with_which_run}"


def _moves_nothing(fate: Fate, after: Fate | None) -> bool:
    """Whether the memory goes on the same night after a recall now."""
    return after is not None and after.at == fate.at


def _ways(found: Forecast, memory: LongTermMemory, policy: RetentionPolicy) -> list[str]:
    """Return what would keep the memory, or for longer."""
    if found.fate is None or found.keeps is None:
        return []
    ways = ["A pin: no run takes it while it holds."]
    if not _moves_nothing(found.fate, found.keeps.recalled):
        ways.append(_recall(found.keeps.recalled))
    if BY_CAPS & set(found.fate.reasons):
        ways += _against_caps(found.keeps, memory)
    return [*ways, *_limits(found.fate, found.keeps, policy)]


def _recall(after: Fate | None) -> str:
    if after is None:
        return f"One recall by an agent now: {FAR} takes it then."
    return f"One recall by an agent now moves the date to {_day(after.at)}."


def _against_caps(keeps: Keeps, memory: LongTermMemory) -> list[str]:
    ways = []
    if keeps.importance is not None:
        ways.append(f"An importance of {keeps.importance:.2f} or more; it has {memory.importance:.2f}.")
    if keeps.fewer_records:
        ways.append(f"{keeps.fewer_records:,} fewer of the user's memories that go later than this one, pinned ones among them.")
    if keeps.fewer_tokens:
        ways.append(f"{keeps.fewer_tokens:,} fewer tokens in memories that go later than this one, or in it.")
    return ways


def _limits(fate: Fate, keeps: Keeps, policy: RetentionPolicy) -> list[str]:
    """Return which limits of the policy would have to be wider. All of them: each by itself takes the memory."""
    rule, container = policy.relevance, policy.rule(MemoryType.LONG_TERM)
    said = {
        Reason.AGE: f"an age limit above {container.age_limit.days:,} days" if container.age_limit else "",
        Reason.COUNT: f"more than {container.count_limit:,} memories in the container" if container.count_limit else "",
        Reason.TTL: f"a time to live above {rule.ttl_days:,} days" if rule and rule.ttl_days else "",
        Reason.MAX_RECORDS: f"a cap of at least {keeps.max_records:,} memories" if keeps.max_records else "",
        Reason.MAX_TOKENS: f"a cap of at least {keeps.max_tokens:,} tokens" if keeps.max_tokens else "",
    }
    wanted = [said[reason] for reason in fate.reasons if said.get(reason)]
    return [f"In the policy: {' and '.join(wanted)}."] if wanted else []


def _day(at: datetime) -> str:
    return f"{at:%d %b %Y}".lstrip("0")
