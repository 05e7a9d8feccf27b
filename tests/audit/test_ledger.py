import json

import pytest

from memadmin.audit import ledger
from tests.factories import NOON


@pytest.fixture
def files(settings, tmp_path):
    settings.ERASURE_LEDGERS = [str(tmp_path / "a" / "one.jsonl"), str(tmp_path / "b" / "two.jsonl")]
    return [tmp_path / "a" / "one.jsonl", tmp_path / "b" / "two.jsonl"]


def note(kind="intent", request="r-1", **facts):
    return ledger.write(kind, request=request, at=NOON, facts=facts)


def test_a_line_stands_in_every_file(files):
    note(items=1)
    note("completed")

    assert files[0].read_bytes() == files[1].read_bytes()
    assert [(line.seq, line.kind) for line in ledger.lines()] == [(1, "intent"), (2, "completed")]


def test_1_a_line_that_is_there_is_not_written_twice(files):
    note(items=1)
    note(items=1)

    assert len(ledger.lines()) == 1


@pytest.mark.parametrize("change", ["edit", "remove", "swap"])
def test_70_what_was_changed_cut_out_or_swapped_is_noticed(files, change):
    for request in ("r-1", "r-2", "r-3"):
        note(request=request)
    texts = files[0].read_text().splitlines()
    if change == "edit":
        texts[1] = texts[1].replace("r-2", "r-9")
    elif change == "remove":
        del texts[1]
    else:
        texts[0], texts[1] = texts[1], texts[0]
    files[0].write_text("\n".join(texts) + "\n")

    with pytest.raises(ledger.LedgerUnusable, match=r"one\.jsonl"):
        ledger.lines()


def test_70_a_ledger_that_was_recomputed_differs_from_the_other_file(files):
    note(items=1)
    files[0].unlink()
    files[1].rename(files[1].with_suffix(".kept"))
    note(items=2)
    files[1].unlink()
    files[1].with_suffix(".kept").rename(files[1])

    with pytest.raises(ledger.LedgerUnusable, match="does not say the same"):
        ledger.lines()


def test_71_a_file_that_lacks_the_last_lines_gets_them_with_the_next_one(files):
    note(request="r-1")
    old = files[1].read_bytes()
    note(request="r-2")
    files[1].write_bytes(old)

    note(request="r-3")

    assert [line.request for line in ledger.lines()] == ["r-1", "r-2", "r-3"]
    assert files[0].read_bytes() == files[1].read_bytes()


def test_a_line_that_a_killed_writer_left_unfinished_was_never_written(files):
    note(request="r-1")
    with files[0].open("ab") as file:
        file.write(b'{"seq":2,"ki')

    note(request="r-2")

    assert [line.request for line in ledger.lines()] == ["r-1", "r-2"]
    assert all(json.loads(text) for text in files[0].read_text().splitlines())


def test_18_a_place_that_cannot_be_written_is_told(settings, tmp_path):
    settings.ERASURE_LEDGERS = ["/proc/nowhere/ledger.jsonl"]

    with pytest.raises(ledger.LedgerUnusable, match="Nothing was done"):
        note()
