"""The figures: every file whose name has no leading underscore is one, found by its name.

A file gives its figure in one of two ways. Most are a docstring that says what the figure shows and
functions named like the fields of `Figure`, of which `chart` and `rows` are enough; constants are
in capitals (`ASPECT`, `PHONE_ASPECT`, `COLUMNS`, `OF_MODELS`, `PAINTS_PIXELS`), and what comes from
elsewhere gets the field's name (`controls = updates.controls`). Others give a value, as those that
a function makes:

    figure = head_sorted.figure(measure, __doc__)

Either way the finder (`build/find.py`) makes a `Figure` of it, gives it the file's name and fills
in what the file leaves out (`build/defaults.py`). What each field is called with and must return
is said at the fields of `Figure`.

What figures share is in `parts/`: a figure takes colours and the common look from `parts.theme`,
sliders and switches from `parts.choices`.
"""

from report.figures.parts.figure import Figure

__all__ = ["Figure"]
