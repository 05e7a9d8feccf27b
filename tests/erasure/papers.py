"""A request with its frozen manifest, without the workflow before it."""

import json

from memadmin.erasure.models import ErasureRequest, Kind, Manifest, ManifestItem, RequestSubject
from memadmin.store.locations import Act, ItemClass
from memadmin.store.refs import item_ref, key_id, subject_ref
from tests.factories import ACTOR, NOON, days


def a_request(*subjects, kind=Kind.SUBJECT, number=1):
    request = ErasureRequest.objects.create(
        number=number,
        kind=kind,
        ground="17_1_b",
        profile="gdpr",
        channel="page",
        state="executing",
        state_since=NOON,
        received_at=NOON,
        **dict.fromkeys(("target_on", "due_on", "rolled_on"), (NOON + days(28)).date()),
        opened_by=ACTOR,
        manifest_number=1,
        manifest_digest="d",
    )
    for subject in subjects:
        RequestSubject.objects.create(
            request=request,
            container=subject.container,
            subject_id=subject.pk,
            subject_uid=subject.uid,
            user_id=subject.user_id,
            subject_ref=subject_ref(subject.container.uid, subject.user_id),
            key_id=key_id(),
            origin="given",
            ticked=True,
        )
    return request


def a_manifest(request, rows, *, acts=None):
    """Rows are (location, model instance); `acts` says by location what happens to them, if it is not their deletion."""
    manifest = Manifest.objects.create(request=request, number=1, digest="d", cutoff_at=NOON, completed_at=NOON, frozen_at=NOON)
    for location, row in rows:
        act = (acts or {}).get(location, Act.DELETE)
        reason = {"reason_code": "legal_duty"} if act == Act.WITHHOLD else {}
        uid = row.uid if hasattr(row, "uid") else row.target_uid
        ManifestItem.objects.create(
            manifest=manifest,
            location=location,
            row_key=json.dumps(row.pk),
            row_uid=uid,
            item_ref=item_ref(uid),
            item_class=ItemClass.OWNED,
            act=act,
            **reason,
        )
    return manifest
