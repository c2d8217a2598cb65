"""Formulas as MathML, which browsers draw by themselves: pages need no script and ask nothing of the network."""

from html import escape
from typing import Any

from docutils import nodes
from docutils.utils.math import MathError
from docutils.utils.math.latex2mathml import tex2mathml
from sphinx.util import logging

logger = logging.getLogger(__name__)


def inline(writer: Any, node: Any) -> None:
    """Write a formula within a sentence."""
    writer.body.append(f'<span class="math">{_one_line(node.astext(), False)}</span>')
    raise nodes.SkipNode


def block(writer: Any, node: Any) -> None:
    """Write a formula that stands alone."""
    writer.body.append(f'<div class="math">{_one_line(node.astext(), True)}</div>\n')
    raise nodes.SkipNode


def _one_line(latex: str, as_block: bool) -> str:
    try:
        found = tex2mathml(latex, as_block=as_block)
    except MathError as error:
        logger.warning("cannot draw the formula %r: %s", latex, error)  # with -W the build fails
        return escape(latex)
    return "".join(line.strip() for line in found.splitlines())


def setup(app: Any) -> dict[str, Any]:
    """Offer the renderer by its name."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
