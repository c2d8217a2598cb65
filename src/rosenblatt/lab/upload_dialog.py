"""The dialog in which a CSV file becomes points: choose a file, then its columns."""

from collections.abc import Callable
from typing import Any

from nicegui import events, ui

from rosenblatt.lab.upload import LARGEST, Uploaded
from rosenblatt.web.layout import Markup, html

Change = Callable[..., None]  # of the state of a page, by name


def ask_for_table(change: Change) -> None:
    """Ask for a file; what is chosen of it becomes the page's own points."""
    with ui.dialog() as dialog, ui.element("div").classes("lab-dialog").style("width:480px"):
        html(Markup("<h2 style='font-size:20px;margin:0 0 6px'>Upload CSV</h2>"))
        ui.label("A header line, columns of numbers, and a column of labels. It stays on this computer.")
        place = ui.element("div").classes("lab-stack q-mt-md")
        with place:
            box = ui.upload(auto_upload=True, max_files=1, max_file_size=LARGEST, label="Choose a file")
            box.props("accept=.csv,.txt flat bordered").classes("w-full")

        async def arrived(event: events.UploadEventArguments) -> None:
            try:
                table = Uploaded.read(await event.file.read())
            except ValueError as error:
                ui.notify(str(error), type="negative", timeout=8000)
                box.reset()
                return
            place.clear()
            with place:
                _choose_columns(table, dialog, change)

        box.on_upload(arrived)
    dialog.open()


def _choose_columns(table: Uploaded, dialog: Any, change: Change) -> None:
    label = table.labels[-1]  # most tables end with what is to be told
    numeric = [name for name in table.numeric if name != label] or table.numeric
    x = ui.select(table.numeric, value=numeric[0], label="Across")
    y = ui.select(table.numeric, value=numeric[min(1, len(numeric) - 1)], label="Up")
    truth = ui.select(table.labels, value=label, label="Label")
    positive = ui.select(
        table.values_of(label), value=table.values_of(label)[-1], label="Counts as +1 (all else −1)"
    )
    for box in (x, y, truth, positive):
        box.props("dense outlined").classes("w-full")

    def other_label(event: Any) -> None:
        values = table.values_of(event.value)
        positive.set_options(values, value=values[-1])

    def use() -> None:
        try:
            points, left_out = table.points(x.value, y.value, truth.value, positive.value)
        except ValueError as error:
            ui.notify(str(error), type="negative")
            return
        dialog.close()
        change(data="own", points=points, clock=0, x_name=x.value[:40], y_name=y.value[:40])
        more = f", {left_out} rows left out" if left_out else ""
        ui.notify(f"{len(points)} points, scaled to the plane{more}.")

    truth.on_value_change(other_label)
    ui.button("Use these columns", on_click=use).classes("lab-first")
