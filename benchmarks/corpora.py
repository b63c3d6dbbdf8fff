"""Seeded documents like those that agents send: small arguments, log-dense outcomes, large results, and floats only."""

from __future__ import annotations

import datetime
import json
import random
import sysconfig
import uuid
from pathlib import Path
from typing import Any

WORDS = [
    "error",
    "warning",
    "build",
    "module",
    "import",
    "path",
    "test",
    "function",
    "return",
    "value",
    "index",
    "cache",
    "request",
    "response",
    "server",
    "client",
    "token",
    "user",
    "session",
    "agent",
    "tool",
    "call",
    "result",
    "timeout",
    "retry",
    "handler",
    "config",
    "parse",
    "buffer",
    "stream",
    "object",
    "array",
    "string",
    "number",
    "docker",
    "python",
    "rust",
    "node",
    "commit",
    "branch",
    "merge",
    "diff",
    "file",
    "line",
    "column",
    "trace",
    "panic",
    "assert",
    "expected",
    "actual",
    "received",
    "fetch",
    "download",
    "upload",
    "install",
    "package",
    "version",
    "release",
    "debug",
]
FOLDERS = ("home", "user", "src", "work", "project", "lib", "tests", "app", "node_modules", "pkg")
EPOCH_MS = range(1_790_000_000_000, 1_800_000_000_000)


