"""The words that fill the slots of topics, and the names of invented customers. Everything here is made up."""

from collections.abc import Iterator
from itertools import cycle, islice
from random import Random
from typing import TypeVar

T = TypeVar("T")

MEDICINES = (
    "metformin 500 mg", "levothyroxine 75 µg", "lisinopril 10 mg", "amlodipine 5 mg", "omeprazole 20 mg", "sertraline 50 mg",
    "salbutamol spray", "insulin glargine", "atorvastatin 20 mg", "cetirizine 10 mg", "pantoprazole 40 mg", "bisoprolol 2.5 mg",
    "ramipril 5 mg", "budesonide nasal spray", "folic acid 5 mg", "vitamin D drops", "tamsulosin 0.4 mg", "ferrous sulfate 200 mg",
)  # fmt: skip
ALLERGENS = ("penicillin", "ibuprofen", "lactose", "latex", "sulfonamides", "aspirin", "peanut oil", "gelatine", "iodine", "wool wax")
REACTIONS = ("a rash", "swollen lips", "hives on both arms", "trouble breathing", "stomach cramps", "a swollen face")
SYMPTOMS = ("a headache", "dry mouth", "a cough at night", "dizziness in the morning", "trouble sleeping", "cramps in the calves")
COURIERS = ("BlueVan", "Pardo Couriers", "Kettle Post", "Swift & Sons", "Harbour Express")
STREETS = ("Mill Lane", "Station Road", "Orchard Close", "Harbour Street", "Linden Avenue", "Chapel Hill", "Canal Row", "Foundry Street")
TOWNS = ("Ashford", "Little Wexham", "Northmere", "Saltby", "Eastbrook", "Quarry Green")
BRANCHES = ("the Mill Lane branch", "the Station Road branch", "the Harbour Square branch", "the Northmere branch")
INSURERS = ("Medicura", "Alba Health", "Northstar Mutual", "Volksbond", "Sanitas Verde", "Crescent Care")
DOCTORS = ("Dr. Osei", "Dr. Lindqvist", "Dr. Marchetti", "Dr. Haddad", "Dr. Novák", "Dr. Whitfield")
KIN = ("mother", "father", "son Tom", "daughter Mei", "sister Inés", "brother-in-law", "grandson")
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday")
CHANNELS = ("e-mail", "text message", "letter", "the app")
PLACES = ("in the rain", "on the stairs", "at the wrong door", "behind the bins", "with a stranger")
CYCLES = ("28", "30", "60", "84", "90")
DETAILS = (
    "Said by the customer in the chat, and repeated once when asked.",
    "Confirmed by the customer; there is no need to ask again before {weekday}.",
    "The team at {branch} knows about it and has a note in its own book.",
    "This was mentioned while talking about order {order} and has come up before.",
    "The customer asked us to remember it, so that it need not be explained at every call.",
    "{doctor} has been told and agreed; the letter is in the file at {branch}.",
    "If it changes, the customer writes by {channel}; until then this stands as it is.",
    "Relevant for every delivery by {courier}, and for whoever covers the late shift.",
    "Checked against the record on {weekday}: both agree.",
    "The customer sounded {mood} about it.",
)
MOODS = ("relieved", "worried", "calm", "annoyed at first, then content", "in a hurry", "grateful")
FIRST_NAMES = (
    "ana", "ben", "carla", "dmitri", "elena", "farah", "george", "hana", "ivan", "julia", "karim", "lucia", "marco", "nadia", "oscar",
    "petra", "quentin", "rania", "stefan", "tessa", "umar", "vera", "wanda", "xavier", "yusuf", "zoe", "alice", "bruno", "chiara", "david",
    "emma", "felix", "greta", "hugo", "iris", "jonas", "klara", "leon", "mira", "nils", "olga", "pavel", "rita", "samir", "tilda", "viktor",
)  # fmt: skip
LAST_NAMES = (
    "abbott", "baker", "costa", "dubois", "eriksen", "fischer", "garcia", "haddad", "ito", "jansen", "kowalski", "lopez", "moreau", "nowak",
    "okafor", "petrov", "quinn", "rossi", "santos", "tanaka", "ueda", "vogel", "weber", "xu", "yilmaz", "zeman", "arnold", "berg", "cohen",
    "diaz", "evans", "ferrari", "gomez", "hoffmann", "ivanova", "jensen", "kaya", "larsen", "meyer", "novak", "olsen", "park", "reyes",
    "silva", "thomas", "urban", "varga", "wagner", "young",
)  # fmt: skip
_PAIRS = len(FIRST_NAMES) * len(LAST_NAMES)
_STEP = 977  # shares no factor with _PAIRS: walking by it meets every pair once


def pick(rng: Random, words: tuple[T, ...]) -> T:
    return words[int(rng.random() * len(words))]  # a third of the time that Random.choice takes


def from_anywhere(rng: Random, words: tuple[T, ...]) -> Iterator[T]:
    """Yield the words in turn, over and over, beginning with any of them."""
    at = int(rng.random() * len(words))
    return islice(cycle(words), at, None)


def draw(rng: Random) -> dict[str, str]:
    """Return a value for every slot: one chat speaks of one order, one courier, one branch."""
    street = f"{1 + int(rng.random() * 180)} {pick(rng, STREETS)}, {pick(rng, TOWNS)}"
    medicine = int(rng.random() * len(MEDICINES))
    return {
        "order": f"{'ABCDEFGH'[int(rng.random() * 8)]}-{10_000 + int(rng.random() * 90_000)}",
        "medicine": MEDICINES[medicine],
        "other_medicine": MEDICINES[medicine - 1 - int(rng.random() * (len(MEDICINES) - 1))],
        "allergen": pick(rng, ALLERGENS),
        "reaction": pick(rng, REACTIONS),
        "symptom": pick(rng, SYMPTOMS),
        "courier": pick(rng, COURIERS),
        "street": street,
        "branch": pick(rng, BRANCHES),
        "insurer": pick(rng, INSURERS),
        "policy": str(10_000_000 + int(rng.random() * 90_000_000)),
        "doctor": pick(rng, DOCTORS),
        "kin": pick(rng, KIN),
        "weekday": pick(rng, WEEKDAYS),
        "hour": f"{8 + int(rng.random() * 12)}:{pick(rng, ('00', '15', '30', '45'))}",
        "channel": pick(rng, CHANNELS),
        "left_at": pick(rng, PLACES),
        "cycle": pick(rng, CYCLES),
        "days": str(2 + int(rng.random() * 5)),
        "price": f"{3 + int(rng.random() * 30)}.{int(rng.random() * 10)}0 euros",
        "mood": pick(rng, MOODS),
    }


def customer_name(number: int, *, shift: int) -> str:
    """Return the id of the n-th ordinary customer, such as `ana.ruiz`; `shift` (any number) is where the walk begins."""
    first, last = divmod((number + shift) * _STEP % _PAIRS, len(LAST_NAMES))
    name = f"{FIRST_NAMES[first]}.{LAST_NAMES[last]}"
    lap = number // _PAIRS
    return f"{name}{lap + 1}" if lap else name
