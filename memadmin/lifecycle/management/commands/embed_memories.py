import json
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memadmin.jobs import queue
from memadmin.jobs.runner import NotFree, run_inline
from memadmin.lifecycle import embedding
from memadmin.llm.endpoints import embedding_endpoint
from memadmin.store import embeddings

LOOKED_AT = 5_000
ACTOR = "command/embed_memories"


class Command(BaseCommand):
    help = "Give every long-term memory a vector of the embedding model that the settings name, for semantic search."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        endpoint = embedding_endpoint()
        if endpoint is None:
            raise CommandError("There is no embedding endpoint. Set EMBEDDING_URL, see docs/settings.md.")
        last: int | None = 0
        while last is not None:
            last = embeddings.ask_again(endpoint.model, after=last, limit=LOOKED_AT)
        waiting = embeddings.waiting().count()
        try:
            run_inline(queue.reserve(embedding.EMBED, requested_by=ACTOR, now=timezone.now()))
        except NotFree:
            raise CommandError("A worker is making them at this moment. Ask again later.") from None
        left = embeddings.waiting().count()
        found = {"waiting": waiting, "embedded": waiting - left}
        words = f"{waiting:,} memories waited for a vector, {waiting - left:,} have one now."
        self.stdout.write(json.dumps(found) if options["json"] else words)
