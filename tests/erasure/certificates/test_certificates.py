import json
import re
import subprocess
import sys
from dataclasses import replace
from uuid import uuid4

import pytest

from memadmin.audit import log, signing
from memadmin.audit.actions import Action
from memadmin.audit.models import AuditEntry, AuditPayload, Outcome
from memadmin.erasure.certificates import canonical
from memadmin.erasure.certificates.checking import NotACertificate, check, is_for
from memadmin.erasure.certificates.contents import Executed, PlaceResult
from memadmin.erasure.certificates.issuing import NotProved, TooLate, file_of, give_receipt, issue
from memadmin.erasure.certificates.pdf import pdf_of
from memadmin.erasure.certificates.reading import parts_of
from memadmin.erasure.models import Approval, Certificate, Commitment, Level
from memadmin.erasure.planting import plant_person
from memadmin.erasure.verification import looking
from memadmin.store import locations
from memadmin.store.locations import Act
from tests import sources
from tests.erasure.certificates.pdfs import words_on_pages
from tests.erasure.papers import a_manifest, a_request
from tests.factories import ACTOR, NOON, days, make_container

pytestmark = pytest.mark.django_db
PLACES = [PlaceResult(location="store.long_term", reached="L2", method="deleted by key", erased=3, withheld=1)]
DONE = Executed(started_at=NOON, places=PLACES, recipients={"sent": 2})


@pytest.fixture(autouse=True)
def own_keys(settings, tmp_path):
    settings.AUDIT_KEYS = str(tmp_path / "keys")


@pytest.fixture
def person():
    return plant_person(make_container(), "rosa.delgado", actor=ACTOR, now=NOON).subject


@pytest.fixture
def request_(person):
    request = a_request(person)
    a_manifest(request, [("store.subjects", person)], acts={"store.subjects": Act.WITHHOLD})
    Approval.objects.create(
        request=request,
        approver="person/b",
        manifest_digest="d",
        approved_at=NOON,
        expires_at=NOON + days(7),
        method="password",
    )
    return request


def looked(request, outcome="clean"):
    look = looking.begin(request.manifests.get(), now=NOON)
    look.outcome, look.ended_at = outcome, NOON
    look.save()


@pytest.fixture
def certificate(request_):
    looked(request_)
    return issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON)


def test_a_certificate_verifies_from_its_file_alone(certificate):
    checked = check(file_of(certificate))

    assert checked.faults == []
    assert checked.digest == certificate.digest
    assert [place["erased"] for place in checked.document["places"] if place["location"] == "store.long_term"] == [3]
    assert checked.document["withheld"] == [{"reason": "legal_duty", "items": 1, "review_on": ""}]
    assert AuditEntry.objects.filter(action=Action.ERASURE_CERTIFIED, target=f"certificates/{certificate.serial}").count() == 1


def test_a_certificate_says_all_that_can_be_known(certificate, request_):
    document = json.loads(certificate.document)

    assert document["software"].keys() == {"name", "version", "revision"}
    assert document["manifest"].keys() == {"number", "digest", "items", "root", "answers"}
    assert document["people"]["identity"] == "not verified"
    assert document["audit"]["row_hash"] == AuditEntry.objects.get(seq=document["audit"]["seq"]).row_hash
    assert document["audit"]["checkpoint"].keys() == {"number", "at", "seq", "digest"}
    by_name = {place["location"]: place for place in document["places"]}
    assert by_name["store.long_term"]["erased"] == 3
    assert by_name["store.archive"]["erased"] == 0
    assert set(by_name) >= {place.name for place in locations.in_order() if place.table and place.app != "erasure"}
    assert all(place["controls"] == place["controls_seen"] for place in document["places"])
    assert by_name["store.long_term"]["described_by"] == "store"


def test_the_page_tells_what_was_done_from_what_was_only_looked_at(certificate):
    part = next(part for part in parts_of(json.loads(certificate.document)) if part.title.startswith("What was done"))

    assert [row[0] for row in part.rows] == ["Long-term memories"]
    assert "controls seen" in part.rows[0][3]
    assert "Archive copies" in part.sentences[0]


