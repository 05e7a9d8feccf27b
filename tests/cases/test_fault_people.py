"""Faults of who a person is that others had: numbers as in docs/cases.md. Erasing by these ids waits for the erasure."""

import json

import pytest

from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.store.models import LongTermMemory, Subject
from tests.cases.governing import address, under
from tests.cases.seen import look, pages_about
from tests.factories import NOON, a_memory, a_message, a_session, days, make_container, make_memory, store, subject_of
from tests.runs import carry_out, preview
from tests.transfer.running import export_memories, import_memories, write_lines

pytestmark = pytest.mark.django_db
LONG = "o" * MAX_ID_LENGTH
EMOJI_ONLY = "\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466"
ODD = [
    *("a/b", "user/13", "../admin", ".", "..", "a b", "a+b@x.io", "abcd\u00e9@x.io", "100%", "a?b#c", "a&b=c", "a;b", "a\\b", "ann\n"),
    *('"q"', "'q'", "`q`", "a|b", "a:b", "openclaw:main:911", "(x)", "[x]", "{{ 7*7 }}", "*", "-x", "--json", "redis-test", "test_group"),
    *("new", "export", "null", "None", "0", "undefined", "%00", "%2e%2e%2f", "\u202egnp.exe", "\u05d0\u05d1", LONG, "x" * 255, "x" * 256),
    *(EMOJI_ONLY, "\U0001f469\U0001f3fd", "<script>alert(1)</script>", '" hx-get="/x', "=1+1", " ", "ann\u200b"),
]
PAIRS = [
    *(("acme", "acme-corp"), ("user1", "user10"), ("john_doe", "john-doe"), ("a:b", "a"), ("Alice", "alice"), ("al\u0131ce", "alice")),
    *(
        ("ann lee", "ann  lee"),
        ("ann", "ann "),
        ("ann", "ann\u200b"),
        ("\u00e9", "e\u0301"),
        ("100%", "100%25"),
        ("a/b", "a%2Fb"),
        ("1", "01"),
    ),
    *(("/app/users/ann", "/app/users/ann/"), ("app/ann", "/app/ann"), ("\uff21nn", "Ann"), ("*", "ann"), ("", " ")),
]


def named(user_id):
    return json.dumps(user_id)[:24]


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


@pytest.mark.parametrize("user_id", ODD, ids=named)
def test_f97_c11_any_id_has_its_pages_its_links_and_its_export(reader, tmp_path, user_id):
    container = under(ttl_days=365)
    same = {"user_id": user_id}
    store(
        container,
        a_session("a/b ?#", **same),
        a_message("said", session_ref="a/b ?#", **same),
        a_memory("likes tea", external_id="../m", **same),
    )
    make_memory(container, "the neighbour", user_id="neighbour")

    pages = list(pages_about(reader, subject_of(container, user_id)))
    listed = next(page for view, page in pages if view == "user-list search")
    exported = export_memories(tmp_path / "one.jsonl", "--container", container.name, f"--user={user_id}")

    assert not [
        view for view, page in pages if page.status != 200 or page.foreign() or ("the neighbour" in page.words and view != "user-list")
    ]
    assert address("user-memories", subject_of(container, user_id).uid) in listed.links()
    assert {line["user_id"] for line in exported if "user_id" in line} == {user_id}
    assert [path.name for path in tmp_path.iterdir()] == ["one.jsonl"]


@pytest.mark.parametrize("taken", ["new", "export", "policy", "users", "../containers", "%2e%2e", "a/b"])
def test_f97_a_container_may_bear_any_name(boss, taken):
    container = under(name=taken, ttl_days=10)
    make_memory(container, days_old=20)

    run = carry_out(preview(container))

    pages = [
        look(boss, "container-list"),
        look(boss, "policy-detail", container.uid),
        look(boss, "run-detail", run.number),
        look(boss, "run-list"),
    ]
    assert [page.status for page in pages] == [200] * 4
    assert all(taken in page.words for page in pages)


@pytest.mark.parametrize("pair", PAIRS, ids=named)
def test_f91_f93_f99_two_ids_are_two_people_who_look_different_and_what_happens_to_one_leaves_the_other(reader, tmp_path, pair):
    container = under(ttl_days=10)
    one, other = pair
    store(container, a_memory("of the one", user_id=one, days_old=20), a_memory("of the other", user_id=other, days_old=5))

    exported = export_memories(tmp_path / "one.jsonl", "--container", container.name, f"--user={one}")
    page = look(reader, "user-memories", subject_of(container, one).uid)
    shown = look(reader, "user-list", container.uid).words_in("user-id")
    carry_out(preview(container))

    assert [line["text"] for line in exported if line.get("type") == "long-term"] == ["of the one"]
    assert "of the other" not in page.words
    assert len(set(shown)) == 2
    assert list(LongTermMemory.objects.values_list("subject__user_id", "text")) == [(other, "of the other")]
    assert (subject_of(container, one).long_term, subject_of(container, other).long_term) == (0, 1)


