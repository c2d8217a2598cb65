"""The page of a report: its style, and small pieces of HTML. No network, two themes from one table."""

from collections.abc import Sequence
from html import escape
from typing import Any, NamedTuple

from rosenblatt.learner.estimate import percent
from rosenblatt.plots.style import BLUE, DARK, LIGHT, MISTAKE, ORANGE, Theme, for_text

POLICY = "default-src 'none'; img-src data:; style-src 'unsafe-inline'; script-src 'unsafe-inline'"


def _variables(theme: Theme) -> str:
    return (
        f"--paper:{theme.paper};--ink:{theme.ink};--faint:{theme.faint};--grid:{theme.grid};"
        f"--blue:{for_text(BLUE, theme)};--orange:{ORANGE};--mistake:{for_text(MISTAKE, theme)};"
        f"color-scheme:{theme.name};"
    )


STYLE = f"""
:root{{{_variables(LIGHT)}}}
@media (prefers-color-scheme: dark){{:root:not([data-theme=light]){{{_variables(DARK)}}}}}
:root[data-theme=dark]{{{_variables(DARK)}}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);
font:16px/1.5 system-ui,"Segoe UI",Roboto,"DejaVu Sans",sans-serif;
font-variant-numeric:tabular-nums}}
main{{max-width:1320px;margin:0 auto;padding:28px 20px 64px}}
header{{display:flex;justify-content:space-between;align-items:flex-start;gap:16px}}
h1{{font-size:28px;line-height:1.2;margin:0;overflow-wrap:anywhere}}
h2{{font-size:20px;margin:0 0 10px}}
.summary{{font-size:17px;margin:18px 0 8px}} .summary p{{max-width:80ch}}
.cards{{display:grid;grid-template-columns:repeat(auto-fit,minmax(150px,1fr));gap:14px;margin:18px 0 26px}}
.card{{border:1px solid var(--grid);border-radius:10px;padding:12px 16px}}
.card b{{display:block;font-size:28px;line-height:1.25;font-weight:600}}
.card small{{display:block;color:var(--faint);font-size:14px}}
.sections{{display:grid;grid-template-columns:repeat(2,minmax(0,1fr));gap:36px 44px;align-items:start}}
section{{border-top:1px solid var(--grid);padding-top:16px;min-width:0}} section.wide{{grid-column:1/-1}}
p{{max-width:72ch;margin:6px 0 12px}} .faint{{color:var(--faint)}}
.scroll{{overflow-x:auto}} .scroll+p{{margin-top:22px}}
table{{border-collapse:collapse;font-size:15px}}
th{{font-weight:500;color:var(--faint);text-align:right;padding:6px 12px;
border-bottom:1px solid var(--faint);white-space:nowrap}}
td{{padding:6px 12px;text-align:right;border-bottom:1px solid var(--grid);white-space:nowrap}}
th:first-child,td:first-child{{text-align:left}}
td.note{{text-align:left;white-space:normal;color:var(--faint)}}
tr.first td{{font-weight:600}}
.wrong-rows :is(th,td):is(:nth-child(2),:nth-child(3)){{text-align:left}}
td.cell{{text-align:center;min-width:76px}} td.wrong{{color:var(--mistake);font-weight:600}}
td.right{{background:color-mix(in srgb,var(--blue) 14%,transparent)}}
.grid{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,440px),1fr));gap:28px;align-items:start}}
figure{{margin:18px 0 0}} figure img{{max-width:100%;height:auto;display:block}}
.pictures{{display:grid;grid-template-columns:repeat(auto-fit,minmax(min(100%,270px),1fr));gap:20px 28px;
align-items:start}}
.wide .pictures{{grid-template-columns:repeat(auto-fit,minmax(min(100%,480px),1fr))}}
.in-dark{{display:none!important}}
:root[data-theme=dark] .in-dark{{display:block!important}} :root[data-theme=dark] .in-light{{display:none!important}}
@media (prefers-color-scheme: dark){{:root:not([data-theme=light]) .in-dark{{display:block!important}}
:root:not([data-theme=light]) .in-light{{display:none!important}}}}
table.weights{{width:100%}} .weights td{{padding:4px 8px}}
.weights td:first-child{{white-space:normal;overflow-wrap:break-word;min-width:110px;max-width:240px;padding-left:0}}
.weights td.signed{{min-width:64px;padding:4px 0}} .weights th.signed{{text-align:center;padding:6px 4px}}
.axis{{position:relative;height:14px;background:linear-gradient(var(--faint),var(--faint)) center/1px 100% no-repeat}}
.axis span{{position:absolute;top:1px;height:12px;border-radius:2px}}
.axis .plus{{left:50%;background:var(--blue)}} .axis .minus{{right:50%;background:var(--orange)}}
.columns td{{white-space:normal;text-align:left;overflow-wrap:anywhere}}
.columns small{{color:var(--faint)}}
.columns td:first-child{{min-width:150px}} .columns td:nth-child(2){{overflow-wrap:normal}}
.columns th{{text-align:left}} .columns td.number{{text-align:right}}
pre{{white-space:pre-wrap;overflow-wrap:anywhere;border-left:3px solid var(--blue);padding:4px 16px;margin:8px 0;
font:15px/1.55 ui-monospace,"DejaVu Sans Mono",monospace}}
button{{font:inherit;font-size:20px;line-height:1;color:var(--ink);background:none;border:1px solid var(--faint);
border-radius:8px;padding:8px 12px;cursor:pointer}}
@media (max-width:900px){{.sections{{grid-template-columns:minmax(0,1fr)}}}}
@media (max-width:560px){{.cards{{grid-template-columns:repeat(2,minmax(0,1fr))}} .card{{padding:10px 12px}}
th,td{{padding:6px;white-space:normal}} td.cell{{min-width:40px}} td:first-child{{overflow-wrap:anywhere}}
.weights td:first-child{{min-width:112px;max-width:150px;overflow-wrap:anywhere}}
.weights td.signed{{min-width:30px}}
.weights th.signed{{overflow-wrap:anywhere;padding:6px 2px}}
.columns,.columns tbody{{display:block}} .columns thead{{display:none}}
.columns tr{{display:block;padding:8px 0;border-bottom:1px solid var(--grid);overflow-wrap:anywhere}}
.columns td{{display:inline;padding:0;border:0}} .columns td:first-child{{display:block;font-weight:500}}
.columns td:not(:empty)::after{{content:attr(data-unit)}}
.columns td:nth-child(n+3):not(:empty)::before{{content:" · "}}
figure.table{{overflow-x:auto}} figure.table img{{max-width:none;width:620px}}}}
@media print{{button{{display:none}} section,figure,.card{{break-inside:avoid}} main{{padding:0;max-width:none}}
body,table{{font-size:12px}} .summary{{font-size:14px}} .scroll{{overflow:visible}}
:root:root:root{{{_variables(LIGHT)}}} :root:root:root .in-light{{display:block!important}}
:root:root:root .in-dark{{display:none!important}}}}
"""

