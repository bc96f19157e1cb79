"""What pages, SVG and other XML may hold: a list of what is allowed, of authors and the theme.

A page loads nothing from another host and sends nothing there, leads readers nowhere by itself, and
runs no code but the site's own. What is not on the list is refused, as is what browsers may take
for something else than Python's parser does.
"""

import re
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit
from xml.parsers import expat

from report.pages.policy import NAME
from report.site.links import as_browsers_read, in_styles, is_foreign
from report.text import shortened

ELEMENTS = set(
    "a abbr address area article aside audio b bdi bdo blockquote body br button canvas caption "
    "center cite code col colgroup data dd del details dfn div dl dt em fieldset figcaption figure "
    "footer form h1 h2 h3 h4 h5 h6 head header hgroup hr html i iframe img input ins kbd label "
    "legend li link main map mark menu meta meter nav noscript ol optgroup option output p picture "
    "pre progress q rp rt ruby s samp script search section select small source span strike strong "
    "style sub summary sup table tbody td tfoot th thead time title tr track tt u ul var video wbr "
    # of drawings
    "svg g path circle ellipse line polyline polygon rect text tspan defs desc lineargradient "
    "radialgradient stop clippath marker mask pattern symbol "
    # of formulas
    "math mrow mi mn mo ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover "
    "munderover mtable mtr mtd mstyle mpadded mphantom".split()
)

ATTRIBUTES = set(
    "abbr align allowfullscreen alt as async autocapitalize autocomplete autocorrect border "
    "charset checked class cols colspan content controls coords crossorigin datetime decoding "
    "default defer dir disabled download fetchpriority for headers height hidden high http-equiv "
    "hreflang id itemprop kind label lang loading loop low max maxlength media min multiple muted "
    "name nomodule open optimum placeholder playsinline prefix preload property readonly rel "
    "required reversed role rows rowspan scope selected shape size sizes span spellcheck srclang "
    "start step style tabindex target title translate type usemap valign value width xmlns "
    # of drawings
    "clip-path clip-rule color cx cy d dominant-baseline dx dy fill fill-opacity fill-rule "
    "focusable font-family font-size font-style font-weight fx fy gradienttransform gradientunits "
    "letter-spacing marker-end marker-mid marker-start markerheight markerunits markerwidth mask "
    "offset opacity orient patternunits points preserveaspectratio r refx refy rx ry stop-color "
    "stop-opacity stroke stroke-dasharray stroke-dashoffset stroke-linecap stroke-linejoin "
    "stroke-miterlimit stroke-opacity stroke-width text-anchor transform vector-effect version "
    "viewbox x x1 x2 y y1 y2 "
    # of formulas
    "accent columnalign columnspacing display displaystyle fence linethickness lspace mathvariant "
    "maxsize minsize rowspacing rspace scriptlevel separator stretchy".split()
)
"""Of any element, beside those of `FOLLOWED` and `LOADED`."""
OF_ANY_NAME = ("aria-", "data-")

STYLES = {"style", "fill", "stroke", "clip-path", "mask"}
STYLES |= {"marker-start", "marker-mid", "marker-end"}
"""Attributes that may hold url()."""

EXECUTED = {"", "module", "text/javascript", "application/javascript"}
"""Types of scripts that run."""

NOT_FETCHED = {"canonical", "alternate", "prev", "next", "license", "author", "me"}
"""<link rel=...> that names an address without loading it."""

VALUES = {
    ("script", "type"): EXECUTED | {"application/json", "application/ld+json"},
    ("meta", "http-equiv"): {NAME.lower(), "content-type", "x-ua-compatible"},
    ("link", "rel"): {"stylesheet", "icon", "shortcut", "apple-touch-icon", "manifest", "preload"}
    | {"modulepreload", *NOT_FETCHED},
}
"""(element, attribute) that may have these values alone, in small letters."""

FOLLOWED = {("a", "href"), ("area", "href"), ("link", "href"), ("blockquote", "cite")}
FOLLOWED |= {("q", "cite"), ("ins", "cite"), ("del", "cite")}
"""(element, attribute) of addresses that a browser follows only on a click, or not at all."""

LOADED = {(tag, "src") for tag in "img script iframe source video audio track".split()}
LOADED |= {("video", "poster"), ("img", "srcset"), ("source", "srcset")}
"""(element, attribute) of what a browser fetches by itself."""