def test_the_page_says_how_many_items_lost_words_and_when_without_fractions_of_seconds(request_):
    looked(request_)
    places = [PlaceResult(location="store.long_term", reached="L2", method="by key", erased=3, redacted=1_258)]
    certificate = issue(request_, Level.LIVE, replace(DONE, places=places), actor="job/erasure", now=NOON)

    parts = {part.title: part for part in parts_of(json.loads(certificate.document))}

    assert parts["What was done, place by place"].rows[0][1] == "3 erased, 1,258 with words taken out"
    assert ["issued", "2026-03-01 12:00:00 UTC"] in parts["When"].rows


@pytest.mark.parametrize(
    ("recipients", "said"),
    [
        ({}, "No recipient is known here, so nobody was told."),
        (
            {"sent": 1},
            "The copy that 1 recipient was given is theirs to erase; “Recipients and backups” above says whether they were told.",
        ),
        (
            {"acked": 1, "impossible": 1_000},
            "The copies that 1,001 recipients were given are theirs to erase; “Recipients and backups” above says how many of them",
        ),
    ],
)
def test_what_recipients_keep_is_said_by_how_many_they_are_on_the_page_and_in_the_file(request_, recipients, said):
    looked(request_)
    document = json.loads(issue(request_, Level.LIVE, replace(DONE, recipients=recipients), actor="job/erasure", now=NOON).document)
    titles = [part.title for part in parts_of(document)]
    part = next(part for part in parts_of(document) if part.title.startswith("What this certificate does not say"))

    assert [each for each in document["limits"] if "recipient" in each and each.startswith(said)] == part.sentences[:1]
    assert titles.index("Recipients and backups") < titles.index(part.title) if recipients else said.startswith("No ")


def test_97_what_is_kept_is_told_with_its_reason_in_words(request_):
    looked(request_)
    document = json.loads(issue(request_, Level.PARTLY, DONE, actor="job/erasure", now=NOON).document)
    document["withheld"] = [{"reason": each, "items": 1_200, "review_on": ""} for each in ("art_17_3_b", "hold", "of a later version")]

    part = next(part for part in parts_of(document) if part.title.startswith("What is kept"))

    assert [row[0] for row in part.rows] == [
        "a legal duty to keep it (17(3)(b))",
        "a hold, or what is kept hangs on it",
        "of a later version",
    ]
    assert part.rows[0][1] == "1,200"


def test_what_stays_with_others_is_counted_by_reason_and_told_in_words_and_later_certificates_repeat_it(request_):
    looked(request_)
    manifest = request_.manifests.get()
    reasons = ["not_about_them", "not_about_them", "others_rights", "identifier"]
    uids = [uuid4() for _ in reasons]
    for uid, reason in zip(uids, reasons, strict=True):
        item = {"location": "store.working", "row_key": "1", "row_uid": uid, "item_ref": "r", "item_class": "D", "act": "keep"}
        manifest.items.create(**item, reason_code=reason)

    first = json.loads(issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON).document)
    manifest.items.filter(row_uid__in=uids).delete()
    last = json.loads(issue(request_, Level.CLOSED, DONE, actor="job/erasure", now=NOON).document)

    counted = [("identifier", 1), ("not_about_them", 2), ("others_rights", 1)]
    assert [[(each["reason"], each["items"]) for each in document["kept"]] for document in (first, last)] == [counted, counted]
    part = next(part for part in parts_of(last) if part.title.startswith("What stays"))
    assert ["it is not about this person: a word, a namesake", "2"] in part.rows


