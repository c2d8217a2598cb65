"""Dask arrays, dataframes, delayed blocks and bags as blocks of examples."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from rosenblatt.engines.shards import Shard, checked_labels, shard_of_batches


class DelayedLoader(NamedTuple):
    """A loader of a shard from delayed blocks: ``function(*blocks, index)``, run on a worker."""

    function: Callable[..., Shard]
    blocks: tuple[Any, ...]


class Blocks(NamedTuple):
    """Delayed blocks of rows and their labels; the partitions of a bag hold both."""

    X: list[Any]
    y: list[Any] | None
    names: list[str] | None = None


def blocks_of(X: Any, y: Any) -> Blocks:
    """Return the blocks of a collection; nothing is computed."""
    kind = _kind(X)
    if kind == "bag":
        if y is not None:
            raise ValueError("a bag holds batches (X, y): give no y beside it")
        return Blocks(list(X.to_delayed()), None)
    if y is None:
        raise ValueError("y is missing: give the labels, or the name of their column")
    if kind == "frame":
        X, y = without_target(X, y)
        _check_numeric(X)
        names = [str(name) for name in X.columns]
        parts = list(X.to_delayed())
        return Blocks(parts, label_blocks(y, len(parts)), names)
    if kind == "array":
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}")
        if len(X.chunks[1]) > 1:
            X = X.rechunk({1: -1})  # one block holds whole rows
        if (
            _kind(y) == "array"
            and y.chunks[0] != X.chunks[0]
            and not np.isnan([*y.chunks[0], *X.chunks[0]]).any()
        ):
            if sum(y.chunks[0]) != sum(X.chunks[0]):
                raise ValueError(f"X has {sum(X.chunks[0])} rows, but y has {sum(y.chunks[0])}")
            y = y.rechunk((X.chunks[0],))
        parts = list(X.to_delayed().ravel())
        return Blocks(parts, label_blocks(y, len(parts)))
    return Blocks(list(X), label_blocks(y, len(X)))


def label_blocks(y: Any, count: int) -> list[Any]:
    """Return the delayed blocks of the labels, as many as there are of the rows."""
    kind = _kind(y)
    if kind == "array":
        blocks = list(y.to_delayed().ravel())
    elif kind == "frame":
        blocks = list(y.to_delayed())
    elif kind == "blocks":
        blocks = list(y)
    else:
        raise TypeError(f"y must be a dask array, series or list of blocks, got {type(y).__name__}")
    if len(blocks) != count:
        raise ValueError(
            f"X has {count} blocks, but y has {len(blocks)}: give both the same blocks (rechunk, repartition)"
        )
    return blocks


def without_target(X: Any, y: Any) -> tuple[Any, Any]:
    """Return a dataframe without the column that ``y`` names, and that column."""
    if not isinstance(y, str):
        return X, y
    if _kind(X) != "frame":
        raise TypeError(f"y={y!r} names a column, but X is not a dataframe")
    if y not in X.columns:
        raise ValueError(f"no column is called {y!r}; there are {', '.join(map(str, X.columns))}")
    return X.drop(columns=[y]), X[y]


def shard_loaders(blocks: Blocks, shards: int | None) -> list[DelayedLoader]:
    """Return the loader of a shard for each block, or for each group of neighbouring blocks."""
    count = len(blocks.X)
    if shards is not None and shards < 1:
        raise ValueError(f"shards must be 1 or more, got {shards}")
    loaders = []
    for group in np.array_split(np.arange(count), min(shards or count, count)):
        X = [blocks.X[at] for at in group.tolist()]
        y = None if blocks.y is None else [blocks.y[at] for at in group.tolist()]
        loaders.append(DelayedLoader(_shard_of_blocks, (X, y, int(group[0]))))
    return loaders


def dataframe_partitions(X: Any) -> list[Any]:
    """Return the partitions of a dataframe, delayed."""
    if _kind(X) == "blocks":
        return list(X)
    if _kind(X) != "frame" or not hasattr(X, "columns"):
        raise TypeError(f"attributes are encoded from a dask dataframe, got {type(X).__name__}")
    return list(X.to_delayed())


def map_blocks(model: Any, method: str, X: Any) -> Any:
    """Call a method of a model on every block, lazily; return a collection of the same kind."""
    kind = _kind(X)
    classes = np.asarray(model.classes_)
    if kind == "array":
        return X.rechunk({1: -1}).map_blocks(
            lambda block: call_method(model, method, block),
            dtype=classes.dtype,
            drop_axis=1,
            meta=classes[:0],
        )
    if kind == "frame":
        import pandas as pd

        meta = pd.Series(classes[:0], name="prediction")
        return X.map_partitions(lambda part: _series(model, method, part, meta), meta=meta)
    if kind == "bag":
        return X.map(
            lambda batch: call_method(model, method, batch[0] if isinstance(batch, tuple) else batch)
        )
    import dask

    call = dask.delayed(call_method, pure=False)
    return [call(model, method, block) for block in X]


def call_method(model: Any, method: str, block: Any) -> Any:
    """Call a method on a block; return an empty result for an empty block."""
    if not block.shape[0]:
        return model.classes_[:0] if method == "predict" else _empty_matrix(model, block)
    return getattr(model, method)(block)


def _empty_matrix(encoder: Any, block: Any) -> Any:
    from scipy.sparse import csr_array

    return csr_array((0, len(encoder.get_feature_names_out())))


def _series(model: Any, method: str, part: Any, meta: Any) -> Any:
    import pandas as pd

    return pd.Series(call_method(model, method, part), index=part.index, name="prediction").astype(meta.dtype)


def _shard_of_blocks(X: list[Any], y: list[Any] | None, first: int, index: int) -> Shard:
    """Return a shard of one or more blocks, on a worker; errors name the blocks."""
    if y is None:
        return shard_of_batches([batch for part in X for batch in part], index)
    try:
        pairs = [(_matrix(rows), _labels(labels)) for rows, labels in zip(X, y, strict=True)]
        filled = [pair for pair in pairs if pair[0].shape[0]] or pairs[:1]
        return shard_of_batches(filled, index) if len(filled) > 1 else Shard(*filled[0], None, index)
    except ValueError as error:
        name = f"block {first}" if len(X) == 1 else f"blocks {first} to {first + len(X) - 1}"
        raise ValueError(f"{name}: {error}") from None


def _matrix(block: Any) -> Any:
    if not hasattr(block, "to_numpy"):
        return block
    values = block.to_numpy()
    if values.dtype.kind == "O":  # numpy sees nullable columns as objects
        return block.to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def _labels(block: Any) -> Any:
    """Return labels as a numpy array."""
    return checked_labels(np.asarray(block.to_numpy() if hasattr(block, "to_numpy") else block).reshape(-1))


def _check_numeric(frame: Any) -> None:
    for name, dtype in zip(frame.columns, frame.dtypes, strict=True):
        if getattr(dtype, "kind", "O") not in "fiub":
            raise ValueError(
                f"column {name!r} holds {dtype}, not numbers: drop it, or encode it, as in "
                "fit_dask(make_pipeline(Attributes(), ...), ...)"
            )


def _kind(collection: Any) -> str:
    """Return which of Dask's collections this is, without importing the others."""
    name = type(collection).__name__
    if name == "Bag":
        return "bag"
    if hasattr(collection, "npartitions") and (
        hasattr(collection, "columns") or hasattr(collection, "to_frame")
    ):
        return "frame"
    if hasattr(collection, "chunks") and hasattr(collection, "to_delayed"):
        return "array"
    if isinstance(collection, Sequence | np.ndarray) and not isinstance(collection, str):
        return "blocks"
    raise TypeError(
        f"X must be a dask array, dataframe, bag or list of delayed blocks, got {type(collection).__name__}"
    )