BY_SCRIPTS = {"data-spec", "data-datasets", "data-seen", "data-page", "data-embed"}
"""Attributes of addresses that the site's own scripts load, of whatever element."""

SCHEMES = {"", "http", "https", "ftp", "mailto", "tel"}
"""Of addresses that are followed; those that are loaded have none, or are a picture as data."""

FRAMED = re.compile(r"(^|/|\.html)$")
"""How paths of pages of the site end, which alone have a policy."""

PICTURE = re.compile(r"data:(image/[a-z.+-]+)?[;,]", re.IGNORECASE)

RAW = {"style", "script", "title", "noscript", "iframe"}
"""Elements in which browsers take as text what Python's parser may take for elements."""

CLOSED = re.compile(r"<!--(?!-?>)(?:(?!--!?>).)*-->", re.DOTALL)
"""A comment that ends at the same place for every parser."""

END = re.compile(r"</[a-zA-Z][a-zA-Z0-9-]*[ \t\n\r\f]*>")
"""An end tag that does so."""

QUOTED = re.compile(r"""=[ \t\n\r\f]*("[^"]*"|'[^']*')""")
ODD_SPACE = re.compile(r"[^\S \t\n\r\f]")
"""What Python takes for a space between attributes, and browsers for a letter."""


class Refused(NamedTuple):
    """What a page holds and may not: its line, the tag as it stands there, what is wrong in it (an
    address, or the name of an attribute or an element), and a sentence."""

    line: int
    text: str
    part: str
    why: str


class Reader(HTMLParser):
    """Reads a page, and collects in `refused` what it may not hold."""

    def __init__(self):
        super().__init__()
        self.refused: list[Refused] = []
        self._within = ""
        """The element that the text stands in, of `RAW`."""
        self._begin = ""
        """Its tag."""
        self._drawn = 0
        """How many <svg> and <math> it stands in."""

    def refuse(self, text: str, part: str, why: str) -> None:
        """Note that something may not be in the page; as of `Refused`."""
        refused = Refused(self.getpos()[0], text, part, why)
        if refused not in self.refused:
            self.refused.append(refused)

    def _misread(self, text):
        self.refuse(
            text, text, f"browsers may take {_quoted(text)} for something else than it seems"
        )

    def handle_starttag(self, tag, attributes):
        text = self.get_starttag_text() or ""
        given = {name: value or "" for name, value in attributes}
        if tag not in ELEMENTS:
            return self.refuse(
                text, f"<{tag}", f"<{_quoted(tag)}> is no element that pages may hold"
            )
        if (
            (self._within and (self._within == "title" or tag in RAW or "</" in text))
            or (self._drawn and tag in RAW - {"title"})
            or len(given) < len(attributes)
            or ODD_SPACE.search(QUOTED.sub("", text))
        ):
            self._misread(text)
        self._drawn += tag in ("svg", "math")
        if tag in RAW:
            self._within, self._begin = tag, text
        for name, value in given.items():
            self._look(tag, name, value, given)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag in RAW:  # browsers read on to the end tag
            self._misread(self.get_starttag_text())
        self.handle_endtag(tag)

    def handle_endtag(self, tag):
        self._within = "" if tag == self._within else self._within
        self._drawn = max(0, self._drawn - (tag in ("svg", "math")))

    def handle_data(self, data):
        if self._within == "style":
            self._look_at_loaded("", in_styles(data))
        wrong = {"style": "<", "script": r"<!--|</script"}.get(self._within)
        if wrong and (match := re.search(wrong, data, re.IGNORECASE)):
            self._misread(data[match.start() :])

    def close(self):
        super().close()
        if self._within:  # of an element that does not end, Python leaves out what stands in it
            self._misread(self._begin)

    def parse_comment(self, i, report=True):
        """As that of Python, which takes more for the end of a comment than browsers do."""
        end = super().parse_comment(i, report)
        if end > 0 and (self._within or not CLOSED.fullmatch(self.rawdata, i, end)):
            self._misread(self.rawdata[i:end])
        return end

    def parse_endtag(self, i):
        """As that of Python, which takes more for an end tag than browsers do."""
        end = super().parse_endtag(i)
        if end > 0 and not END.fullmatch(self.rawdata, i, end):
            self._misread(self.rawdata[i:end])
        return end

    def unknown_decl(self, data):
        self._misread(f"<![{data}")

    def _look(self, tag, name, value, given):
        text = self.get_starttag_text()
        loaded = (tag, name) in LOADED or name in BY_SCRIPTS
        if (tag, name) == ("link", "href"):
            loaded = bool({*given.get("rel", "").lower().split()} - NOT_FETCHED)
        known = loaded or (tag, name) in FOLLOWED or name in ATTRIBUTES
        if not (known or name.startswith(OF_ANY_NAME)):
            why = f"{_quoted(name)} is no attribute that <{tag}> may have in pages"
            return self.refuse(text, name, why)
        values = VALUES.get((tag, name))
        several = value.lower().split() if name == "rel" else [value.strip().lower()]
        if values and not values.issuperset(several):
            return self.refuse(
                text, value, f'<{tag} {name}="{_quoted(value)}"> may not be in pages'
            )
        if name == "class" and "mermaid" in value.split():
            self.refuse(text, value, "the theme loads mermaid from another host")
        elif name in STYLES:
            self._look_at_loaded(text, in_styles(value))
        elif loaded:
            addresses = re.split(r"[\s,]+", value) if name == "srcset" else [value]
            self._look_at_loaded(text, addresses, tag not in ("script", "iframe"))
            if tag == "iframe" and not FRAMED.search(_path(value)):
                self.refuse(text, value, f"a frame may show pages (*.html), not {_quoted(value)}")
        elif (tag, name) in FOLLOWED and _scheme(value) not in SCHEMES:
            self.refuse(
                text, value, f"{name} of <{tag}> leads to {_quoted(value)}, which is no page"
            )

    def _look_at_loaded(self, text, addresses, pictures=False):
        for address in addresses:
            data = pictures and PICTURE.match(as_browsers_read(address))
            if not data and (_scheme(address) or is_foreign(address)):
                self.refuse(text, address, f"loads {_quoted(address)} from another host")