def test_51_an_approval_that_was_refused_is_none_of_the_entries_that_prove_the_erasure(request_):
    looked(request_)
    target = f"erasure/{request_.uid}"
    log.append(Action.ERASURE_APPROVED, actor="person/a", target=target, at=NOON, outcome=Outcome.REFUSED, reason_code="same_person")
    approved = log.append(Action.ERASURE_APPROVED, actor="person/b", target=target, at=NOON)

    entries = json.loads(issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON).document)["audit"]["entries"]

    assert [entry["seq"] for entry in entries if entry["action"] == "erasure.approved"] == [approved.seq]


def test_a_certificate_of_an_older_version_is_read_and_verified_all_the_same(certificate):
    document = json.loads(certificate.document)
    for name in ("ledger",):
        del document[name]
    document["backups"], document["audit"] = {"expire_at": "unknown"}, {"stream": "governance", "seq": 1, "row_hash": "a"}
    del document["software"]["revision"], document["people"]["identity"], document["manifest"]["answers"]

    assert [part.title for part in parts_of(document)][-1] == "Proof"


def test_91_any_changed_byte_of_the_text_or_signature_is_noticed(certificate):
    whole = file_of(certificate)
    stored = json.loads(whole)
    for place in range(0, len(stored["certificate"]), 37):
        letter = "0" if stored["certificate"][place] != "0" else "1"
        text = stored["certificate"][:place] + letter + stored["certificate"][place + 1 :]
        changed = json.dumps(stored | {"certificate": text, "digest": canonical.digest(text)}).encode()
        assert is_refused(changed), place
    other = stored["signature"] | {"value": "00" * 64}
    assert check(json.dumps(stored | {"signature": other}).encode()).faults


@pytest.mark.parametrize("other", [b"0", b"A", b'"'])
def test_91_any_changed_byte_of_the_file_is_noticed(certificate, other):
    whole = file_of(certificate)
    text, places = whole.index(b'"certificate"'), range(len(whole))
    around = [place for place in places if not text + 20 < place < whole.index(b'\n "digest"')]  # the text: each 101st

    for place in [*around, *places[::101]]:
        one = other if whole[place : place + 1] != other else b"B"
        assert is_refused(whole[:place] + one + whole[place + 1 :]), place


@pytest.mark.parametrize(
    "changed",
    [
        lambda whole: whole.replace(b'{\n "certificate"', b'{"certificate": "{}",\n "certificate"', 1),
        lambda whole: whole.replace(b'"digest": "', b'"note": "valid for ever", "digest": "', 1),
        lambda whole: re.sub(rb'("public_key": ")(\w+)', lambda found: found[1] + found[2].upper(), whole),
    ],
    ids=["a second text", "a note", "capitals"],
)
def test_91_nothing_is_added_around_what_is_signed(certificate, changed):
    whole = file_of(certificate)

    assert changed(whole) != whole
    assert is_refused(changed(whole))


def is_refused(content):
    try:
        return bool(check(content).faults)
    except NotACertificate:
        return True


def test_91_an_old_key_still_verifies_after_a_rotation(certificate, request_):
    signing.put_in_force(signing.prepare())
    later = issue(request_, Level.CLOSED, DONE, actor="job/erasure", now=NOON)

    assert check(file_of(certificate)).faults == []
    assert check(file_of(later)).faults == []
    assert later.key_id != certificate.key_id
    assert json.loads(later.document)["follows"] == certificate.digest


def test_91_a_revoked_key_is_a_warning(certificate):
    checked = check(file_of(certificate), revoked=frozenset([certificate.key_id]))

    assert checked.faults == []
    assert any("revoked" in warning for warning in checked.warnings)


def test_another_key_than_the_readers_is_a_fault(certificate):
    signing.put_in_force(signing.prepare())

    assert check(file_of(certificate), public_key=signing.current().public).faults
    assert check(file_of(certificate), public_key=certificate.public_key).warnings == []


def test_a_certificate_names_nobody(person, certificate):
    assert "rosa" not in certificate.document
    assert str(person.uid) not in certificate.document
    assert "rosa" not in "".join(AuditPayload.objects.values_list("body", flat=True).filter(body__contains="digest"))


