"""Maintenance of a store that is not served: verify, compact, repair, delete a model, export its journal."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple, Protocol

import msgspec

from rosenblatt.service.model import Model
from rosenblatt.service.snapshots import digest_of, load_base, restore, write_base
from rosenblatt.service.store import Damaged, Entry, Orphan, Store, StoreBroken, settings_from
from rosenblatt.service.writer import LocalModels, Service
from rosenblatt.storage import BadModel
from rosenblatt.web.refusals import Unknown


class StoredBeside(Protocol):
    """Data of another package in the store's folder, such as mail, which belong to models of the store."""

    def orphans(self, store: Store) -> list[Orphan]:
        """Count rows that belong to models which were deleted."""

    def sweep(self, store: Store) -> None:
        """Delete those rows; afterwards no file holds a byte of them."""


class Verdict(NamedTuple):
    """The result of verifying a model."""

    model: str
    feedbacks: int  # replayed from its base, or from nothing
    fingerprint: str
    problems: tuple[str, ...]


def verify(folder: Path, beside: Sequence[StoredBeside] = ()) -> tuple[list[str], list[Verdict]]:
    """Check the database, every row, that each model equals a clean replay, and that no deleted data is left."""
    store = Store(_existing(folder))
    try:
        reader = store.reader()
        integrity = [row[0] for row in reader.execute("PRAGMA integrity_check").fetchall()]
        reader.close()
        general = [] if integrity == ["ok"] else integrity
        lost = [(path.name, seq) for path, _, seq in store.newer_snapshots()]
        lost += [(file, seq) for _, file, seq in store.lost_rows()]
        general += [f"snapshot {file} holds feedback up to {seq} that the journal lost" for file, seq in lost]
        general += [
            f"{count:,} {what}: remove them with rosenblatt store compact"
            for what, count in (
                *store.orphans(),
                *(orphan for each in beside for orphan in each.orphans(store)),
            )
        ]
        return general, [_verdict(store, *each) for each in store.models()]
    finally:
        store.close()


def _verdict(store: Store, number: int, name: str, settings: bytes) -> Verdict:
    """Replay a model from its base, stopping where a snapshot claims to be, and compare."""
    feedbacks, problems = 0, []
    snapshots = {seq: (file, digest) for seq, file, digest in store.snapshots(number)}
    try:
        model = Model(number, name, settings_from(settings))
    except ValueError as error:
        return Verdict(name, 0, "", (f"its settings cannot be read: {error}",))
    try:
        base = store.base(number)
        if base is not None:
            load_base(store, model, *base)
        for entry in store.entries(number, model.counts.seq):
            problems += _compared(store, model, snapshots, before=entry.seq)
            try:
                model.replay(*entry)
            except Exception as error:
                raise StoreBroken(
                    f"feedback {entry.seq} cannot be learned from: {error!r}; remove it with rosenblatt store repair "
                    f"--model {name}"
                ) from error
            feedbacks += 1
        problems += _compared(store, model, snapshots, before=1 << 62)
    except (ValueError, OSError, MemoryError) as error:
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
        if not twin.learner.matches(model.learner):
            problems.append(f"snapshot {file} is not what a replay of the journal gives")
    return problems


def compact(folder: Path, beside: Sequence[StoredBeside] = ()) -> dict[str, Any]:
    """Store every model as its base, and delete the journal before it; keys and ledger stay.

    Afterwards no file of the store holds anything of a model that was deleted. Models that are offline stay as they
    are. Feedback can no longer name earlier predictions by their ids.
    """
    models = _models(folder)
    before = _size(folder)
    try:
        dropped = models.wait_for(_compact(models.service, beside))
        offline = [each.refusal() for each in models.offline.values()]
    finally:
        models.close(snapshot=False)
    return {
        "feedbacks_dropped": dropped,
        "bytes_before": before,
        "bytes_after": _size(folder),
        "offline": [str(each) for each in offline],
    }


async def _compact(service: Service, beside: Sequence[StoredBeside]) -> int:
    """Compact the store of a service; return how many feedbacks left the journal."""
    models, store = service.models, service.models.store
    await service.write_ledger()

    def rewrite() -> int:
        size: int = store.journal_size()
        for model in models:
            models.write_base(model)
        size -= store.journal_size()
        models.recent.clear()
        for each in beside:
            each.sweep(store)
        store.vacuum()
        return size

    dropped: int = await service.run(rewrite)
    return dropped


class Repaired(NamedTuple):
    """The result of a repair."""

    model: str
    replayed: int  # feedbacks of the journal that were learned from again
    dropped: tuple[int, ...]  # sequence numbers of feedbacks that could not be read or learned from
    remarks: tuple[str, ...]


