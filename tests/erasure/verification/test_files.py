"""Bytes on disk are looked through; what goes meanwhile holds nobody, and what may not be read is no silence."""

import os
from pathlib import Path

import pytest

from memadmin.erasure.verification import files
from memadmin.erasure.verification.files import count_in, files_with


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "below").mkdir()
    for path, says in (("one", b"of ann"), ("two", b"of bob"), ("below/three", b"ann again")):
        (tmp_path / path).write_bytes(says)
    return tmp_path


def names(folder, needles=(b"ann",)):
    return [path.name for path in files_with([folder], needles)]


def test_files_are_found_by_their_bytes_in_folders_below_too(folder):
    assert names(folder) == ["three", "one"]


@pytest.mark.parametrize("chunk", [6, 7, 11, 64])
def test_each_place_is_counted_once_however_the_file_is_read(tmp_path, monkeypatch, chunk):
    monkeypatch.setattr(files, "CHUNK", chunk)
    (tmp_path / "one").write_bytes(b"ann annika ann, and ann-annika")

    assert count_in(tmp_path / "one", [b"ann", b"annika", b""]) == 5 + 2
    assert count_in(tmp_path / "one", [b"a"]) == 8


def test_a_folder_that_is_not_there_holds_nothing(folder):
    assert names(folder / "gone") == []


def test_a_file_that_goes_before_it_is_read_is_not_there(folder, monkeypatch):
    real = Path.open

    def gone(path, *args, **named):
        if path.name == "one":
            path.unlink()
        return real(path, *args, **named)

    monkeypatch.setattr(Path, "open", gone)

    assert names(folder) == ["three"]


def test_a_folder_that_may_not_be_read_raises(folder, monkeypatch):
    real = os.scandir

    def closed(path):
        if str(path).endswith("below"):
            raise PermissionError(path)
        return real(path)

    monkeypatch.setattr(os, "scandir", closed)

    with pytest.raises(PermissionError):
        names(folder)
