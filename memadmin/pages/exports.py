"""Downloads of what a container or one user holds. The log has its entry before the first byte leaves."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from uuid import UUID

from django.http import FileResponse, Http404, HttpResponse
from django.shortcuts import get_object_or_404, render
from django.urls import reverse
from django.utils import timezone
from django.utils.text import slugify
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.visibility import get_container, visible_containers, visible_subjects
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest
from memadmin.store.models import Container, Subject
from memadmin.store.models.subjects import COUNTERS
from memadmin.transfer import exporting


@require_safe
@may("export.make")
def container_export(request: PersonRequest, uid: UUID) -> HttpResponse:
    container = get_container(request.user, uid)
    context = {
        "container": container,
        "totals": Subject.objects.of_container(container).totals(COUNTERS),
        "action": reverse("pages:container-download", args=[uid]),
        "cancel": reverse("pages:user-list", args=[uid]),
    }
    return render(request, "exports/page.html", context)


@require_POST
@may("export.make")
def container_download(request: PersonRequest, uid: UUID) -> FileResponse:
    container = get_container(request.user, uid)
    chosen = visible_containers(request.user).filter(pk=container.pk)
    name = slugify(container.name)[:60] or "container"
    return _download(name, lambda to: exporting.export_containers(to, chosen, actor=actor_of(request.user), now=timezone.now()))


@require_safe
@may("export.make")
def user_export(request: PersonRequest, uid: UUID) -> HttpResponse:
    subject = _user(request, uid)
    context = {
        "container": subject.container,
        "subject": subject,
        "totals": {name: getattr(subject, name) for name in COUNTERS},
        "action": reverse("pages:user-download", args=[uid]),
        "cancel": reverse("pages:user-memories", args=[uid]),
    }
    return render(request, "exports/page.html", context)


@require_POST
@may("export.make")
def user_download(request: PersonRequest, uid: UUID) -> FileResponse:
    """The file of one user; its name leaves the user's id out, which may be an e-mail address."""
    subject = _user(request, uid)
    user_id, chosen = subject.user_id or "", Container.objects.filter(pk=subject.container_id)
    return _download(
        f"user-{str(uid)[:8]}", lambda to: exporting.export_user(to, user_id, chosen, actor=actor_of(request.user), now=timezone.now())
    )


def _user(request: PersonRequest, uid: UUID) -> Subject:
    subject: Subject = get_object_or_404(visible_subjects(request.user).select_related("container"), uid=uid)
    if subject.user_id is None:  # what names no user is nobody's; it goes with its container
        raise Http404
    return subject


def _download(name: str, export: Callable[[Path], object]) -> FileResponse:
    """Write the whole file, then send it: an export that breaks sends nothing. The file has no name any more while it is sent."""
    with tempfile.TemporaryDirectory(prefix="memadmin-export-") as folder:
        path = Path(folder) / "export.jsonl.gz"
        export(path)
        opened = path.open("rb")
    as_of = timezone.now().date().isoformat()
    return FileResponse(opened, as_attachment=True, filename=f"memadmin-{name}-{as_of}.jsonl.gz", content_type="application/gzip")
