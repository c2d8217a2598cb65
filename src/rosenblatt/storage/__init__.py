"""Model files: safetensors with a versioned JSON header. Loading one reads numbers and never runs code.

One declaration per kind of model (:mod:`rosenblatt.storage.models`) states which tensors and header fields a file has,
which attributes they hold, and which conditions they satisfy. :func:`write` and :func:`read_model` both follow it.
"""

import contextlib
import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from rosenblatt.atomic import replacing
from rosenblatt.storage.models import KINDS, check_content, kind_of, titles_of
from rosenblatt.storage.schema import Content, labels_to_json, parse_header

__all__ = [
    "FORMAT",
    "KINDS",
    "VERSION",
    "BadModel",
    "Content",
    "read_about",
    "read_file",
    "read_model",
    "replacing",
    "write",
    "write_file",
]

FORMAT, VERSION = "rosenblatt", 1
NAMES = ("feature_names", "schema", "hashed_names")  # in ``about``: they grow with the features


class BadModel(ValueError):
    """A file that is not a model, or not one that this version can read."""


def write(
    path: str | os.PathLike[str],
    kind: str,
    model: Any,
    *,
    about: Mapping[str, Any] | None = None,
    values: Mapping[str, Any] | None = None,
) -> None:
    """Write a model according to the declaration of its kind, atomically, after the checks that a reader makes.

    Only names of features are not checked: a service writes snapshots with a million of them between requests.

    Parameters
    ----------
    path : str or path-like
        The file to write or replace.
    kind : str
        A name in ``KINDS``.
    model : object
        Has the attributes that the kind declares.
    about : mapping, optional
        Metadata to store in the header, as JSON.
    values : mapping, optional
        Values to write in place of attributes of these names; None leaves an attribute out.
    """
    declared = KINDS[kind]
    fields, arrays = declared.pack(model, values or {})
    header = {
        "format": FORMAT,
        "version": VERSION,
        **({"kind": kind} if declared.section == "model" else {}),
        declared.section: fields,
        "classes": labels_to_json(model.classes) if declared.classes else None,
        "about": about or {},
    }
    without_names = {name: value for name, value in (about or {}).items() if name not in NAMES}
    try:
        check_content(parse_header(_header_text({**header, "about": without_names})), arrays)
    except ValueError as error:
        raise ValueError(
            f"{path}: this model cannot be saved, since it could not be loaded: {error}"
        ) from error
    write_file(path, header, arrays)


def write_file(path: str | os.PathLike[str], header: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
    """Write a header and tensors without checking them, atomically; :func:`read_model` may refuse them."""
    from safetensors.numpy import save

    contiguous = {name: np.asarray(array, order="C") for name, array in arrays.items()}
    content = save(contiguous, metadata={FORMAT: _header_text(header)})
    with replacing(path) as file:
        file.write(content)


def _header_text(header: dict[str, Any]) -> str:
    return json.dumps(header, allow_nan=False)


def read_model(path: str | os.PathLike[str], *kinds: str) -> Content:
    """Read a file of one of these kinds and check it against its declaration; raise BadModel for any other file.

    Every model is read by this function: its result is safe to pass to compiled code.
    """
    header, arrays = read_file(path)
    try:
        kind = kind_of(header)
        content = check_content(header, arrays) if kind in kinds else None
    except ValueError as error:
        raise BadModel(f"{path}: the model file is inconsistent: {error}") from error
    if content is None:
        raise BadModel(f"{path}: {titles_of([kind])}, expected {titles_of(kinds)}")
    return content


def read_about(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Read the metadata of a model file (``about`` in its header) without its tensors."""
    with _opened(path) as file:
        about = _header(path, file).get("about")
    if not isinstance(about, dict):
        raise BadModel(f"{path}: the model file is inconsistent: its header has no object 'about'")
    return about


def read_file(path: str | os.PathLike[str]) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """Read a header and tensors without checking them; :func:`read_model` does."""
    with _opened(path) as file:
        header = _header(path, file)
        arrays = {name: _tensor(path, file, name) for name in file.keys()}  # noqa: SIM118 (not a dict)
    return header, arrays


@contextlib.contextmanager
def _opened(path: str | os.PathLike[str]) -> Iterator[Any]:
    from safetensors import SafetensorError, safe_open

    if not Path(path).is_file():
        raise FileNotFoundError(f"{path}: no such model file")
    try:
        with safe_open(path, framework="numpy") as file:
            yield file
    except SafetensorError as error:
        raise BadModel(f"{path}: not a model file, or a damaged one: {error}") from error


def _header(path: str | os.PathLike[str], file: Any) -> dict[str, Any]:
    text = (file.metadata() or {}).get(FORMAT)
    if text is None:
        raise BadModel(f"{path}: a safetensors file, but not a rosenblatt model")
    try:
        header = parse_header(text)
    except ValueError as error:
        raise BadModel(f"{path}: not a model file, or a damaged one: {error}") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise BadModel(f"{path}: not a rosenblatt model")
    if type(header.get("version")) is not int or header["version"] != VERSION:
        raise BadModel(
            f"{path}: a model of format version {header.get('version')!r}, but this rosenblatt reads {VERSION}"
        )
    return header


def _tensor(path: str | os.PathLike[str], file: Any, name: str) -> NDArray[Any]:
    try:
        return np.asarray(file.get_tensor(name))
    except (TypeError, AttributeError, ValueError, OverflowError, MemoryError) as error:
        raise BadModel(f"{path}: tensor {name!r} has a type or shape that no model has: {error}") from error
