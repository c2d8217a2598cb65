"""Taking a feedback back: it leaves the journal, and the model becomes what it would be had it never been given.

**Guarantee.** Afterwards the model has the fingerprint of a clean replay of all other feedbacks, in their order. The
key of the feedback stays known, so sending it again does not bring it back, and its place in the journal is not used
again.
"""

import time
from typing import NamedTuple

from rosenblatt.service.messages import LedgerLine
from rosenblatt.service.model import Model
from rosenblatt.service.models import Models
from rosenblatt.service.service import Service
from rosenblatt.service.snapshots import restore
from rosenblatt.service.store import Store
from rosenblatt.web.refusals import Gone, Unknown


class Rebuilt(NamedTuple):
    """A model without a feedback, and the lines of its ledger that were made anew."""

    model: Model
    lines: list[tuple[int, LedgerLine]]
    removed: bool
    seconds: float


def undo(models: Models, name: str, seq: int) -> bool:
    """Take a feedback back where nobody serves the store; return whether it was there."""
    models.write_ledger()
    rebuilt = _rebuilt(models.store, models.model(name), seq)
    models.add(rebuilt.model)
    return rebuilt.removed


async def undo_served(service: Service, name: str, seq: int) -> bool:
    """Take a feedback back in a running server: after all that waits before it, before all that comes after."""
    model = service.models.model(name)
    number = model.number

    def rebuild() -> Rebuilt:
        return _rebuilt(service.models.store, model, seq)

    def put(rebuilt: Rebuilt) -> Rebuilt:
        service.models.ledger_due = [each for each in service.models.ledger_due if each[0] != number]
        service.models.add(rebuilt.model)
        return rebuilt

    await service.write_ledger()
    rebuilt: Rebuilt = await service.errand(rebuild, put)
    return rebuilt.removed


def _rebuilt(store: Store, old: Model, seq: int) -> Rebuilt:
    began = time.perf_counter()
    base = store.base(old.number)
    if base is not None and seq <= base[0]:
        raise Gone(
            "this can no longer be taken back: the journal was compacted, or the model replaced, after it; "
            "say the opposite instead"
        )
    with store.transaction() as db:
        if old.number not in store.live:
            raise Unknown(f"model {old.name!r} was deleted meanwhile")
        store.mark(db)
        removed = db.execute("DELETE FROM journal WHERE model = ? AND seq = ?", (old.number, seq)).rowcount
        stale = [row[0] for row in db.execute(
            "SELECT file FROM snapshots WHERE model = ? AND seq >= ?", (old.number, seq)
        )]  # fmt: skip
        db.execute("DELETE FROM snapshots WHERE model = ? AND seq >= ?", (old.number, seq))
        db.execute("DELETE FROM ledger WHERE model = ? AND seq >= ?", (old.number, seq))
        store.generations[old.number] = generation = store.generations.get(old.number, 0) + 1
    for file in stale:
        (store.folder / "snapshots" / file).unlink(missing_ok=True)
    model = Model(old.number, old.name, old.settings)
    model.generation = generation
    restore(store, model)
    lines = []
    for entry in store.entries(model.number, model.counts.seq):
        line = model.replay(*entry)
        if line is not None:
            lines.append((model.number, line))
    store.write_ledger(lines)
    return Rebuilt(model, lines, bool(removed), time.perf_counter() - began)
