"""Faults of text and metadata that others had: numbers as in docs/cases.md."""

import json

import pytest

from memadmin.store import policies
from memadmin.store.models import LongTermMemory, Session
from retention.policy import parse_policy
from tests.cases.governing import form, post, under, words
from tests.cases.seen import look, pages_about
from tests.factories import ACTOR, NOON, a_change, a_memory, a_message, a_pin, a_session, make_container, make_memory, store, subject_of
from tests.runs import carry_out, preview
from tests.transfer.running import export_memories, import_memories, write_lines

pytestmark = pytest.mark.django_db
HOSTILE = [
    "<img src=x onerror=alert(1)>",
    "**b**<script>alert(1)</script>",
    "[x](javascript:alert(1))",
    "{{ 1234567*9 }}{% raw %}{# x #}",
    '" hx-get="/x" onmouseover="alert(1)',
    "'><svg onload=alert(1)>",
    "</textarea></title></bdi><iframe src=//evil.example>",
    "${1234567*9}<%= 1234567*9 %>&lt;b&gt;&#60;",
]
CALCULATED = "11111103"  # what a template language would make of some of them
WORD = "Donaudampfschifffahrt" * 15
SCRIPTS = [
    "\u05e9\u05dc\u05d5\u05dd \u05d0\u05e0\u05df 123 (x)",
    "e\u0301\u0327\u0308" * 20,
    "\u0130i\u0131I",
    "\uff11\uff12\uff13",
    WORD,
    "\U0001f468\u200d\U0001f469\u200d\U0001f467" * 9,
]
DEEP = json.loads("[" * 150 + "]" * 150)


@pytest.fixture(autouse=True)
def _at_noon(time_machine):
    time_machine.move_to(NOON, tick=False)


def test_f41_a_long_text_is_there_whole_and_the_keyboard_reaches_it(reader):
    text = " ".join(f"word{number}" for number in range(700))
    memory = make_memory(make_container(), text)

    page = look(reader, "memory-detail", memory.uid, htmx=True)
    listed = look(reader, "user-memories", memory.subject.uid)

    (whole,) = [each for each in page.all if "full-text" in each.attributes.get("class", "").split()]
    (link,) = [each for each in listed.all if each.attributes.get("class") == "memory-link"]
    assert (whole.words, whole.attributes["tabindex"]) == (text, "0")
    assert (link.tag, link.attributes["href"]) == ("a", f"/memories/{memory.uid}/")


def test_f41_a_text_of_a_megabyte_opens_and_its_list_stays_small(reader):
    memory = make_memory(make_container(), "Zutphen " * 131_072)

    assert look(reader, "memory-detail", memory.uid).words.count("Zutphen") == 131_072
    assert look(reader, "user-memories", memory.subject.uid).size < 40_000


@pytest.mark.parametrize(("length", "status"), [(1_000, 302), (1_001, 422)])
def test_f43_a_reason_over_its_length_is_refused_with_both_numbers_and_never_cut(reader, length, status):
    memory = make_memory(make_container())

    answer = reader.post(f"/memories/{memory.uid}/pin/", {"reason": "r" * length})

    memory.refresh_from_db()
    assert answer.status_code == status
    assert memory.pinned == (status == 302)
    assert status == 302 or "at most 1000 characters (it has 1001)" in words(answer)


def test_f43_a_note_over_its_length_is_refused_with_both_numbers(boss):
    container = make_container()

    assert "at most 1000 characters (it has 1001)" in words(
        post(boss, "policy-draft", container.uid, **form(ttl_days="9"), note="n" * 1_001)
    )


def test_f43_a_memory_over_the_longest_is_refused_with_both_numbers_and_never_cut(tmp_path):
    done = import_memories(
        "jsonl", write_lines(tmp_path / "m", {"user_id": "ann", "memory": "x" * 4_194_305}), "--report", tmp_path / "report"
    )

    assert (done.code, LongTermMemory.objects.count()) == (3, 0)
    assert "4194305 characters, at most 4194304" in (tmp_path / "report").read_text()


