"""Files that a killed import or export has left are found; those of one that ends this very moment hold nobody up."""

import tempfile
from pathlib import Path

import pytest

from memadmin.store.locations import Unreachable
from memadmin.transfer.locations import left_behind, remove


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    for name in ("memadmin-import-a", "memadmin-export-b"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "memories.jsonl").write_text("{}")
    return tmp_path


def found():
    return [Path(item.key).parent.name for item in left_behind(None, None, 100).found]


def going(monkeypatch, method, name, error):
    """Let a folder or file be gone, or closed, when it is looked at; it was there a moment before."""
    real = getattr(Path, method)

    def looked_at(path, *args, **named):
        if name in path.as_posix():
            raise error(path)
        return real(path, *args, **named)

    monkeypatch.setattr(Path, method, looked_at)


def test_files_of_killed_imports_and_exports_are_found():
    assert found() == ["memadmin-export-b", "memadmin-import-a"]


@pytest.mark.parametrize("method", ["iterdir", "stat"])
def test_what_goes_while_it_is_looked_at_is_not_there_and_the_rest_is_found(monkeypatch, method):
    going(monkeypatch, method, "memadmin-export-b", FileNotFoundError)

    assert found() == ["memadmin-import-a"]


def test_a_folder_that_may_not_be_read_is_told_as_not_asked(monkeypatch):
    going(monkeypatch, "iterdir", "memadmin-export-b", PermissionError)

    with pytest.raises(Unreachable):
        found()


def test_files_are_removed_and_those_that_have_gone_are_not_counted(folder):
    there = folder / "memadmin-import-a" / "memories.jsonl"

    assert remove([str(there), str(folder / "gone")]) == 1
    assert not there.exists()
