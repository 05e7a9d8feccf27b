"""What is past a container's hard limit in the archive: by when it changed, not by when it was archived."""

from datetime import timedelta
from importlib import import_module

import pytest
from django.apps import apps

from memadmin.erasure.models import ManifestItem
from memadmin.store import archive
from memadmin.store.check import check
from memadmin.store.intake import IncomingArchived, IncomingMemory
from memadmin.store.models import Archived, Session
from tests.erasure.test_gathering import erased, gather, listed
from tests.erasure.workflow import discovered
from tests.factories import NOON, a_memory, a_message, a_session, days, store, subject_of
from tests.holds import hold
from tests.runs import a_policy, carry_out, governed, preview

pytestmark = pytest.mark.django_db
EVICTS = a_policy(sessions={"retention_days": 90}, long_term={"retention_days": 90})


@pytest.fixture
def container():
    """Two memories and a session were evicted today, one older than the limit of each."""
    container = governed(EVICTS, hard_limit_days=100)
    store(container, a_memory("old", days_old=300), a_memory("younger", days_old=95), a_memory("fresh"))
    store(container, a_session("s-1", days_old=300), a_message("said long ago", session_ref="s-1", created_at=NOON - days(300)))
    Session.objects.update(last_updated_at=NOON - days(300))
    carry_out(preview(container))
    return container


def old_ones():
    return {copy.uid for copy in Archived.objects.all() if "old" in str(archive.unpack(copy.payload)["row"].get("text")) or
            copy.item_type == "sessions"}  # fmt: skip


def test_a_run_notes_when_what_it_archives_last_changed(container):
    ages = sorted((NOON - copy.content_at).days for copy in Archived.objects.all())

    assert ages == [95, 300, 300]


def test_what_was_evicted_today_and_is_older_than_the_limit_is_gathered(container):
    assert listed(gather()) == old_ones()


def test_the_manifest_names_the_copies_and_they_go(container):
    kept = Archived.objects.exclude(uid__in=old_ones()).get()
    request = gather()
    manifest = discovered(request)

    items = ManifestItem.objects.filter(manifest=manifest, location="store.archive")
    assert set(items.values_list("row_uid", "act")) == {(uid, "delete") for uid in old_ones()}
    assert manifest.answers.get(location="store.archive").answer == "found"
    assert kept.uid not in set(items.values_list("row_uid", flat=True))


@pytest.mark.django_db(transaction=True)
def test_an_erasure_of_them_leaves_what_is_younger(container):
    request = erased(gather())

    assert request.state == "completed"
    assert [archive.unpack(copy.payload)["row"]["text"] for copy in Archived.objects.all()] == ["younger"]
    assert list(check()) == []


def test_held_copies_are_no_request_alone_and_come_along_to_be_withheld(container):
    hold(subject_of(container))
    assert gather() is None
    bobs = IncomingMemory(text="tea", user_id="bob", created_at=NOON - days(200))
    store(container, IncomingArchived(user_id="bob", item=bobs, reason="ttl", archived_at=NOON, expires_at=None))

    manifest = discovered(gather())

    items = ManifestItem.objects.filter(manifest=manifest, location="store.archive")
    assert set(items.values_list("row_uid", "act")) == {(uid, "withhold") for uid in old_ones()} | {
        (Archived.objects.get(subject__user_id="bob").uid, "delete")
    }


def test_a_copy_without_its_date_counts_from_the_archive(container):
    Archived.objects.update(content_at=None)
    assert gather() is None

    assert len(listed(gather(NOON + days(101)))) >= 3


def test_an_import_notes_the_date_too():
    container = governed(EVICTS, hard_limit_days=100)
    store(
        container,
        IncomingArchived(
            user_id="ann",
            item=IncomingMemory(text="tea", user_id="ann", created_at=NOON - days(200)),
            reason="ttl",
            archived_at=NOON,
            expires_at=None,
        ),
    )

    assert Archived.objects.get().content_at == NOON - days(200)


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        ({"last_updated_at": NOON - days(5), "created_at": NOON - days(9), "stored_at": NOON}, NOON - days(5)),
        ({"last_updated_at": None, "created_at": NOON - days(9), "stored_at": NOON}, NOON - days(9)),
        ({"last_updated_at": None, "created_at": None, "stored_at": NOON - days(2)}, NOON - days(2)),
        ({"last_updated_at": NOON + days(1), "created_at": NOON - days(9), "stored_at": NOON - days(2)}, NOON - days(2)),
        ({}, None),
    ],
)
def test_a_date_that_lies_ahead_says_nothing(row, expected):
    assert archive.content_at(row, now=NOON) == expected


def test_copies_from_before_are_filled_by_the_migration(container):
    noted = dict(Archived.objects.values_list("pk", "content_at"))
    broken = Archived.objects.order_by("pk")[0].pk
    Archived.objects.update(content_at=None)
    Archived.objects.filter(pk=broken).update(payload=b"unreadable")

    import_module("memadmin.store.migrations.0020_archived_content_filled").fill(apps, None)

    filled = dict(Archived.objects.values_list("pk", "content_at"))
    assert filled == {**noted, broken: None}
    assert max(filled[key] - noted[key] for key in filled if key != broken) == timedelta(0)