def test_f44_metadata_stands_in_the_list_on_the_memory_and_in_the_export(reader, boss, tmp_path):
    memory = make_memory(make_container(), metadata={"ticket": "T-9", "size": 3})

    listed = look(reader, "user-memories", memory.subject.uid)
    opened = look(reader, "memory-detail", memory.uid)
    (exported,) = [line for line in export_memories(tmp_path / "e", "--container", "pharmacy") if line.get("type") == "long-term"]

    assert "size: 3, ticket: T-9" in listed.flat
    assert '"ticket": "T-9"' in opened.flat
    assert exported["metadata"] == {"ticket": "T-9", "size": 3}
    assert "T-9" not in look(boss, "user-memories", memory.subject.uid).words  # who may not read texts


@pytest.mark.parametrize(
    "metadata",
    [
        None,
        "text",
        "",
        [],
        [1, "two"],
        {"a": None},
        {"a.b": 1, "a": {"b": 2}},
        {"": ""},
        {"deep": DEEP},
        {"long": "x" * 5_000},
        7,
        True,
        {"s": "<b>\u05d0\0"},
    ],
    ids=lambda metadata: json.dumps(metadata)[:20],
)
def test_f46_metadata_of_any_shape_is_drawn_and_exported_as_it_is(reader, tmp_path, metadata):
    record = {"user_id": "ann", "id": "m-1", "memory": "likes tea", "metadata": metadata, "tags": metadata}

    done = import_memories("jsonl", write_lines(tmp_path / "m.jsonl", record))

    assert done.code == 0, done
    pages = list(pages_about(reader, subject_of(LongTermMemory.objects.get().container)))
    (exported,) = [line for line in export_memories(tmp_path / "e", "--container", "pharmacy") if line.get("type") == "long-term"]
    assert not [view for view, page in pages if page.status != 200 or page.foreign()]
    assert exported.get("metadata", {}) == json.loads(json.dumps(metadata).replace("\\u0000", "\\ufffd"))


@pytest.mark.parametrize(
    ("written", "told"),
    [(b"1e999", "not_finite"), (b"NaN", "not_finite"), (b"[" * 300 + b"]" * 300, "too_deep")],
    ids=["1e999", "NaN", "deep"],
)
def test_f46_what_json_cannot_mean_is_refused_by_field_and_its_neighbour_stays(tmp_path, written, told):
    lines = [
        b'{"user_id": "ann", "id": "1", "memory": "bad", "metadata": {"n": ' + written + b"}}",
        {"user_id": "ann", "id": "2", "memory": "good"},
    ]

    done = import_memories("jsonl", write_lines(tmp_path / "m.jsonl", *lines))

    assert done.refused == {told: 1}
    assert LongTermMemory.objects.get().text == "good"


def test_f46_of_a_key_that_is_there_twice_the_last_value_counts(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "m.jsonl", b'{"user_id": "ann", "memory": "tea", "metadata": {"a": 1, "a": 2}}'))

    assert LongTermMemory.objects.get().metadata == {"a": 2}


@pytest.mark.parametrize("text", HOSTILE)
def test_f47_markup_is_text_wherever_somebody_can_put_it(reader, boss, text):
    container = under(name=text, ttl_days=365)
    everywhere = {"user_id": text, "external_id": text, "owner": text, "namespace": {text: text}}
    noted = {**everywhere, "metadata": {text: text}}
    store(
        container,
        a_session(summary=text, pin=a_pin(text), agents={text: text}, **noted),
        a_message(text, author=text, session_ref=text, **noted),
        a_memory(
            text,
            author=text,
            tags={text: text},
            strategy_type=text[:64],
            parts=[{"type": text, "text": text}],
            pin=a_pin(text),
            **noted,
        ),
        a_change(text, **everywhere),
    )
    policies.save_draft(container, parse_policy({"retention": {}, "relevance": {"ttl_days": 9}}), actor=ACTOR, now=NOON, note=text)

    pages = list(pages_about(reader, subject_of(container, text)))
    pages += [(view, look(boss, view, *arguments)) for view, arguments in boss_pages(container)]
    pages += [("search", look(reader, "user-memories", subject_of(container, text).uid, q=text))]

    assert not [view for view, page in pages if page.status != 200 or page.foreign()]
    assert not [view for view, page in pages if text not in page.words]
    assert not [view for view, page in pages if CALCULATED in page.words]


