"""The reference of the rules, written from the table of rules: ``every-rule`` documents each class in it."""

from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList


class EveryRule(Directive):
    """The documentation of every rule in ``rosenblatt.rules.BY_NAME``, so that a new rule needs no line here."""

    def run(self) -> list[nodes.Node]:
        """Return one class description for each rule."""
        from rosenblatt.rules import BY_NAME

        self.state.document.settings.env.note_reread()  # the code may have changed where the page has not
        lines = [line for cls in BY_NAME.values() for line in (f".. autoclass:: {cls.__name__}", "")]
        container = nodes.section()
        container.document = self.state.document
        self.state.nested_parse(StringList(lines, source="every-rule"), self.content_offset, container)
        return list(container.children)


def setup(app: Any) -> dict[str, Any]:
    """Add the directive."""
    app.add_directive("every-rule", EveryRule)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
