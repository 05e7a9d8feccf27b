"""The chats of the pharmacy's support agent."""

from memadmin.demo.kinds import (
    ADDRESS,
    ALLERGY,
    COMMITMENT,
    COMPLAINT,
    HEALTH,
    IDENTITY,
    INSURANCE,
    ORDER,
    PREFERENCE,
    QUESTION,
    REFILL,
    SMALL_TALK,
)
from memadmin.demo.topics import Fact, Topic

DELAYED_ORDER = Topic(
    name="delayed-order",
    weight=10,
    summary="Order {order} was delayed at {courier}. A second parcel from {branch} was promised for {weekday}.",
    exchanges=(
        (
            "My order {order} was due {days} days ago and it still is not here.",
            "I am sorry. {order} is with {courier}, and the tracking has not moved since it left {branch}.",
        ),
        (
            "I need the {medicine} by {weekday}. I have two tablets left.",
            "I have asked for a second parcel for {weekday}. If it does not come, {branch} hands out an emergency supply at the counter.",
        ),
        ("Will you let me know?", "Yes, I will send a message as soon as {courier} has scanned it."),
    ),
    facts=(
        Fact(ORDER, 0, "Order {order} was {days} days late; {courier} had not scanned it since it left {branch}."),
        Fact(HEALTH, 1, "Takes {medicine} and had two tablets left when order {order} was late."),
        Fact(COMMITMENT, 1, "We promised {medicine} by {weekday}: a second parcel, or an emergency supply at {branch}."),
        Fact(PREFERENCE, 2, "Wants a message when a parcel has been scanned, not only when it has been delivered."),
    ),
)
REFILL_DUE = Topic(
    name="refill",
    weight=12,
    summary="Refill of {medicine} arranged for every {cycle} days, to be collected at {branch}.",
    exchanges=(
        ("Can I refill my {medicine}?", "Yes. Your prescription allows {days} more refills. Shall I send it or keep it at {branch}?"),
        (
            "Keep it at {branch}, please. I need it every {cycle} days.",
            "Then I will have it ready every {cycle} days, and you get a reminder two days before.",
        ),
        ("And the {other_medicine}?", "That one needs a new prescription first. I have written to {doctor}."),
    ),
    facts=(
        Fact(REFILL, 1, "Refills {medicine} every {cycle} days; a reminder is sent two days before."),
        Fact(PREFERENCE, 1, "Collects at {branch} rather than having medicine delivered."),
        Fact(HEALTH, 2, "Takes {other_medicine} beside {medicine}; {doctor} prescribes both."),
        Fact(COMMITMENT, 2, "We wrote to {doctor} for a new prescription of {other_medicine} and will tell the customer when it arrives."),
    ),
)
OPENING_HOURS = Topic(
    name="opening-hours",
    weight=5,
    summary="Asked for the opening hours of {branch}.",
    exchanges=(
        ("How long is {branch} open on {weekday}?", "{branch} is open until {hour} on {weekday}, and closed on public holidays."),
        ("And is there parking?", "There are three places behind the building, free for half an hour."),
    ),
    facts=(
        Fact(QUESTION, 0, "Asked once how long {branch} is open on {weekday} (until {hour})."),
        Fact(QUESTION, 1, "Asked whether {branch} has parking."),
    ),
)
COURIER_COMPLAINT = Topic(
    name="courier-complaint",
    weight=6,
    summary="Complaint about {courier}: the parcel {order} was left {left_at}. A refund of {price} was promised.",
    pin_reason="Dispute with the courier is open: the conversation is the evidence.",
    exchanges=(
        (
            "{courier} left my parcel {left_at} again. Anyone could have taken it.",
            "That must not happen with medicine. I have opened a complaint under {order}.",
        ),
        (
            "It is the second time. I want my delivery costs back.",
            "I have asked for a refund of {price}; it takes up to {days} working days.",
        ),
        ("And next time, please not with them.", "I have noted that {courier} is not to be used for you where we have a choice."),
    ),
    facts=(
        Fact(COMPLAINT, 0, "{courier} left parcel {order} {left_at}; the customer was upset and rightly so."),
        Fact(COMMITMENT, 1, "A refund of {price} for order {order} was promised within {days} working days."),
        Fact(PREFERENCE, 2, "Does not want deliveries by {courier} where there is a choice."),
    ),
)
INSURANCE_CHANGE = Topic(
    name="insurance",
    weight=5,
    summary="New insurance with {insurer}, policy {policy}. {medicine} is covered from the first of next month.",
    exchanges=(
        ("I have changed my insurance. It is {insurer} now.", "Thank you. What is the number of the policy?"),
        ("{policy}. Is my {medicine} still covered?", "Yes, {insurer} covers {medicine}; your share is {price} for each pack."),
        ("And the invoice of last month?", "I will send it again to {insurer}, and you need not do anything."),
    ),
    facts=(
        Fact(INSURANCE, 1, "Insured with {insurer} under policy {policy}; the former policy has ended."),
        Fact(ORDER, 1, "Own share for {medicine} is {price} for each pack with {insurer}."),
        Fact(COMMITMENT, 2, "We promised to send last month's invoice to {insurer} again."),
    ),
)
ALLERGY_TOLD = Topic(
    name="allergy",
    weight=4,
    summary="Told us about an allergy to {allergen} ({reaction}). It stands in the record and at the top of every label.",
    exchanges=(
        (
            "Before you send anything: I am allergic to {allergen}. I got {reaction} last time.",
            "Thank you for telling me. I have put it at the top of your record, and every label will show it.",
        ),
        (
            "Does {medicine} contain any?",
            "No, {medicine} from our maker contains no {allergen}. I will ask the pharmacist about {other_medicine} to be sure.",
        ),
    ),
    facts=(
        Fact(ALLERGY, 0, "Allergic to {allergen}: {reaction}. Never suggest or send anything that contains it."),
        Fact(HEALTH, 1, "Was told that {medicine} contains no {allergen}; the pharmacist was asked about {other_medicine}."),
    ),
)
NEW_ADDRESS = Topic(
    name="new-address",
    weight=4,
    summary="Moved to {street}. Deliveries go there, best on {weekday} after {hour}.",
    exchanges=(
        ("I have moved. Please send everything to {street} from now on.", "Done. Your delivery address is {street}."),
        ("I am at home on {weekday} after {hour}.", "I have told the couriers: {weekday}, after {hour}."),
        ("If I am out, my {kin} next door takes it.", "Good. I have noted your {kin} as the person who may take parcels."),
    ),
    facts=(
        Fact(ADDRESS, 0, "Delivery address: {street}."),
        Fact(PREFERENCE, 1, "Best time for a delivery is {weekday} after {hour}."),
        Fact(IDENTITY, 2, "The customer's {kin}, who lives next door, may take parcels."),
    ),
)
SIDE_EFFECTS = Topic(
    name="side-effects",
    weight=5,
    summary="Asked about {symptom} since starting {medicine}; was put through to the pharmacist.",
    exchanges=(
        (
            "Since I take {medicine} I have {symptom}. Is that normal?",
            "It is listed as common in the first two weeks. I am not a doctor, so I have put you through to our pharmacist.",
        ),
        ("She said to take it with food.", "Good. I have noted that. If it has not gone by {weekday}, please call {doctor}."),
    ),
    facts=(
        Fact(HEALTH, 0, "Has had {symptom} since starting {medicine}."),
        Fact(HEALTH, 1, "The pharmacist advised to take {medicine} with food; if {symptom} stays, {doctor} is to be asked."),
    ),
)
FOR_A_RELATIVE = Topic(
    name="for-a-relative",
    weight=4,
    summary="The customer's {kin} may collect {medicine} at {branch}, with the customer's permission.",
    exchanges=(
        ("Can my {kin} collect my {medicine}?", "Yes, if you allow it once in writing. Shall I send you the form?"),
        ("Please. By e-mail.", "It is on its way. From then on your {kin} needs only an identity card at {branch}."),
    ),
    facts=(
        Fact(IDENTITY, 0, "The customer's {kin} may collect medicine, with an identity card."),
        Fact(PREFERENCE, 1, "Prefers forms by e-mail rather than on paper."),
    ),
)
PRICE = Topic(
    name="price",
    weight=4,
    summary="Asked what {medicine} costs; was offered the generic one at {price}.",
    exchanges=(
        ("What does {medicine} cost without insurance?", "{price} from the brand. The generic one is about a third cheaper."),
        ("Then the generic one, always.", "I have noted it: the generic one wherever {doctor} has not excluded it."),
    ),
    facts=(
        Fact(QUESTION, 0, "Asked what {medicine} costs without insurance ({price})."),
        Fact(PREFERENCE, 1, "Takes the generic medicine wherever {doctor} has not excluded it."),
    ),
)
LOST_PRESCRIPTION = Topic(
    name="lost-prescription",
    weight=3,
    summary="The prescription for {medicine} from {doctor} had not arrived; it was asked for again.",
    exchanges=(
        (
            "{doctor} sent you a prescription for {medicine} on {weekday}.",
            "It has not arrived here. I have asked the practice to send it again.",
        ),
        ("I am travelling for {days} days.", "Then we hold it at {branch} until you are back, {days} days from now."),
    ),
    facts=(
        Fact(ORDER, 0, "The prescription for {medicine} from {doctor} did not arrive on {weekday} and was asked for again."),
        Fact(COMMITMENT, 1, "We hold {medicine} at {branch} until the customer is back from a journey."),
    ),
)
CONTACT = Topic(
    name="contact",
    weight=3,
    summary="Changed how we may reach the customer: by {channel}, not before {hour}.",
    exchanges=(
        ("Please stop calling me at work.", "I am sorry about that. How may we reach you?"),
        ("By {channel}, and not before {hour}.", "Noted: {channel}, after {hour}."),
    ),
    facts=(
        Fact(IDENTITY, 1, "Is to be reached by {channel}, not before {hour}, and never at work."),
        Fact(COMPLAINT, 0, "Was called at work against the customer's wish."),
    ),
)
CHIT_CHAT = Topic(
    name="chit-chat",
    weight=3,
    summary="A few friendly words, nothing to do.",
    exchanges=(
        ("Good morning! Terrible weather again.", "Good morning! Yes, even the couriers complain today. What can I do for you?"),
        ("Nothing, only to say thank you for {weekday}.", "That is kind of you. I will pass it on to {branch}."),
    ),
    facts=(
        Fact(SMALL_TALK, 0, "Said that the weather was terrible."),
        Fact(SMALL_TALK, 1, "Said thank you for the help on {weekday}."),
    ),
)
PHARMACY = (
    DELAYED_ORDER,
    REFILL_DUE,
    OPENING_HOURS,
    COURIER_COMPLAINT,
    INSURANCE_CHANGE,
    ALLERGY_TOLD,
    NEW_ADDRESS,
    SIDE_EFFECTS,
    FOR_A_RELATIVE,
    PRICE,
    LOST_PRESCRIPTION,
    CONTACT,
    CHIT_CHAT,
)