def boss_pages(container):
    return [
        ("container-list", []),
        ("policy-detail", [container.uid]),
        ("policy-version", [container.uid, 2]),
        ("policy-versions", [container.uid]),
        ("run-detail", [preview(container).number]),
        ("run-list", []),
    ]


@pytest.mark.parametrize("text", SCRIPTS)
def test_f48_every_script_is_listed_in_its_own_direction_and_found_by_its_words(reader, text):
    memory = make_memory(make_container(), f"{text} end")

    listed = look(reader, "user-memories", memory.subject.uid, q=text)

    (excerpt,) = [each for each in listed.all if each.attributes.get("class") == "excerpt"]
    assert excerpt.attributes["dir"] == "auto"
    assert excerpt.words.startswith(text[:20])


def test_f48_a_search_ignores_case_of_the_plain_alphabet_and_nothing_else(reader):
    container = make_container()
    store(container, *(a_memory(text) for text in ("lives in Hauptstrasse", "lives in Hauptstra\u00dfe", "room \uff11\uff12")))
    uid = subject_of(container).uid

    found = {
        query: len(look(reader, "user-memories", uid, q=query).words_in("excerpt"))
        for query in ("STRASSE", "stra\u00dfe", "\uff11\uff12", "12")
    }

    assert found == {"STRASSE": 1, "stra\u00dfe": 1, "\uff11\uff12": 1, "12": 0}


def test_c06_a_tag_with_a_comma_stays_one_value(reader, tmp_path):
    record = {
        "user_id": "ann",
        "id": "m-1",
        "memory": "met him",
        "tags": {"who": "Smith, John"},
        "metadata": {"entities": ["Smith, John", "A, B"]},
    }
    import_memories("jsonl", write_lines(tmp_path / "m.jsonl", record))
    memory = LongTermMemory.objects.get()

    (exported,) = [line for line in export_memories(tmp_path / "e", "--container", "pharmacy") if line.get("type") == "long-term"]

    assert (exported["tags"], exported["metadata"]) == (record["tags"], record["metadata"])
    assert '"who": "Smith, John"' in look(reader, "memory-detail", memory.uid).flat


@pytest.mark.parametrize("view", ["user-memories", "user-sessions", "user-list"])
@pytest.mark.parametrize("query", ["\0", "\ufffd", "x" * 5_000, "%", "{{ 1234567*9 }}", "\u202e"], ids=lambda query: json.dumps(query)[:12])
def test_no_search_text_breaks_a_list(reader, view, query):
    container = make_container()
    store(container, a_memory(), a_session(), a_message())
    uid = container.uid if view == "user-list" else subject_of(container).uid

    page = look(reader, view, uid, q=query)

    assert (page.status, page.foreign()) == (200, [])
    assert CALCULATED not in page.words


@pytest.mark.parametrize("reason", ["<b>allergy</b>", "\u05d0\u05d1", "{{ 1234567*9 }}"])
def test_a_reason_is_text_too(reader, reason):
    session_of = make_memory(make_container())
    store(session_of.container, a_session())
    session = Session.objects.get()

    pages = [post(reader, "memory-pin", session_of.uid, reason=reason), post(reader, "session-pin", session.uid, reason=reason)]

    assert [page.status_code for page in pages] == [200, 200]
    assert all("<b>allergy" not in page.content.decode() and CALCULATED not in words(page) for page in pages)
    assert look(reader, "session-detail", session.uid).words.count(reason) == 1