@pytest.mark.parametrize("content", [b"", b"no json", b"[]", b'{"certificate": 1}', b'{"certificate": "{}", "signature": {}}', b"\xff"])
def test_what_is_no_certificate_is_told(content):
    with pytest.raises(NotACertificate):
        check(content)


@pytest.mark.parametrize("outcome", ["running", "residue", "blind"])
def test_93_94_nothing_is_certified_before_a_clean_look(request_, outcome):
    looked(request_, outcome)

    with pytest.raises(NotProved):
        issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON)


def test_94_a_certificate_lists_every_look(request_):
    looked(request_, "residue")
    looked(request_)

    document = json.loads(issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON).document)

    assert [look["outcome"] for look in document["verification"]["looks"]] == ["residue", "clean"]


def test_97_what_is_kept_stands_in_the_title_with_its_reason(request_):
    looked(request_)
    document = json.loads(issue(request_, Level.PARTLY, DONE, actor="job/erasure", now=NOON).document)

    assert document["title"].startswith("partly refused")
    assert any(part.rows and part.rows[0][0] == "legal_duty" for part in parts_of(document))


def test_98_pdf_and_file_show_the_same_digest_and_key(certificate):
    pdf = pdf_of(json.loads(certificate.document), digest=certificate.digest, key_id=certificate.key_id)

    checked = check(file_of(certificate))
    pages = words_on_pages(pdf)
    assert len(pages) > 1
    assert all(checked.digest in page and checked.key_id in page for page in pages)
    assert pdf == pdf_of(json.loads(certificate.document), digest=certificate.digest, key_id=certificate.key_id)


def test_a_receipt_shows_whom_a_certificate_is_about(request_):
    request_.state = "approved"
    request_.save()
    receipt = give_receipt(request_, actor=ACTOR, now=NOON)
    looked(request_)

    checked = check(file_of(issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON)))

    assert is_for(checked, receipt=receipt, user_id="rosa.delgado")
    assert not is_for(checked, receipt=receipt, user_id="rosa.delgad")
    assert not is_for(checked, receipt="00" * 16, user_id="rosa.delgado")
    assert not is_for(checked, receipt="no receipt", user_id="rosa.delgado")


def test_a_second_receipt_makes_the_first_one_void(request_):
    request_.state = "review"
    request_.save()
    first = give_receipt(request_, actor=ACTOR, now=NOON)

    assert give_receipt(request_, actor=ACTOR, now=NOON) != first
    assert Commitment.objects.count() == 1


def test_no_receipt_is_given_out_once_the_erasure_has_begun(request_):
    with pytest.raises(TooLate):
        give_receipt(request_, actor=ACTOR, now=NOON)


def test_a_certificate_says_when_one_person_did_it_all(request_):
    Approval.objects.update(single_operator=True)
    looked(request_)

    document = json.loads(issue(request_, Level.LIVE, DONE, actor="job/erasure", now=NOON).document)

    assert document["people"]["four_eyes"] is False
    assert any("same person" in sentence for sentence in document["limits"])


def test_fractions_have_no_single_form():
    with pytest.raises(canonical.NotCanonical):
        canonical.written({"share": 0.5})


def test_nothing_of_the_database_is_needed_to_verify(certificate, tmp_path):
    path = tmp_path / "certificate.json"
    path.write_bytes(file_of(certificate))
    code = (
        "import django; from django.conf import settings; settings.configure(); from pathlib import Path;"
        "from memadmin.erasure.certificates.checking import check; print(check(Path(__import__('sys').argv[1]).read_bytes()).faults)"
    )
    done = subprocess.run([sys.executable, "-c", code, str(path)], cwd=sources.ROOT, capture_output=True, text=True, check=False)

    assert done.stdout.strip() == "[]", done.stderr


def test_certificates_stay_when_somebody_deletes_their_request(certificate, request_):
    with pytest.raises(Exception, match="protected"):
        request_.delete()
    assert Certificate.objects.count() == 1
