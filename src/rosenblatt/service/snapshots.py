"""Snapshots of models: written to a temporary file, flushed, renamed, and used only if their digest matches."""

import contextlib
import hashlib
import os
import tempfile
import time
from pathlib import Path
from typing import BinaryIO, NamedTuple

from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Counts, Model, settings_of
from rosenblatt.service.schemas import ModelSettings
from rosenblatt.service.store import Store
from rosenblatt.storage import BadModel
from rosenblatt.web.refusals import BadMessage, Conflict, Unknown

SNAPSHOTS = 2  # snapshots of each model


class Frozen(NamedTuple):
    """A copy of a model, to be written by any thread."""

    model: Model
    learner: ServedLearner
    counts: Counts


def freeze(model: Model) -> Frozen:
    """Return a copy of the model as it is now."""
    counts = Counts(model.counts.mistakes, model.counts.seq, model.counts.failed)
    return Frozen(model, model.learner.frozen(), counts)


def write_snapshot(store: Store, frozen: Frozen) -> None:
    """Write a snapshot, record it in the store, and delete the oldest beyond :data:`SNAPSHOTS`.

    Nothing is written if the model was deleted, replaced or compacted, or lost a feedback, since it was copied.
    """
    number, seq = frozen.model.number, frozen.counts.seq
    if not _current(store, frozen):
        return
    folder = store.folder / "snapshots"
    path = folder / f"{number}-{seq}.safetensors"
    frozen.model.save(path, frozen.learner, frozen.counts)
    path.chmod(0o600)
    digest = digest_of(path)
    _flush_folder(folder)
    with store.transaction() as db:
        current = _current(store, frozen)
        if current:
            db.execute(
                "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
                (number, seq, path.name, digest, time.time()),
            )
        rows = db.execute(
            "SELECT seq, file FROM snapshots WHERE model = ? ORDER BY seq DESC", (number,)
        ).fetchall()
        db.executemany(
            "DELETE FROM snapshots WHERE model = ? AND seq = ?",
            [(number, old) for old, _ in rows[SNAPSHOTS:]],
        )
    current_files = {file for _, file in rows[:SNAPSHOTS]}
    for file in folder.glob(f"{number}-*.safetensors"):
        if file.name not in current_files:
            file.unlink(missing_ok=True)
    if current:
        frozen.model.snapshot_seq = max(seq, frozen.model.snapshot_seq)


def _current(store: Store, frozen: Frozen) -> bool:
    """Whether a model, as it was frozen, is still what its base and a beginning of its journal make it."""
    number = frozen.model.number
    return (
        number in store.live
        and store.base_seq(number) < frozen.counts.seq
        and store.generations.get(number, 0) == frozen.model.generation
    )


def open_copy(folder: Path, frozen: Frozen) -> BinaryIO:
    """Return a model as an open file without a name: closing it frees its space."""
    with tempfile.TemporaryDirectory(dir=folder, prefix=".download-") as beside:
        path = Path(beside) / "model.safetensors"
        frozen.model.save(path, frozen.learner, frozen.counts)
        if os.name == "posix":
            return path.open("rb")
        copy: BinaryIO = tempfile.TemporaryFile(dir=folder, prefix=".download-")  # noqa: SIM115 (its caller's)
        copy.write(path.read_bytes())  # an open file cannot lose its name there
        copy.seek(0)
        return copy


def model_from_file(name: str, path: Path, settings: ModelSettings | None) -> Model:
    """Return the model of an uploaded file; its settings must be those of a model that it replaces."""
    try:
        own = settings_of(path)
        if settings is not None and own != settings:
            raise Conflict(
                f"the file was made with other settings than model {name!r}: delete it, or choose another name"
            )
        model = Model(0, name, own)
        model.load(path)
    except BadModel as error:
        raise BadMessage(f"not a model that can be served: {str(error).rpartition(': ')[2]}") from None
    return model


class PassedOver(NamedTuple):
    """A snapshot that could not be used, and why."""

    file: str
    reason: str


def restore(store: Store, model: Model) -> list[PassedOver]:
    """Load the newest good snapshot of a model, or its base, if any; return the snapshots that were passed over."""
    passed_over = []
    for seq, file, digest in store.snapshots(model.number):
        path = store.folder / "snapshots" / Path(file).name
        try:
            model.load(_checked(path, digest))
        except (BadModel, OSError) as error:
            passed_over.append(PassedOver(file, str(error)))
            continue
        model.snapshot_seq = seq
        return passed_over
    base = store.base(model.number)
    if base is not None:
        load_base(store, model, *base)
    return passed_over


def write_base(store: Store, model: Model) -> None:
    """Store a model as its base, and delete its journal up to now and its snapshots.

    The content is first read back and must give the same model, so nothing is deleted for a base that cannot be loaded.
    """
    beside = store.folder / "snapshots" / f".base-{model.number}.safetensors"
    try:
        model.save(beside)
        content = beside.read_bytes()
        twin = Model(model.number, model.name, model.settings)
        twin.load(beside)
    finally:
        beside.unlink(missing_ok=True)
    if twin.learner.fingerprint() != model.learner.fingerprint():
        raise BadModel(f"model {model.name!r} is not the same after it was written and read back")
    seq = model.counts.seq
    with store.transaction() as db:
        if model.number not in store.live:
            raise Unknown(f"model {model.name!r} was deleted meanwhile")
        db.execute(
            "INSERT OR REPLACE INTO bases VALUES (?, ?, ?, ?)",
            (model.number, seq, hashlib.blake2b(content, digest_size=16).hexdigest(), content),
        )
        db.execute("DELETE FROM journal WHERE model = ? AND seq <= ?", (model.number, seq))
        db.execute("DELETE FROM snapshots WHERE model = ?", (model.number,))
    for file in (store.folder / "snapshots").glob(f"{model.number}-*.safetensors"):
        file.unlink(missing_ok=True)


def load_base(store: Store, model: Model, seq: int, digest: str, content: bytes) -> None:
    """Load a model's base; if that is damaged, nothing can replace it."""
    if hashlib.blake2b(content, digest_size=16).hexdigest() != digest:
        raise BadModel(
            f"{store.path}: the base of model {model.name!r} is damaged; restore the store from a copy"
        )
    with tempfile.TemporaryDirectory(dir=store.folder / "snapshots", prefix=".base-") as folder:
        path = Path(folder) / "model.safetensors"
        path.write_bytes(content)
        model.load(path)
    model.snapshot_seq = seq


def _checked(path: Path, digest: str) -> Path:
    if digest_of(path) != digest:
        raise BadModel(f"{path}: its digest is not the recorded one")
    return path


def digest_of(path: Path) -> str:
    """Return the digest of a file's content."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()


def _flush_folder(folder: Path) -> None:
    """Make a rename durable, where folders can be flushed."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