class Corpora:
    """Draws documents from one seed."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def words(self, count: int) -> str:
        """Return that many words."""
        return " ".join(self.random.choice(WORDS) for _ in range(count))

    def number(self, below: int) -> int:
        """Return a number from 0 on."""
        return self.random.randrange(below)

    def hex(self, digits: int) -> str:
        """Return that many hexadecimal digits."""
        return f"{self.random.getrandbits(4 * digits):0{digits}x}"

    def uuid(self) -> str:
        """Return a random UUID."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def moment(self) -> str:
        """Return a date and time."""
        start = datetime.datetime(2026, 11, 1, tzinfo=datetime.UTC)
        moment = start + datetime.timedelta(seconds=self.number(3_000_000), microseconds=self.number(10**6))
        return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def path(self) -> str:
        """Return a path of a file."""
        folders = (self.random.choice(FOLDERS) for _ in range(self.random.randint(2, 5)))
        return f"/{'/'.join(folders)}/{self.random.choice(WORDS)}{self.random.choice(['.py', '.ts', '.json', '.md'])}"

    def arguments(self, kind: int) -> Any:
        """Return a tool's arguments, about 200 bytes."""
        match kind % 8:
            case 0:
                return {"path": self.path(), "offset": self.number(5000), "limit": 200, "description": self.words(12)}
            case 1:
                command = (
                    f"cd {self.path()} && grep -rn \"{self.words(2)}\" --include='*.py' . | head -{self.number(99)}"
                )
                return {"command": command, "timeout": 120000, "workdir": self.path(), "background": False}
            case 2:
                return {
                    "query": self.words(6),
                    "count": 10,
                    "freshness": "pw",
                    "country": "us",
                    "search_lang": "en",
                    "ui_lang": "en-US",
                    "request_id": self.uuid(),
                    "note": self.words(5),
                }
            case 3:
                texts = (f"def {self.words(1)}(x):\n    return x + {self.number(99)}\n" for _ in range(2))
                return {
                    "file_path": self.path(),
                    "old_string": next(texts),
                    "new_string": next(texts),
                    "replace_all": False,
                }
            case 4:
                url = f"https://example.com/api/v1/{self.words(1)}?page={self.number(99)}&sig={self.hex(16)}"
                headers = {"accept": "application/json", "x-trace-id": self.hex(32)}
                return {"url": url, "method": "GET", "headers": headers, "maxChars": 50000, "extractMode": "markdown"}
            case 5:
                return {
                    "channel_id": str(self.number(10**18)),
                    "message_id": self.number(9 * 10**15),
                    "reply_to": None,
                    "text": f"{self.words(10)} \u2014 \u00fcn\u00efcode \u2713",
                    "ts": self.random.choice(EPOCH_MS),
                }
            case 6:
                return {
                    "selector": f"#main > div.{self.words(1)}:nth-child({self.number(9)}) a[href]",
                    "action": "click",
                    "x": round(self.random.random() * 1920, 2),
                    "y": round(self.random.random() * 1080, 2),
                    "timeoutMs": 30000,
                    "targetId": self.hex(32).upper(),
                    "wait": self.words(4),
                }
            case _:
                return {"todos": [{"id": str(n), "content": self.words(5), "status": "pending"} for n in range(3)]}

    def log_line(self) -> str:
        """Return a line of a build's or a server's output."""
        word = self.words(1)
        match self.number(9):
            case 0:
                return f"{self.moment()} [INFO] pid={self.number(99999)} {word}: {self.words(6)}"
            case 1:
                return f"\x1b[32m\u2713\x1b[0m {self.words(5)} ({self.number(2000)} ms)"
            case 2:
                return f"    at {word} ({self.path()}:{self.number(999)}:{self.number(80)})"
            case 3:
                return f'  File "{self.path()}", line {self.number(999)}, in {word}'
            case 4:
                clock = f"{self.number(24):02d}:{self.number(60):02d}"
                return f"-rw-r--r-- 1 root root {self.number(99999):6d} Nov {self.number(30):2d} {clock} {word}"
            case 5:
                return f"commit {self.hex(40)} {self.words(5)}"
            case 6:
                return f"job {self.uuid()} finished in {self.random.random() * 9:.3f}s status={word}"
            case 7:
                return f"<{word} object at 0x{self.hex(12)}> in /tmp/tmp{self.hex(8)}/out.log"
            case _:
                return self.words(self.random.randint(6, 14))

    def log(self, size: int) -> str:
        """Return lines, together about that long."""
        lines: list[str] = []
        left = size
        while left > 0:
            lines.append(self.log_line())
            left -= len(lines[-1]) + 1
        return "\n".join(lines)

    def outcome(self) -> Any:
        """Return a command's outcome, about 4 KB of log."""
        return {
            "status": "completed",
            "exitCode": self.number(3),
            "durationMs": self.number(90000),
            "aggregated": "",
            "cwd": self.path(),
            "sessionId": self.uuid(),
            "startedAt": self.random.choice(EPOCH_MS),
            "stdout": self.log(3500),
            "stderr": self.log(200),
            "truncated": False,
            "meta": {"tool": "exec", "pid": self.number(99999), "host": "node-1", "attempt": 1},
        }

    def result(self, kind: int) -> Any:
        """Return a large result, about 275 KB."""
        match kind % 4:
            case 0:
                hits = [
                    {
                        "title": self.words(8),
                        "url": f"https://example.com{self.path()}",
                        "score": self.random.random(),
                        "snippet": f"{self.words(30)} \u2014 \u201cquoted\u201d {self.words(8)}",
                        "published": self.moment(),
                        "rank": rank,
                        "id": self.hex(24),
                        "lang": "en",
                    }
                    for rank in range(560)
                ]
                return {"query": self.words(5), "provider": "brave", "tookMs": self.number(900), "results": hits}
            case 1:
                sources = sorted(Path(sysconfig.get_paths()["stdlib"]).glob("*.py"))
                source = self.random.choice([path for path in sources if path.stat().st_size > 60_000]).read_text(
                    "utf-8"
                )
                content = (source * (1 + 245_000 // len(source)))[:245_000]
                return {"path": self.path(), "content": content, "encoding": "utf-8", "lines": content.count("\n")}
            case 2:
                html = "".join(
                    f'<div class="{self.words(1)}" id="{self.hex(8)}"><a href="{self.path()}">{self.words(4)}</a>'
                    f"<p>{self.words(20)}</p></div>\n"
                    for _ in range(1150)
                )
                return {
                    "url": f"https://example.com{self.path()}",
                    "status": 200,
                    "html": html,
                    "fetchedAt": self.moment(),
                }
            case _:
                return {"status": "completed", "exitCode": 1, "stdout": self.log(240_000), "pid": self.number(99999)}

    def floats(self) -> Any:
        """Return doubles of 16 to 17 digits, as measurements have."""
        return [self.random.random() * 10 ** self.random.randrange(-3, 4) for _ in range(2000)]


def encode(value: Any, number: int) -> bytes:
    """Write every other one as JavaScript does (compact, raw), the others as Python's json does."""
    if number % 2:
        return json.dumps(value).encode()
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()


def build(seed: int) -> dict[str, list[bytes]]:
    """Return the documents of each size class."""
    draw = Corpora(seed)
    return {
        "small": [encode(draw.arguments(n), n // 8) for n in range(400)],
        "medium": [encode(draw.outcome(), n) for n in range(80)],
        "large": [encode(draw.result(n), n // 4) for n in range(8)],
        "floats": [encode(draw.floats(), 0) for _ in range(8)],
    }
