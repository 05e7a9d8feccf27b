"""Replay policies over past recalls: how many would have been lost, for a grid of weights, half-lives and caps."""

import json
from argparse import ArgumentTypeError
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.utils import timezone

from memadmin.lifecycle.backtesting import Backtest, Window, backtest, varied
from memadmin.store import policies
from memadmin.store.models import Container, PolicyVersion
from retention.backtest import Loss
from retention.policy import InvalidPolicy, parse_policy, to_document
from retention.rules import RetentionPolicy

MOST_VARIANTS = 500
LONGEST_FILE = 1_000_000
Parse = Callable[[str], Any]


class Command(BaseCommand):
    help = (
        "Replay a policy over the recalls of the last days and say how many recalled memories it would have lost before the recall. "
        "Lists with commas make a grid of variants. Reads only. Exit code 0: done; 1: refused, with the reason."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--container", metavar="NAME", required=True)
        which = parser.add_mutually_exclusive_group()
        which.add_argument("--version-number", type=int, metavar="NUMBER", help="this version of the policy, a draft for example")
        which.add_argument("--policy", metavar="FILE", help="a policy as JSON; otherwise the one in force")
        parser.add_argument("--days", type=int, default=30, help="how far back, 1 to 3650; default 30")
        parser.add_argument("--until", type=_moment, metavar="ISO", help="the end of that time (UTC unless it names a zone); default: now")
        parser.add_argument("--half-life-days", type=_numbers(float), metavar="A,B,…", help="days until recency halves")
        parser.add_argument("--weights", type=_weights, metavar="R/F/I,…", help="of recency, frequency and importance, as 0.4/0.2/0.4")
        parser.add_argument("--max-records", type=_numbers(int), metavar="A,B,…", help="memories that a user keeps; none: no cap")
        parser.add_argument("--max-tokens", type=_numbers(int), metavar="A,B,…", help="tokens that a user keeps; none: no cap")
        parser.add_argument("--ttl-days", type=_numbers(int), metavar="A,B,…", help="days that a memory lives; none: no limit")
        parser.add_argument("--json", action="store_true", help="print one JSON object")

    def handle(self, *args: Any, **options: Any) -> None:
        until = options["until"] or timezone.now()
        if not 1 <= options["days"] <= 3_650:
            raise CommandError(f"--days is a number from 1 to 3650, not {options['days']}.")
        container = _container(options["container"])
        variants = dict(_grid(_policy(container, options), options))
        found = backtest(container, variants, window=Window(until - timedelta(days=options["days"]), until))
        if options["json"]:
            self.stdout.write(json.dumps(_as_json(container, found, variants)))
            return
        for line in _lines(found):
            self.stdout.write(line)


def _container(name: str) -> Container:
    found = list(Container.objects.standing().filter(name=name)[:2])
    if len(found) == 1:
        return found[0]
    known = ", ".join(Container.objects.by_name().values_list("name", flat=True)[:20]) or "none yet"
    raise CommandError(f"There {'are several containers' if found else 'is no container'} named {name!r}. Containers: {known}.")


def _policy(container: Container, options: Mapping[str, Any]) -> RetentionPolicy:
    if options["policy"] is not None:
        return _in_file(Path(options["policy"]))
    number = options["version_number"]
    version = policies.published(container) if number is None else PolicyVersion.objects.filter(container=container, number=number).first()
    if version is None:
        missing = "no policy in force" if number is None else f"no policy version {number}"
        raise CommandError(f"{container.name} has {missing}. Name a version with --version-number, or a file with --policy.")
    policy = policies.readable(version)
    if policy is None:
        raise CommandError(f"Version {version.number} of the policy cannot be read.")
    return policy


def _in_file(path: Path) -> RetentionPolicy:
    try:
        with path.open(encoding="utf8") as file:
            document = json.loads(file.read(LONGEST_FILE))
        if not isinstance(document, dict):
            raise CommandError(f'{path}: a policy is a JSON object such as {{"relevance": {{"max_records": 500}}}}.')
        return parse_policy(document)
    except OSError as error:
        raise CommandError(f"{path} cannot be read: {error.strerror}.") from None
    except InvalidPolicy as error:
        raise CommandError(f"{path}: {error}") from None
    except (ValueError, RecursionError) as error:
        raise CommandError(f"{path} is not JSON in UTF-8: {error}.") from None


def _grid(policy: RetentionPolicy, options: Mapping[str, Any]) -> Iterator[tuple[str, RetentionPolicy]]:
    """Yield the policy as it is, then each combination of what the options list, by its name."""
    yield "as it is", policy
    said = {name: options[name] for name in ("half_life_days", "weights", "max_records", "max_tokens", "ttl_days") if options[name]}
    if not said:
        return
    combinations = list(product(*said.values()))
    if len(combinations) > MOST_VARIANTS:
        raise CommandError(f"These lists make {len(combinations):,} variants; at most {MOST_VARIANTS} are replayed. Shorten them.")
    for values in combinations:
        changes = dict(zip(said, values, strict=True))
        yield ", ".join(f"{name} {_shown(value)}" for name, value in changes.items()), _checked(policy, changes)


def _checked(policy: RetentionPolicy, changes: dict[str, Any]) -> RetentionPolicy:
    values = {name: value for name, value in changes.items() if name not in {"half_life_days", "weights"}}
    document: dict[str, Any] = dict(to_document(varied(policy, **values)))
    if "half_life_days" in changes:
        document["relevance"]["half_life_hours"] = 24 * changes["half_life_days"]
    if "weights" in changes:
        document["relevance"]["weights"] = dict(zip(("recency", "frequency", "importance"), changes["weights"], strict=True))
    try:
        return parse_policy(document)
    except InvalidPolicy as error:
        raise CommandError(f"{', '.join(f'{name} {_shown(value)}' for name, value in changes.items())}: {error}") from None


def _shown(value: Any) -> str:
    return "none" if value is None else "/".join(f"{each:g}" for each in value) if isinstance(value, tuple) else f"{value:g}"


def _numbers(kind: type[int] | type[float]) -> Parse:
    def parse(text: str) -> list[int | float | None]:
        try:
            return [None if part.strip() == "none" and kind is int else kind(part) for part in text.split(",")]
        except ValueError:
            raise ArgumentTypeError(f"{text!r} is no list of numbers such as 100,500") from None

    return parse


def _moment(text: str) -> datetime:
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise ArgumentTypeError(f"{text!r} is no time such as 2026-03-01 or 2026-03-01T12:00:00+00:00") from None
    moment = moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    if not 1990 <= moment.year <= 2200:
        raise ArgumentTypeError(f"{text!r} is not between the years 1990 and 2200")
    return moment


def _weights(text: str) -> list[tuple[float, ...]]:
    try:
        found = [tuple(float(number) for number in part.split("/")) for part in text.split(",")]
    except ValueError:
        found = []
    if not found or any(len(each) != 3 for each in found):
        raise ArgumentTypeError(f"{text!r} is no list of weights such as 0.4/0.2/0.4,0.5/0.1/0.4")
    return found


def _lines(found: Backtest) -> Iterator[str]:
    replayed = found.recorded - found.gone
    since, until = (f"{moment.astimezone(UTC):%Y-%m-%d %H:%M}" for moment in (found.window.since, found.window.until))
    yield f"{found.recorded:,} recalls of {found.users:,} users' memories from {since} to {until} UTC."
    yield f"Of {found.gone:,} the memory is not stored any more, so nobody can say; {replayed:,} were replayed."
    for limit in found.not_replayed:
        yield f"Not replayed: {limit}, which needs every user's memories at once."
    width = max(len(name) for name in found.losses)
    yield f"{'policy':{width}}  {'lost':>9}  {'share':>7}  {'memories':>9}  {'users':>7}  {'kept':>11}  {'tokens kept':>13}"
    for name, loss in found.losses.items():
        numbers = f"{loss.lost:>9,}  {_share(loss):>7}  {loss.memories:>9,}  {loss.users:>7,}  {loss.records:>11,}  {loss.tokens:>13,}"
        yield f"{name:{width}}  {numbers}"


def _share(loss: Loss) -> str:
    return "-" if not loss.recalls else f"{100 * loss.lost / loss.recalls:.1f} %"


def _as_json(container: Container, found: Backtest, variants: Mapping[str, RetentionPolicy]) -> dict[str, Any]:
    since, until = found.window.since, found.window.until
    return {
        "container": container.name,
        "since": _iso(since),
        "until": _iso(until),
        "recalls": found.recorded,
        "memory_gone": found.gone,
        "replayed": found.recorded - found.gone,
        "users": found.users,
        "not_replayed": list(found.not_replayed),
        "policies": [
            {
                "name": name,
                "policy": to_document(variants[name]),
                "lost": loss.lost,
                "memories": loss.memories,
                "users": loss.users,
                "kept": loss.records,
                "tokens_kept": loss.tokens,
            }
            for name, loss in found.losses.items()
        ],
    }


def _iso(moment: datetime) -> str:
    return moment.isoformat()
