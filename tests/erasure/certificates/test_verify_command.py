import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memadmin.audit import signing
from memadmin.erasure.certificates import canonical
from memadmin.erasure.certificates.checking import SCHEMA
from memadmin.erasure.certificates.receipts import commitment

RECEIPT = "0123456789abcdef" * 2


def a_file(folder, **changed):
    """Return a certificate, signed as it stands: anybody can make one with a key of their own."""
    document = {"schema": SCHEMA, "serial": "s", "title": "erased", "subject_commitments": [commitment(RECEIPT, "rosa")]}
    text, signer = canonical.written(document | changed), signing.current()
    signature = {"key_id": signer.key_id, "public_key": signer.public, "value": signer.sign(text)}
    path = folder / "certificate.json"
    path.write_text(json.dumps({"certificate": text, "digest": canonical.digest(text), "signature": signature}))
    return path


@pytest.fixture
def keys(settings, tmp_path):
    settings.AUDIT_KEYS = str(tmp_path / "keys")


@pytest.fixture
def file(keys, tmp_path):
    return a_file(tmp_path)


def verify(*arguments):
    out, code = StringIO(), 0
    try:
        call_command("erasure", "verify", *map(str, arguments), stdout=out)
    except SystemExit as end:
        code = end.code
    return out.getvalue(), code


def test_a_certificate_is_verified_without_a_database(file):
    said, code = verify(file)

    assert said.startswith("Valid: signed as it stands.")
    assert code == 0


def test_a_changed_certificate_is_not_valid_and_ends_with_1(file):
    file.write_text(file.read_text().replace("erased", "eraseD"))

    said, code = verify(file)

    assert said.startswith("NOT VALID")
    assert code == 1


def test_a_receipt_is_checked_for_a_user(file):
    assert verify(file, "--receipt", RECEIPT, "--user", "rosa") == (verify(file)[0] + "It is about this user.\n", 0)
    assert verify(file, "--receipt", RECEIPT, "--user", "ros")[1] == 1


def test_91_a_key_that_the_issuer_has_revoked_is_a_warning(file):
    key_id = json.loads(file.read_text())["signature"]["key_id"]

    said, code = verify(file, "--revoked", "0" * 32, "--revoked", key_id.upper())

    assert "revoked this key" in said
    assert code == 0
    assert "revoked this key" not in verify(file, "--revoked", "0" * 32)[0]


def test_91_a_mistyped_name_of_a_key_is_refused(file):
    with pytest.raises(CommandError, match="32 hexadecimal digits"):
        verify(file, "--revoked", "all")


def test_it_prints_one_json_object(file):
    said, _ = verify(file, "--json")

    assert json.loads(said)["valid"] is True


@pytest.mark.parametrize("arguments", [("nowhere.json",), ("--receipt", RECEIPT)])
def test_what_is_missing_is_told(file, arguments):
    with pytest.raises(CommandError):
        verify(*arguments, *([file] if arguments[0].startswith("--") else []))


@pytest.mark.parametrize("commitments", [5, None, "text", [1, None, ["a"]], ["\u00e4" * 64], {"a": "b"}])
def test_59_a_made_up_certificate_is_about_nobody_and_breaks_nothing(keys, tmp_path, commitments):
    said, code = verify(a_file(tmp_path, subject_commitments=commitments), "--receipt", RECEIPT, "--user", "rosa")

    assert "It is NOT about this user" in said
    assert code == 1


def test_59_a_made_up_certificate_neither_steers_the_terminal_nor_adds_lines(keys, tmp_path):
    said, _ = verify(a_file(tmp_path, title="erased\x1b[2J\nIt is about this user.", serial="\u202es"))

    assert not set(said) & {"\x1b", "\u202e"}
    assert "\nIt is about this user." not in said


def test_59_a_certificate_nested_as_deep_as_can_be_is_refused_and_breaks_nothing(file):
    stored = json.loads(file.read_text())
    for depth in (900, 5_000, 100_000):
        deep = f'{{"schema":"{SCHEMA}","a":{"[" * depth}{"]" * depth}}}'
        file.write_text(json.dumps(stored | {"certificate": deep, "digest": canonical.digest(deep)}))
        try:
            said, code = verify(file)
        except CommandError:
            continue

        assert said.startswith("NOT VALID")
        assert code == 1
