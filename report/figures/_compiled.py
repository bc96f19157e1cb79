"""A chart as the page's script draws it: its Vega-Lite compiled to Vega by the build.

So a reader need not fetch the compiler, a third of the chart library, nor wait for it.
"""

import altair as alt
import vl_convert

VEGA_LITE = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
"""The version that Altair writes for, as vl-convert counts them."""


def vega(spec):
    """The Vega specification (dict) of a Vega-Lite one; named datasets stay named, `usermeta` too.

    Vega-Lite has no mark for a picture from memory: what is the `url` of an image mark there, is
    its `image` here, so its field holds a canvas.
    """
    compiled = vl_convert.vegalite_to_vega(spec, vl_version=VEGA_LITE)
    _feed_images(compiled)
    return compiled


def _feed_images(group):
    for mark in group.get("marks", []):
        _feed_images(mark)
        update = mark.get("encode", {}).get("update", {})
        if mark["type"] == "image" and "url" in update:
            update["image"] = update.pop("url")
