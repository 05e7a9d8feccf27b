"""A process of its own beside `bench.erasure`: agents that write, some for the person who is being erased, most for others.

python -m bench.erasure_writers TOKEN: says when it is ready, writes until it is told to stop, then tells how long each request took.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from collections import Counter
from random import Random
from typing import Any

from django.db import connections
from django.test import Client

import bench.erasure_setup  # noqa: F401  # sets Django up
from bench import store_person
from memadmin.store.models import Container, Subject

AT_ONCE = 4  # agents
EVERY = 5  # each so many requests one is for the person
PAUSE = 0.02  # seconds between two requests of an agent: they write, they do not fill the machine


class Agents:
    def __init__(self, secret: str) -> None:
        self._secret, self._stop = secret, threading.Event()
        self._path = f"/api/v1/containers/{Container.objects.get().uid}/memories"
        self._person = Subject.objects.get(pk=store_person.PERSON).user_id
        self._others = list(Subject.objects.exclude(pk=store_person.PERSON).order_by("pk").values_list("user_id", flat=True)[:500])
        self.milliseconds: list[float] = []
        self.answers: Counter[str] = Counter()

    def stop(self) -> None:
        self._stop.set()

    def work(self, number: int) -> None:
        dice, client, turn = Random(number), Client(SERVER_NAME="localhost"), 0
        while not self._stop.is_set():
            turn += 1
            if turn % EVERY == 0:
                self.answers[f"person {self._write(client, self._person)}"] += 1
                continue
            began = time.perf_counter()
            status = self._write(client, dice.choice(self._others))
            self.milliseconds.append(1000 * (time.perf_counter() - began))
            self.answers[f"others {status}"] += 1
            time.sleep(PAUSE)
        connections.close_all()

    def _write(self, client: Client, user_id: str | None) -> int:
        body = json.dumps({"text": f"written at {time.time_ns()}", "user_id": user_id})
        headers = {"Authorization": f"Bearer {self._secret}"}
        return client.post(self._path, body, content_type="application/json", headers=headers, secure=True).status_code


def main() -> None:
    agents = Agents(sys.argv[1])
    threads = [threading.Thread(target=agents.work, args=(number,)) for number in range(AT_ONCE)]
    print("ready", flush=True)
    sys.stdin.readline()
    for thread in threads:
        thread.start()
    sys.stdin.readline()
    agents.stop()
    for thread in threads:
        thread.join()
    answer: dict[str, Any] = {"milliseconds": agents.milliseconds, "answers": dict(agents.answers)}
    print(json.dumps(answer), flush=True)


if __name__ == "__main__":
    main()