def repair(folder: Path, name: str) -> Repaired:
    """Rebuild a model from what can be read: its newest good snapshot, or base, and the journal after it.

    Feedbacks that cannot be read or learned from are dropped. The result becomes the model's base.
    """
    store = Store(_existing(folder))
    try:
        number, settings = _find(store, folder, name)
        model = Model(number, name, settings_from(settings))
        for owner, file, seq in store.note_lost_rows():
            if owner == number:
                _enter(store, store.folder / "snapshots" / file, number, seq)
        entries, remarks = _salvaged(store, model)
        unreadable = tuple(entry.seq for entry in entries if isinstance(entry, Damaged))
        readable = [entry for entry in entries if isinstance(entry, Entry)]
        model, dropped = _relearned(store, model, readable)
        model.counts.seq = store.last_seq
        write_base(store, model)
        return Repaired(name, len(readable) - len(dropped), (*unreadable, *dropped), tuple(remarks))
    finally:
        store.close()


def _enter(store: Store, path: Path, number: int, seq: int) -> None:
    """Record a snapshot that holds more than the journal, so that the repair starts from it."""
    with store.transaction() as db:
        db.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, 0)",
            (number, seq, path.name, digest_of(path)),
        )


def _salvaged(store: Store, model: Model) -> tuple[list[Entry | Damaged], list[str]]:
    """Return the feedbacks after a model's newest good snapshot or base as far as they can be read, and remarks."""
    remarks = []
    try:
        remarks += [f"snapshot {file} was passed over: {reason}" for file, reason in restore(store, model)]
    except (ValueError, OSError) as error:
        remarks.append(f"{error}; the model was rebuilt without it")
    entries: list[Entry | Damaged] = []
    try:
        entries.extend(store.readable_entries(model.number, model.counts.seq))
    except StoreBroken as error:
        remarks.append(str(error))
    return entries, remarks


def _relearned(store: Store, model: Model, entries: list[Entry]) -> tuple[Model, list[int]]:
    """Return a model that has learned from every feedback that does not fail, and the numbers of those that do."""
    dropped: list[int] = []
    while True:
        fresh = Model(model.number, model.name, model.settings)
        try:
            restore(store, fresh)
        except (ValueError, OSError):  # as _salvaged met it
            fresh = Model(model.number, model.name, model.settings)
        for entry in entries:
            if entry.seq in dropped:
                continue
            try:
                fresh.replay(*entry)
            except Exception:  # the model is half-changed: start again without this feedback
                dropped.append(entry.seq)
                break
        else:
            return fresh, dropped


def delete(folder: Path, name: str) -> None:
    """Delete a model and all that it learned from; compact afterwards to remove its bytes from the files."""
    models = _models(folder)
    try:
        _find(models.store, folder, name)
        models.delete(name)
    finally:
        models.close(snapshot=False)


def _find(store: Store, folder: Path, name: str | None) -> tuple[int, bytes]:
    """Return number and encoded settings of a model; of the only one where none is named."""
    known = {known: (number, settings) for number, known, settings in store.models()}
    if name is None and len(known) == 1:
        [name] = known
    if name is None or name not in known:
        problem = f"no model {name!r}" if name else "which model? Name it with --model"
        raise Unknown(f"{folder}: {problem}; there are {', '.join(known) or 'none'}")
    return known[name]


class Export:
    """A model's journal as lines that ``learn`` takes; a server may have the store open meanwhile."""

    def __init__(self, folder: Path, name: str | None) -> None:
        self._store = Store(_existing(folder), reading=True)
        self._number = _find(self._store, folder, name)[0]
        self.has_base = self._store.base_seq(self._number) >= 0  # it began with more than its journal
        self.damaged: list[str] = []  # why feedbacks were left out

    def __iter__(self) -> Iterator[bytes]:
        try:
            for entry in self._store.readable_entries(self._number, 0):
                if isinstance(entry, Damaged):
                    self.damaged.append(entry.reason)
                else:
                    yield msgspec.json.encode({"label": entry.label, "features": entry.features})
        except StoreBroken as error:
            self.damaged.append(str(error))
        finally:
            self._store.close()


def _models(folder: Path) -> LocalModels:
    """Open all models without limits of memory: the commands here make none larger."""
    return LocalModels(_existing(folder), model_bytes=None, memory_bytes=None)


def _existing(folder: Path) -> Path:
    if not (folder / "journal.sqlite3").is_file():
        raise FileNotFoundError(f"{folder}: there is no store")
    return folder


def _size(folder: Path) -> int:
    return sum(file.stat().st_size for file in folder.rglob("*") if file.is_file() and file.name != "recent")
