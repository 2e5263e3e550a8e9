"""A headless Chromium that a test steers through a pipe, by the DevTools protocol; and the pixels of its pictures."""
import base64
import itertools
import json
import os
import shutil
import struct
import subprocess
import tempfile
import zlib

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


class Browser:
    """One page. `messages` collects what it writes to the console, errors included."""

    def __init__(self):
        self.folder = tempfile.TemporaryDirectory()
        ours, theirs = os.pipe(), os.pipe()  # commands to the browser, messages from it
        # The browser has the pipes as descriptors 3 and 4.
        command = ["bash", "-c", 'exec "$@" 3<&"$IN" 4>&"$OUT"', "bash", PROGRAM, "--headless", "--no-sandbox", "--disable-gpu",
                   "--disable-dev-shm-usage", "--hide-scrollbars", "--no-first-run", "--remote-debugging-pipe",
                   f"--user-data-dir={self.folder.name}", "about:blank"]
        self.process = subprocess.Popen(command, env={**os.environ, "IN": str(ours[0]), "OUT": str(theirs[1])},
                                        pass_fds=(ours[0], theirs[1]), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL)
        os.close(ours[0])
        os.close(theirs[1])
        self.commands, self.answers = os.fdopen(ours[1], "wb"), os.fdopen(theirs[0], "rb")
        self.numbers, self.messages, self.events, self.rest = itertools.count(1), [], [], b""
        page = next(one for one in self.call("Target.getTargets")["targetInfos"] if one["type"] == "page")
        self.session = None
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    session = None

    def close(self):
        self.commands.close()  # the browser ends when its pipe does
        try:
            self.process.wait(timeout=20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.answers.close()
        self.folder.cleanup()

    def call(self, method, **parameters):
        number = next(self.numbers)
        command = {"id": number, "method": method, "params": parameters}
        if self.session:
            command["sessionId"] = self.session
        self.commands.write(json.dumps(command).encode() + b"\0")
        self.commands.flush()
        while (message := self.read()).get("id") != number:
            pass
        if "error" in message:
            raise AssertionError(f"{method}: {message['error']}")
        return message["result"]

    def read(self):
        """The next message; what a page says is kept."""
        while b"\0" not in self.rest:
            part = self.answers.read1(1 << 16)
            if not part:
                raise AssertionError("the browser has ended")
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        message = json.loads(text)
        method = message.get("method", "")
        if method in ("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            self.messages.append(message["params"])
        self.events.append(method)
        return message

    def open(self, path, width, scheme="light", media="screen"):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False)
        self.call("Emulation.setEmulatedMedia", media=media, features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.events.clear()
        self.call("Page.navigate", url=f"file://{path}")
        while "Page.loadEventFired" not in self.events:
            self.read()

    def value(self, expression):
        result = self.call("Runtime.evaluate", expression=expression, returnByValue=True)
        if "exceptionDetails" in result:
            raise AssertionError(result["exceptionDetails"])
        return result["result"].get("value")

    def picture(self, box=None):
        """A PNG of a box of the page, which is x, y, width, height; of the whole page without one."""
        if box is None:
            box = self.value("[0, 0, document.documentElement.scrollWidth, document.documentElement.scrollHeight]")
        clip = dict(zip(("x", "y", "width", "height"), box), scale=1)
        return base64.b64decode(self.call("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)["data"])


def pixels_of(png):
    """The rows of a PNG with 8 bits a channel, each as bytes, and the number of channels."""
    place, data, width, channels = 8, b"", 0, 0
    while place < len(png):
        length, kind = struct.unpack(">I4s", png[place:place + 8])
        content = png[place + 8:place + 8 + length]
        if kind == b"IHDR":
            width, _, depth, colour = struct.unpack(">IIBB", content[:10])
            channels = {2: 3, 6: 4}[colour]
            assert depth == 8
        data += content if kind == b"IDAT" else b""
        place += 12 + length
    return list(unfiltered(zlib.decompress(data), width * channels, channels)), channels


def unfiltered(data, length, channels):
    above = bytearray(length)
    for begin in range(0, len(data), length + 1):
        kind, row = data[begin], bytearray(data[begin + 1:begin + 1 + length])
        if kind == 2:
            row = bytearray((a + b) & 255 for a, b in zip(row, above))
        elif kind:
            for i in range(length):
                left, corner = (row[i - channels], above[i - channels]) if i >= channels else (0, 0)
                row[i] = (row[i] + predicted(kind, left, above[i], corner)) & 255
        above = row
        yield bytes(row)


def predicted(kind, left, above, corner):
    if kind == 1:
        return left
    if kind == 3:
        return (left + above) // 2
    estimate = left + above - corner
    distances = (abs(estimate - left), abs(estimate - above), abs(estimate - corner))
    return (left, above, corner)[distances.index(min(distances))]
