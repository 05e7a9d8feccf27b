from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from django.core.exceptions import ImproperlyConfigured

from memadmin.secret_key import kept_secret_key


def test_the_key_is_made_once_and_kept_private(tmp_path: Path):
    path = tmp_path / "secret_key"

    first, second = kept_secret_key(path), kept_secret_key(path)

    assert first == second
    assert len(first) >= 50
    assert path.stat().st_mode & 0o777 == 0o600


def test_starts_at_the_same_moment_agree_on_one_key(tmp_path: Path):
    with ThreadPoolExecutor(8) as pool:
        keys = set(pool.map(kept_secret_key, [tmp_path / "secret_key"] * 32))

    assert len(keys) == 1
    assert [file.name for file in tmp_path.iterdir()] == ["secret_key"]


def test_an_emptied_key_file_stops_the_start(tmp_path: Path):
    (tmp_path / "secret_key").write_text("")

    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY .*delete the file"):
        kept_secret_key(tmp_path / "secret_key")


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path):
    with pytest.raises(ImproperlyConfigured, match=r"^SECRET_KEY .*nowhere"):
        kept_secret_key(tmp_path / "nowhere" / "secret_key")
