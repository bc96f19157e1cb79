"""Files of a page that come only when a test lets them."""


class Held:
    """What a page asks for by a pattern waits until `release`; what it asks for later, comes.

    A slow page may ask only after a test has gone on, so a list of what has been asked is not
    enough.
    """

    def __init__(self, page, pattern):
        self.waiting, self.closed, self.asked = [], True, 0
        page.route(pattern, self._take)

    def _take(self, route):
        self.asked += 1
        if self.closed:
            self.waiting.append(route)
        else:
            route.continue_()

    def release(self):
        """Let all of it come."""
        self.closed = False
        while self.waiting:
            self.waiting.pop().continue_()
