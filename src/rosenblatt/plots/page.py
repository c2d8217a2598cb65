"""The page of a report: its style, and small pieces of HTML. No network, two themes from one table."""

from collections.abc import Sequence
from html import escape
from typing import Any

from rosenblatt.plots.style import BLUE, DARK, LIGHT, MISTAKE, Theme, for_text

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def _variables(theme: Theme) -> str:
    return (
        f"--paper:{theme.paper};--ink:{theme.ink};--faint:{theme.faint};--grid:{theme.grid};"
        f"--blue:{for_text(BLUE, theme)};--mistake:{for_text(MISTAKE, theme)};color-scheme:{theme.name};"
    )


STYLE = f"""
:root{{{_variables(LIGHT)}}}
@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{_variables(DARK)}}}}}
:root[data-theme=dark]{{{_variables(DARK)}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums}}
main{{max-width:1400px;margin:0 auto;padding:24px 20px 64px}}
header{{display:flex;justify-content:space-between;align-items:flex-start;gap:16px}}
h1{{font-size:28px;line-height:1.2;margin:0}}
h2{{font-size:20px;margin:44px 0 10px;padding-top:14px;border-top:1px solid var(--grid)}}
p{{max-width:72ch;margin:6px 0 12px}} .faint{{color:var(--faint)}}
.scroll{{overflow-x:auto}}
table{{border-collapse:collapse;font-size:15px}}
th{{font-weight:500;color:var(--faint);text-align:right;padding:6px 12px;
border-bottom:1px solid var(--faint);white-space:nowrap}}
td{{padding:6px 12px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}}
th:first-child,td:first-child{{text-align:left}}
td.note{{text-align:left;white-space:normal;color:var(--faint)}}
tr.first td{{font-weight:600}}
td.cell{{text-align:center;min-width:76px}} td.wrong{{color:var(--mistake);font-weight:600}}
td.right{{background:color-mix(in srgb,var(--blue) 14%,transparent)}}
.grid{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:28px;align-items:start}}
figure{{margin:18px 0 0}} figure img{{max-width:100%;height:auto;display:block}}
.pictures{{display:flex;flex-wrap:wrap;gap:20px 32px;align-items:flex-start}}
.in-dark{{display:none!important}}
:root[data-theme=dark] .in-dark{{display:block!important}} :root[data-theme=dark] .in-light{{display:none!important}}
@media (prefers-color-scheme: dark){{:root:not([data-theme=light]) .in-dark{{display:block!important}}
:root:not([data-theme=light]) .in-light{{display:none!important}}}}
.bar{{display:inline-block;height:12px;background:var(--blue);vertical-align:middle;border-radius:2px}}
.features td{{padding:3px 10px}} .features td:nth-child(3){{text-align:left;min-width:150px}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid var(--blue);padding:4px 16px;margin:8px 0;
font:15px/1.55 ui-monospace,"DejaVu Sans Mono",monospace}}
button{{font:inherit;font-size:20px;line-height:1;color:var(--ink);background:none;border:1px solid var(--faint);
border-radius:8px;padding:8px 12px;cursor:pointer}}
@media print{{button{{display:none}}}}
"""

SCRIPT = """
document.getElementById('theme').addEventListener('click', function () {
  var root = document.documentElement, now = root.dataset.theme ||
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
});
"""


def page(title: str, subtitle: str, sections: Sequence[tuple[str, str]]) -> str:
    """Return a whole page; the sections are (heading, HTML)."""
    body = "".join(f"<section><h2>{escape(head)}</h2>{content}</section>" for head, content in sections)
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head><body><main>'
        f'<header><div><h1>{escape(title)}</h1><p class="faint">{escape(subtitle)}</p></div>'
        f'<button id="theme" title="light or dark" aria-label="light or dark">◐</button></header>'
        f"{body}</main><script>{SCRIPT}</script></body></html>\n"
    )


def comparison_table(comparison: Any, heads: Sequence[str]) -> str:
    """Return the table of a ``Comparison``, the best learner in bold."""
    top = "".join(f"<th>{escape(head)}</th>" for head in heads)
    lines = []
    for place, (row, cells) in enumerate(zip(comparison.rows, comparison.cells(), strict=True)):
        rest = (
            f'<td class="note" colspan="{len(heads) - 1}">{escape(row.note)}</td>'
            if row.note
            else "".join(f"<td>{escape(cell)}</td>" for cell in cells[1:])
        )
        first = ' class="first"' if place == 0 and not row.note else ""
        lines.append(f"<tr{first}><td>{escape(row.learner)}</td>{rest}</tr>")
    return f'<div class="scroll"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def confusion_table(classes: Sequence[Any], counts: Any) -> str:
    """Return how many rows of each class (down) were given each label (across)."""
    top = "".join(f"<th>{escape(str(label))}</th>" for label in classes)
    lines = []
    for i, label in enumerate(classes):
        cells = []
        for j in range(len(classes)):
            kind = "right" if i == j else "wrong" if counts[i, j] else ""
            cells.append(f'<td class="cell {kind}">{int(counts[i, j]):,}</td>')
        lines.append(f"<tr><td>{escape(str(label))}</td>{''.join(cells)}</tr>")
    head = f"<thead><tr><th>true ↓ &nbsp; given →</th>{top}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


def feature_tables(portraits: Sequence[Any]) -> str:
    """Return what speaks for each class: the largest weights, as bars."""
    largest = max((abs(w) for p in portraits for _, w in p.features), default=1.0) or 1.0
    tables = []
    for portrait in portraits:
        lines = "".join(
            f"<tr><td>{escape(name)}</td><td>{weight:+.4g}</td>"
            f'<td><span class="bar" style="width:{140 * abs(weight) / largest:.1f}px"></span></td></tr>'
            for name, weight in portrait.features
        )
        empty = "" if lines else '<tr><td class="note">no feature speaks for it</td></tr>'
        bias = f"<span class=faint>bias {portrait.bias:+.4g}</span>"
        head = f"<p><strong>{escape(str(portrait.label))}</strong> {bias}</p>"
        tables.append(
            f'<div>{head}<div class="scroll"><table class="features">{lines}{empty}</table></div></div>'
        )
    return f'<div class="grid">{"".join(tables)}</div>'


def figure(pictures: dict[str, str], words: str) -> str:
    """Return a picture in both themes (theme -> data address), of which one shows."""
    images = "".join(
        f'<img class="in-{theme}" src="{address}" alt="{escape(words)}">'
        for theme, address in pictures.items()
    )
    return f"<figure>{images}</figure>"
