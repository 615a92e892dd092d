# SPDX-License-Identifier: MIT
"""A page in headless Chromium, driven over its DevTools protocol (by pipe: no port, no library)."""
import fcntl
import json
import os
import select
import subprocess
import tempfile
import time

PATIENCE = 90
KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "Space": (32, " "), "ArrowRight": (39, ""), "End": (35, "")}


class Browser:
    """One page; ends with the `with` block."""

    def __init__(self, chromium):
        self.folder = tempfile.TemporaryDirectory(prefix="stallprof-chromium-", ignore_cleanup_errors=True)
        (asks, self.out), (self.answers, says) = os.pipe(), os.pipe()
        # Chromium reads from 3 and writes to 4, whatever these are here.
        high = [fcntl.fcntl(fd, fcntl.F_DUPFD, 20) for fd in (asks, says)]
        self.process = subprocess.Popen(
            [chromium, "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
             "--disable-background-networking", "--disable-component-update", "--hide-scrollbars",
             "--user-data-dir=" + self.folder.name, "--remote-debugging-pipe", "about:blank"],
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            preexec_fn=lambda: [os.dup2(fd, to) for fd, to in zip(high, (3, 4))], pass_fds=(3, 4))
        for fd in (asks, says, *high):
            os.close(fd)
        self.number, self.session, self.held, self.events = 0, None, b"", []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Page.enable")
        self.call("Emulation.setFocusEmulationEnabled", enabled=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait(PATIENCE)
        os.close(self.out)
        os.close(self.answers)
        self.folder.cleanup()

    def message(self, end):
        while b"\0" not in self.held:
            if not select.select([self.answers], [], [], max(0, end - time.monotonic()))[0]:
                raise TimeoutError("Chromium says nothing")
            block = os.read(self.answers, 1 << 20)
            if not block:
                raise EOFError("Chromium has gone")
            self.held += block
        text, self.held = self.held.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **parameters):
        self.number += 1
        asked = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            asked["sessionId"] = self.session
        os.write(self.out, json.dumps(asked).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while True:
            reply = self.message(end)
            if reply.get("id") == self.number:
                if "error" in reply:
                    raise RuntimeError("%s: %s" % (method, reply["error"]))
                return reply["result"]
            self.events.append(reply.get("method"))

    def open(self, path, width=1200, height=900):
        self.size(width, height)
        self.events.clear()
        self.call("Page.navigate", url="file://" + path)
        end = time.monotonic() + PATIENCE
        while "Page.loadEventFired" not in self.events:
            self.events.append(self.message(end).get("method"))

    def size(self, width, height):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)

    def medium(self, media="screen", scheme="light"):
        # Nothing glides: where things are does not hang on when one asks.
        self.call("Emulation.setEmulatedMedia", media=media, features=[
            {"name": "prefers-color-scheme", "value": scheme},
            {"name": "prefers-reduced-motion", "value": "reduce"}])

    def value(self, expression):
        reply = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in reply:
            raise RuntimeError(reply["exceptionDetails"])
        return reply["result"].get("value")

    def press(self, key, shift=False):
        code, text = KEYS[key]
        named = {"key": text if key == "Space" else key, "code": key, "windowsVirtualKeyCode": code,
                 "modifiers": 8 if shift else 0}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **named)
        self.call("Input.dispatchKeyEvent", type="keyUp", **named)
