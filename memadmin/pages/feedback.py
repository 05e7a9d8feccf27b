"""Reports on what an agent forgot or got wrong: recorded on a user's page, looked into on a page of their own."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import BigIntegerField, F, QuerySet
from django.db.models.functions import Cast
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_feedback
from memadmin.lifecycle import feedback as reports
from memadmin.lifecycle.feedback import BadReport, NotEvicted, NotOpen, Report
from memadmin.lifecycle.suspects import COMPARED, suspects_of
from memadmin.pages.decorators import may
from memadmin.pages.forms import SearchField, uids_in
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.pages.standing import standing_of
from memadmin.store.models import Archived, Feedback, FeedbackKind, FeedbackState, LongTermMemory, Session

STATES = {"": "All reports", **{state.value: str(state.label).capitalize() for state in FeedbackState}}
LATEST = datetime.max.time()


class ReportForm(forms.Form):
    """What somebody noticed. The words are about a person."""

    kind = forms.ChoiceField(choices=[(kind.value, str(kind.label).capitalize()) for kind in FeedbackKind], label="What happened")
    words = forms.CharField(
        max_length=reports.LONGEST,
        label="In words",
        help_text="What the agent should have known, or what it said. The eviction is looked for by these words.",
        widget=forms.Textarea(attrs={"rows": 3}),
        error_messages={"required": "Say what the agent forgot, or what was wrong, in a few words."},
    )
    noticed_on = forms.DateField(label="Noticed on (UTC)", widget=forms.DateInput(attrs={"type": "date"}))
    memory_uid = forms.UUIDField(required=False, label="Id of a memory", help_text="If you know which one it is about.")
    session_uid = forms.UUIDField(required=False, label="Id of a session")

    def report(self, *, now: datetime) -> Report:
        """Return the report; a past day counts to its end."""
        said = self.cleaned_data
        on = said["noticed_on"]
        noticed_at = now if on == now.date() else datetime.combine(on, LATEST, tzinfo=UTC)
        return Report(
            kind=FeedbackKind(said["kind"]),
            words=said["words"],
            noticed_at=noticed_at,
            memory_uid=said["memory_uid"],
            session_uid=said["session_uid"],
        )


class FurtherForm(forms.Form):
    """How many of the newest evictions a person has looked at."""

    behind = forms.IntegerField(required=False, min_value=0, max_value=100_000_000)


class FeedbackFilter(forms.Form):
    state = forms.ChoiceField(required=False, choices=list(STATES.items()), label="Show")
    memory = SearchField(required=False, max_length=40)


@require_safe
@may("memory.view")
def user_feedback(request: PersonRequest, uid: UUID) -> HttpResponse:
    """What was reported of one user, and the form for one more."""
    pointed = request.GET.get("memory", "")
    return _of_user(request, uid, _empty_form(memory_uid=pointed if uids_in([pointed]) else ""))


@require_POST
@may("feedback.record")
def feedback_record(request: PersonRequest, uid: UUID) -> HttpResponse:
    now, form = timezone.now(), ReportForm(request.POST)
    subject = standing_of(request.user, uid).subject
    if not form.is_valid():
        return _of_user(request, uid, form, status=422)
    try:
        made = reports.record(subject, form.report(now=now), actor=actor_of(request.user), now=now)
    except BadReport as error:
        form.add_error({"noticed_at": "noticed_on"}.get(error.field, error.field) or None, str(error))
        return _of_user(request, uid, form, status=422)
    notice(request, "Recorded. Below is what was evicted of this user before, the likeliest first.")
    return redirect("pages:feedback-detail", made.uid)


@require_safe
@may("memory.view")
def feedback_list(request: PersonRequest) -> HttpResponse:
    """The reports of all containers, the latest first."""
    form = FeedbackFilter(request.GET)
    form.is_valid()
    state = form.cleaned_data.get("state", "") if "state" not in form.errors else ""
    rows = visible_feedback(request.user)
    rows = rows.filter(state=state) if state else rows
    context = {**_listed(request, rows), "form": form, "state": state, "states": STATES, "of_user": False}
    return render_page(request, "feedback/list.html", "feedback/_table.html", context)


@require_safe
@may("memory.view")
def feedback_detail(request: PersonRequest, uid: UUID) -> HttpResponse:
    """One report: its words, and while it is open the evictions that may be behind it."""
    feedback = get_object_or_404(visible_feedback(request.user).select_related("subject", "container", "policy_version"), uid=uid)
    may_read = request.user.may(Right.MEMORY_READ_TEXT)
    is_open = feedback.state == FeedbackState.OPEN
    further = FurtherForm(request.GET)
    skip = (further.cleaned_data["behind"] or 0) if further.is_valid() else 0
    context: dict[str, Any] = {
        "feedback": feedback,
        "suspects": suspects_of(feedback, skip=skip) if is_open else None,
        "behind": skip,
        "compared": COMPARED,
        "further": skip + COMPARED,
        "may_read": may_read,
        "may_decide": request.user.may(Right.FEEDBACK_RECORD),
        "copy": Archived.objects.filter(subject=feedback.subject_id, uid=feedback.matched_uid).first() if feedback.matched_uid else None,
        "back": _is_back(feedback),
        "names": names_of([feedback.actor, feedback.decided_by]),
        "now": timezone.now(),
    }
    return render_page(request, "feedback/detail.html", "feedback/_detail.html", context)


@require_POST
@may("feedback.record")
def feedback_match(request: PersonRequest, uid: UUID) -> HttpResponse:
    """Say which eviction was the cause."""
    feedback = get_object_or_404(visible_feedback(request.user), uid=uid)
    chosen = uids_in([request.POST.get("item", "")])
    if not chosen:
        problem(request, "Choose one of the evictions.")
        return redirect("pages:feedback-detail", feedback.uid)
    try:
        suspect = reports.match(feedback, chosen[0], actor=actor_of(request.user), now=timezone.now())
    except (NotEvicted, NotOpen) as error:
        problem(request, str(error))
        return redirect("pages:feedback-detail", feedback.uid)
    under = f" under policy version {suspect.version_number}" if suspect.version_number else ""
    notice(request, f"Matched. It counts for the forgot-something rate{under}.")
    return redirect("pages:feedback-detail", feedback.uid)


@require_POST
@may("feedback.record")
def feedback_set_aside(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _decided(request, uid, reports.set_aside, "Noted: no eviction was behind it.")


@require_POST
@may("feedback.record")
def feedback_reopen(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _decided(request, uid, reports.reopen, "The report is open again.")


def _decided(request: PersonRequest, uid: UUID, verb: Any, words: str) -> HttpResponse:
    feedback = get_object_or_404(visible_feedback(request.user), uid=uid)
    try:
        verb(feedback, actor=actor_of(request.user), now=timezone.now())
    except NotOpen as error:
        problem(request, str(error))
    else:
        notice(request, words)
    return redirect("pages:feedback-detail", feedback.uid)


def _of_user(request: PersonRequest, uid: UUID, form: ReportForm, *, status: int = 200) -> HttpResponse:
    standing = standing_of(request.user, uid)
    rows = visible_feedback(request.user).filter(subject=standing.subject)
    context = {
        **_listed(request, rows),
        "standing": standing,
        "subject": standing.subject,
        "form": form,
        "may_record": request.user.may(Right.FEEDBACK_RECORD),
        "of_user": True,
        "tab": "feedback",
    }
    return render_page(request, "feedback/of_user.html", "feedback/_of_user.html", context, status=status)


def _listed(request: PersonRequest, rows: QuerySet[Feedback]) -> dict[str, Any]:
    page = slice_of(request, rows.annotate(key=Cast(F("id"), BigIntegerField())), key="key", descending=True)
    found = in_order(rows.select_related("subject", "container", "policy_version"), page)
    return {
        "reports": found,
        "names": names_of(row.actor for row in found),
        "paging": paging(request, page, total=rows.count(), noun="reports"),
        "may_read": request.user.may(Right.MEMORY_READ_TEXT),
        "now": timezone.now(),
    }


def _is_back(feedback: Feedback) -> bool:
    """Whether what was evicted is in the store again."""
    named = {"uid": feedback.matched_uid, "subject": feedback.subject_id}
    return feedback.matched_uid is not None and (
        LongTermMemory.objects.filter(**named).exists() or Session.objects.filter(**named).exists()
    )


def _empty_form(**known: str) -> ReportForm:
    return ReportForm(initial={"kind": FeedbackKind.FORGOT, "noticed_on": timezone.now().date(), **known})
