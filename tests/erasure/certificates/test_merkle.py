"""The tree against the definition of RFC 6962, written out as it stands there."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from memadmin.erasure.certificates import merkle


def by_definition(names):
    if not names:
        return hashlib.sha256(b"").digest()
    if len(names) == 1:
        return hashlib.sha256(b"\0" + names[0].encode()).digest()
    split = 1 << ((len(names) - 1).bit_length() - 1)
    return hashlib.sha256(b"\1" + by_definition(names[:split]) + by_definition(names[split:])).digest()


@given(st.lists(st.text(max_size=3), max_size=40))
def test_the_root_is_that_of_the_definition(names):
    assert merkle.root(names) == by_definition(names).hex()


def test_the_root_of_any_number_of_names_holds_one_digest_a_level():
    assert merkle.root(str(number) for number in range(100_000)) == merkle.root(map(str, range(100_000)))
