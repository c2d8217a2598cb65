"""Snapshots of models: written beside, flushed, renamed, and believed only while their digest is right."""

import contextlib
import hashlib
import os
import time
from pathlib import Path
from typing import NamedTuple

from rosenblatt.service.learner import ServedLearner
from rosenblatt.service.model import Counts, Model
from rosenblatt.service.store import Store
from rosenblatt.storage import BadModel

KEPT = 2  # snapshots of each model


class Frozen(NamedTuple):
    """A model as it was, to be written by any thread."""

    model: Model
    learner: ServedLearner
    counts: Counts


def freeze(model: Model) -> Frozen:
    """Return the model as it is now."""
    counts = Counts(model.counts.mistakes, model.counts.seq, model.counts.failed)
    return Frozen(model, model.learner.frozen(), counts)


def write_snapshot(store: Store, frozen: Frozen) -> None:
    """Write a snapshot, enter it, and drop those that are too many."""
    number, seq = frozen.model.number, frozen.counts.seq
    folder = store.folder / "snapshots"
    name = f"{number}-{seq}.safetensors"
    frozen.model.save(folder / name, frozen.learner, frozen.counts)
    _flush_folder(folder)
    digest = digest_of(folder / name)
    with store.transaction() as db:
        db.execute(
            "INSERT OR REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?)",
            (number, seq, name, digest, time.time()),
        )
        rows = db.execute(
            "SELECT seq, file FROM snapshots WHERE model = ? ORDER BY seq DESC", (number,)
        ).fetchall()
        db.executemany(
            "DELETE FROM snapshots WHERE model = ? AND seq = ?", [(number, old) for old, _ in rows[KEPT:]]
        )
    kept = {file for _, file in rows[:KEPT]}
    for file in folder.glob(f"{number}-*.safetensors"):
        if file.name not in kept:
            file.unlink(missing_ok=True)
    frozen.model.snapshot_seq = max(seq, frozen.model.snapshot_seq)


class Tried(NamedTuple):
    """A snapshot that was passed over, and why."""

    file: str
    reason: str


def restore(store: Store, model: Model) -> list[Tried]:
    """Bring a model to its newest good snapshot, or its base, or leave it as it was made; say what was passed over."""
    passed_over = []
    rows = store._db.execute(
        "SELECT seq, file, digest FROM snapshots WHERE model = ? ORDER BY seq DESC", (model.number,)
    ).fetchall()
    for seq, file, digest in rows:
        path = store.folder / "snapshots" / Path(file).name
        try:
            model.load(_checked(path, digest))
        except (BadModel, OSError) as error:
            passed_over.append(Tried(file, str(error)))
            continue
        model.snapshot_seq = seq
        return passed_over
    base = store._db.execute(
        "SELECT seq, digest, content FROM bases WHERE model = ?", (model.number,)
    ).fetchone()
    if base is not None:
        load_base(store, model, *base)
    return passed_over


def load_base(store: Store, model: Model, seq: int, digest: str, content: bytes) -> None:
    """Bring a model to its base, which nothing can replace."""
    if hashlib.blake2b(content, digest_size=16).hexdigest() != digest:
        raise BadModel(
            f"{store.path}: the base of model {model.name!r} is damaged; restore the store from a copy"
        )
    beside = store.folder / "snapshots" / f".base-{model.number}.safetensors"
    try:
        beside.write_bytes(content)
        model.load(beside)
    finally:
        beside.unlink(missing_ok=True)
    model.snapshot_seq = seq


def _checked(path: Path, digest: str) -> Path:
    if digest_of(path) != digest:
        raise BadModel(f"{path}: its digest is not the one that was entered")
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
