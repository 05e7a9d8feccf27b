"""The inventory of backups: which there are, when they end, what shows that they have, and which erasures wait for them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, time
from typing import Any
from uuid import UUID

from django import forms
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of, names_of
from memadmin.erasure import backups, ending
from memadmin.erasure.backups import AlreadyDestroyed, BackupSpec, BadBackup
from memadmin.erasure.models import BackupKind, BackupRecord, InventoryCheck
from memadmin.erasure.visibility import visible_requests
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, notice, problem, render_page
from memadmin.pages.lists import in_order, paging, slice_of
from memadmin.store import configuration

STANDING, EXPIRED, ENDED = "standing", "expired", "ended"
DATE = forms.DateInput(attrs={"type": "date"})
WAITING = 20


class BackupForm(forms.Form):
    kind = forms.ChoiceField(choices=BackupKind.choices)
    label = forms.CharField(
        max_length=backups.LONGEST,
        label="Where it lies",
        help_text="The place and its name there, such as s3://backups/db/2026-11-30.dump. No names of persons.",
        widget=forms.TextInput(attrs={"autocomplete": "off"}),
    )
    started_at = forms.DateTimeField(
        label="Begun at (UTC)", widget=forms.DateTimeInput(attrs={"type": "datetime-local", "step": "1"}, format="%Y-%m-%dT%H:%M:%S")
    )
    expires_on = forms.DateField(label="Ends on", widget=DATE)
    key_id = forms.CharField(required=False, max_length=64, label="Key it is encrypted with", help_text="Its name. It has to go too.")

    def spec(self) -> BackupSpec:
        """Return what the valid form describes."""
        given = self.cleaned_data
        begun: datetime = given["started_at"]
        return BackupSpec(
            kind=BackupKind(given["kind"]),
            label=given["label"],
            started_at=begun if begun.tzinfo else begun.replace(tzinfo=UTC),
            expires_at=_end_of(given["expires_on"]),
            key_id=given["key_id"],
        )


class DayForm(forms.Form):
    day = forms.DateField()


@require_safe
@may("erasure.view")
def backup_list(request: PersonRequest) -> HttpResponse:
    return _page(request, BackupForm(initial={"started_at": timezone.now()}))


def _page(request: PersonRequest, form: BackupForm, *, status: int = 200) -> HttpResponse:
    now = timezone.now()
    rows = BackupRecord.objects.all()
    parts = {
        STANDING: rows.filter(destroyed_at=None),
        EXPIRED: backups.past_their_day(now),
        ENDED: rows.exclude(destroyed_at=None),
    }
    state = request.GET.get("state", "")
    state = state if state in parts else STANDING
    page = slice_of(request, parts[state], key="id", descending=True)
    found = in_order(parts[state], page)
    last = InventoryCheck.objects.order_by("-checked_at", "-pk").first()
    counted = {name: part.count() for name, part in parts.items()}
    context: dict[str, Any] = {
        "backups": found,
        "form": form,
        "state": state,
        "states": [(name, label, counted[name]) for name, label in _LABELS.items()],
        "expired": counted[EXPIRED],
        "last": last,
        "days": configuration.value("erasure_backup_days"),
        "waiting": _waiting(request, now=now),
        "names": names_of([row.recorded_by for row in found] + [row.destroyed_by for row in found if row.destroyed_by] + _who(last)),
        "paging": paging(request, page, total=counted[state], noun="backups"),
        "now": now,
    }
    return render_page(request, "backups/list.html", "backups/_table.html", context, status=status)


_LABELS = {STANDING: "Standing", EXPIRED: "Past their day, not confirmed", ENDED: "Destroyed"}


def _who(last: InventoryCheck | None) -> list[str]:
    return [last.checked_by] if last else []


def _waiting(request: PersonRequest, *, now: datetime) -> list[dict[str, Any]]:
    """Return the erasures that are complete and not closed, with the day on which their backups end."""
    seen = visible_requests(request.user).filter(pk__in=ending.complete().values("pk")).order_by("-completed_at", "-pk")[:WAITING]
    return [{"request": each, "horizon": backups.horizon_of(each.completed_at or now)} for each in seen]


@require_POST
@may("backup.manage")
def backup_record(request: PersonRequest) -> HttpResponse:
    form = BackupForm(request.POST)
    if form.is_valid():
        try:
            backups.record(form.spec(), actor=actor_of(request.user), now=timezone.now())
        except BadBackup as error:
            form.add_error(None, str(error))
        else:
            notice(request, "The backup is in the inventory.")
            return redirect("pages:backup-list")
    return _page(request, form, status=422)


@require_POST
@may("backup.manage")
def backup_check(request: PersonRequest) -> HttpResponse:
    backups.check_inventory(actor=actor_of(request.user), now=timezone.now())
    notice(request, "It is noted that every backup begun until now is in the inventory.")
    return redirect("pages:backup-list")


@require_POST
@may("backup.manage")
def backup_reschedule(request: PersonRequest, uid: UUID) -> HttpResponse:
    form = DayForm(request.POST)
    if not form.is_valid():
        problem(request, "Give a day, such as 2026-03-31.")
        return redirect("pages:backup-list")
    until = _end_of(form.cleaned_data["day"])
    return _act(request, uid, lambda row, who, now: backups.reschedule(row, until, actor=who, now=now), "The day is changed.")


@require_POST
@may("backup.manage")
def backup_destroyed(request: PersonRequest, uid: UUID) -> HttpResponse:
    proof = request.POST.get("proof", "")
    return _act(request, uid, lambda row, who, now: backups.confirm_destroyed(row, proof, actor=who, now=now), "It is noted as destroyed.")


def _act(request: PersonRequest, uid: UUID, act: Callable[..., None], words: str) -> HttpResponse:
    row = get_object_or_404(BackupRecord, uid=uid)
    try:
        act(row, actor_of(request.user), timezone.now())
    except (BadBackup, AlreadyDestroyed) as error:
        problem(request, str(error))
    else:
        notice(request, words)
    return redirect("pages:backup-list")


def _end_of(day: Any) -> datetime:
    return datetime.combine(day, time.max, tzinfo=UTC)
