"""A real browser, headless: Chromium, spoken to in its DevTools protocol over a pipe, which needs no other package.

`Browser` starts one; `open` gives a `Tab`, in which scripts run and mice, fingers and keys are played as a user's.
"""

from __future__ import annotations

import base64
import json
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Any

from servers import find

__all__ = ["Browser", "Tab"]

PATIENCE_SECONDS = 60.0
OPTIONS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # a container may not let it have one
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
)


class Browser:
    """A Chromium of its own, with a profile that is thrown away."""

    def __init__(self, *options: str) -> None:
        self._profile = tempfile.TemporaryDirectory(prefix="chromium-", ignore_cleanup_errors=True)
        theirs_in, ours_out = os.pipe()
        ours_in, theirs_out = os.pipe()
        # It reads from 3 and writes to 4, which may be these very numbers: they are moved out of the way first.
        import fcntl

        high_in, high_out = (fcntl.fcntl(each, fcntl.F_DUPFD_CLOEXEC, 10) for each in (theirs_in, theirs_out))

        def wire() -> None:
            os.dup2(high_in, 3)
            os.dup2(high_out, 4)

        self._process = subprocess.Popen(
            [find("chromium"), *OPTIONS, *options, f"--user-data-dir={self._profile.name}", "about:blank"],
            preexec_fn=wire,
            close_fds=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "HOME": self._profile.name},
        )
        for each in (theirs_in, theirs_out, high_in, high_out):
            os.close(each)
        self._out, self._in = ours_out, os.fdopen(ours_in, "rb", buffering=0)
        self._rest = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def __enter__(self) -> Browser:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        try:
            os.write(self._out, b'{"id": 0, "method": "Browser.close"}\0')
            self._process.wait(60)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._out)
        self._in.close()
        self._profile.cleanup()

    def call(self, method: str, session: str = "", **parameters: Any) -> dict[str, Any]:
        """Ask for something, and wait for the answer."""
        self._number += 1
        asked: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session:
            asked["sessionId"] = session
        data = json.dumps(asked).encode() + b"\0"
        while data:
            data = data[os.write(self._out, data) :]
        while True:
            said = self._next()
            if said.get("id") == self._number:
                assert "error" not in said, f"{method}: {said['error']}"
                result: dict[str, Any] = said["result"]
                return result
            self.events.append(said)

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            chunk = self._in.read(2**20)
            assert chunk, "the browser has ended"
            self._rest += chunk
        data, _, self._rest = self._rest.partition(b"\0")
        said: dict[str, Any] = json.loads(data)
        return said

    def open(self, page: Path | str, width: int = 1280, height: int = 800, ratio: float = 1.0, **emulated: Any) -> Tab:
        """Open a page, as large as that, and wait until it is loaded."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        tab = Tab(self, session, target)
        tab.resize(width, height, ratio, **emulated)
        for domain in ("Page", "Runtime", "Network", "Log"):
            tab.call(f"{domain}.enable")
        tab.go(page if isinstance(page, str) else page.resolve().as_uri())
        return tab


class Tab:
    """A page in the browser."""

    def __init__(self, browser: Browser, session: str, target: str) -> None:
        self._browser = browser
        self._session = session
        self._target = target

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def resize(self, width: int, height: int, ratio: float = 1.0, mobile: bool = False, dark: bool = False) -> None:
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=mobile
        )
        if mobile:
            self.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=5)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        still = {"name": "prefers-reduced-motion", "value": "reduce"}
        self.call("Emulation.setEmulatedMedia", features=[scheme, still])

    def go(self, url: str) -> None:
        self.call("Page.navigate", url=url)

    def close(self) -> None:
        self._browser.call("Target.closeTarget", targetId=self._target)

    def run(self, script: str) -> Any:
        """The value of an expression of JavaScript; a promise is awaited."""
        done = self.call("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in done, done["exceptionDetails"]
        return done["result"].get("value")

    def wait(self, script: str) -> Any:
        """The value of an expression, once it is true. The page may be another one meanwhile."""
        end = time.monotonic() + PATIENCE_SECONDS
        while not (value := self._run_or_nothing(script)):
            assert time.monotonic() < end, f"never true: {script}"
            time.sleep(0.02)
        return value

    def _run_or_nothing(self, script: str) -> Any:
        try:
            return self.run(script)
        except AssertionError as error:
            if "Inspected target navigated" in str(error):
                return None
            raise

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def wheel(self, x: float, y: float, turned: float, modifiers: int = 0) -> None:
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=turned, modifiers=modifiers)

    def click(self, x: float, y: float) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1)

    def drag(self, x: float, y: float, to_x: float, to_y: float, modifiers: int = 0) -> None:
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, modifiers=modifiers)
        for share in (0.3, 0.7, 1.0):
            place = x + (to_x - x) * share, y + (to_y - y) * share
            self.mouse("mouseMoved", *place, button="left", modifiers=modifiers)
        self.mouse("mouseReleased", to_x, to_y, button="left", clickCount=1, modifiers=modifiers)

    def press(self, key: str, text: str = "") -> None:
        codes = {"Enter": 13, "Escape": 27, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40}
        code = codes.get(key, ord(key.upper()) if len(key) == 1 else 0)
        more = {"text": text or key} if len(key) == 1 else {"text": "\r"} if key == "Enter" else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, windowsVirtualKeyCode=code, **more)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, windowsVirtualKeyCode=code)

    def type(self, text: str) -> None:
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path) -> None:
        path.write_bytes(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def events(self, method: str, which: Callable[[dict[str, Any]], bool] = lambda parameters: True) -> list[Any]:
        """What the page was the cause of: requests, exceptions, what was logged."""
        mine = [each for each in self._browser.events if each.get("sessionId") == self._session]
        return [each["params"] for each in mine if each["method"] == method and which(each["params"])]
