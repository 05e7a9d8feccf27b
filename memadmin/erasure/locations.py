"""Where the compliance workflow itself holds a person's data: whom a request is about, and what people wrote about it."""

from memadmin.erasure.access_exports import ending
from memadmin.erasure.access_exports.copies import copies
from memadmin.erasure.disclosed import noted_of
from memadmin.erasure.models import FoundAgain, RecipientNotice
from memadmin.store.finding import searched
from memadmin.store.locations import Act, ItemClass, Location, register, waive

WORD = "one of our own fixed words or numbers"
WHO = "an opaque name of an account, job or token"
PURGED = "Purged in the last step of an erasure; of a request that erased nothing, some days after its end (setting erasure_papers_days)."
E = ItemClass.COPY

register(
    Location(
        name="erasure.subjects",
        title="Whom requests are about",
        order=103,
        table="erasure_requestsubject",
        columns={"user_id": E, "subject_uid": E, "subject_ref": E},
        waived={"key_id": WORD},
        item_class=E,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.notes",
        title="Notes and letters of requests",
        order=104,
        table="erasure_requestnote",
        columns={"text": E},
        waived={"uid": "a random name of ours", "author": WHO},
        item_class=E,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.items",
        title="Items that requests name",
        order=105,
        table="erasure_requestitem",
        columns={"item_uid": E, "item_ref": E},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.manifest_items",
        title="Items in manifests",
        order=106,
        table="erasure_manifestitem",
        columns={"row_key": E, "row_uid": E, "item_ref": E, "matched": E},
        waived={"location": WORD, "reason_code": WORD, "decided_by": WHO, "matched_at": WORD, "planned": WORD},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.scope_items",
        title="Items that a discovery has reached",
        order=107,
        table="erasure_scopeitem",
        columns={"item_uid": E},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.corrections",
        title="What was corrected for requests",
        order=107,
        table="erasure_correction",
        columns={"item_uid": E, "before_ref": E, "words_ref": E},
        waived={"item_type": WORD, "key_id": WORD},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.wrong_left",
        title="Where words that were corrected still stand",
        order=107,
        table="erasure_wrongleft",
        columns={"row_uid": E},
        waived={"location": WORD, "left_by": WHO},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
    Location(
        name="erasure.samples",
        title="Samples in manifests",
        order=108,
        table="erasure_line",
        columns={"sample": E},
        waived={"location": WORD},
        item_class=E,
        records=True,
        act=Act.CLEAR,
        goes=PURGED,
    ),
)

register(
    Location(
        name="erasure.notices",
        title="What recipients are told of an erasure",
        order=102,
        table="erasure_recipientnotice",
        columns={"references": E},
        waived={"uid": "a random name of ours", "ended_by": WHO, "error_code": WORD},
        item_class=ItemClass.RECIPIENT,
        act=Act.CLEAR,
        goes="Recipients of the container are told, sealed until they have answered. What they keep is theirs to erase.",
    ),
    Location(
        name="erasure.notice_reasons",
        title="Why recipients were not told of an erasure",
        order=79,
        table="erasure_recipientnotice",
        columns={"reason": E},
        item_class=E,
        act=Act.REDACT,
        find=searched("erasure.notice_reasons", RecipientNotice, ("reason",), at="made_at"),
    ),
    Location(
        name="erasure.found_again",
        title="What people said of something that was found again",
        order=79,
        table="erasure_foundagain",
        columns={"reason": E},
        waived={
            **dict.fromkeys(("uid", "suppression_uid"), "a random name of ours"),
            "request_ref": "a random name of ours",
            **dict.fromkeys(("table", "column"), "a name of the schema"),
            "row_key": "the number of a row",
            "settled_by": WHO,
        },
        item_class=E,
        act=Act.REDACT,
        find=searched("erasure.found_again", FoundAgain, ("reason",), at="found_at"),
    ),
)

register(
    Location(
        name="erasure.disclosures",
        title="Which recipients were given data of whom",
        order=102,
        table="erasure_disclosure",
        columns={"subject_id": E, "own_id": E, "own_ref": E},
        waived={"uid": "a random name of ours"},
        item_class=ItemClass.RECIPIENT,
        act=Act.CLEAR,
        find=noted_of,
        goes="In the last step of an erasure, when the notices to these recipients have been made, under their own ids of the person.",
    ),
)

register(
    Location(
        name=ending.PLACE,
        title="Exports that were made for the person and wait to be taken",
        order=9,
        table="access_exports_subject",
        columns={"subject_id": E},
        item_class=E,
        find=copies,
        delete=ending.erase_copies,
        example={"export_id": 1},
    ),
    Location(
        name="access_exports.parts",
        title="What these exports say, sealed",
        order=9,
        table="access_exports_part",
        columns={"sealed": E},
        waived={"file": "our own name of a file"},
        item_class=E,
        act=Act.CLEAR,
        goes="With the export. Only the code of its link opens it, and nobody here has that.",
        example={"export_id": 1},
    ),
)

waive("erasure_recipient", "names and addresses of organisations, and a sealed secret, made by administrators and compliance officers")
waive("erasure_recipient_containers", "numbers of rows")
waive("erasure_backuprecord", "where backups lie and when they end, written by those who run them")
waive("erasure_inventorycheck", "times and who said so")
waive("access_exports_export", "codes, numbers, times, digests, and a key under another key that is not kept")
waive("erasure_erasurerequest", "codes, times and opaque names; whom it is about and what people wrote stand in other tables")
waive("erasure_manifest", "digests, numbers and codes")
waive("erasure_locationanswer", WORD)
waive("erasure_verification", WORD)
waive("erasure_recheck", WORD)
waive("erasure_finding", "names of tables and columns, and the key of a row in them")
waive("erasure_placeoutcome", WORD)
waive("erasure_certificate", "codes, numbers and digests, signed as they stand")
waive("erasure_commitment", "a digest with a secret that is not kept")
waive("erasure_drill", "codes, numbers, keys of made-up rows, and who started it")
waive("erasure_drillplace", WORD)
waive("erasure_bulkdecision", "codes, numbers and who decided")
waive("erasure_approval", "a digest, codes and who approved")
