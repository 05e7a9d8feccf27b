"""Exports of people, carried as far as a test wants, and what is in them."""

import io
import json
import zipfile
from datetime import datetime
from typing import Any

from memadmin.access.actors import actor_of
from memadmin.erasure.access_exports import collecting, handing, starting
from memadmin.erasure.models import AccessExport, ErasureRequest, Kind
from memadmin.jobs.models import Job
from memadmin.jobs.runner import run_inline
from tests.erasure.workflow import discovered, officer, opened
from tests.factories import NOON

STRANGER = "system/login.0123456789abcdef"


def asked(user_id: str = "ann", *, kind: Kind = Kind.ACCESS, now: datetime = NOON, **details: Any) -> ErasureRequest:
    """Take in a request for access of exactly this user, and search."""
    request = opened(user_id, kind=kind, now=now, **details)
    request.subjects.filter(ticked=None).update(ticked=False)
    discovered(request, now=now)
    return request


def started(request: ErasureRequest, *, now: datetime = NOON) -> AccessExport:
    return starting.start(request, actor=actor_of(officer()), now=now)


def made(request: ErasureRequest, *, now: datetime = NOON) -> AccessExport:
    export = started(request, now=now)
    run_inline(Job.objects.get(target=str(export)), now=now)
    export.refresh_from_db()
    return export


def handed_out(request: ErasureRequest, *, now: datetime = NOON) -> tuple[AccessExport, str]:
    made(request, now=now)
    return handing.hand_out(request, actor=actor_of(officer()), now=now)


def collected(export: AccessExport, code: str, *, now: datetime = NOON) -> dict[str, bytes]:
    """Take the export, and return its files by name."""
    archive = b"".join(collecting.collect(export.uid, code, actor=STRANGER, now=now).stream())
    with zipfile.ZipFile(io.BytesIO(archive)) as opened_archive:
        assert opened_archive.testzip() is None
        return {name: opened_archive.read(name) for name in opened_archive.namelist()}


def files_of(request: ErasureRequest, *, now: datetime = NOON) -> dict[str, bytes]:
    return collected(*handed_out(request, now=now), now=now)


def items_of(files: dict[str, bytes], place: str = "") -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = json.loads(files["data.json"])["items"]
    return [item for item in items if not place or item["place"] == place]


def left_out_of(files: dict[str, bytes]) -> dict[tuple[str, str], int]:
    """Return how many things are left out, by place and reason."""
    return {(each["place"], each["reason"]): each["things"] for each in json.loads(files["manifest.json"])["left_out"]}