SVG = "http://www.w3.org/2000/svg"
XLINK, XML = "http://www.w3.org/1999/xlink", "http://www.w3.org/XML/1998/namespace"

OF_EDITORS = (
    *("http://www.inkscape.org/", "http://sodipodi.sourceforge.net/", "http://ns.adobe.com/"),
    *(
        "http://www.w3.org/1999/02/22-rdf-syntax-ns#",
        "http://purl.org/dc/",
        "http://www.serif.com/",
    ),
    *("http://creativecommons.org/ns#", "http://web.resource.org/cc/", "http://www.figma.com/"),
    *("http://www.bohemiancoding.com/", "https://boxy-svg.com/", "http://www.corel.com/"),
)
"""How the namespaces begin in which programs that draw keep notes; browsers show none of it."""

LISTED = (
    *OF_EDITORS,
    *("http://www.sitemaps.org/", "http://www.google.com/schemas/", "http://www.w3.org/2005/Atom"),
)
"""Those of lists for machines."""

DRAWN = set(
    "a circle clippath defs desc ellipse filter g image line lineargradient marker mask metadata "
    "path pattern polygon polyline radialgradient rect stop style svg switch symbol text textpath "
    "title tspan use view feblend fecolormatrix fecomponenttransfer fecomposite feconvolvematrix "
    "fediffuselighting fedisplacementmap fedistantlight fedropshadow feflood fefunca fefuncb "
    "fefuncg fefuncr fegaussianblur feimage femerge femergenode femorphology feoffset "
    "fepointlight fespecularlighting fespotlight fetile feturbulence".split()
)
"""Elements of SVG files, which cannot hold pages."""

