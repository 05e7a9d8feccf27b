"""What a person gets, and what they are told that they do not get."""

import hashlib
import json
from typing import Any

import pytest

from memadmin.erasure import deciding
from memadmin.erasure.access_exports import chapters, draft
from memadmin.erasure.access_exports.entries import entry_of
from memadmin.erasure.access_exports.places import content_places, is_content
from memadmin.erasure.deciding import Verdict
from memadmin.erasure.models import ErasureRequest, Recipient
from memadmin.erasure.planting import made_row_by_row, plant_person, plant_row
from memadmin.store import configuration, holding, locations
from memadmin.store.intake import Source
from memadmin.store.locations import Act, ItemClass
from memadmin.store.models import Authority, HoldKind, ItemType, LongTermMemory, Session
from memadmin.store.policies import amend
from retention.policy import parse_patch
from tests.erasure.access_exports.making import asked, files_of, items_of, left_out_of
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_session, days, make_container, make_memory, store

pytestmark = pytest.mark.django_db


def test_the_archive_has_a_page_the_data_and_a_list_with_the_sum_of_each_file():
    store(make_container(), a_session(summary="about tea"), a_message("do you have tea"), a_memory("likes tea"), a_change())

    files = files_of(asked())

    assert set(files) == {"index.html", "data.json", "manifest.json"}
    sums = {each["name"]: each["sha256"] for each in json.loads(files["manifest.json"])["files"]}
    assert sums == {name: hashlib.sha256(files[name]).hexdigest() for name in ("data.json", "index.html")}
    assert len(items_of(files, "store.long_term")) == 1
    assert left_out_of(files) == {}
    page = files["index.html"].decode()
    assert page.index("about tea") < page.index("do you have tea")


def test_a_person_in_every_place_gets_each_thing_of_their_own_and_each_other_one_is_named_with_a_reason():
    plant_everywhere("canaryword")
    request = asked("canaryword")

    files = files_of(request)

    manifest = request.manifests.get()
    listed = {str(uid) for uid in _own(manifest).values_list("row_uid", flat=True)}
    with_uid = {item["uid"] for item in items_of(files) if "uid" in item}
    assert listed - with_uid - _without_uid(manifest) == set()
    counted = len(items_of(files)) + sum(left_out_of(files).values())
    assert counted == manifest.items_total + 1  # the request itself is told too
    told = {item["place"] for item in items_of(files)} | {place for place, reason in left_out_of(files) if reason == "legal_hold"}
    assert {place.name for place in content_places()} - told == set()


def plant_everywhere(word: str) -> None:
    """Write a made-up person into every place that is content, and into some that hold copies."""
    planted = plant_person(make_container(), word, actor=ACTOR, now=NOON)
    for place in made_row_by_row():
        if is_content(place) or place.name in {"jobs.results", "store.audit_payloads"}:
            plant_row(place, planted, now=NOON)


def _own(manifest: Any) -> Any:
    return manifest.items.filter(item_class__in=[ItemClass.OWNED, ItemClass.DERIVED])


def _without_uid(manifest: Any) -> set[str]:
    """Rows without a name of their own are counted, not compared by name."""
    return {str(uid) for uid in _own(manifest).filter(location="store.recalls").values_list("row_uid", flat=True)}


def test_every_column_of_the_persons_own_has_its_word_in_the_data():
    plant_everywhere("canaryword")

    files = files_of(asked("canaryword"))

    silent = {
        f"{item['place']}.{column}"
        for item in items_of(files)
        for column in _words_of(item["place"])
        if "canaryword" not in json.dumps(item.get(column)) and item.get(column) is not None
    }
    assert silent == {"store.returned.payload"} & silent


def _words_of(name: str) -> list[str]:
    place = locations.LOCATIONS.get(name)
    names = {"uid", "subject_id", "memory_uid", "target_uid", "session_uid", "matched_uid", "derived_uid", "source_uid", "superseded_by"}
    return [column for column, held in place.columns.items() if held == ItemClass.OWNED and column not in names] if place else []


def test_nothing_of_a_neighbour_with_an_id_that_begins_alike_is_in_it():
    shop = make_container()
    store(
        shop, a_memory("mine", user_id="user1"), a_memory("theirs-canary", user_id="user10"), a_message("theirs-canary", user_id="user10")
    )

    files = files_of(asked("user1"))

    assert b"theirs-canary" not in b"".join(files.values())
    assert b"user10" not in b"".join(files.values())


