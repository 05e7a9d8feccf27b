import json
import tracemalloc

import pytest
from django.core.management import CommandError, call_command
from django.db import DataError, OperationalError, transaction

from memadmin.audit.models import AuditEntry
from memadmin.store import check, ingest
from memadmin.store.counts import store_counts
from memadmin.store.models import Container, LongTermMemory, WorkingMemory
from memadmin.transfer.importing import BATCH_BYTES, BATCH_ITEMS
from tests.factories import make_container
from tests.transfer.running import import_memories, write_lines

pytestmark = pytest.mark.django_db


def facts(number, *, start=0):
    return [{"user_id": f"u-{index % 7}", "memory": f"fact {index}", "id": f"f-{index}"} for index in range(start, start + number)]


def test_one_bad_record_in_each_batch_costs_only_itself(tmp_path, monkeypatch):
    monkeypatch.setattr("memadmin.transfer.importing.BATCH_ITEMS", 10)
    lines = facts(95)
    for index in range(0, 95, 10):
        lines[index]["importance"] = 7

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *lines))

    assert (done.code, done.answer["refused"], done.answer["new"]["long_term"]) == (3, 10, 85)
    assert LongTermMemory.objects.count() == 85


def test_a_record_that_the_database_refuses_costs_only_itself(tmp_path, monkeypatch):
    refuse_texts(monkeypatch, {"fact 3"}, DataError("value too long: fact 3"))

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(20)), "--report", tmp_path / "r.jsonl")

    line = json.loads((tmp_path / "r.jsonl").read_text())
    assert (done.code, done.refused, done.answer["new"]["long_term"]) == (3, {"database": 1}, 19)
    assert (line["line"], line["words"]) == (4, "the database refuses this record (DataError)")
    assert list(check.check()) == []


def refuse_texts(monkeypatch, texts, error):
    original = ingest.write

    def write(container, items, **details):
        written = original(container, items, **details)
        if any(getattr(item, "text", "") in texts for item in items):
            raise error
        return written

    def write_or_nothing(container, items, **details):
        with transaction.atomic():
            return write(container, items, **details)

    monkeypatch.setattr("memadmin.transfer.importing.ingest.write", write_or_nothing)


def test_a_lost_connection_ends_the_import_and_blames_no_record(tmp_path, monkeypatch):
    monkeypatch.setattr("memadmin.transfer.importing.BATCH_ITEMS", 5)
    refuse_texts(monkeypatch, {"fact 7"}, OperationalError("server closed the connection"))

    with pytest.raises(OperationalError):
        import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(20)))

    assert LongTermMemory.objects.count() == 5


def test_an_interrupted_import_leaves_whole_batches_and_can_be_finished(tmp_path, monkeypatch):
    path = write_lines(tmp_path / "x.jsonl", *facts(30))
    with monkeypatch.context() as patch:
        patch.setattr("memadmin.transfer.importing.BATCH_ITEMS", 10)
        refuse_texts(patch, {"fact 25"}, KeyboardInterrupt())
        stopped = import_memories("jsonl", path)

    assert (stopped.code, stopped.answer["new"]["long_term"]) == (130, 20)
    assert LongTermMemory.objects.count() == 20
    assert list(check.check()) == []
    assert AuditEntry.objects.filter(action="import.finished").values_list("outcome", "reason_code").get() == ("failed", "stopped")

    finished = import_memories("jsonl", path)

    assert (finished.answer["new"]["long_term"], finished.answer["unchanged"]["long_term"]) == (10, 20)


def test_an_import_is_audited_with_its_counts_and_without_content(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(3), {"user_id": "ann", "memory": 5}))

    entry = AuditEntry.objects.get(action="import.finished")
    assert entry.target == f"containers/{Container.objects.get().uid}"
    assert (entry.actor, entry.outcome, entry.reason_code) == ("command/import_memories", "ok", "partial")
    assert entry.counts == {"records": 4, "refused": 1, "new.long-term": 3}


def test_the_container_is_made_once_and_only_when_something_is_stored(tmp_path):
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", {"odd": 1}))
    assert Container.objects.count() == 0

    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(2)))
    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(2)))
    assert Container.objects.get().name == "pharmacy"


def test_a_name_that_several_containers_have_is_not_guessed(tmp_path):
    for _ in range(2):
        make_container("pharmacy")

    done = import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *facts(1)))

    assert done.code == 2
    assert "several containers" in done.words


