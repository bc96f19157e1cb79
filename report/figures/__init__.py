"""The figures: every module whose name has no leading underscore is one, found by its name.

A figure module has a docstring (first line: what it shows), `ASPECT` and `PHONE_ASPECT` (width /
height of its box), and

    title(data) -> str                   heading, adapted to what the model has
    caption(data) -> str                 how to read it, what is left out and why (plain text)
    controls(data) -> list               `Control`s and `Switch`es: what a reader may change
    chart(data, **state) -> alt.Chart    the specification; its named datasets are empty
    rows(data, **state) -> dict          what fills each named dataset at that state
    alt(data, **state) -> str            what is to be seen at that state, for those who do not see

and perhaps

    left_out(data) -> str                why it cannot be drawn of a model, "" if it can


`data` is a `report.datasets.passage_study.StudyData`; `state` are values of controls, e.g. layer=3.
"""