SCRIPT = """
document.getElementById('theme').addEventListener('click', function () {
  var root = document.documentElement, now = root.dataset.theme ||
    (matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light');
  root.dataset.theme = now === 'dark' ? 'light' : 'dark';
});
"""


class Section(NamedTuple):
    """One part of the page, in one of two columns or across both."""

    heading: str
    html: str
    wide: bool = False


class Card(NamedTuple):
    """One figure of the summary, what it is, and what belongs to it."""

    figure: str
    words: str
    more: str = ""


def page(title: str, subtitle: str, top: str, sections: Sequence[Section]) -> str:
    """Return a whole page: title, summary, and sections in two columns (one on a phone)."""
    body = "".join(
        f"<section{' class=wide' if each.wide else ''}><h2>{escape(each.heading)}</h2>{each.html}</section>"
        for each in sections
    )
    return (
        f'<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        f'<meta http-equiv="Content-Security-Policy" content="{POLICY}">'
        f'<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<link rel="icon" href="data:,"><title>{escape(title)}</title><style>{STYLE}</style></head><body><main>'
        f'<header><div><h1>{escape(title)}</h1><p class="faint">{escape(subtitle)}</p></div>'
        f'<button id="theme" title="light or dark" aria-label="light or dark">◐</button></header>'
        f'{top}<div class="sections">{body}</div></main><script>{SCRIPT}</script></body></html>\n'
    )


def summary(sentences: Sequence[str], cards: Sequence[Card]) -> str:
    """Return the sentences (HTML) and the figures that a reader sees first."""
    words = "".join(f"<p>{sentence}</p>" for sentence in sentences)
    figures = "".join(
        f'<div class="card"><b>{escape(card.figure)}</b>{escape(card.words)}'
        + (f"<small>{escape(card.more)}</small>" if card.more else "")
        + "</div>"
        for card in cards
    )
    return f'<div class="summary">{words}</div>' + (f'<div class="cards">{figures}</div>' if figures else "")


