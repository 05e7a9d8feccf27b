"""What a PDF of ours shows."""

import base64
import re
import zlib


def words_on_pages(pdf: bytes) -> list[str]:
    """Return by page what is drawn on it: as the operators of the page, in which each word stands as it is."""
    packed = re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL)
    return [zlib.decompress(base64.a85decode(each.strip().removesuffix(b"~>"))).decode("latin-1") for each in packed]