@pytest.mark.parametrize("name", ["adk", "mem0", "letta", "chatgpt", "claude"])
def test_a_later_format_says_that_it_comes_later(tmp_path, name):
    done = import_memories(name, tmp_path / "x.json")

    assert done.code == 2
    assert "comes later" in done.words


@pytest.mark.parametrize(
    ("name", "content", "container", "words"),
    [
        ("csv", b"{}", "pharmacy", "no format"),
        ("jsonl", None, "pharmacy", "No such file"),
        ("jsonl", b"user,memory\n", "pharmacy", "not JSON"),
        ("jsonl", b'{"user_id":"ann","memory":"tea"}', None, "--container"),
        ("jsonl", b'{"user_id":"ann","memory":"tea"}', "", "name"),
        ("jsonl", b'{"user_id":"ann","memory":"tea"}', "x" * 513, "name"),
    ],
)
def test_what_cannot_be_used_at_all_is_said_with_exit_code_two(tmp_path, name, content, container, words):
    path = tmp_path / "x.jsonl"
    if content is not None:
        path.write_bytes(content)

    done = import_memories(name, path, container=container)

    assert done.code == 2
    assert words in done.words
    assert Container.objects.count() == 0


def test_a_folder_is_not_a_file_and_a_report_needs_a_place(tmp_path):
    path = write_lines(tmp_path / "x.jsonl", *facts(1))

    assert import_memories("jsonl", tmp_path).code == 2
    assert import_memories("jsonl", path, "--report", tmp_path / "no" / "r.jsonl").code == 2


def test_an_empty_file_stores_nothing_and_is_no_error(tmp_path):
    path = tmp_path / "x.jsonl"
    path.write_bytes(b"\n\n")

    assert (import_memories("jsonl", path).code, store_counts()["containers"]) == (0, 0)


def test_the_words_for_people_say_what_was_stored_and_what_was_not(tmp_path, capsys):
    path = write_lines(tmp_path / "x.jsonl", *facts(3), {"user_id": "ann", "memory": "secret", "importance": 9})

    with pytest.raises(CommandError, match=r"Partial: 1 refused; --report FILE lists them all\. Everything else is stored\."):
        call_command("import_memories", "jsonl", str(path), "--container", "pharmacy")

    shown = capsys.readouterr().out
    assert "4 records read into pharmacy" in shown
    assert "refused: line 4, record 4, importance: a number from 0 to 1 is needed here [out_of_range]" in shown
    assert "secret" not in shown


def test_a_batch_is_bounded_by_bytes_too(tmp_path, monkeypatch):
    sizes: list[int] = []

    def write(container, items, **details):
        sizes.append(len(items))
        return ingest.Written()

    monkeypatch.setattr("memadmin.transfer.importing.BATCH_BYTES", 50_000)
    monkeypatch.setattr("memadmin.transfer.importing.ingest.write", write)

    import_memories("jsonl", write_lines(tmp_path / "x.jsonl", *[{**fact, "memory": "x" * 20_000} for fact in facts(9)]))

    assert sizes == [3, 3, 3]
    assert BATCH_ITEMS == 1_000


def test_a_file_of_any_size_is_read_in_the_memory_of_a_few_batches(tmp_path, monkeypatch):
    monkeypatch.setattr("memadmin.transfer.importing.ingest.write", lambda container, items, **details: ingest.Written())
    small, large = (conversation(tmp_path / f"{size}.jsonl", megabytes=size) for size in (10, 30))

    peaks = [peak_of(path) for path in (small, large)]

    assert peaks[1] < peaks[0] * 1.1
    assert peaks[1] < 5 * BATCH_BYTES


def conversation(path, *, megabytes):
    text = "tea, milk or sugar? " * 400
    with path.open("w") as file:
        for number in range(megabytes * 128):
            names = {"user_id": f"u-{number % 50}", "session_id": f"s-{number % 500}"}
            file.write(json.dumps({**names, "role": "user", "content": f"{number} {text}"}) + "\n")
    return path


def peak_of(path):
    tracemalloc.start()
    assert import_memories("messages", path).code == 0
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak


def test_two_imports_of_the_same_file_store_it_once(tmp_path):
    lines = [{"user_id": "ann", "session_id": "s", "role": "user", "content": "x"}] * 3
    path = write_lines(tmp_path / "x.jsonl", *lines)

    for _ in range(2):
        import_memories("messages", path)

    assert WorkingMemory.objects.count() == 3
