"""Everything that the log can say was done: `noun.verb`, and one line on what it means.

A new action is a new line here and in `docs/audit.md`. A line is never renamed or removed: old rows name it.
"""

from django.db import models


class Action(models.TextChoices):
    AUDIT_ANCHORED = "audit.anchored", "The log was anchored outside the database for the first time"
    AUDIT_KEY_ROTATED = "audit.key_rotated", "Checkpoints are signed with a new key from here on"
    AUDIT_RESTORED = "audit.restored", "The database was put back to an older state; rows of the log were lost"
    LEDGER_REPLAYED = "ledger.replayed", "What the ledger says was applied to an older database, which may be used again"
    LEDGER_LOSS_ACCEPTED = "ledger.loss_accepted", "An administrator lets a database be used to which the ledger could not be applied"
    AUDIT_REDACTED = "audit.redacted", "What people wrote beside entries of the log was taken out; the entries stay"
    AUDIT_SEALED = "audit.sealed", "Entries of the activity stream were sealed, up to the row that is named"
    AUDIT_VERIFICATION_ASKED = "audit.verification_asked", "Somebody asked to have the whole log verified; a worker does it"
    AUDIT_VERIFIED = "audit.verified", "It was looked whether the log is whole; the code says what was found"
    AUDIT_EXPORTED = "audit.exported", "Entries of the log were exported"

    LOGIN_SUCCEEDED = "login.succeeded", "A person signed in"
    LOGIN_FAILED = "login.failed", "Somebody tried to sign in and was refused"
    LOGIN_ENDED = "login.ended", "A person signed out"

    ACCESS_REFUSED = "access.refused", "Somebody tried what they have no right to"

    PERSON_CREATED = "person.created", "An account was made"
    PERSON_CHANGED = "person.changed", "An account's roles, containers or state were changed"
    PERSON_PASSWORD_RESET = "person.password_reset", "A person got a new password from an administrator or the demo"
    TOKEN_CREATED = "token.created", "An API token was made"
    TOKEN_REVOKED = "token.revoked", "An API token was ended"

    CONTAINER_CREATED = "container.created", "A memory container was made"
    CONTAINER_CHANGED = "container.changed", "A container's name, description, roles, configuration or consent were changed"
    CONTAINER_LIMIT_SET = "container.limit_set", "A container got, changed or lost the days after which nothing of it may be kept"
    CONTAINER_DELETED = "container.deleted", "A memory container was deleted, with or without its memories"

    ITEM_CHANGED = "item.changed", "A session or memory was changed by hand or by an agent"
    ITEM_CORRECTED = (
        "item.corrected",
        "What was wrong in a session or memory was corrected, and taken out of its history and of what was made from it",
    )
    ITEM_DELETED = "item.deleted", "A session or memory was deleted by hand or by an agent, which is no erasure"
    ITEMS_DELETED = "items.deleted", "Sessions or memories were deleted by a query, which is no erasure"

    MEMORY_PINNED = "memory.pinned", "A long-term memory was pinned: no run evicts it"
    MEMORY_INFERRED = "memory.inferred", "A model added, updated or deleted long-term memories from what was said"
    MEMORY_SUMMARISED = "memory.summarised", "A run put one summary in the place of several memories of one user"
    MEMORY_UNPINNED = "memory.unpinned", "A long-term memory lost its pin"
    SESSION_PINNED = "session.pinned", "A session was pinned: no run evicts it"
    SESSION_UNPINNED = "session.unpinned", "A session lost its pin"
    PIN_REVIEWED = "pin.reviewed", "A pin was looked at again and kept, with the day of its next review"
    SESSION_ATTRIBUTED = "session.attributed", "A session without a user became the session of its first named user"

    HOLD_PLACED = "hold.placed", "Something was held or restricted: it is not destroyed, or not used either"
    HOLD_REVIEW_CHANGED = "hold.review_changed", "A hold got another day on which somebody looks at it again"
    HOLD_NOTICE_RECORDED = "hold.notice_recorded", "It was noted that a person was told that a restriction will be lifted"
    HOLD_RELEASED = "hold.released", "A hold or restriction was ended"

    SUPPRESSION_PLACED = "suppression.placed", "Something erased is kept from coming back"
    SUPPRESSION_CHANGED = "suppression.changed", "What is erased is kept from coming back on other terms"
    SUPPRESSION_LIFTED = "suppression.lifted", "What was erased may come back, for a reason"
    SUPPRESSION_LAPSED = "suppression.lapsed", "Suppressions whose time is over were softened or forgotten"
    SUPPRESSION_KEY_ROTATED = "suppression.key_rotated", "A new key for the digests of erased ids and texts was put beside the old ones"
    ARRIVALS_QUARANTINED = "arrivals.quarantined", "Items that were erased before arrived again and were set aside"
    ARRIVALS_REFUSED = "arrivals.refused", "Somebody sent what was erased before, and it was refused"
    ARRIVALS_FLAGGED = "arrivals.flagged", "Texts that were erased before arrived again, were let in and marked"
    ARRIVAL_RELEASED = "arrival.released", "An item that was set aside was let in"
    ARRIVAL_DROPPED = "arrival.dropped", "An item that was set aside was dropped"
    ARRIVALS_DECIDED = "arrivals.decided", "Somebody decided about several items that were set aside at once"

    STORE_REPAIRED = "store.repaired", "Counters and pins that did not agree with the rows were set right"

    POLICY_DRAFTED = "policy.drafted", "A policy version was stored as a draft"
    POLICY_PUBLISHED = "policy.published", "A policy version came into force"
    POLICY_EDITED = "policy.edited", "A draft of a policy was changed"
    POLICY_DROPPED = "policy.dropped", "A draft of a policy was dropped"
    POLICY_COPIED = "policy.copied", "A policy of another container arrived here as a draft"
    POLICY_SCHEDULED = "policy.scheduled", "A draft of a policy got the time at which it comes into force"
    POLICY_UNSCHEDULED = "policy.unscheduled", "A scheduled policy became a draft again, before its time"
    POLICY_NOT_PUBLISHED = "policy.not_published", "The time of a scheduled policy had come, and it could not come into force"
    POLICY_OPTED_OUT = "policy.opted_out", "A container was taken out of retention"
    POLICY_ROLLED_BACK = "policy.rolled_back", "An older policy version came into force again"

    SETTING_CHANGED = "setting.changed", "A run-time setting was changed"
    SCHEDULE_CHANGED = "schedule.changed", "A job's schedule was changed"
    SCHEDULE_STARTED = "schedule.started", "A person started a scheduled job outside its times"

    RUN_PREVIEWED = "run.previewed", "The victims of a retention run were listed and stored"
    RUN_APPROVAL_ASKED = "run.approval_asked", "A large retention run was put before a second person; nothing is evicted meanwhile"
    RUN_APPROVED = "run.approved", "A second person approved a large retention run"
    RUN_REFUSED = "run.refused", "A second person refused a large retention run"
    RUN_STARTED = "run.started", "A retention run began to evict"
    RUN_FINISHED = "run.finished", "A retention run came to its end"
    RUN_FAILED = "run.failed", "A retention run stopped with an error"
    RUN_CANCELLED = "run.cancelled", "A retention run was called off"
    WORKING_TIDIED = (
        "working.tidied",
        "Working memories past their time, or whose session had gone, were removed at night (until runs began to name them)",
    )
    RUN_RESTORE_ASKED = "run.restore_asked", "Somebody asked to have what a run evicted put back; a worker does it"
    RUN_RESTORED = "run.restored", "What a run evicted was put back from the archive"
    RUN_LIST_DROPPED = "run.list_dropped", "The list of victims of a run that ended long ago was dropped; its numbers stay"
    USER_RESTORE_ASKED = "user.restore_asked", "Somebody asked to have what the archive has of a user put back; a worker does it"
    USER_RESTORED = "user.restored", "What the archive had of a user was put back"
    ARCHIVE_EXPIRED = "archive.expired", "Copies of evicted items went from the archive for good, after their last day"
    ITEM_RESTORED = "item.restored", "One evicted item was put back from the archive"

    ERASURE_RECEIPT_GIVEN = "erasure.receipt_given", "A receipt was given out, by which a person can show that a certificate is about them"
    ERASURE_CERTIFIED = "erasure.certified", "A certificate of an erasure was signed"
    ERASURE_CONTROL_PLANTED = "erasure.control_planted", "A made-up person was planted, by a drill or to see whether a verification sees"
    FEEDBACK_RECORDED = "feedback.recorded", "Somebody reported that an agent forgot something or got it wrong"
    FEEDBACK_MATCHED = "feedback.matched", "A report was matched with the eviction that caused it"
    FEEDBACK_SET_ASIDE = "feedback.set_aside", "A report was found not to be due to an eviction"
    FEEDBACK_REOPENED = "feedback.reopened", "A decision on a report was taken back"
    ERASURE_OPENED = "erasure.opened", "A request of a person, about a person, or about items was taken in"
    ERASURE_GATHERED = (
        "erasure.gathered",
        "What is past a container's hard limit was gathered into a request, or the list of one was brought up to date",
    )
    ERASURE_USERS_TICKED = "erasure.users_ticked", "It was decided which of the ids that look alike a request means"
    ERASURE_IDENTITY_NOTED = "erasure.identity_noted", "It was noted how it is known that a request comes from the person"
    ERASURE_PAUSED = "erasure.paused", "The time of a request stopped, until the person proves who they are"
    ERASURE_RESUMED = "erasure.resumed", "The time of a request runs on"
    ERASURE_EXTENDED = "erasure.extended", "The time of a request was extended, and the person was told"
    ERASURE_ALARM = "erasure.alarm", "A request is late or due within a week, or what was erased came again; noted once a day"
    ERASURE_NOTE_ADDED = "erasure.note_added", "A note was added to a request"
    ERASURE_DISCOVERY_STARTED = "erasure.discovery_started", "Every place was asked what it holds for a request"
    ERASURE_DISCOVERED = "erasure.discovered", "The manifest of a request was made"
    ERASURE_DISCOVERY_FAILED = "erasure.discovery_failed", "The search for a request stopped with an error"
    ERASURE_DECIDED = "erasure.decided", "A reviewer decided what is done with things in a manifest"
    ERASURE_DECISION_UNDONE = "erasure.decision_undone", "A decision about many things in a manifest was undone as a whole"
    ERASURE_SUBMITTED = "erasure.submitted", "A manifest was frozen and waits for another person's approval"
    ERASURE_RETURNED = "erasure.returned", "A manifest was sent back to review"
    ERASURE_APPROVED = "erasure.approved", "A second person approved a manifest by its digest"
    ERASURE_APPROVAL_VOIDED = "erasure.approval_voided", "An approval lost its force before it was used"
    ERASURE_CLAIMED = "erasure.claimed", "The erasure of an approved manifest began"
    ERASURE_REAPPLIED = "erasure.reapplied", "An erasure is done again on an older database; its line in the ledger is the approval"
    ERASURE_BATCH = "erasure.batch", "Some things in one place were erased"
    ERASURE_USERS_REMOVED = "erasure.users_removed", "The users of a request, of whom nothing is left, were removed"
    ERASURE_EXECUTED = "erasure.executed", "Everything approved was erased, and is being verified"
    ERASURE_STALLED = "erasure.stalled", "An erasure stopped with an error; nothing is called complete"
    ERASURE_GOES_ON = "erasure.goes_on", "A stalled erasure goes on from where it was, or what a verification found left is erased"
    ERASURE_LOOKS_AGAIN = "erasure.looks_again", "An erasure of which something was left is verified anew"
    ERASURE_DRILL_STARTED = "erasure.drill_started", "A drill began: a made-up person goes through the whole workflow"
    ERASURE_DRILL_TIDIED = "erasure.drill_tidied", "What a drill had planted was taken away"
    ERASURE_DRILL_ENDED = "erasure.drill_ended", "A drill passed, or failed"
    ERASURE_RESIDUE_FOUND = "erasure.residue_found", "A verification found something left, or something gone that was to stay"
    ERASURE_COMPLETED = "erasure.completed", "An erasure is complete: verified, certified, and the names in its papers purged"
    ERASURE_PERSON_TOLD = "erasure.person_told", "It was noted that the person was told of a complete erasure"
    ERASURE_CLOSED = (
        "erasure.closed",
        "A complete request was closed: the backups from before an erasure, or what its answer began, have ended; who had copies was told",
    )
    ERASURE_RECHECKED = "erasure.rechecked", "What was erased was looked for again, and nothing was there"
    ERASURE_FOUND_AGAIN = "erasure.found_again", "ALARM: something that was erased was found again"
    ERASURE_FINDING_SETTLED = "erasure.finding_settled", "Somebody said what a finding was, and what was done about it"
    ERASURE_FORGOTTEN = "erasure.forgotten", "The last digests by which a closed erasure knew whom it was about are gone; counts stay"
    ERASURE_ITEM_CORRECTED = "erasure.item_corrected", "An item was corrected for a request of a person"
    ERASURE_ANSWERED = "erasure.answered", "A request that erases nothing was answered"
    ERASURE_CORRECTIONS_CHECKED = (
        "erasure.corrections_checked",
        "The words that were corrected for a request were looked for everywhere; failed where they still stand",
    )
    ERASURE_WORDS_LEFT = "erasure.words_left", "Words that were corrected stay inside a longer text, which says something else with them"
    ERASURE_WORDS_TAKEN_OUT = (
        "erasure.words_taken_out",
        "Words that were corrected for a request were taken out of a copy that still had them",
    )
    ERASURE_RESTRICTION_LIFTED = (
        "erasure.restriction_lifted",
        "The restriction that a request brought was lifted, after the person was told",
    )
    ERASURE_PAPERS_PURGED = (
        "erasure.papers_purged",
        "Names, notes and letters of a request that erased nothing were purged, some time after its end",
    )
    ERASURE_NOTHING_HELD = "erasure.nothing_held", "A request ended: nothing is held, and the person was told so"
    ERASURE_REFUSED = "erasure.refused", "A request was refused with a reason and a letter"
    ERASURE_CANCELLED = "erasure.cancelled", "A request was withdrawn before anything was erased"

    RECIPIENT_REGISTERED = "recipient.registered", "Somebody who gets data from here was registered"
    RECIPIENT_ENDED = "recipient.ended", "Somebody gets no data from here any more"
    DISCLOSURE_RECORDED = "disclosure.recorded", "It was noted that a recipient was given data of a user"
    DISCLOSURE_ERASED = (
        "disclosure.erased",
        "What was noted of who was given data of erased users went, after the notices to them were made",
    )
    NOTICE_MADE = "notice.made", "Notices to recipients of what a request was about were made"
    NOTICE_TOLD = "notice.told", "A person told a recipient"
    NOTICE_ACKNOWLEDGED = "notice.acknowledged", "A recipient has answered a notice"
    NOTICE_FAILED = "notice.failed", "A notice could not be delivered, or was not answered: a person decides"
    NOTICE_RETRIED = "notice.retried", "A notice that had failed is sent anew"
    NOTICE_DECIDED = "notice.decided", "A recipient is not told: it is impossible or out of proportion, with a text for the person"

    BACKUP_RECORDED = "backup.recorded", "A backup was put into the inventory"
    BACKUP_RESCHEDULED = "backup.rescheduled", "A backup ends on another day than was said"
    BACKUP_DESTROYED = "backup.destroyed", "A backup was confirmed to be destroyed, with what shows it"
    BACKUP_INVENTORY_CHECKED = "backup.inventory_checked", "Somebody said that every backup until then is in the inventory"

    ACCESS_EXPORT_STARTED = "access_export.started", "The making of an export for the person of a request began"
    ACCESS_EXPORT_MADE = (
        "access_export.made",
        "An export for the person of a request was made; how many things are in it, and how many are not",
    )
    ACCESS_EXPORT_FAILED = "access_export.failed", "An export for the person of a request could not be made"
    ACCESS_EXPORT_HANDED_OUT = "access_export.handed_out", "The link of an export was made and shown once, for the person"
    ACCESS_EXPORT_COLLECTED = "access_export.collected", "Somebody with the code of an export's link took it; the link works no more"
    ACCESS_EXPORT_CODE_REFUSED = "access_export.code_refused", "Somebody tried to take an export with a wrong code, or came too late"
    ACCESS_EXPORT_WITHDRAWN = "access_export.withdrawn", "An export was called off before anybody took it"
    ACCESS_EXPORT_EXPIRED = "access_export.expired", "An export that nobody took in time was removed"

    WEBHOOK_CREATED = "webhook.created", "An address was subscribed to events"
    WEBHOOK_PAUSED = "webhook.paused", "A subscription was paused, by a person or because its address did not answer for days"
    WEBHOOK_RESUMED = "webhook.resumed", "A paused subscription goes on where it stopped"
    WEBHOOK_DELETED = "webhook.deleted", "A subscription was ended"

    CONTAINER_COUNTED = "container.counted", "What a container holds by now, after agents wrote or recalled; once an hour at most"

    IMPORT_FINISHED = "import.finished", "A file was imported"
    EXPORT_FINISHED = "export.finished", "Memories were exported to a file"
    DEMO_LOADED = "demo.loaded", "The demo was loaded"
