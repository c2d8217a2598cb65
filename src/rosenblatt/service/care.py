"""Care of a store that nobody serves: verify it, make it smaller, write its journal out."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rosenblatt.service.model import Model
from rosenblatt.service.models import Models
from rosenblatt.service.refusals import Unknown
from rosenblatt.service.snapshots import digest_of, load_base
from rosenblatt.service.store import Store
from rosenblatt.storage import BadModel


class Verdict(NamedTuple):
    """What was found out about a model."""

    model: str
    feedbacks: int  # replayed from its base, or from nothing
    fingerprint: str
    problems: tuple[str, ...]


def verify(folder: Path) -> tuple[list[str], list[Verdict]]:
    """Check the database, every line of the journal, and that each model is what a clean replay makes it."""
    store = Store(_there(folder))
    try:
        reader = store.reader()
        found = [row[0] for row in reader.execute("PRAGMA integrity_check").fetchall()]
        reader.close()
        general = [] if found == ["ok"] else found
        return general, [_verdict(store, *each) for each in store.models()]
    finally:
        store.close()


def _verdict(store: Store, number: int, name: str, settings: Any) -> Verdict:
    """Replay a model from its base, stopping where a snapshot claims to be, and compare."""
    model, feedbacks, problems = Model(number, name, settings), 0, []
    snapshots = {seq: (file, digest) for seq, file, digest in store.snapshots(number)}
    try:
        base = store.base(number)
        if base is not None:
            load_base(store, model, *base)
        for entry in store.entries(number, model.counts.seq):
            problems += _compared(store, model, snapshots, before=entry.seq)
            model.replay(*entry)
            feedbacks += 1
        problems += _compared(store, model, snapshots, before=1 << 62)
    except (ValueError, OSError) as error:
        problems.append(str(error))
    return Verdict(name, feedbacks, model.learner.fingerprint(), tuple(problems))


def _compared(store: Store, model: Model, snapshots: dict[int, tuple[str, str]], before: int) -> list[str]:
    """Compare a replayed model with the snapshots that lie before a feedback, once each."""
    problems = []
    for seq in [seq for seq in snapshots if seq < before]:
        file, digest = snapshots.pop(seq)
        path = store.folder / "snapshots" / file
        try:
            if digest_of(path) != digest:
                problems.append(f"snapshot {file} is damaged; the service passes it over")
                continue
            twin = Model(model.number, model.name, model.settings)
            twin.load(path)
        except (BadModel, OSError) as error:
            problems.append(f"snapshot {file} cannot be read; the service passes it over: {error}")
            continue
        if twin.learner.fingerprint() != model.learner.fingerprint():
            problems.append(f"snapshot {file} is not what a replay of the journal gives")
    return problems


def compact(folder: Path) -> dict[str, Any]:
    """Make every model as it is now its base, and drop the journal before it; keys and ledger stay."""
    models = Models(_there(folder))
    before = _size(folder)
    try:
        dropped = models.store.journal_size()
        models.write_ledger()
        for model in models:
            models.write_base(model)
        models.store.vacuum()
    finally:
        models.close(snapshot=False)
    return {"feedbacks_dropped": dropped, "bytes_before": before, "bytes_after": _size(folder)}


def export(folder: Path, name: str | None) -> Iterator[bytes]:
    """Yield a model's journal as lines that ``learn`` takes; a server may have the store open meanwhile."""
    store = Store(_there(folder), reading=True)
    known = {found: number for number, found, _ in store.models()}
    if name is None and len(known) == 1:
        [name] = known
    if name not in known:
        told = f"no model {name!r}" if name else "which model? Name it with --model"
        raise Unknown(f"{folder}: {told}; there are {', '.join(known) or 'none'}")
    for entry in store.entries(known[name], 0):
        yield msgspec.json.encode({"label": entry.label, "features": entry.features})
    store.close()


def has_base(folder: Path, name: str | None) -> bool:
    """Whether a model began with something that is not in its journal."""
    store = Store(_there(folder), reading=True)
    try:
        return any(
            store.base(number) is not None for number, found, _ in store.models() if name in (None, found)
        )
    finally:
        store.close()


def _there(folder: Path) -> Path:
    if not (folder / "journal.sqlite3").is_file():
        raise FileNotFoundError(f"{folder}: there is no store")
    return folder


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.name != "recent")