@pytest.mark.parametrize("view", ["memory-pin", "policy-draft"])
def test_what_no_database_stores_is_refused_in_a_form_in_words(reader, boss, view):
    memory = make_memory(make_container())

    who, what = (reader, memory.uid) if view == "memory-pin" else (boss, memory.container.uid)
    answer = post(who, view, what, **form(ttl_days="9"), reason="a\0b", note="a\0b")

    assert answer.status_code == 422
    assert "Null characters are not allowed." in words(answer)


@pytest.mark.parametrize(
    "value",
    [
        None,
        0,
        True,
        "text",
        "",
        [],
        [[]],
        [None, 1, "two", {"a": [None]}],
        {},
        {"": None},
        {"content": 7},
        {"role": [], "content": {"a": {}}},
        1.5e308,
        10**40,
        "\u202e\x1b[31m",
    ],
    ids=lambda value: ascii(value)[:24],
)
def test_f46_a_value_of_any_shape_in_any_field_is_drawn_searched_and_exported(reader, boss, tmp_path, value):
    container = under(ttl_days=1, max_tokens=5)
    both = [{"role": value, "content": value}, {"content": [value, {"type": value, "text": value}, {"url": value}], "author": value}]
    store(
        container,
        a_session(state=value, metadata=value, agents=value, additional_info=value, namespace=value),
        a_message(
            messages=[{"content_text": value}],
            metadata=value,
            tags=value,
            parameters=value,
            structured_data=value,
            structured_data_blob=value,
            event=value,
        ),
        a_message(messages=both),
        a_memory(parts=value, metadata=value, tags=value, namespace=value, days_old=2),
        a_change(before=value, after=value, tags=value),
    )
    subject = subject_of(container)

    pages = list(pages_about(reader, subject))
    pages += [("search", look(reader, view, subject.uid, q="text")) for view in ("user-memories", "user-sessions")]
    pages += [
        ("run", look(boss, "run-detail", carry_out(preview(container)).number)),
        ("archive", look(reader, "user-archive", subject.uid)),
    ]
    export_memories(tmp_path / "e", "--container", "pharmacy")

    assert not [view for view, page in pages if page.status != 200 or page.foreign()]
    done = import_memories("jsonl", tmp_path / "e", "--report", tmp_path / "report", container="again")
    assert done.code == 0, (tmp_path / "report").read_text()


def test_f41_a_session_of_very_long_messages_stays_small_and_each_is_reached_whole(reader):
    texts = [f"begin{number} {'Zutphen ' * 12_000}end{number}" for number in range(3)]
    store(make_container(), *(a_message(text, sequence=number) for number, text in enumerate(texts)))
    session = Session.objects.get()

    page = look(reader, "session-detail", session.uid)
    links = [href for href in page.links() if "whole=" in href]
    opened = words(reader.get(links[1]))

    assert page.size < 100_000
    assert [f"begin{number}" in page.words and f"end{number}" not in page.words for number in range(3)] == [True] * 3
    assert len(links) == page.words.count("76,011 more characters") == 3
    assert "end1" in opened
    assert "end2" not in opened


@pytest.mark.parametrize("view", ["user-history", "user-archive"])
def test_f41_what_is_gone_or_was_changed_can_be_read_whole(reader, view):
    container = under(ttl_days=10)
    text = f"{'Zutphen ' * 600}the end"
    memory = make_memory(container, text, days_old=20)
    subject = memory.subject
    store(container, a_change(text, memory_uid=memory.uid))
    if view == "user-archive":
        carry_out(preview(container))

    page = look(reader, view, subject.uid)

    assert [each.words[-7:] for each in page.all if each.tag == "pre" and each.attributes.get("tabindex") == "0"] == ["the end"]