def test_what_others_wrote_about_the_person_is_named_as_missing_and_never_shown():
    shop = make_container()
    store(shop, a_memory("likes tea"), a_memory("saw ann with her secret-canary", user_id="bob"))

    files = files_of(asked())

    assert left_out_of(files) == {("store.long_term", "mentioned_by_others"): 1}
    assert b"secret-canary" not in b"".join(files.values())
    (item,) = json.loads(files["manifest.json"])["left_out_items"]
    assert set(item) == {"place", "class", "reason", "reference", "dated"}
    assert "GDPR 15(4)" in files["index.html"].decode()


def test_a_summary_of_several_people_is_named_as_missing_and_what_the_person_said_is_in_it():
    shop = make_container()
    mine, theirs = make_memory(shop, "ann likes green tea"), make_memory(shop, "bob likes coffee", user_id="bob")
    sources = tuple(Source(item_type=ItemType.LONG_TERM, uid=each.uid) for each in (mine, theirs))
    store(shop, a_memory("both drink something-canary", user_id="bob", sources=sources))

    files = files_of(asked())

    assert left_out_of(files)["store.long_term", "mixed_with_others"] == 1
    assert b"something-canary" not in b"".join(files.values())
    assert [item["text"] for item in items_of(files, "store.long_term")] == ["ann likes green tea"]


def test_a_memory_names_where_it_came_from_and_others_sources_without_their_names():
    shop = make_container()
    store(shop, a_session("s-7"), a_memory("of bob", user_id="bob", external_id="bobs-note"))
    session, bobs = Session.objects.get().uid, LongTermMemory.objects.get(external_id="bobs-note")
    sources = (Source(item_type=ItemType.SESSION, uid=session), Source(item_type=ItemType.LONG_TERM, uid=bobs.uid))
    store(shop, a_memory("derived", sources=sources))

    (item,) = items_of(files_of(asked()), "store.long_term")

    assert [(each["type"], each.get("called")) for each in item["sources"]] == [("session", "s-7"), ("long-term memory", None)]
    assert "bobs-note" not in json.dumps(item)


def test_what_is_held_or_restricted_is_given_and_the_reason_of_a_hold_is_not():
    shop = make_container()
    memory = make_memory(shop)
    for kind, authority, reason in (
        (HoldKind.HOLD, Authority.LEGAL_CLAIM, "lawsuit-canary"),
        (HoldKind.RESTRICTION, Authority.ACCURACY_CONTESTED, "contested by ann"),
    ):
        what = holding.Placing(kind=kind, authority=authority, reason=reason, review_on=(NOON + days(90)).date())
        holding.place(memory, what, actor=ACTOR, now=NOON)

    files = files_of(asked())

    (item,) = items_of(files, "store.long_term")
    assert (item["text"], item["held"], item["restricted"]) == ("likes tea", True, True)
    assert left_out_of(files)["store.holds", "legal_hold"] == 1
    assert b"lawsuit-canary" not in b"".join(files.values())
    assert [hold["reason"] for hold in items_of(files, "store.holds")] == ["contested by ann"]


def test_what_a_reviewer_withholds_from_access_is_left_out_with_their_reason():
    shop = make_container()
    store(shop, a_session(), a_message("about bob-canary"), a_memory("likes tea"))
    request = asked()
    item = request.manifests.get().items.get(location="store.working")
    verdict = Verdict(act=Act.WITHHOLD, code="art_15_4", review_on=(NOON + days(30)).date())
    deciding.decide(request, [item.pk], verdict, actor=ACTOR, now=NOON)

    files = files_of(request)

    assert left_out_of(files) == {("store.working", "art_15_4"): 1}
    assert b"bob-canary" not in b"".join(files.values())


def test_what_must_not_be_erased_can_still_be_read_by_the_person():
    store(make_container(), a_memory())
    request = asked()
    verdict = Verdict(act=Act.WITHHOLD, code="art_17_3_b", review_on=(NOON + days(30)).date())

    with pytest.raises(deciding.NotDecidable):
        deciding.decide(request, _ids(request), verdict, actor=ACTOR, now=NOON)


def _ids(request: ErasureRequest) -> list[int]:
    return list(request.manifests.get().items.filter(location="store.long_term").values_list("pk", flat=True))


def test_59_markup_and_formulas_stay_what_they_are():
    hostile = '<script>alert(1)</script><img src=x onerror="alert(2)">'
    shop = make_container(f"shop {hostile}", description=hostile)
    store(shop, a_memory(f"=cmd|' /C calc'!A0 {hostile}", user_id=hostile), a_session(hostile, user_id=hostile, summary=hostile))

    files = files_of(asked(hostile))

    page = files["index.html"].decode()
    assert "<script" not in page
    assert "<img" not in page
    assert "&lt;script&gt;alert(1)" in page
    (item,) = items_of(files, "store.long_term")
    assert item["text"] == f"=cmd|' /C calc'!A0 {hostile}"
    assert item["user_id"] == hostile


