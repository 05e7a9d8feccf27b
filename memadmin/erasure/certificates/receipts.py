"""How the person, and nobody else, can show that a certificate is about them: a commitment in it, and a receipt that is given out once."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from typing import Any

RECEIPT_BYTES = 16


def new_receipt() -> str:
    """Return a secret of 128 bits, 32 hexadecimal digits. It is shown once and never kept."""
    return secrets.token_hex(RECEIPT_BYTES)


def commitment(receipt: str, user_id: str) -> str:
    """Return what the certificate holds of one id: without the receipt nobody can try out ids against it."""
    return hmac.new(bytes.fromhex(receipt), user_id.encode("utf8", "surrogatepass"), hashlib.sha256).hexdigest()


def is_about(commitments: Any, receipt: str, user_id: str) -> bool:
    """Whether one of the commitments was made for this id with this receipt. What is no receipt or commitment is about nobody."""
    try:
        own = commitment(receipt.strip(), user_id)
    except ValueError:
        return False
    listed = commitments if isinstance(commitments, list) else []
    return any(hmac.compare_digest(own, each) for each in listed if isinstance(each, str) and each.isascii())
