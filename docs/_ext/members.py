"""Which members of a class are documented: ours. What scikit-learn or a tuple adds is documented elsewhere."""

from typing import Any


def is_foreign(member: Any) -> bool:
    """Return whether a member comes from another package, or is a field that the class's docstring tells."""
    if type(member).__name__ in ("_tuplegetter", "member_descriptor", "RequestMethod"):
        return True
    function = getattr(member, "fget", None) or getattr(member, "__func__", member)
    module = getattr(function, "__module__", None)
    return module is None or not str(module).startswith("rosenblatt")


def choose(app: Any, what: str, name: str, member: Any, skip: bool, options: Any) -> bool | None:
    """Leave out what is foreign, and nothing else."""
    return True if what == "class" and is_foreign(member) else None


def setup(app: Any) -> dict[str, Any]:
    """Listen to autodoc."""
    app.connect("autodoc-skip-member", choose)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
