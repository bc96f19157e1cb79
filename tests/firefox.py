"""Debian's Firefox, driven over WebDriver BiDi, which it speaks itself: no driver is needed.

Only what the core tests do: open a page, ask it, press keys, move and click, look at a picture.
https://w3c.github.io/webdriver-bidi/ says what the commands are.
"""

import itertools
import json
import re
import subprocess
import time
from contextlib import contextmanager
from pathlib import Path

import pytest
import websocket

from tests import browsers

PATIENCE = 60
"""Seconds that anything may take on a busy machine."""

PREFERENCES = {
    "app.update.disabledForTesting": True,
    "browser.shell.checkDefaultBrowser": False,
    "datareporting.policy.dataSubmissionEnabled": False,
    "network.captive-portal-service.enabled": False,
    "network.connectivity-service.enabled": False,
    "remote.active-protocols": 1,
    "toolkit.telemetry.enabled": False,
}
"""So that a browser that nobody uses asks no host for anything."""

KEYS = {
    "ArrowLeft": "\ue012",
    "ArrowUp": "\ue013",
    "ArrowRight": "\ue014",
    "ArrowDown": "\ue015",
    "Enter": "\ue007",
    "Escape": "\ue00c",
    "Home": "\ue011",
    "End": "\ue010",
    "Tab": "\ue004",
}
"""Names of keys, as in a page -> code points of WebDriver."""


@contextmanager
def started(profile):
    """A running headless `Firefox` with an empty profile in a folder."""
    with browsers.or_failed():
        executable = browsers.path_of(browsers.FIREFOX)
    lines = [f"user_pref({json.dumps(k)}, {json.dumps(v)});" for k, v in PREFERENCES.items()]
    (profile / "user.js").write_text("\n".join(lines), "utf-8")
    log = profile / "log.txt"
    command = [executable, "--headless", "--profile", profile, "--remote-debugging-port", "0"]
    with log.open("w") as output:
        process = subprocess.Popen(command, stdout=output, stderr=output, env=_environment(profile))
    try:
        socket = websocket.create_connection(
            f"{_address(process, log)}/session", timeout=PATIENCE, suppress_origin=True
        )
        yield Firefox(socket)
        socket.close()
    finally:
        process.terminate()
        process.wait(PATIENCE)


def _environment(profile):
    """No display and no settings of whoever runs the tests."""
    return {"HOME": str(profile), "PATH": "/usr/bin:/bin", "MOZ_HEADLESS": "1", "LANG": "C.UTF-8"}


def _address(process, log):
    """Where it listens: it says so when it has started."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and process.poll() is None:
        found = re.search(r"WebDriver BiDi listening on (ws://\S+)", Path(log).read_text("utf-8"))
        if found:
            return found[1]
        time.sleep(0.1)
    pytest.fail(f"Firefox does not start: {Path(log).read_text('utf-8')[-2000:]}")
    return None


class Firefox:
    """One browser, one tab; `problems` are what its console complained of, `asked` all requests."""

    def __init__(self, socket):
        self.socket = socket
        self.numbers = itertools.count(1)
        self.problems, self.asked = [], []
        self.send("session.new", capabilities={})
        self.context = self.send("browsingContext.getTree")["contexts"][0]["context"]
        self.send("session.subscribe", events=["log.entryAdded", "network.beforeRequestSent"])

    def send(self, method, **params):
        """The result of a command; events that come meanwhile are kept."""
        number = next(self.numbers)
        self.socket.send(json.dumps({"id": number, "method": method, "params": params}))
        while True:
            answer = json.loads(self.socket.recv())
            if answer.get("id") == number:
                assert answer["type"] == "success", f"{method}: {answer}"
                return answer["result"]
            self._event(answer)

    def _event(self, event):
        params = event.get("params", {})
        if event.get("method") == "log.entryAdded" and params["level"] in ("error", "warn"):
            self.problems.append(params["text"])
        elif event.get("method") == "network.beforeRequestSent":
            self.asked.append(params["request"]["url"])

    def open(self, url, wait="complete"):
        """Load a page; an address that differs in its fragment only is loaded afresh too."""
        self.send("browsingContext.navigate", context=self.context, url="about:blank", wait=wait)
        self.send("browsingContext.navigate", context=self.context, url=url, wait=wait)

    def size(self, width, height):
        viewport = {"width": width, "height": height}
        self.send("browsingContext.setViewport", context=self.context, viewport=viewport)

    def evaluate(self, expression):
        """The value of an expression of the page that JSON can hold; promises are awaited."""
        answer = self.send(
            "script.evaluate",
            expression=f"(async () => JSON.stringify(await ({expression})))()",
            target={"context": self.context},
            awaitPromise=True,
        )
        assert answer["type"] == "success", f"{expression}: {answer.get('exceptionDetails')}"
        text = answer["result"].get("value")
        return None if text is None else json.loads(text)

    def until(self, condition):
        """Wait for an expression of the page to be true; returns its value."""
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            value = self.evaluate(condition)
            if value:
                return value
            time.sleep(0.05)
        pytest.fail(f"never came true in Firefox: {condition}")
        return None

    def press(self, *names):
        """Press keys one after the other."""
        codes = [KEYS.get(name, name) for name in names]
        steps = [{"type": kind, "value": code} for code in codes for kind in ("keyDown", "keyUp")]
        self._perform({"type": "key", "id": "keyboard", "actions": steps})

    def move(self, x, y):
        """Move the mouse to a place in the window."""
        self._mouse({"type": "pointerMove", "x": round(x), "y": round(y)})

    def click(self):
        """Click where the mouse is."""
        self._mouse({"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0})

    def _mouse(self, *steps):
        self._perform({"type": "pointer", "id": "mouse", "actions": list(steps)})

    def _perform(self, source):
        self.send("input.performActions", context=self.context, actions=[source])
