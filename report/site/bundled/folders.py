"""Which folders of a site the figures of a page fetch their files from."""

from html.parser import HTMLParser


class Folders(HTMLParser):
    """Goes through a page; `found` are paths in the site."""

    def __init__(self, addresses):
        super().__init__()
        self.addresses, self.found = addresses, set()

    def handle_starttag(self, tag, attributes):
        at = dict(attributes)
        for name in ("data-datasets", "data-spec", "data-seen"):
            path = self.addresses.below(at.get(name) or "")
            if at.get(name) and path:
                folder = path if name == "data-datasets" else path.rpartition("/")[0]
                self.found.add(folder)
        # never the whole site, whatever a page says
        self.found = {each for each in self.found if each.count("/") > 0}
