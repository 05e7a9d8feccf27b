"""An act and its entry in the log are one transaction, by every way: read from the source, since most tests are inside of a transaction."""

import ast

from tests import call_graph, transactions
from tests.test_every_verb_is_audited import LOG

FAILURE = "the job runner calls it in the transaction in which it marks the job as failed"
REAPPLYING = "its ways back to a search are named before the transaction in which they are gone"
INSIDE = {
    "memadmin.erasure.discovery.failed": FAILURE,
    "memadmin.erasure.execution.steps.stalled": FAILURE,
    "memadmin.lifecycle.restoring.user_failed": FAILURE,
    "memadmin.lifecycle.verifying.failed": FAILURE,
    "memadmin.erasure.management.commands.reapply_erasures.Command": REAPPLYING,
    "memadmin.erasure.management.commands.reapply_erasures.Command._reapply": REAPPLYING,
    "memadmin.store.log_words.plant": "plants a control, in the transaction that is taken back",
}


def test_the_log_is_written_inside_of_a_transaction_by_every_way():
    assert sorted(transactions.outside(LOG, call_graph.product())) == sorted(INSIDE)


def test_a_way_that_loses_its_transaction_is_noticed():
    modules = call_graph.product()
    spoilt = ast.parse(ast.unparse(modules["memadmin.erasure.alarms"]).replace("@transaction.atomic", ""))

    found = transactions.outside(LOG, {**modules, "memadmin.erasure.alarms": spoilt})

    assert found - set(INSIDE) == {"memadmin.erasure.tasks.alarm"}
