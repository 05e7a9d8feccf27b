"""Asking before items come back out of the archive: what comes, whom it brings over a cap, and what the next run would take again."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_subjects
from memadmin.jobs.models import LIVE, Job, JobState
from memadmin.lifecycle import comeback, restoring
from memadmin.lifecycle.comeback import USERS_NAMED, Comeback, UserOver
from memadmin.pages import confirming
from memadmin.pages.days import Days
from memadmin.pages.decorators import may
from memadmin.pages.forms import uids_in
from memadmin.pages.htmx import PersonRequest, notice, problem
from memadmin.pages.text import shown_id
from memadmin.plurals import counted
from memadmin.store.archive import Restored
from memadmin.store.models import Archived, Subject

MOST_TICKED = 200


@require_POST
@may("run.restore")
def user_restore(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Put back what was ticked at once, or all that the list has as a job. The page with the numbers comes first."""
    subject: Subject = get_object_or_404(visible_subjects(request.user).select_related("container"), uid=uid)
    days, now = Days.read(request.GET), timezone.now()
    back = archive_address(subject, request.GET)
    everything = request.POST.get("all") == "yes"
    copies = restoring.copies_of(subject, since=days.since) if everything else _ticked(request, subject)
    if days.errors or not copies.exists():
        problem(
            request, days.errors[0] if days.errors else "Tick at least one item. What is gone from this list has been restored already."
        )
        return redirect(back)
    if not confirming.is_sure(request):
        hidden = {"all": "yes"} if everything else {"copies": ",".join(str(copy) for copy in copies.values_list("uid", flat=True))}
        return ask(request, copies, hidden=hidden, cancel=back, now=now)
    if everything:
        return _start(request, subject, days, back, now=now)
    say(request, restoring.restore_items(list(copies), actor=actor_of(request.user), now=now))
    return redirect(back)


def _start(request: PersonRequest, subject: Subject, days: Days, back: str, *, now: datetime) -> HttpResponse:
    try:
        restoring.restore_user(subject, since=days.since, actor=actor_of(request.user), now=now)
    except restoring.NothingToRestore as error:
        problem(request, str(error))
    else:
        notice(request, "It is being put back. This page follows it.")
    return redirect(back)


def _ticked(request: PersonRequest, subject: Subject) -> QuerySet[Archived]:
    given = [*request.POST.getlist("copy"), *request.POST.get("copies", "").split(",")]
    return restoring.copies_of(subject).filter(uid__in=uids_in(given[:MOST_TICKED]))


def archive_address(subject: Subject, query: QueryDict) -> str:
    kept = query.copy()
    kept.pop("after", None)
    address = reverse("pages:user-archive", args=[subject.uid])
    return f"{address}?{kept.urlencode()}" if kept else address


def ask(request: PersonRequest, copies: QuerySet[Archived], *, hidden: Mapping[str, str], cancel: str, now: datetime) -> HttpResponse:
    """Show what comes back and what of it would go again; where nothing does, say why and go back."""
    found = comeback.look_ahead(copies, now=now)
    coming = found.coming
    if found.items and not coming:
        problem(request, comeback.why_nothing_comes(found))
        return redirect(cancel)
    as_before = "it was, with its id" if coming == 1 else "they were, with their ids"
    confirm = {
        "action": request.get_full_path(),
        "verb": f"Restore {counted(coming, 'item')}",
        "consequence": f"{_many(found)} would come back as {as_before}, counts, times and links.",
        "warnings": warnings_about(found, may_name=request.user.may(Right.SUBJECT_VIEW)),
        "keeps": remarks_on(found),
        "cancel": cancel,
        "hidden": {"sure": "yes", **hidden},
    }
    return confirming.ask(request, confirm, heading="Restore from the archive")


def _many(found: Comeback) -> str:
    memories = counted(found.memories, "long-term memory", "long-term memories") if found.memories else ""
    sessions = f"{counted(found.sessions, 'session')} with their messages" if found.sessions else ""
    return " and ".join(part for part in (memories, sessions) if part) or "Nothing"


def warnings_about(found: Comeback, *, may_name: bool) -> list[str]:
    """Return what must be seen first: who gets over a cap, by how much, and what is past a limit."""
    said = []
    if found.past:
        them = "1 of them is" if found.past == 1 else f"{found.past:,} of them are"
        said.append(f"{them} past an age or a time to live: the next run would evict {'it' if found.past == 1 else 'them'} again.")
    said += [_over_sentence(user, may_name=may_name) for user in found.over[:USERS_NAMED]]
    if len(found.over) > USERS_NAMED:
        said.append(f"{len(found.over) - USERS_NAMED:,} more users would be over a cap.")
    if said:
        said.append("Pin what must stay, or raise the limit first." if not found.blocked else f"For now: {_lower(found.blocked.text)}")
    if not found.whole:
        said.append(f"Only the first {found.looked_at:,} were looked at one by one: it may be more.")
    return said


def _over_sentence(user: UserOver, *, may_name: bool) -> str:
    name = shown_id(user.subject.user_id or "", 60) or "The unattributed" if may_name else "A user"
    said = []
    if user.too_many:
        said.append(
            f"{name} has {user.held:,} of {user.max_records:,} memories and {user.coming:,} would come back: "
            f"the next run would evict {user.too_many:,} again."
        )
    if user.too_heavy:
        said.append(
            f"{name} has {user.held_tokens:,} of {user.max_tokens:,} tokens and {user.coming_tokens:,} would come back: "
            f"the next run would evict until {user.too_heavy:,} tokens are gone."
        )
    return " ".join(said)


def remarks_on(found: Comeback) -> list[str]:
    said = []
    if found.there:
        said.append(f"{found.there:,} came back by {'itself' if found.there == 1 else 'themselves'} meanwhile; the newer form stays.")
    if found.barred:
        said.append(
            f"{found.barred:,} will not come back: {'its' if found.barred == 1 else 'their'} erasure was asked for or has been carried out."
        )
    if found.expired:
        said.append(f"{found.expired:,} cannot come back: the last day in the archive has passed.")
    for container in found.containers:
        if container.deleted_at:
            said.append(f"{container.name} was deleted over the API: what comes back is seen on these pages only.")
    if found.blocked and not found.warns:
        said.append(found.blocked.text)
    return said


def what_a_job_left(job: Job | None) -> str:
    """Say of a restore that has ended what it did not put back, and why; "" where there is nothing to say."""
    if job is None or job.state in LIVE:
        return ""
    refused, said = int((job.cursor or {}).get("refused", 0)), []
    if refused:
        said.append(f"{refused:,} not restored: {'its' if refused == 1 else 'their'} erasure was asked for or has been carried out.")
    if job.state == JobState.FAILED:
        said.append("The last restore was given up before its end: what is left here can be restored again.")
    return " ".join(said)


def say(request: PersonRequest, restored: Restored) -> None:
    """Say what has come back and what has not."""
    if restored.items:
        notice(request, f"Restored {counted(restored.items, 'item')}, with score, uid and links.")
    if restored.already_there:
        problem(request, f"{restored.already_there:,} came back by itself meanwhile, so the newer form was left as it is.")
    if restored.refused:
        whose = "its" if restored.refused == 1 else "their"
        problem(request, f"{restored.refused:,} not restored: {whose} erasure was asked for or has been carried out.")
    if not (restored.items or restored.already_there or restored.refused):
        problem(request, "Nothing was restored: the last day in the archive has passed.")


def _lower(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