def test_the_page_loads_nothing_and_runs_nothing():
    store(make_container(), a_memory("see https://example.org/x.png"))

    page = files_of(asked())["index.html"].decode()

    assert "default-src 'none'" in page
    assert not any(word in page for word in (" src=", "<link", "url(", "@import", "onclick", "<form"))


def test_the_person_is_told_for_what_and_for_how_long_it_is_kept():
    shop = make_container("pharmacy", description="Helps people who order medicine.")
    patch = parse_patch({"retention": {"long-term": {"retention_days": 90, "max_count": None}}})
    configuration.change("retention_enabled", True, actor=ACTOR, now=NOON)
    amend(shop, patch, actor=ACTOR, now=NOON)
    store(shop, a_memory())

    files = files_of(asked())

    (told,) = json.loads(files["manifest.json"])["about"]["containers"]
    assert (told["purpose"], told["known_as"]) == ("Helps people who order medicine.", ["ann"])
    assert "Memories are kept for 90 days." in told["kept"]
    assert "Subscribers are told names of memories" in files["index.html"].decode()


def test_sessions_have_their_messages_in_order_over_as_many_pages_as_it_takes(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(chapters, "THINGS", 3)
    monkeypatch.setattr(chapters, "OF_SESSIONS", 2)
    monkeypatch.setattr(draft, "PAGE_BYTES", 1_500)
    shop = make_container()
    for name in ("s-1", "s-2", "s-3"):
        said = [a_message(f"{name} says {number:02}.", session_ref=name, sequence=number) for number in reversed(range(8))]
        store(shop, a_session(name), *said)
    store(shop, a_session("s-4"), a_message("outside of any.", session_ref=None))

    files = files_of(asked())

    pages = ["index.html", *(f"page-{number}.html" for number in range(2, len(files) - 1))]
    assert set(files) == {*pages, "data.json", "manifest.json"}
    text = "".join(files[name].decode() for name in pages)
    order = [text.index(f"{name} says {number:02}.") for name in ("s-1", "s-2", "s-3") for number in range(8)]
    assert order == sorted(order)
    assert all(text.count(f"{name} says {number:02}.") == 1 for name in ("s-1", "s-2", "s-3") for number in range(8))
    assert text.count("outside of any.") == 1
    assert len(items_of(files, "store.working")) == 25


def test_what_came_after_the_search_is_not_in_it():
    shop = make_container()
    store(shop, a_session(), a_message("before"), a_memory("before"))
    request = asked()
    store(shop, a_message("later-canary"), a_memory("later-canary"))

    files = files_of(request)

    assert b"later-canary" not in b"".join(files.values())


def test_what_has_gone_since_the_search_is_named():
    shop = make_container()
    memory = make_memory(shop)
    store(shop, a_memory("stays"))
    request = asked()
    LongTermMemory.objects.filter(pk=memory.pk)._raw_delete("default")

    files = files_of(request)

    assert left_out_of(files) == {("store.long_term", "gone_since"): 1}


def test_the_person_is_told_who_else_gets_data_of_their_containers():
    shop, other = make_container(), make_container("other")
    store(shop, a_memory())
    facts = {"kind": "manual", "contact": "by post", "created_by": ACTOR, "created_at": NOON}
    Recipient.objects.create(name="Printing house", given="names and addresses", **facts).containers.add(shop)
    Recipient.objects.create(name="Somebody else's printer", given="everything", **facts).containers.add(other)

    page = files_of(asked())["index.html"].decode()

    assert "Printing house: names and addresses" in page
    assert "Somebody else" not in page


def test_an_entry_of_the_page_tells_its_time_once_and_in_words():
    entry = entry_of({"place": "store.recalls", "at": "2026-03-01T12:00:14.255476Z", "invocation_id": "t-1", "container": "pharmacy"})
    pinned = entry_of({"place": "store.pins", "created_at": "2026-03-01T12:00:00Z", "actor": "a job", "review_on": "2027-03-01"})

    assert (entry.at, entry.facts) == ("2026-03-01 12:00 UTC", [("the agent's turn", "t-1")])
    assert pinned.facts == [("by", "a job"), ("looked at again on", "2027-03-01")]
