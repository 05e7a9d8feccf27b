import json
from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from memadmin.audit import signing
from memadmin.erasure.certificates import canonical
from memadmin.erasure.certificates.checking import SCHEMA
from memadmin.erasure.certificates.receipts import commitment

RECEIPT = "0123456789abcdef" * 2


@pytest.fixture
def file(settings, tmp_path):
    settings.AUDIT_KEYS = str(tmp_path / "keys")
    document = {"schema": SCHEMA, "serial": "s", "title": "erased", "subject_commitments": [commitment(RECEIPT, "rosa")]}
    text, signer = canonical.written(document), signing.current()
    signature = {"key_id": signer.key_id, "public_key": signer.public, "value": signer.sign(text)}
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps({"certificate": text, "digest": canonical.digest(text), "signature": signature}))
    return path


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


def test_it_prints_one_json_object(file):
    said, _ = verify(file, "--json")

    assert json.loads(said)["valid"] is True


@pytest.mark.parametrize("arguments", [("nowhere.json",), ("--receipt", RECEIPT)])
def test_what_is_missing_is_told(file, arguments):
    with pytest.raises(CommandError):
        verify(*arguments, *([file] if arguments[0].startswith("--") else []))
