"""How many tokens a text takes in a prompt, without a tokenizer: an estimate that errs upwards for other scripts."""

import re

METHOD = "estimate"

_DENSE = re.compile("[\u0e00-\u0eff\u1100-\u11ff\u2e80-\ua4cf\uac00-\ud7af\uf900-\ufaff\uff00-\uffef\U0001f000-\U0003ffff]")


def estimate(text: str) -> int:
    """Return about one token for four characters, and one for each character of a script without blanks."""
    dense = 0 if text.isascii() else len(_DENSE.findall(text))
    return dense + (len(text) - dense + 3) // 4
