"""Verifying a certificate from its file alone: no database, no network, no settings."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

from memadmin.audit.signing import key_id_of, verifies
from memadmin.erasure.certificates import canonical
from memadmin.erasure.certificates.receipts import is_about

SCHEMA = "memadmin.erasure.certificate.v1"
LARGEST = 16 * 1024 * 1024  # bytes of a file
SIGNATURE = ("key_id", "public_key", "value")


class NotACertificate(Exception):
    """The file is no certificate of ours, or is damaged beyond reading."""


@dataclass(frozen=True, slots=True)
class Checked:
    """`faults` is empty for a certificate that is whole and signed by the key that it names. `warnings` are what a reader should know."""

    document: dict[str, Any]
    digest: str
    key_id: str
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)


def check(content: bytes, *, public_key: str | None = None, revoked: frozenset[str] = frozenset()) -> Checked:
    """Check a certificate file against the key in it, or against one that the reader got another way. Raises NotACertificate."""
    stored = _read(content)
    text, signed = stored["certificate"], stored["signature"]
    document = _document(text)
    key = (public_key or signed["public_key"]).strip().lower()
    found = canonical.digest(text) if text.isascii() else ""
    faults = [*_text_faults(document, text), *_form_faults(stored), *_signature_faults(text, signed, key)]
    if stored.get("digest") != found:
        faults.append("The digest beside the certificate is not that of its text.")
    warnings = [] if public_key else ["The key came with the file: compare its name with the one that the issuer publishes."]
    if signed.get("key_id") in revoked:
        warnings.append("The issuer has revoked this key: ask for a new certificate.")
    return Checked(document, found, str(signed.get("key_id")), faults, warnings)


def is_for(checked: Checked, *, receipt: str, user_id: str) -> bool:
    """Whether the certificate is about the user with this id, shown by the receipt that was given to them."""
    return is_about(checked.document.get("subject_commitments"), receipt, user_id)


def _read(content: bytes) -> dict[str, Any]:
    if len(content) > LARGEST:
        raise NotACertificate(f"The file has {len(content)} bytes; a certificate has at most {LARGEST}.")
    try:
        stored = json.loads(content, object_pairs_hook=_each_name_once)
    except (ValueError, RecursionError) as problem:
        raise NotACertificate("The file is not JSON that names each thing once.") from problem
    if not isinstance(stored, dict) or not isinstance(stored.get("certificate"), str) or not isinstance(stored.get("signature"), dict):
        raise NotACertificate("The file holds no certificate and signature.")
    if not all(isinstance(stored["signature"].get(name), str) for name in SIGNATURE):
        raise NotACertificate("The file's signature is not complete.")
    return stored


def _each_name_once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Of a name given twice one reader shows the first value, and another one verifies the last. Raises ValueError."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a name twice")
    return found


def _document(text: str) -> dict[str, Any]:
    try:
        document = json.loads(text)
    except (ValueError, RecursionError) as problem:
        raise NotACertificate("The text of the certificate is not JSON.") from problem
    if not isinstance(document, dict) or document.get("schema") != SCHEMA:
        raise NotACertificate(f"This is not a certificate of the form {SCHEMA}.")
    return document


def _text_faults(document: dict[str, Any], text: str) -> list[str]:
    try:
        return [] if canonical.written(document) == text else ["The text is not in its canonical form: it was changed."]
    except (canonical.NotCanonical, ValueError, RecursionError) as problem:
        return [f"The text is not in its canonical form: {problem}."]


def _form_faults(stored: dict[str, Any]) -> list[str]:
    """What stands beside the text is not signed, so there is nothing else there, and it is written in one way."""
    names, signed = {"certificate", "digest", "signature"}, stored["signature"]
    if set(stored) == names and set(signed) == set(SIGNATURE) and all(signed[name] == signed[name].strip().lower() for name in SIGNATURE):
        return []
    return ["What stands around the certificate is not in its form: it was changed."]


def _signature_faults(text: str, signed: dict[str, Any], public_key: str) -> list[str]:
    try:
        named = key_id_of(public_key)
    except ValueError:
        return ["The key is not one: 64 hexadecimal digits are needed."]
    if named != signed["key_id"]:
        return [f"The certificate was signed with key {signed['key_id']}, not with {named}."]
    return [] if verifies(public_key, text, signed["value"]) else ["The signature is not of this text and key: it was changed or made up."]
