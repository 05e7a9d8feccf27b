"""All open cases, imported once for the tests of a module: each into a container of its own, named by its number."""

import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from pytest_django.plugin import DjangoDbBlocker

from memadmin.store.models import Container, Session, Subject
from tests.cases.expanding import Case, between_neighbours, cases_in, content_of
from tests.people import editor, support
from tests.transfer.running import Run, export_memories, import_memories

NOT_OF_ONE_FILE = {2, 15}  # a search; a whole data set
FOREIGN = {46, 47, 48, 49}


@dataclass
class Trial:
    """A case that has been imported between two healthy records."""

    name: str
    case: Case
    sent: bytes
    run: Run
    report: list[dict[str, Any]]
    folder: Path

    @property
    def container(self) -> Container:
        return Container.objects.get(name=self.name)

    def subject(self, user_id: str | None) -> Subject:
        return Subject.objects.select_related("container").get(container__name=self.name, user_id=user_id)

    def session(self, user_id: str | None, external_id: str) -> Session:
        return Session.objects.get(subject=self.subject(user_id), external_id=external_id)

    @cached_property
    def export(self) -> bytes:
        path = self.folder / "export.jsonl"
        export_memories(path, "--container", self.name)
        return path.read_bytes()

    @property
    def exported(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.export.splitlines()]


@pytest.fixture(scope="module")
def trials(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory, django_db_setup: None, django_db_blocker: DjangoDbBlocker
) -> Iterator[dict[int, Trial]]:
    cases = {number: case for number, case in cases_in(shared_data).items() if number not in NOT_OF_ONE_FILE | FOREIGN}
    with django_db_blocker.unblock(), transaction.atomic():
        yield {number: _try(case, tmp_path_factory.mktemp(case["id"])) for number, case in cases.items()}
        transaction.set_rollback(True)


@pytest.fixture
def trial(trials: dict[int, Trial], db: None) -> Callable[[int], Trial]:
    """Return the trial of a number. What a test changes is undone after it."""
    return trials.__getitem__


@pytest.fixture
def reader(db: None) -> Client:
    """A browser in which somebody of support has signed in."""
    return support()


@pytest.fixture
def boss(db: None) -> Client:
    """A browser in which a policy editor has signed in."""
    return editor()


def _try(case: Case, folder: Path) -> Trial:
    sent = content_of(case)
    (folder / "case.jsonl").write_bytes(between_neighbours(sent))
    run = import_memories("jsonl", folder / "case.jsonl", "--report", folder / "report.jsonl", container=case["id"])
    report = [json.loads(line) for line in (folder / "report.jsonl").read_text().splitlines()]
    return Trial(name=case["id"], case=case, sent=sent, run=run, report=report, folder=folder)