def columns_table(columns: Sequence[Any]) -> str:
    """Return how each column of a table was read; on a phone, every column is a line with its units."""
    missing = any(each.missing for each in columns)
    lines = "".join(
        f"<tr><td>{escape(str(each.name))}</td><td>{escape(str(each.kind))}</td>"
        + (f'<td class="number" data-unit=" missing">{each.missing or ""}</td>' if missing else "")
        + f"<td>{escape(str(each.summary))}"
        + (f" <small>({escape(str(each.note))})</small>" if each.note else "")
        + f'</td><td class="number" data-unit="{" feature" if each.features == 1 else " features"}">'
        f"{'' if each.kind == 'target' else each.features}</td></tr>"
        for each in columns
    )
    names = ("column", "read as", *(["missing"] if missing else []), "values", "features")
    heads = "".join(f"<th>{name}</th>" for name in names)
    table = f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>"
    return f'<div class="scroll"><table class="columns">{table}</table></div>'


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
    head = f"<thead><tr><th>true ↓ given →</th>{top}</tr></thead>"
    return f'<div class="scroll"><table>{head}<tbody>{"".join(lines)}</tbody></table></div>'


def weight_chart(
    names: Sequence[str], weights: Any, classes: Sequence[str], most_columns: int, words: str
) -> str:
    """Return one signed chart of the weights: a row per feature, bars to the right of zero speak for a class.

    ``weights`` has one row for two classes, whose positive weights speak for the second, else one row per class.
    """
    if not len(names):
        return "<p>Every weight is zero.</p>"
    largest = float(abs(weights).max())
    heads, columns = list(classes), weights
    if len(weights) == 1:
        heads = [f"← {classes[0]} &nbsp;&nbsp; {classes[1]} →"] if len(classes) == 2 else ["weight"]
        heads = [escape(heads[0]).replace("&amp;nbsp;", "&nbsp;")]
    else:
        spread = abs(weights).max(axis=1)
        shown = sorted(range(len(weights)), key=lambda c: -spread[c])[:most_columns]
        shown.sort()
        heads, columns = [escape(classes[c]) for c in shown], weights[shown]
        if len(shown) < len(weights):
            words += f" {len(shown)} of {len(weights)} classes are shown."
    lines = []
    for j, name in enumerate(names):
        cells = "".join(
            f'<td class="signed" title="{value:+.4g}"><div class="axis">'
            f'<span class="{"plus" if value >= 0 else "minus"}" style="width:{48 * abs(value) / largest:.1f}%"></span>'
            f"</div></td>"
            for value in columns[:, j]
        )
        number = f"<td>{columns[0, j]:+.3g}</td>" if len(columns) == 1 else ""
        lines.append(f"<tr><td>{escape(name)}</td>{cells}{number}</tr>")
    width = f' style="width:{60 // len(columns)}%"' if len(columns) > 1 else ""
    top = "".join(f'<th class="signed"{width}>{head}</th>' for head in heads)
    top += "<th></th>" if len(columns) == 1 else ""
    return (
        f'<p class="faint">{escape(words)}</p><div class="scroll"><table class="weights"><thead><tr><th></th>{top}</tr>'
        f"</thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def wrong_rows_table(rows: Sequence[tuple[str, str, str, float]], called: str) -> str:
    """Return the wrong rows that the model was surest of: (row or line, true, predicted, probability)."""
    lines = "".join(
        f"<tr><td>{escape(row)}</td><td>{escape(true)}</td><td>{escape(predicted)}</td>"
        f"<td>{percent(sure, short=True)}</td></tr>"
        for row, true, predicted, sure in rows
    )
    heads = "".join(f"<th>{head}</th>" for head in (called, "true", "predicted", "with probability"))
    table = f"<thead><tr>{heads}</tr></thead><tbody>{lines}</tbody>"
    return f'<p>The wrong rows it was surest of:</p><div class="scroll"><table class="wrong-rows">{table}</table></div>'


def figure(pictures: dict[str, str], words: str, table: bool = False) -> str:
    """Return a picture in both themes (theme -> data address), of which one shows.

    A picture of a table is not made smaller than can be read.
    """
    images = "".join(
        f'<img class="in-{theme}" src="{address}" alt="{escape(words)}">'
        for theme, address in pictures.items()
    )
    return f"<figure{' class=table' if table else ''}>{images}</figure>"
