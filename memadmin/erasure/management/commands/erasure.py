"""`erasure`: the compliance workflow from a shell. Each verb is the same as on the pages."""

from __future__ import annotations

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from memadmin.erasure import shell, terminal
from memadmin.erasure.certificates.checking import LARGEST, Checked, NotACertificate, check, is_for
from memadmin.erasure.drills import reporting

_KEY = re.compile("[0-9a-f]{32}")


class Command(BaseCommand):
    help = (
        "Erase what agents remember about a person: take in a request, show, search, freeze, approve, run it; verify a certificate; drill."
    )
    requires_system_checks: list[str] = []  # a certificate is verified anywhere, without a database

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        verbs = parser.add_subparsers(dest="verb", required=True)
        verify = verbs.add_parser("verify", help="check the file of a certificate; needs neither database nor network")
        verify.add_argument("file", type=Path)
        verify.add_argument("--pubkey", help="the issuer's public key, 64 hexadecimal digits, from somewhere else than the file")
        verify.add_argument("--revoked", action="append", default=[], metavar="KEY", help="the name of a key that the issuer has revoked")
        verify.add_argument("--receipt", help="the person's receipt: is the certificate about --user?")
        verify.add_argument("--user", help="the id by which the agent knew the person")
        verify.add_argument("--json", action="store_true", help="print one JSON object")

        shell.add_verbs(verbs)
        terminal.add_verbs(verbs)

    def handle(self, *args: Any, **options: Any) -> None:
        if options["verb"] == "verify":
            self._verify(options)
            return
        if options["verb"] in terminal.HELP:
            self._act(options)
            return
        verbs: dict[str, Callable[[dict[str, Any]], dict[str, Any]]] = {
            "open": shell.open_request,
            "show": shell.show,
            "approve": shell.approve,
        }
        done = verbs[options["verb"]](options)
        rows = done.get("requests", [done])
        text = "\n".join(shell.line_of(each) for each in rows) or "No request is open."
        self.stdout.write(json.dumps(done) if options["json"] else text)

    def _act(self, options: dict[str, Any]) -> None:
        done = terminal.act(options, err=self.stderr)  # type: ignore[arg-type]
        lines = reporting.lines_of(done) if options["verb"] == "drill" else [shell.line_of(done), *terminal.lines_of(done)]
        self.stdout.write(json.dumps(done) if options["json"] else "\n".join(lines))
        if not done["ok"]:
            raise SystemExit(1)

    def _verify(self, options: dict[str, Any]) -> None:
        if bool(options["receipt"]) != (options["user"] is not None):
            raise CommandError("Give --receipt and --user together: one says nothing without the other.")
        try:
            checked = check(_content(options["file"]), public_key=options["pubkey"], revoked=_names(options["revoked"]))
        except (OSError, NotACertificate) as problem:
            raise CommandError(f"{options['file']}: {problem}") from problem
        about = is_for(checked, receipt=options["receipt"], user_id=options["user"]) if options["receipt"] else None
        self.stdout.write(json.dumps(_as_json(checked, about)) if options["json"] else "\n".join(_as_lines(checked, about)))
        if checked.faults or about is False:
            raise SystemExit(1)


def _names(given: list[str]) -> frozenset[str]:
    """Return the names of keys as certificates write them. Raises CommandError: one mistyped would warn of nothing."""
    names = frozenset(each.strip().lower() for each in given)
    if wrong := sorted(each for each in names if not _KEY.fullmatch(each)):
        raise CommandError(f"{wrong[0]!r} is no name of a key: it has 32 hexadecimal digits, and stands on the certificate.")
    return names


def _content(path: Path) -> bytes:
    with path.open("rb") as file:
        return file.read(LARGEST + 1)


def _as_json(checked: Checked, about: bool | None) -> dict[str, Any]:
    return {
        "valid": not checked.faults,
        "digest": checked.digest,
        "key_id": checked.key_id,
        "about_the_user": about,
        "faults": checked.faults,
        "warnings": checked.warnings,
        "certificate": checked.document,
    }


def _as_lines(checked: Checked, about: bool | None) -> list[str]:
    document = checked.document
    lines = [
        "NOT VALID" if checked.faults else "Valid: signed as it stands.",
        *checked.faults,
        *(f"Note: {each}" for each in checked.warnings),
    ]
    lines += [f"Certificate {document.get('serial')}: {document.get('title')}", f"SHA-256 {checked.digest}, key {checked.key_id}"]
    lines = [_on_one_line(each) for each in lines]
    if about is not None:
        lines.append("It is about this user." if about else "It is NOT about this user, or the receipt is another one's.")
    return lines


def _on_one_line(text: str) -> str:
    """Whoever made the file chose some of its words: they neither steer the terminal nor make lines of their own."""
    return "".join(char if char.isprintable() else ascii(char)[1:-1] for char in text)
