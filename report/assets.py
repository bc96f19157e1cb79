"""The files that every page needs: script, style sheets, the chart library, published schemas."""

from pathlib import Path

import altair as alt
import vl_convert

from report import store

WEB = Path(__file__).parent / "web"


def write_assets(site_src):
    """Write script, styles and the chart library to `site_src/assets`, schemas to `schemas`."""
    for path in sorted(WEB.iterdir()):
        if path.is_file():
            store.write_bytes(site_src / "assets" / path.name, path.read_bytes())
    store.write_text(site_src / "assets" / "vega-embed.js", _chart_library())
    for path in sorted(store.SCHEMAS.glob("*.json")):
        store.write_bytes(site_src / "schemas" / path.name, path.read_bytes())


def _chart_library():
    """Vega, Vega-Lite and Vega-Embed as one ES module, from the version that Altair writes for."""
    version = ".".join(alt.SCHEMA_VERSION.lstrip("v").split(".")[:2])
    return vl_convert.javascript_bundle("export default vegaEmbed;", vl_version=version)
