"""The chats of the two small containers: a clinic's booking agent and a loyalty programme's."""

from memadmin.demo.kinds import COMMITMENT, COMPLAINT, HEALTH, IDENTITY, ORDER, PREFERENCE, QUESTION, SMALL_TALK
from memadmin.demo.topics import Fact, Topic

CLINIC = (
    Topic(
        name="booking",
        weight=5,
        summary="Appointment with {doctor} booked for {weekday} at {hour}.",
        exchanges=(
            ("I need an appointment with {doctor}.", "There is one on {weekday} at {hour}. Shall I take it?"),
            ("Yes. I have {symptom}, for {days} days now.", "It is booked. Please bring the list of your medicine, {medicine} included."),
        ),
        facts=(
            Fact(COMMITMENT, 0, "Has an appointment with {doctor} on {weekday} at {hour}."),
            Fact(HEALTH, 1, "Came because of {symptom}; takes {medicine}."),
        ),
    ),
    Topic(
        name="moving-an-appointment",
        weight=3,
        summary="The appointment with {doctor} was moved to {weekday}, {hour}.",
        exchanges=(
            ("I cannot come this week.", "Would {weekday} at {hour} suit you better?"),
            ("Yes, mornings never work for me.", "Moved. I will offer you afternoons from now on."),
        ),
        facts=(
            Fact(ORDER, 0, "Moved the appointment with {doctor} to {weekday}, {hour}."),
            Fact(PREFERENCE, 1, "Wants appointments in the afternoon."),
        ),
    ),
    Topic(
        name="directions",
        weight=2,
        summary="Asked how to get to the clinic.",
        exchanges=(("Which bus stops near the clinic?", "The 14 stops at {branch}, three minutes on foot."),),
        facts=(Fact(QUESTION, 0, "Asked which bus stops near the clinic."),),
    ),
)
LOYALTY = (
    Topic(
        name="points",
        weight=5,
        summary="Asked for the points of order {order}; they were added.",
        exchanges=(
            ("The points for {order} are missing.", "I have added them: {cycle} points."),
            ("And when do they expire?", "At the end of next year. I can send a reminder by {channel}."),
        ),
        facts=(
            Fact(ORDER, 0, "{cycle} points for order {order} were added by hand."),
            Fact(PREFERENCE, 1, "Wants a reminder by {channel} before points expire."),
        ),
    ),
    Topic(
        name="card-lost",
        weight=2,
        summary="The loyalty card was lost; a new one goes to {street}.",
        exchanges=(("I have lost my card.", "I have blocked it. The new one goes to {street}."),),
        facts=(
            Fact(IDENTITY, 0, "The loyalty card was lost and replaced; the new one went to {street}."),
            Fact(COMPLAINT, 0, "Was annoyed that a new card takes {days} days."),
        ),
    ),
    Topic(
        name="voucher",
        weight=2,
        summary="Exchanged points for a voucher of {price}.",
        exchanges=(("Can I have a voucher of {price}?", "Here it is. Have a nice day!"),),
        facts=(Fact(SMALL_TALK, 0, "Exchanged points for a voucher of {price}."),),
    ),
)
