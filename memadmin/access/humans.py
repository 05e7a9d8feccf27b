"""Which human stands behind an actor: two accounts of one person are one pair of eyes.

Accounts are held to be one person's where their logins are the same mailbox: without a `+tag`, and for Google's mail without dots.
A token acts for whoever made it.
"""

from collections.abc import Iterable

from memadmin.access.models import ApiToken, Person, tidy_login

DOTS_MEAN_NOTHING = {"gmail.com", "googlemail.com"}


def human_of(actor: str) -> str:
    """Return a text that is equal for actors behind whom the same person stands."""
    kind, _, uid = actor.partition("/")
    if kind == "token":
        made_by = ApiToken.objects.filter(uid=uid).values_list("created_by", flat=True).first()
        return human_of(made_by) if made_by and not made_by.startswith("token/") else actor
    if kind == "person":
        login = Person.objects.filter(uid=uid).values_list("login", flat=True).first()
        return _human(login) if login else actor
    return actor


def human_with(account: Person) -> str:
    """Return the same text for whoever signs in with this account."""
    return _human(account.login)


def humans_with(accounts: Iterable[Person]) -> set[str]:
    return set(map(human_with, accounts))


def _human(login: str) -> str:
    return f"mailbox/{mailbox_of(login)}"


def mailbox_of(login: str) -> str:
    """Return the login without what a person can add to it and still get its mail."""
    name, sign, domain = tidy_login(login).rpartition("@")
    if not sign:
        return domain.partition("+")[0] or domain
    name = name.partition("+")[0] or name
    if domain in DOTS_MEAN_NOTHING:
        name, domain = name.replace(".", ""), "gmail.com"
    return f"{name}@{domain}"


def same_human(one: str, other: str) -> bool:
    return one == other or human_of(one) == human_of(other)
