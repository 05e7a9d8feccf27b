"""What a drill looks at for itself, beside the verification: the neighbour's rows, the raw bytes, and the certificate."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

from django.conf import settings
from django.db import connection

from memadmin.erasure.certificates.checking import check
from memadmin.erasure.certificates.issuing import file_of
from memadmin.erasure.drills import guarding
from memadmin.erasure.drills.names import canary_of, neighbour_of, person_of
from memadmin.erasure.models import Drill, ErasureRequest, Level
from memadmin.erasure.verification.probes import Probes
from memadmin.erasure.verification.schema import tables
from memadmin.erasure.verification.statistics import found_in_statistics
from memadmin.store.models import Subject

CHUNK = 4 * 1024 * 1024


def neighbour_digest(drill: Drill) -> str:
    """Return a digest of every row of the neighbour, in every table that has one."""
    neighbour = Subject.objects.get(container_id=guarding.container_of(drill), user_id=neighbour_of(drill))
    digest = hashlib.sha256()
    for table in sorted(tables(), key=lambda table: table.name):
        own = "id" if table.name == "store_subject" else "subject_id"
        if own not in {column.name for column in table.columns} | set(table.key):
            continue
        quoted = connection.ops.quote_name(table.name)
        with connection.cursor() as cursor:
            cursor.execute(f"SELECT * FROM {quoted} WHERE {own} = %s ORDER BY 1", [neighbour.pk])
            for row in cursor.fetchall():
                digest.update(repr([table.name, *(bytes(each) if isinstance(each, memoryview) else each for each in row)]).encode())
    return digest.hexdigest()


def traces(drill: Drill) -> int:
    """Return how often the made-up id and word stand in the bytes of SQLite's files; on PostgreSQL, in how many rows and statistics."""
    words = (person_of(drill), canary_of(drill))
    if connection.vendor != "sqlite":
        return _rows_with(words) + sum(found_in_statistics(Probes(identifiers=words)).values())
    path = str(settings.DATABASES["default"]["NAME"])
    pattern = re.compile(b"|".join(rb"(?<![0-9a-z])" + word.encode() + rb"(?![0-9a-z])" for word in words))  # not the neighbour's
    return sum(_count(Path(f"{path}{end}"), pattern) for end in ("", "-wal"))


def _rows_with(words: tuple[str, ...]) -> int:
    """Return in how many rows of all tables the words stand, read as text, whatever the columns are."""
    found = 0
    with connection.cursor() as cursor:
        for table in tables():
            cursor.execute(
                f"SELECT COUNT(*) FROM {connection.ops.quote_name(table.name)} AS t WHERE t::text LIKE ANY(%s) AND t::text ~ %s",
                [[f"%{word}%" for word in words], f"(^|[^0-9a-z])({'|'.join(words)})([^0-9a-z]|$)"],  # not the neighbour's
            )
            found += cursor.fetchone()[0]
    return found


def _count(path: Path, pattern: re.Pattern[bytes]) -> int:
    return sum(1 for _ in _hits(path, pattern)) if path.exists() else 0


def _hits(path: Path, pattern: re.Pattern[bytes]) -> Iterator[int]:
    """Yield where the pattern is found, reading in pieces that overlap by more than it is long."""
    overlap, at, last = 64, 0, -1
    with path.open("rb") as file:
        while True:
            file.seek(at)
            chunk = file.read(CHUNK + overlap)
            for hit in pattern.finditer(chunk):
                if at + hit.start() > last:
                    last = at + hit.start()
                    yield last
            if len(chunk) < CHUNK + overlap:
                return
            at += CHUNK


def certificate_faults(request: ErasureRequest) -> list[str]:
    """Return codes of what is wrong with the certificate of a drill's request."""
    certificate = request.certificates.order_by("-pk").first()
    if certificate is None:
        return ["no_certificate"]
    faults = ["certificate_not_valid"] if check(file_of(certificate)).faults else []
    return faults if certificate.level == Level.DRILL else [*faults, "certificate_not_marked"]