DRAWN_WITH = ATTRIBUTES | set(
    "alignment-baseline amplitude azimuth baseline-shift baseprofile basefrequency bias clip "
    "clippathunits color-interpolation color-interpolation-filters color-profile color-rendering "
    "cursor diffuseconstant direction divisor edgemode elevation enable-background "
    "exponent filter filterres filterunits flood-color flood-opacity font font-size-adjust "
    "font-stretch font-variant font-feature-settings glyph-orientation-vertical image-rendering in "
    "in2 intercept isolation k1 k2 k3 k4 kernelmatrix kernelunitlength kerning lengthadjust "
    "lighting-color limitingconeangle line-height marker maskcontentunits maskunits method "
    "mix-blend-mode mode numoctaves operator order overflow paint-order pathlength "
    "patterncontentunits patterntransform pointer-events pointsatx pointsaty pointsatz "
    "preservealpha primitiveunits radius requiredextensions requiredfeatures result rotate scale "
    "seed shape-rendering side slope solid-color solid-opacity spacing specularconstant "
    "specularexponent spreadmethod startoffset stddeviation stitchtiles surfacescale "
    "systemlanguage tablevalues targetx targety text-decoration text-overflow text-rendering "
    "textlength transform-box transform-origin unicode-bidi values vector-effect viewtarget "
    "visibility white-space word-spacing writing-mode xchannelselector ychannelselector z "
    "zoomandpan".split()
)
"""Attributes of these."""


class Drawing(Reader):
    """Reads an SVG file, which somebody may open by itself; as `Reader`."""

    kind = "SVG files"

    def __init__(self, path: Path):
        super().__init__()
        self._style = None
        self._parser = expat.ParserCreate(namespace_separator=" ")
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._text
        self._parser.ProcessingInstructionHandler = self._instruction
        self._parser.StartDoctypeDeclHandler = self._doctype
        try:
            with path.open("rb") as file:
                self._parser.ParseFile(file)
        except (expat.ExpatError, ValueError, LookupError) as error:
            self.refuse("", "", f"is not XML ({error})")

    def getpos(self) -> tuple[int, int]:
        """The line that is read now."""
        return self._parser.CurrentLineNumber, 0

    def _instruction(self, target, _):
        self.refuse("", "", f"<?{_quoted(target)}?> may not be in {self.kind}")

    def _doctype(self, name, system, public, internal):
        if internal:
            self.refuse("", "", f"declarations of its own may not be in {self.kind}")

    def _start(self, name, attributes):
        space, _, tag = name.rpartition(" ")
        if space.startswith(OF_EDITORS):
            return
        if space not in ("", SVG) or tag.lower() not in DRAWN:
            return self.refuse("", "", f"<{_quoted(tag)}> is no element that SVG files may hold")
        if tag == "style":
            self._style = []
        for attribute, value in attributes.items():
            self._look_at(tag, *attribute.rpartition(" ")[::2], value)

    def _look_at(self, tag, space, name, value):
        link = name == "href" and space in ("", XLINK)
        of_any = name.startswith(OF_ANY_NAME) or name.lower() in DRAWN_WITH
        named = {"": of_any, XLINK: True, XML: name in ("space", "lang")}
        if not (link or named.get(space, space.startswith(OF_EDITORS))):
            self.refuse(
                "", "", f"{_quoted(name)} is no attribute that <{tag}> may have in SVG files"
            )
        elif link and tag == "a":
            if _scheme(value) not in SCHEMES:
                self.refuse("", "", f"<a> leads to {_quoted(value)}, which is no page")
        elif link:
            self._look_at_loaded("", [value], tag in ("image", "feImage"))
        elif "(" in value or "\\" in value:
            self._look_at_loaded("", in_styles(value))

    def _text(self, text):
        if self._style is not None:
            self._style.append(text)

    def _end(self, _):
        if self._style is not None:
            self._look_at_loaded("", in_styles("".join(self._style)))
            self._style = None


class Listing(Drawing):
    """Reads another file that browsers may take for XML, such as a site map: nothing in it may be
    of a language that they show or run; as `Reader`."""

    kind = "XML files"

    def _doctype(self, *_):
        self.refuse("", "", f"declarations may not be in {self.kind}")

    def _start(self, name, attributes):
        for each in (name, *attributes):
            space, _, part = each.rpartition(" ")
            if space and not space.startswith((XML, *LISTED)):
                why = f"{_quoted(part)} of {_quoted(space)} may not be in {self.kind}"
                self.refuse("", "", why)


def _quoted(text):
    return shortened(" ".join(text.split()), 80)


def _path(address):
    """The path of an address; "?" if it is none."""
    try:
        return urlsplit(as_browsers_read(address)).path
    except ValueError:
        return "?"


def _scheme(address):
    """What an address begins with, "" for one of this site or host."""
    match = re.match(r"([a-z][a-z0-9+.-]*):", as_browsers_read(address), re.IGNORECASE)
    return match[1].lower() if match else ""
