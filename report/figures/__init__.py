"""The figures: every module whose name has no leading underscore is one, found by its name.

A figure module has a docstring that says what it shows, and

    chart(data, **state) -> alt.Chart    an Altair chart of `altair.NamedData("rows")`
    rows(data, **state) -> list          its rows at a state, list of dict
    title(data) -> str                   heading, adapted to what the model has
    caption(data) -> str                 how to read it, what is left out and why (plain text); for
                                         a line that an earlier figure has, too, that one is named
    use(data) -> str                     what a reader can do with it: point, click, choose. In a
                                         picture that would not be true: it is left out of those
    controls(data) -> list               `Control`s and `Switch`es: what a reader may change
    seen(data, **state) -> str           what to see in it, one or two sentences for all readers
    alt(data, **state) -> str            what is drawn at that state, for those who do not see it
    ASPECT, PHONE_ASPECT                 width / height of its box; or
    boxes(data) -> list                  a `_grid.Box`, where that depends on the model

of which all but `chart` and `rows` may be left out (see `_plain`). Its rows are then written into
files, one a state. Where a dataset has what is shown, `chart` ends in `_theme.frame` instead, which
names the dataset and the decoder in `report/web/data`, and `rows` gives a dict, what fills each
named dataset. It may also have

    left_out(data) -> str                why it cannot be drawn of a model, "" if it can
    OF_MODELS = True                     it shows all models of an article at once: `data` is then
                                         `PassageModels`; any other gets a switch between models

A figure that is a grid of charts has, besides,

    panels(data) -> list                 a title for each, row by row; {layer} and the like follow
                                         the controls; chart, rows and alt get its number as `panel`
    columns(data) -> int, or COLUMNS     how many stand side by side where there is room

and perhaps

    legends(data) -> list                for each row what its lines are: dicts with label, mark
                                         ("line", "dash" or "span"), light and dark (colours)
    boxes(data) -> list                  a `_grid.Box` for each, instead of ASPECT and PHONE_ASPECT

`data` is what the article hands over: a `report.datasets.read.passage.PassageData`, for grids of
the filler study `parts.received.Panels`. `state` are values of controls, e.g. layer=3: indices from
0, even where `Control.offset` lets a reader count from 1.
"""