def test_f91_the_same_name_cut_elsewhere_is_another_item():
    ids = [("a:b", "c"), ("a", "b:c"), ("a", "b"), ("", "a:b:c")]
    for name in ("x:y", "x"):
        store(make_container(name), *(a_memory("tea", user_id=user_id, external_id=item) for user_id, item in ids))

    assert len(set(LongTermMemory.objects.values_list("uid", flat=True))) == len(ids) * 2


@pytest.mark.parametrize("query", ["ALICE", "alice", "Alice", "\uff21lice"])
def test_f93_a_search_for_one_spelling_lists_all_of_them_apart(reader, query):
    container = make_container()
    for user_id in ("Alice", "alice", "ALICE", "Al\u0131ce"):
        make_memory(container, user_id=user_id)

    found = look(reader, "user-list", container.uid, q=query).words_in("user-id")

    assert sorted(found) == ["ALICE", "Alice", "alice"]  # the Turkish letter is another one


@pytest.mark.parametrize(
    "query", ["redis-test", "test_group", "-x", '"q"', "a:b", "(x)", "*", "%", "_", "\\", "' OR 1=1 --", "[a-z]", "\0"]
)
def test_f95_what_other_search_languages_mean_by_a_sign_means_nothing_here(reader, query):
    container = make_container()
    store(container, a_memory("plain words", user_id="ann"))
    if query != "\0":
        store(container, a_memory(f"says {query} once", user_id=f"has {query} inside"))
        store(container, a_memory(f"says {query} once", user_id="ann"))

    users = look(reader, "user-list", container.uid, q=query)
    memories = look(reader, "user-memories", subject_of(container).uid, q=query)

    assert [len(users.words_in("user-id")), len(memories.words_in("excerpt"))] == ([0, 0] if query == "\0" else [1, 1])


def test_f92_two_people_each_know_an_alice(reader):
    container = make_container()
    same = {"external_id": "entity/alice", "fact_key": "alice/person", "tags": {"type": "person"}}
    store(container, *(a_memory("Alice is a colleague", user_id=user_id, **same) for user_id in ("ann", "ben")))

    of_ann = look(reader, "user-memories", subject_of(container).uid)

    assert LongTermMemory.objects.values("uid").distinct().count() == 2
    assert of_ann.words_in("excerpt") == ["Alice is a colleague"]


@pytest.mark.parametrize("length", [MAX_ID_LENGTH + 1, 5_000])
def test_f97_an_id_too_long_is_refused_with_both_numbers_and_costs_no_other(tmp_path, length):
    records = [{"user_id": user_id, "memory": "tea", "id": "m"} for user_id in ("x" * length, "ann")]

    done = import_memories("jsonl", write_lines(tmp_path / "m.jsonl", *records), "--report", tmp_path / "report")

    (line,) = map(json.loads, (tmp_path / "report").read_text().splitlines())
    assert done.code == 3
    assert f"{length:,}" in line["words"] or str(length) in line["words"]
    assert "512" in line["words"]
    assert list(Subject.objects.values_list("user_id", flat=True)) == ["ann"]


@pytest.mark.parametrize("given", ["a\0b", "a\ud800b"], ids=["NUL", "lone surrogate"])
def test_f97_what_no_database_stores_is_replaced_in_an_id_and_noted(reader, tmp_path, given):
    done = import_memories("jsonl", write_lines(tmp_path / "m.jsonl", {"user_id": given, "memory": "tea", "id": "m"}))

    subject = Subject.objects.get(user_id="a\ufffdb")
    assert done.answer["noted"] == {"characters_replaced": 1}
    assert "a\ufffdb" in look(reader, "user-list", subject.container.uid, q="a\0b").words


def test_f96_an_address_written_with_escapes_is_the_same_page_and_written_twice_is_none(reader):
    subject = make_memory(make_container(), user_id="openclaw:main:911").subject
    escaped = str(subject.uid).replace("-", "%2D")

    assert reader.get(f"/users/{escaped}/").status_code == 200
    assert reader.get(f"/users/{escaped.replace('%', '%25')}/").status_code == 404


def test_c02_an_id_with_blanks_at_its_end_or_nothing_to_see_is_drawn_with_them(reader):
    container = make_container()
    for user_id in ("ann  lee", "ann lee ", "ann\u200blee", "ann lee"):
        make_memory(container, user_id=user_id, created_at=NOON - days(1))

    shown = look(reader, "user-list", container.uid).words_in("user-id")
    titles = {look(reader, "user-memories", subject.uid).words_in(tag="h1")[0] for subject in Subject.objects.all()}

    assert set(shown) == titles == {"ann\u2423\u2423lee", "ann lee\u2423", "ann\u27e8U+200B\u27e9lee", "ann lee"}
