"""Deleting one session or memory by hand. A page of its own asks: why a pinned one goes, and what becomes of a session's messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django import forms
from django.db.models import Sum
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.rights import Right
from memadmin.access.visibility import visible_memories, visible_sessions
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest, leave_to, notice, problem, wants_part
from memadmin.pages.wording import working_memories
from memadmin.store import deleting
from memadmin.store.models import ItemType, LongTermMemory, Session, WorkingMemory
from memadmin.store.text import clean

LONGEST_REASON = 1_000
MESSAGES = {"leave": "Leave them", "delete": "Delete them too"}


class DeleteForm(forms.Form):
    """The answer to the question. `messages` is only asked of a session that has some; pinned items need the other two."""

    messages = forms.ChoiceField(choices=MESSAGES.items(), required=False, widget=forms.RadioSelect)
    force = forms.BooleanField(required=False)
    reason = forms.CharField(required=False, max_length=LONGEST_REASON, widget=forms.Textarea(attrs={"rows": 3}))

    def __init__(self, *args: Any, pinned: bool, asks: bool, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["messages"].required = asks
        self.fields["force"].required = self.fields["reason"].required = pinned
        self.fields["messages"].error_messages["required"] = "Say what becomes of its messages."
        self.fields["force"].error_messages["required"] = "It is pinned: tick this if it shall go all the same."
        self.fields["reason"].error_messages["required"] = "It is pinned: say why it shall go all the same."

    def clean_reason(self) -> str:
        return clean(self.cleaned_data["reason"]).strip()


@dataclass(frozen=True)
class Doomed:
    """What is asked about, and how it goes."""

    item: Session | LongTermMemory
    about: dict[str, Any]
    act: Callable[[dict[str, Any]], str]
    question: str  # the address that asks
    back: str  # where to go when it has gone


@require_safe
@may("memory.delete")
def session_deletion(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _question(request, _session(request, uid))


@require_POST
@may("memory.delete")
def session_delete(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _answered(request, _session(request, uid))


@require_safe
@may("memory.delete")
def memory_deletion(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _question(request, _memory(request, uid))


@require_POST
@may("memory.delete")
def memory_delete(request: PersonRequest, uid: UUID) -> HttpResponse:
    return _answered(request, _memory(request, uid))


def _session(request: PersonRequest, uid: UUID) -> Doomed:
    session = get_object_or_404(visible_sessions(request.user).select_related("subject"), uid=uid)
    sums = WorkingMemory.objects.of_session(session).aggregate(messages=Sum("message_count"))

    def act(answer: dict[str, Any]) -> str:
        given = {"force": answer["force"], "reason": answer["reason"], "with_messages": answer["messages"] == "delete"}
        gone, left = deleting.delete_session(session, actor=actor_of(request.user), now=timezone.now(), **given)
        return f"The session is deleted{_along(gone, left)}."

    about = {
        "what": "session",
        "text": (session.summary or "") if request.user.may(Right.MEMORY_READ_TEXT) else "",
        "named": session.external_id,
        "consequence": "This session is deleted for good. There is no copy in the archive; memories made from it and history stay.",
        "working": WorkingMemory.objects.of_session(session).count(),
        "messages": sums["messages"] or 0,
        "erasing": _erasing(ItemType.SESSION, session),
        "cancel": reverse("pages:session-detail", args=[session.uid]),
        "action": reverse("pages:session-delete", args=[session.uid]),
    }
    back = reverse("pages:user-sessions", args=[session.subject.uid])
    return Doomed(session, about, act, reverse("pages:session-deletion", args=[session.uid]), back)


def _memory(request: PersonRequest, uid: UUID) -> Doomed:
    memory = get_object_or_404(visible_memories(request.user).select_related("subject"), uid=uid)

    def act(answer: dict[str, Any]) -> str:
        given = {"force": answer["force"], "reason": answer["reason"]}
        deleting.delete_memory(memory, actor=actor_of(request.user), now=timezone.now(), **given)
        return "The memory is deleted."

    about = {
        "what": "memory",
        "text": memory.text if request.user.may(Right.MEMORY_READ_TEXT) else "",
        "named": "",
        "consequence": "This memory is deleted for good. There is no copy in the archive; its history stays.",
        "working": 0,
        "erasing": _erasing(ItemType.LONG_TERM, memory),
        "cancel": reverse("pages:memory-detail", args=[memory.uid]),
        "action": reverse("pages:memory-delete", args=[memory.uid]),
    }
    back = reverse("pages:user-memories", args=[memory.subject.uid])
    return Doomed(memory, about, act, reverse("pages:memory-deletion", args=[memory.uid]), back)


def _erasing(item_type: ItemType, item: Session | LongTermMemory) -> str:
    return f"{reverse('pages:erasure-new')}?item={item_type.value}/{item.uid}"


def _answered(request: PersonRequest, doomed: Doomed) -> HttpResponse:
    """Lead to the question; ask again with 422 where the answer is not whole; then delete."""
    if request.POST.get("sure") != "yes":
        return _lead(request, doomed.question)
    form = DeleteForm(request.POST, pinned=doomed.item.pinned, asks=bool(doomed.about["working"]))
    if not form.is_valid():
        return _question(request, doomed, form)
    try:
        said = doomed.act(form.cleaned_data)
    except deleting.Pinned:
        doomed.item.pinned = True  # this very moment: the next question asks for force and a reason
        return _question(request, doomed, DeleteForm(request.POST, pinned=True, asks=bool(doomed.about["working"])))
    except deleting.NothingDeleted as error:
        problem(request, str(error))
        return redirect(doomed.back)
    notice(request, said)
    return _lead(request, doomed.back)


def _question(request: PersonRequest, doomed: Doomed, form: DeleteForm | None = None) -> HttpResponse:
    form = form or DeleteForm(pinned=doomed.item.pinned, asks=bool(doomed.about["working"]))
    context = {"item": doomed.item, "form": form, "about": doomed.about, "choices": MESSAGES}
    return render(request, "components/delete.html", context, status=422 if form.is_bound else 200)


def _lead(request: PersonRequest, address: str) -> HttpResponse:
    return leave_to(request, address) if wants_part(request) else redirect(address)


def _along(gone: int, left: int) -> str:
    if gone:
        kept = f"; {left:,} {'is held and stays' if left == 1 else 'are held and stay'}" if left else ""
        return f", with {working_memories(gone)} of it{kept}"
    return f". {working_memories(left).capitalize()} of it {'stays' if left == 1 else 'stay'} without it" if left else ""
