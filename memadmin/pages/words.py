"""The words of the field, each explained once. A new word on a page gets its line here."""

from dataclasses import dataclass

from django.utils.text import slugify


@dataclass(frozen=True)
class Word:
    name: str
    meaning: str
    example: str = ""

    @property
    def anchor(self) -> str:
        return slugify(self.name)


WORDS: dict[str, tuple[Word, ...]] = {
    "What is stored": (
        Word("Memory container", "All the memories of one agent application, under one retention policy."),
        Word("User", "Somebody an agent talks with, under the id the agent gave. The same id in two containers is two users here."),
        Word("Session", "One conversation between an agent and a user, with its messages."),
        Word("Working memory", "What the agent wrote down during a session: messages, events and data. It goes when its session goes."),
        Word("Long-term memory", "A fact drawn out of sessions, which the agent can recall in later ones.", "“Is allergic to penicillin.”"),
        Word("History", "Each time a long-term memory was added, changed or deleted, with the text before and after."),
        Word("Strategy", "How the agent draws long-term memories out of sessions: facts, preferences, or a summary."),
        Word("Namespace", "The keys under which the agent files a memory, such as the user or the agent."),
        Word("Provenance", "Which messages and sessions a memory was made from."),
        Word("Tokens", "The length of a memory as a language model counts it. Where the agent sent no number, it is our estimate."),
        Word(
            "API token",
            "What a program proves itself with. It says what the program may do, in which containers, and whose memories it keeps.",
        ),
        Word("Orphan", "A working memory whose session has gone."),
        Word("Unattributed", "Memories that name no user. They belong to the container and are not counted as a user."),
    ),
    "How a memory is scored": (
        Word("Score", "How much a memory is worth keeping, 0 to 100: recency, frequency and importance added up by their weights."),
        Word(
            "Recency",
            "1 just after an agent recalled the memory, then less and less. A memory never recalled counts as last read one half-life "
            "before it was made. Looking at a memory here does not count as reading it.",
        ),
        Word(
            "Half-life", "After this long without being recalled, recency is halved.", "30 days: 1, after 30 days 0.5, after 60 days 0.25."
        ),
        Word("Frequency", "How often agents recalled the memory, counted so that the first times weigh most. 100 times is full marks."),
        Word("Importance", "0 to 1, given by the agent or by rules when the memory was stored. 0.5 where nobody said."),
        Word(
            "Cut line",
            "The lowest score that stays when a user is at a cap. Each user has their own, and every new memory moves it.",
        ),
        Word("Weight", "How much recency, frequency and importance each count. The three weights add up to 1."),
    ),
    "What is kept, and for how long": (
        Word(
            "Forgot-something rate",
            "Of what was evicted under a policy version, how much somebody missed: evictions that reports name, each once, by all of them.",
            "3 of 4,000: 0.1 %. Without any report nobody knows.",
        ),
        Word("Pin", "A mark that keeps a memory or session from every eviction until it is unpinned. It needs a reason."),
        Word(
            "Hold",
            "A legal mark: nothing evicts, deletes or erases the item until it is released, with a reason.",
        ),
        Word("Restriction", "A person's data is kept, but not used: no agent is given it, no model reads it, nobody changes it."),
        Word("Suppression", "What was erased is known again by a digest, so that it does not come back unseen."),
        Word(
            "Retention policy",
            "The rules of one container that say what is evicted. Each change is a new version, and old ones stay readable.",
        ),
        Word(
            "Retention rule",
            "A limit for a whole container and one type: an age in days, a largest number, or both. Either one is enough to evict.",
        ),
        Word(
            "Relevance rule",
            "Limits for each single user: the longest time to live, the most memories, the most tokens. "
            "Over a limit, the lowest scores go first.",
        ),
        Word("Time to live (TTL)", "The longest a memory is kept, counted from when it was made."),
        Word("Victim", "A memory or session that the policy says should go, with the reason."),
        Word(
            "Preview (dry run)",
            "The exact list of victims at one moment, numbered. Nothing is removed. Running it removes only what it names.",
        ),
        Word(
            "Retention run",
            "One execution of a policy, at night or by hand. Each run has a number and keeps a record of what it did and why.",
        ),
        Word("At risk", "Not a victim yet, but close to a limit."),
        Word("Expired", "Past its time to live. Agents no longer get it; the next run evicts it."),
    ),
    "How things go away": (
        Word("Hide", "Left out of a list or of what the agent gets. Still stored."),
        Word("Archive", "Kept compressed for a set number of days after an eviction, out of the agent's reach. It can be restored."),
        Word("Evict", "Removed by a retention run because of the policy. Restorable while it is in the archive."),
        Word("Delete", "Removed by a person or by the agent, one item at a time."),
        Word(
            "Erase", "Removed everywhere because the law asks for it, with a second person's approval and a certificate. Cannot be undone."
        ),
        Word("Restore", "Put an evicted item back from the archive, with its id, its recall count and its history."),
    ),
    "Erasing on request": (
        Word(
            "Request",
            "What a person asks for about their data: to erase, correct, restrict or give it. It has a number and a due day.",
        ),
        Word(
            "Look-alike",
            "A user whose id differs from the one named by case, width, accents or signs alone. A person says whether they are meant.",
        ),
        Word("Manifest", "The list of everything that the search for a request found, thing by thing, with what is done with each."),
        Word(
            "Mention", "The person's id, name or words in what belongs to somebody else. They are taken out or left, as a reviewer decides."
        ),
        Word("Withheld", "What stays for a reason in law, or since it is held, with the day on which somebody looks again."),
        Word("Freeze", "Close the manifest, so that it is approved exactly as it stands. A digest of it tells every change."),
        Word(
            "Approval", "The word of a second person, who neither took the request in nor reviewed it. The erasure then begins by itself."
        ),
        Word("Fence", "While an erasure runs nobody writes anything about the person; the database itself refuses it."),
        Word(
            "Verification",
            "A look through the whole database by other code than what erased. It has to find what was planted to try it, and no more.",
        ),
        Word("Residue", "Something that a verification found and that should have gone. The request is not complete while there is any."),
        Word(
            "Certificate", "A signed file that says what was erased, when, by whom and how far. Anybody can check it without this program."
        ),
        Word("Receipt", "A secret for the person, shown once: with it, and only with it, they can show that a certificate is about them."),
        Word("Recipient", "Somebody who gets data from here and is told of each erasure."),
        Word("Horizon", "The last day of the backups from before an erasure. Until then they still hold what was erased."),
        Word("Drill", "A made-up person goes through the whole workflow, to see that an erasure works here."),
    ),
    "Where a memory lives": (
        Word(
            "Tier",
            "One of the levels a fact can be at: running session, profile, long-term memory, archive. Exactly one holds it at a time.",
        ),
        Word("Promotion", "A fact that is recalled often moves up into the user's profile, which the agent always gets."),
        Word("Demotion", "A profile fact that is no longer used moves back to long-term memory."),
        Word("Consolidation", "Drawing long-term memories out of sessions that have ended."),
        Word("Audit log", "The record of who did what and when. Entries are chained, so that a change to an old one can be seen."),
    ),
}


_BY_NAME = {word.name.casefold(): word for words in WORDS.values() for word in words}


def word_named(name: str) -> Word:
    """Return the entry of this name, whatever its case. Raises KeyError: a page must not link to a word nobody explains."""
    return _BY_NAME[name.casefold()]
