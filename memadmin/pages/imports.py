"""An import from the browser, for files that a person has at hand; larger ones go through the command."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.core.files.uploadedfile import UploadedFile
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from memadmin.access.actors import actor_of
from memadmin.access.models import Person
from memadmin.access.visibility import visible_containers
from memadmin.pages.decorators import may
from memadmin.pages.htmx import PersonRequest
from memadmin.pages.showing import show_result
from memadmin.pages.text import file_size
from memadmin.plurals import counted
from memadmin.store.identity import MAX_ID_LENGTH
from memadmin.transfer.formats import READERS
from memadmin.transfer.importing import Importer
from memadmin.transfer.problems import UnusableFile
from memadmin.transfer.report import Report
from memadmin.transfer.scratch import Scratch
from memadmin.transfer.sources import Source
from memadmin.transfer.targets import Target, find_by_name

LARGEST = 100_000_000  # bytes
FORMATS = {
    "jsonl": "JSON Lines, our own export among them",
    "messages": "Conversations, one message a line",
    "opensearch": "OpenSearch agentic memory: documents or a search answer",
}


class ImportForm(forms.Form):
    file = forms.FileField(error_messages={"required": "Choose a file.", "empty": "This file is empty."})
    format = forms.ChoiceField(choices=FORMATS.items())
    container = forms.CharField(max_length=MAX_ID_LENGTH, strip=False, help_text="the name; a container that is not there yet is made")

    def __init__(self, *args: Any, person: Person, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self._person = person

    def clean_file(self) -> UploadedFile[bytes]:
        file: UploadedFile[bytes] = self.cleaned_data["file"]
        if (file.size or 0) > LARGEST:
            most = f"A page takes files up to {file_size(LARGEST)}."
            raise forms.ValidationError(f"{most} Import this one with python3 manage.py import_memories, or pack it with gzip.")
        return file

    def clean_container(self) -> str:
        """Refuse what lies outside of the person's containers in the words for what is not there."""
        name: str = self.cleaned_data["container"]
        try:
            there = find_by_name(name)
        except UnusableFile as error:
            raise forms.ValidationError(str(error)) from None
        if not self._person.all_containers and (there is None or not visible_containers(self._person).filter(pk=there.pk).exists()):
            raise forms.ValidationError("There is no container of this name among those that you see, and you cannot make one.")
        return name


@require_safe
@may("import.make")
def import_new(request: PersonRequest) -> HttpResponse:
    return render(request, "imports/new.html", {"form": ImportForm(person=request.user), "largest": file_size(LARGEST)})


@require_POST
@may("import.make")
def import_run(request: PersonRequest) -> HttpResponse:
    form = ImportForm(request.POST, request.FILES, person=request.user)
    if form.is_valid():
        data, report = form.cleaned_data, Report(None)
        try:
            target = Target(data["container"], actor=actor_of(request.user), now=timezone.now())
            _import(data["file"], READERS[data["format"]], target, report)
        except UnusableFile as error:
            form.add_error("file", str(error))
        else:
            said, back = _said(report, target), ("Import memories", reverse("pages:import-new"))
            read = said["summary"]["records"]
            heading = f"{counted(read, 'record')} read"
            return show_result(request, "imports/_done.html", said, heading=heading, back=back)
    return render(request, "imports/new.html", {"form": form, "largest": file_size(LARGEST)}, status=422)


def _import(file: UploadedFile[bytes], reader: Any, target: Target, report: Report) -> None:
    """Store what the file holds. It is written down under a name of ours: theirs may lead anywhere."""
    packed = ".gz" if (file.name or "").endswith(".gz") else ""
    with tempfile.TemporaryDirectory(prefix="memadmin-import-") as folder:
        path = Path(folder) / f"upload.jsonl{packed}"
        with path.open("wb") as copy:
            for chunk in file.chunks():
                copy.write(chunk)
        with report, Source(path) as source, Scratch() as scratch:
            Importer(target, report=report).run(source, reader(target, scratch))


def _said(report: Report, target: Target) -> dict[str, Any]:
    summary = report.summary()
    kinds = [
        (kind.replace("_", "-"), summary["new"][kind], summary["unchanged"][kind], summary["changed"][kind]) for kind in summary["new"]
    ]
    containers = list(target.used.values())
    noted = [(code.replace("_", " "), number) for code, number in summary["noted"].items()]
    said = {"summary": summary, "kinds": kinds, "set_aside": sum(summary["set_aside"].values()), "containers": containers}
    return {**said, "problems": report.first_problems, "noted": noted, "drafts": target.drafts}
