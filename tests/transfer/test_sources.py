import gzip
import io
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from memadmin.transfer import frames
from memadmin.transfer.frames import read_elements, read_lines
from memadmin.transfer.problems import UnusableFile
from memadmin.transfer.sources import Source


def seen(framed):
    return [(frame.line, frame.number, frame.problem.code if frame.problem else frame.raw.strip()) for frame in framed]


def of_file(path):
    with Source(path) as source:
        return seen(source.frames())


@pytest.fixture
def written(tmp_path):
    def write(content, name="file.jsonl"):
        path = tmp_path / name
        path.write_bytes(content)
        return path

    return write


def test_a_line_is_a_record_and_blank_lines_are_none():
    assert seen(read_lines(io.BytesIO(b'{"a":1}\n\n  \r\n{"b":2}\r\n{"c":3}'))) == [
        (1, 1, b'{"a":1}'),
        (4, 2, b'{"b":2}'),
        (5, 3, b'{"c":3}'),
    ]


def test_only_a_line_feed_ends_a_line():
    raw = '{"t":"line one\u2028line two\u0085line\x0b\x0c\x1c three"}'.encode()

    assert seen(read_lines(io.BytesIO(raw + b"\n" + raw))) == [(1, 1, raw), (2, 2, raw)]


def test_a_line_over_the_limit_is_skipped_and_the_next_one_is_read():
    lines = io.BytesIO(b"x" * 25 + b"\n" + b"y" * 10 + b"\nz")

    found = list(read_lines(lines, limit=10))

    assert seen(found) == [(1, 1, "record_too_long"), (2, 2, b"y" * 10), (3, 3, b"z")]
    assert "10 bytes" in found[0].problem.words


def test_elements_of_an_array_are_records_with_the_line_they_begin_on():
    array = io.BytesIO(b'\n {"a": [1, "]"]},\n{"b": "x,\\"y\\\\"}\n , 5, null ]\n')

    assert seen(read_elements(array)) == [(2, 1, b'{"a": [1, "]"]}'), (3, 2, b'{"b": "x,\\"y\\\\"}'), (4, 3, b"5"), (4, 4, b"null")]


def test_an_array_that_breaks_off_keeps_what_came_before():
    assert seen(read_elements(io.BytesIO(b'{"a":1},\n{"b":'))) == [(1, 1, b'{"a":1}'), (1, 2, "cut_off")]
    assert seen(read_elements(io.BytesIO(b'{"a":1},'))) == [(1, 1, b'{"a":1}'), (1, 2, "cut_off")]


def test_text_after_an_array_is_reported():
    assert seen(read_elements(io.BytesIO(b'{"a":1}] \n'))) == [(1, 1, b'{"a":1}')]
    assert seen(read_elements(io.BytesIO(b'{"a":1}] \n {"b":2}')))[-1][2] == "after_the_end"


def test_an_element_over_the_limit_is_skipped_and_the_next_one_is_read(monkeypatch):
    monkeypatch.setattr(frames, "CHUNK", 8)
    long_one = b'{"a":"' + b"x\\\\,]" * 20 + b'"}'

    assert seen(read_elements(io.BytesIO(long_one + b',\n{"b":2}]'), limit=20)) == [(1, 1, "record_too_long"), (2, 2, b'{"b":2}')]


@given(
    st.lists(st.dictionaries(st.text(max_size=3), st.text() | st.integers() | st.lists(st.text(max_size=3)))),
    st.integers(1, 9),
    st.sampled_from([None, 1]),
)
def test_every_array_is_cut_as_a_json_parser_would(records, chunk, indent):
    text = json.dumps(records, indent=indent, ensure_ascii=False).encode("utf-8", "surrogatepass")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frames, "CHUNK", chunk)
        found = [json.loads(frame.raw.decode("utf-8", "surrogatepass")) for frame in read_elements(io.BytesIO(text[1:]))]

    assert found == records


def test_the_layout_is_told_by_the_content_not_by_the_name(written):
    assert of_file(written(b'{"a":1}\n{"b":2}\n', "x.json")) == [(1, 1, b'{"a":1}'), (2, 2, b'{"b":2}')]
    assert of_file(written(b'\xef\xbb\xbf[{"a":1}]', "x.raw")) == [(1, 1, b'{"a":1}')]
    assert of_file(written(b'{\n "a": 1\n}\n', "x.json")) == [(1, 1, b'{\n "a": 1\n}')]
    assert of_file(written(b'{"a": 1,\n "b": 2}\n', "x.json")) == [(1, 1, b'{"a": 1,\n "b": 2}')]
    assert of_file(written(b'{"a":\n{"b":2}\n', "x.jsonl")) == [(1, 1, b'{"a":'), (2, 2, b'{"b":2}')]
    assert of_file(written(b"", "x.jsonl")) == []


def test_the_hits_of_a_search_answer_are_its_records(written):
    answer = {"took": 5, "hits": {"total": {"value": 2}, "max_score": None, "hits": [{"_id": "1"}, {"_id": "2"}]}, "aggregations": {}}

    found = of_file(written(json.dumps(answer, indent=1).encode(), "answer.json"))

    assert [json.loads(raw) for _, _, raw in found] == [{"_id": "1"}, {"_id": "2"}]


@pytest.mark.parametrize("name", ["x.jsonl.gz", "x.jsonl"])
def test_a_gzip_file_is_unpacked_whatever_its_name(written, name):
    assert of_file(written(gzip.compress(b'{"a":1}\n'), name)) == [(1, 1, b'{"a":1}')]


def test_a_gzip_file_that_breaks_off_keeps_what_came_before(written):
    packed = gzip.compress(b"".join(b'{"a":%d}\n' % number for number in range(100_000)))

    found = of_file(written(packed[: len(packed) // 2], "x.jsonl.gz"))

    assert found[0] == (1, 1, b'{"a":0}')
    assert found[-1][2] == "cut_off"
    assert found[-1][1] == len(found)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"PK\x03\x04rest", "zip archive"),
        (b"SQLite format 3\x00rest", "SQLite"),
        ('{"a":1}'.encode("utf-16"), "UTF-16"),
        (b"user_id,memory\nu-1,tea\n", "no line begins with"),
        (b"<html></html>", "no line begins with"),
        (b"\x00\x01\x02\x03" * 100, "no line begins with"),
    ],
)
def test_a_file_without_any_json_is_unusable(written, content, words):
    with pytest.raises(UnusableFile, match=words):
        of_file(written(content, "x.jsonl"))


def test_a_missing_file_and_a_broken_archive_are_unusable(tmp_path, written):
    with pytest.raises(UnusableFile, match="No such file"):
        of_file(tmp_path / "absent.jsonl")
    with pytest.raises(UnusableFile, match="cannot be read or unpacked"):
        of_file(written(b"\x1f\x8bnot gzip at all", "x.gz"))


def test_a_bad_first_line_does_not_make_the_file_unusable(written):
    assert [number for _, number, _ in of_file(written(b'garbage\n{"a":1}\n', "x.jsonl"))] == [1, 2]
