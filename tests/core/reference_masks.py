"""Masking, slow and obvious: one place after the other, with regular expressions before and behind it."""

from __future__ import annotations

import re

WRAPPER_NONCE, ANSI, WHITE_SPACE, TIMESTAMP = 1, 2, 4, 8
DURATION, SHELL_LINE, ADDRESS, PROCESS_ID = 16, 32, 64, 128
NOTEBOOK, TEMP_PATH, PROGRESS, UUID = 256, 512, 1024, 2048
TECHNICAL_ID, ATTEMPT, EPOCH, BINARY = 4096, 8192, 16384, 32768
CURSOR = 1 << 31  # no kind: nothing of such a value is masked

_ESCAPE = re.compile(
    r"\x1b(?:\[([ -?]*)([@-~]?)|\](?:[^\x07\x1b\n]{0,4095}(?:\x07|\x1b\\?)|[^\x07\x1b\n]{0,4096})|[ -/]*[0-~]?)"
)
_DATE = r"(?:\d{4}-\d\d-\d\d|\d{4}/\d\d/\d\d|\d\d/\d\d/\d{4})(?!\d)"
_CLOCK = r"(?>\d{1,2}:\d\d(?!\d)(?::\d\d(?!\d)(?:[.,]\d{1,9}(?!\d))?)?)(?![:\d])"
_FULL_CLOCK = r"(?>\d{1,2}:\d\d:\d\d(?!\d)(?:[.,]\d{1,9}(?!\d))?)(?![:\d])"
_ZONE = r"(?> ?(?:Z(?!\w)|(?:UTC|GMT)(?!\w)|[+-]\d{4}(?!\d)|[+-]\d\d:\d\d(?!\d)))?+"
_MONTH = r"(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)"
_WEEKDAY = r"(?:Mon|Tue|Wed|Thu|Fri|Sat|Sun)"
_UUID = re.compile(r"(?<![A-Za-z0-9])[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}(?!\w)", re.ASCII)
_UNIT = r"(?:ns|us|\u00b5s|\u03bcs|m|ms|mins?|minutes?|s|secs?|seconds?|h|hrs?|hours?)(?![A-Za-z_])"
_GAP = r"(?> [ \t]*|\t[ \t]+)?+"
_PIECE = rf"\d+(?:\.\d+)?+{_GAP}{_UNIT}"
_DURATION = re.compile(rf"(?>{_PIECE}(?:{_GAP}{_PIECE})*)", re.ASCII)
_SHELL_LINE = re.compile(
    r"(?:\A|\n)(?:[\w./-]*[\d_./-])?(?:ba|z|da|k|c|a|fi)?sh:[ \t]+line[ \t]+\Z", re.ASCII | re.IGNORECASE
)
_NUMBER = re.compile(r"\d+(?:\.\d+)?", re.ASCII)
_LABEL = re.compile(r"(\w*)([ \t#:=\"]*)\Z", re.ASCII)
_TECHNICAL = re.compile(r"(?:request|trace|span|correlation)id\Z|\A(?:nonce|etag)\Z")
_MOMENTS = ("timestamp", "ts", "now", "started", "starting", "finished", "ended", "generated")
_KEYED_TIMES = {
    "ts", "now", "asof", "servertime", "currenttime",
    "startedat", "finishedat", "endedat", "generatedat", "fetchedat", "retrievedat",
}  # fmt: skip
_FUTURE = {
    "expires", "expire", "expiring", "retry", "retries", "retrying", "again", "resets", "reset", "arrives",
    "arriving", "due",
    "starts", "starting", "begins", "closes", "opens", "reconnecting", "waiting", "sleeping", "timeout", "departs",
}  # fmt: skip
_MEASURED = {
    "passed", "failed", "skipped", "deselected", "xfailed", "xpassed", "warning", "warnings", "error", "errors",
    "test", "tests",
    "finished", "completed", "complete", "done", "ended", "exited", "succeeded", "success", "successfully", "built",
    "ran",
    "compiled", "executed", "loaded", "downloaded", "installed", "generated", "processed", "resolved", "added",
    "audited",
    "packages", "modules", "files",
}  # fmt: skip
_TIMED = {
    "total", "execution", "elapsed", "run", "running", "wall", "response", "build", "query", "cpu", "user",
    "system", "real",
    "processing", "compile", "test",
}  # fmt: skip
_LIMIT = re.compile("timeout|ttl|interval|delay|deadline|expir|offset|limit|retryafter")
_CURSOR = re.compile(
    r"(?:cursor|pagetoken|nexttoken|continuationtoken|paginationtoken|startingafter|endingbefore|offset|marker)\Z"
)
_RATE = re.compile(rf"\d+(?:\.\d+)?+{_GAP}(?:it/s|s/it|(?:[kKMGT]i?[bB]?|[bB])/s)(?!\w)", re.ASCII)
_SPAN = r"(?>\d{1,3}:\d\d(?!\d)(?::\d\d(?!\d))?)"
_BAR = re.compile(rf"{_SPAN}<(?:{_SPAN}|\?)(?=,)[^\]\n]{{0,64}}(?=\])", re.ASCII)


def _plain(name: str) -> str:
    """Return a name's letters and digits in lower case; nothing of one that is too long."""
    if len(name.encode("utf-8", "surrogatepass")) > 32:
        return ""
    return "".join(c.lower() if c.isascii() else c for c in re.sub("[_-]", "", name))


def _measured_ms(name: str) -> bool:
    return len(name) > 3 and name.endswith("_ms") and not _LIMIT.search(_plain(name))


def _names_technical_id(key: str) -> bool:
    return bool(_TECHNICAL.search(re.sub("[_-]", "", key).lower()))


def _moment(text: str, at: int) -> tuple[int, bool]:
    """Return the end of a date, a clock or both, and whether there is a clock; `at` itself if there is none."""
    for pattern, clock in ((rf"{_DATE}[T ]{_CLOCK}{_ZONE}", True), (_DATE, False), (rf"{_CLOCK}{_ZONE}", True)):
        found = re.compile(pattern, re.ASCII).match(text, at)
        if found:
            return (at, False) if re.match(r"\w", text[found.end() :], re.ASCII) else (found.end(), clock)
    return at, False


def _opens_line(text: str, at: int) -> bool:
    return re.search(r"(?:\A|\n)[ \t]*(?:--)?[\[(]?\Z", text[:at]) is not None


class _Scan:
    """One string's text: `edits` are (start, end, what stands instead)."""

    def __init__(self, text: str, mask: int, masks: Masks) -> None:
        self.text = text
        self.mask = mask
        self.masks = masks
        self.edits: list[tuple[int, int, str]] = []
        self.blanks: set[int] = set()
        self.resume = 0
        self.taken = 0
        self.stamped = 0
        self.rated = 0

    def run(self) -> str:
        for at in range(len(self.text)):
            self.place(at)
        if self.mask & WHITE_SPACE:
            start = max(len(self.text.rstrip(" \t\n")), self.taken)
            self.edits = [edit for edit in self.edits if edit[0] not in self.blanks or edit[1] <= start]
            if start < len(self.text):
                self.edits.append((start, len(self.text), ""))
        parts = []
        done = 0
        for start, end, instead in self.edits:
            parts += [self.text[done:start], instead]
            done = end
        return "".join(parts) + self.text[done:]

    def add(self, start: int, end: int, instead: str) -> bool:
        while self.edits and self.edits[-1][0] in self.blanks and self.edits[-1][0] >= start:
            self.edits.pop()
        self.edits.append((start, end, instead))
        self.taken = self.resume = end
        return True

    def place(self, at: int) -> None:
        text = self.text
        if at < self.resume:
            return
        found = _UUID.match(text, at) if self.mask & UUID else None
        if found and not self.in_cursor(at):
            self.add(at, found.end(), self.masks.uuid(found.group()))
        elif re.compile(r"(?<!\w)\d", re.ASCII).match(text, at):
            self.number(at)
        elif text[at] in " \t" and not re.match(r"[ \t]", text[max(at - 1, 0) : at]):
            self.blank(at)
        elif text[at] in ":=":
            self.assignment(at)
        elif not (text[at] == "/" and self.mask & TEMP_PATH and self.path(at)):
            self.spinner(at)

    def in_cursor(self, at: int) -> bool:
        """Whether the value at a place is that of a name for a place in a list."""
        value = re.search(r"[\w./+%<>-]*\Z", self.text[:at], re.ASCII).group()[-256:]
        found = re.search(r"([\w-]*)[ \t#:=\"]+\Z", self.text[: at - len(value)], re.ASCII)
        return bool(found) and bool(_CURSOR.search(_plain(found[1])))

    def spinner(self, at: int) -> None:
        text = self.text
        braille = "\u2800" <= text[at] <= "\u28ff"
        drawn = text[at] in "|/\\-" and text[:at].endswith(("ing: ", "ING: "))
        alone = text[at + 1 : at + 2] in (" ", "\t") and bool(text[at + 1 : at + 2])
        if self.mask & PROGRESS and (braille or (drawn and alone)):
            self.add(at, at + 1, "<progress>")

    def blank(self, at: int) -> None:
        found = re.compile(r"[ \t]+").match(self.text, at)
        if found is None or not self.mask & WHITE_SPACE:
            return
        end = found.end()
        trailing = end == len(self.text) or self.text[end] == "\n"
        if not trailing and (end - at == 1 or at == 0 or self.text[at - 1] == "\n"):
            return
        self.edits.append((at, end, "" if trailing else " "))
        self.blanks.add(at)
        self.resume = end

    def assignment(self, at: int) -> None:
        if not self.mask & TECHNICAL_ID or not re.search(r"[dDeEgG\"]\Z", self.text[:at]):
            return
        name = re.search(r"([\w-]*)\"?\Z", self.text[:at], re.ASCII)
        value = re.compile(r"[:=][ \t]*\"?([\w./+=-]+)", re.ASCII).match(self.text, at)
        if name is None or value is None or not _names_technical_id(name[1]):
            return
        if self.mask & UUID and len(value[1]) == 36 and _UUID.match(self.text, value.start(1)):
            return
        self.add(value.start(1), value.end(), self.masks.technical_id(value[1]))

    def path(self, at: int) -> bool:
        if self.text.startswith("/tmp/", at):
            return not self.in_cursor(at) and self.component(at + 5)
        found = re.compile(r"/var/folders/([\w.+-]+/[\w.+-]+)", re.ASCII).match(self.text, at)
        if found is None or self.in_cursor(at):
            return False
        self.add(found.start(1), found.end(), "<tmp>")
        if self.text.startswith("/T/", found.end()):
            self.component(found.end() + 3)
        return True

    def component(self, at: int) -> bool:
        whole = re.compile(r"[\w.+-]*", re.ASCII).match(self.text, at)
        name = whole.group() if whole else ""
        if self.mask & UUID and any(_UUID.match(self.text, at + i) for i in range(len(name) - 35)):
            return False
        stem = re.sub(r"(?<=.)\.[A-Za-z]{1,4}\Z|\A\.[A-Za-z]{1,4}\Z", "", name)
        found = re.fullmatch(r"(tmp\.?)(\w{6,})|(ipykernel_)(\d+)", stem, re.ASCII)
        prefix, random = (
            [part for part in found.groups() if part is not None]
            if found
            else re.fullmatch(r"((?:.*[.+-])?)([^.+-]*)", stem).groups()
        )
        if not found and not prefix and "_" in random:
            prefix = random[: random.index("_") + 1]
            random = random[len(prefix) :]
        if not found and not _looks_random(random):
            return False
        for number in re.finditer(r"(?<!\w)\d", prefix, re.ASCII):
            if at + number.start() >= self.resume:
                self.number(at + number.start())
        self.add(at + len(prefix), at + len(stem), "<tmp>")
        self.resume = at + len(name)
        return True

    def number(self, at: int) -> None:
        text = self.text
        before = text[:at]
        end = re.compile(r"\d+").match(text, at).end()
        mask = self.mask
        if mask & TIMESTAMP and end - at <= 4 and self.timestamp(at, end):
            return
        found = _BAR.match(text, at)
        if mask & PROGRESS and before.endswith("[") and found:
            self.add(at, found.end(), "<progress>")
            return
        if self.counted(at):
            return
        found = re.compile(r"0x[0-9a-fA-F]{6,16}(?!\w)", re.ASCII).match(text, at)
        # As many bytes of canonical text, where an escape takes two or six.
        near = (
            re.sub(r"[\0-\x1f\"\\]|[\ud800-\udfff]", _written, before)
            .encode("utf-8", "surrogatepass")
            .decode("latin-1")
        )
        printed = re.search(r"<[^<>\n]{0,127}\Z", near)
        if mask & ADDRESS and found and (re.search(r"at[ \t]+\Z", before) or printed):
            self.add(at, found.end(), "<address>")
            return
        cell = text[end : end + 1] == "]" and re.search(r"(?<!\w)(?:In|Out) ?\[\Z", before, re.ASCII)
        file = end - at >= 6 and re.compile(r"\.py(?!\w)", re.ASCII).match(text, end)
        name = text[end : end + 1] not in ("]", ".") or (text[end : end + 1] == "]" and not before.endswith("["))
        if mask & NOTEBOOK and (cell or file or (name and before.endswith("ipython-input-"))):
            self.add(at, end, "<cell>")
            return
        if self.labelled(at, end):
            return
        if mask & PROCESS_ID and self.process_id(at, end):
            self.add(at, end, "<pid>")
            return
        found = _RATE.match(text, at)
        if mask & PROGRESS and found:
            self.add(at, found.end(), "<progress>")
            self.rated = found.end()
            return
        found = _DURATION.match(text, at)
        if mask & DURATION and found and self.frames_duration(at, found.end()):
            self.add(at, found.end(), "<duration>")

    def counted(self, at: int) -> bool:
        """Mask a clock that counts up, and what is left of a progress bar."""
        text = self.text
        label = _LABEL.search(text[:at])
        clock = re.compile(rf"{_CLOCK}(?!\w)", re.ASCII).match(text, at)
        if not label[2]:
            return False
        if self.mask & DURATION and clock and label[1].lower() in ("elapsed", "took", "duration"):
            return self.add(at, clock.end(), "<duration>")
        found = clock or re.compile(rf"{_DURATION.pattern}(?!\w)", re.ASCII).match(text, at)
        if not self.mask & PROGRESS or label[1].lower() != "eta" or not found:
            return False
        if not self.rated or len(text[: label.start()].rstrip(" \t,")) != self.rated:
            return False
        return self.add(at, found.end(), "<progress>")

    def timestamp(self, at: int, end: int) -> bool:
        text = self.text
        start = at
        clock = False
        moment = at
        if text[end : end + 1] in (":", "-", "/"):
            moment, clock = _moment(text, at)
        if moment == at and end - at <= 2:
            start, moment = self.named_month(at, end)
            clock = True
        if moment == at or start < self.taken:
            return False
        if not self.labels_moment(start):
            bracket = text[:start].endswith("[") and text[moment : moment + 1] == "]"
            half = re.compile(r" ?[AaPp][Mm](?!\w)", re.ASCII).match(text, moment) if clock else None
            behind = half.end() if half else moment
            goes_on = re.compile(r"(?:--|[\]):])?[ \t]++[^\n]").match(text, behind)
            if not _opens_line(text, start) or not (clock or bracket) or not goes_on:
                return False
            line_end = text.find("\n", moment)
            self.stamped = len(text) if line_end < 0 else line_end
        return self.add(start, moment, "<time>")

    def named_month(self, at: int, end: int) -> tuple[int, int]:
        text = self.text
        month = re.search(rf"(?<!\w){_MONTH} +\Z", text[:at], re.ASCII)
        if month:
            start = month.start()
            rest = rf"(?>,?(?: \d{{4}}(?!\d))?) {_FULL_CLOCK}{_ZONE}(?: \d{{4}}(?!\w))?+"
        else:
            start = at
            rest = rf" {_MONTH} \d{{4}}(?!\d) {_FULL_CLOCK}{_ZONE}(?: \d{{4}}(?!\w))?+"
        found = re.compile(rf"{rest}(?!\w)", re.ASCII).match(text, end)
        if found is None:
            return at, at
        weekday = re.search(rf"(?<!\w){_WEEKDAY},? \Z", text[:start], re.ASCII)
        return (weekday.start() if weekday else start), found.end()

    def labels_moment(self, at: int) -> bool:
        found = _LABEL.search(self.text[:at])
        word = found[1].lower()
        if word in _MOMENTS:
            return True
        if word == "date" and _opens_line(self.text, found.start()):
            return True
        before = re.search(r"(\w*)[ \t]*\Z", self.text[: found.start()], re.ASCII)[1].lower()
        if word in ("date", "at", "on", "time"):
            return before in ("start", "started", "starting", "finished", "ended", "generated", "current")
        return (before, word) == ("as", "of")

    def labelled(self, at: int, end: int) -> bool:
        text = self.text
        found = _LABEL.search(text[:at])
        word, between = found[1].lower(), found[2]
        if not between or len(word) < 2:
            return False
        mask = self.mask
        counted = word == "process" and re.compile(r"(?: of |/)\d", re.ASCII).match(text, end)
        if mask & PROCESS_ID and word in ("pid", "ppid", "process") and not counted:
            return self.add(at, end, "<pid>")
        if mask & ATTEMPT and word in ("attempt", "retry"):
            return self.add(at, end, "<attempt>")
        shell = _SHELL_LINE.search(text[:at]) and re.search(r"sh:[ \t]+line[ \t]+\Z", text[:at])
        if mask & SHELL_LINE and shell and text[end : end + 1] == ":":
            return self.add(at, end, "<line>")
        if (
            mask & EPOCH
            and end - at in (10, 13, 16, 19)
            and text[at] == "1"
            and word in ("timestamp", "ts", "epoch", "time")
        ):
            return self.add(at, _NUMBER.match(text, at).end(), "<epoch>")
        named = word in ("duration", "elapsed", "latency") or _measured_ms(found[1])
        if mask & DURATION and named and between[0] in ':="':
            number = _NUMBER.match(text, at).end()
            if not re.compile(rf"[\w.:]| ?{_UNIT}", re.ASCII).match(text, number):
                return self.add(at, number, "<duration>")
        return False

    def process_id(self, at: int, end: int) -> bool:
        before, behind = self.text[:at], self.text[end:]
        if before.endswith("["):
            return bool(re.search(r"\w\[\Z", before, re.ASCII)) and behind.startswith("]:") and at < self.stamped
        if before.endswith("/"):
            return before.endswith("/proc/") and behind.startswith("/")
        job = re.search(r"(?:\A|\n)\[\d+\][ \t]+\Z", before, re.ASCII)
        return bool(job) and behind[:1] in ("", " ", "\t", "\n")

    def frames_duration(self, at: int, end: int) -> bool:
        text = self.text
        if re.compile(r"\w", re.ASCII).match(text, end):
            return False
        pieces = re.findall(rf"(\d+)(\.\d+)?+{_GAP}({_UNIT})", text[at:end], re.ASCII)
        precise = any(fraction or unit in ("ns", "us", "\u00b5s", "\u03bcs", "ms") for _, fraction, unit in pieces)
        coarse = re.match("h|m(?!s)", pieces[-1][2])
        if text[:at].endswith("(") and text[end : end + 1] == ")" and not coarse:
            return True
        if re.compile(r"[ \t]+elapsed").match(text, end) or self.labels_duration(at, precise):
            return True
        line = text[text.rfind("\n", 0, at) + 1 :]
        return text[:at].endswith("\t") and text[end : end + 1] in ("", "\n") and line.startswith(("ok ", "FAIL\t"))

    def labels_duration(self, at: int, precise: bool) -> bool:
        found = _LABEL.search(self.text[:at])
        word = found[1].lower()
        if not found[2]:
            return False
        if word in ("took", "elapsed", "duration", "latency") or _measured_ms(found[1]):
            return True
        if word in ("real", "user", "sys"):
            return _opens_line(self.text, found.start())
        before = re.search(r"(\w*)[ \t]*\Z", self.text[: found.start()], re.ASCII)[1].lower()
        if word == "time":
            return _opens_line(self.text, found.start()) or before in _TIMED
        return word == "in" and (before not in _FUTURE if precise else before in _MEASURED)


def _written(found: re.Match[str]) -> str:
    """Return what canonical text has for a character that it escapes, as long."""
    c = found.group()
    return c * (2 if c in '\b\t\n\f\r"\\' else 1 if c >= "\ud800" else 6)


def _looks_random(text: str) -> bool:
    if not re.fullmatch(r"\w{5,}", text, re.ASCII):
        return False
    if text.isdigit():
        return len(text) != 8 or text[:2] not in ("19", "20")
    runs = re.findall(r"\d+|[A-Za-z]+", text.replace("_", ""))
    return len(text) >= 6 and len(runs) >= 3


class Masks:
    """Masks the strings of one document, in its order."""

    def __init__(self) -> None:
        self.uuids: dict[str, int] = {}
        self.ids: dict[str, int] = {}
        self.text_seen = False
        self.binary = False
        self.never_binary = False

    def uuid(self, text: str) -> str:
        return f"<uuid:{self.uuids.setdefault(text.lower(), len(self.uuids) + 1)}>"

    def technical_id(self, text: str) -> str:
        return f"<id:{self.ids.setdefault(text, len(self.ids) + 1)}>"

    def string(self, text: str, mask: int, key: str | None) -> str:
        """Return a string's text without what is volatile."""
        if mask & WRAPPER_NONCE:
            text = self.nonces(text)
        if self.key_kinds(key or "") == CURSOR:
            return text
        if mask & ANSI:
            text = self.clean(text)
        if not mask & ~WRAPPER_NONCE:
            return text
        if key == "text":
            self.text_seen = self.text_seen or any(c > " " for c in text)
        else:
            whole = self.whole(text, mask, key)
            if whole is not None:
                return whole
        return _Scan(text, mask, self).run()

    def number(self, text: str, mask: int, key: str | None) -> str | None:
        """Return what stands instead of a number, None for the number itself."""
        return None if text.startswith("-") else self.whole(text, mask & ~BINARY, key)

    def clean(self, text: str) -> str:
        """Return what a reader sees of text that moves about in its lines."""
        done: list[str] = []
        line: list[str] = []
        column = at = 0
        while at < len(text):
            c = text[at]
            if c == "\x1b":
                found = _ESCAPE.match(text, at)
                at = found.end()
                digits = re.sub("[^0-9]", "", found[1] or "")
                if found[2] == "K" and int(digits or 0) in (0, 2):
                    del line[0 if int(digits or 0) else column :]
                elif found[2] == "G":
                    column = max(int(digits or 0) - 1, 0)
                continue
            at += 1
            if c == "\r":
                column = 0
            elif c == "\b":
                column = max(column - 1, 0)
            elif c == "\n":
                done += [*line, c]
                line, column = [], 0
            else:
                column = min(column, len(line))
                line[column : column + 1] = [c]
                column += 1
        return "".join(done + line)

    def nonces(self, text: str) -> str:
        start = re.compile(r"<<<EXTERNAL_UNTRUSTED_CONTENT id=(\\*)\"([0-9a-f]{16})(\\*)\">>>")
        marker = re.compile(r"<<<(?:END_)?EXTERNAL_UNTRUSTED_CONTENT")
        at = 0
        while opening := start.search(text, at):
            at = opening.end()
            slashes, ident = opening[1], opening[2]
            depth = len(slashes) + 1
            if opening[3] != slashes or depth & (depth - 1):
                at = opening.start() + len("<<<EXTERNAL_UNTRUSTED_CONTENT")
                continue
            following = marker.search(text, at)
            end_text = f'<<<END_EXTERNAL_UNTRUSTED_CONTENT id={slashes}"{ident}{slashes}">>>'
            if following is None or not text.startswith(end_text, following.start()):
                continue
            quotes = re.findall(r'(\\*)"', text[at : following.start()])
            if any((len(run) + 1) % depth for run in quotes):
                continue
            inner = text[at : following.start()]
            blank = opening.group().replace(ident, "0" * 16)
            at = following.start() + len(end_text)
            text = text[: opening.start()] + blank + inner + end_text.replace(ident, "0" * 16) + text[at:]
        return text

    def whole(self, text: str, mask: int, key: str | None) -> str | None:
        kinds = self.key_kinds(key or "") & mask
        if not kinds or not text:
            return None
        if kinds & TECHNICAL_ID:
            uuid = mask & UUID and _UUID.fullmatch(text)
            return None if uuid or text.startswith("<") else self.technical_id(text)
        digits = re.fullmatch(r"\d+", text, re.ASCII)
        if kinds & PROCESS_ID and digits:
            return "<pid>"
        if kinds & ATTEMPT and digits:
            return "<attempt>"
        if kinds & DURATION and (_NUMBER.fullmatch(text) or _DURATION.fullmatch(text)):
            return "<duration>"
        if kinds & EPOCH and re.fullmatch(r"1(?:\d{9}|\d{12}|\d{15}|\d{18})(?:\.\d+)?", text, re.ASCII):
            return "<epoch>"
        if kinds & TIMESTAMP and re.match(r"\d", text, re.ASCII) and _moment(text, 0)[0] == len(text):
            return "<time>"
        if kinds & BINARY and not self.never_binary and self.is_base64(text):
            self.binary = True
            return f"<binary:{len(text).bit_length()}>"
        return None

    @staticmethod
    def key_kinds(key: str) -> int:
        if not 2 <= len(key.encode("utf-8", "surrogatepass")) <= 32 or not re.search("[A-Za-z]\\Z", key):
            return 0
        plain = _plain(key)
        if _CURSOR.search(plain):
            return CURSOR
        if plain in ("pid", "ppid", "processid"):
            return PROCESS_ID
        if plain in ("attempt", "attempts", "retry", "retries", "retrycount", "attemptnumber"):
            return ATTEMPT
        if plain in _KEYED_TIMES or plain.endswith("timestamp"):
            return TIMESTAMP | EPOCH
        if plain in ("epoch", "unixtime"):
            return EPOCH
        if plain in ("data", "blob"):
            return BINARY
        if re.search(r"(?:M|.[_-]m)s\Z", key) and not _LIMIT.search(plain):
            return EPOCH if plain in ("timestampms", "epochms") else DURATION
        if plain.endswith(("duration", "latency")) or plain.startswith(("elapsed", "latency")):
            ends = re.search("[abdefghnprstwyABDEFGHNPRSTWY]\\Z", key)
            return DURATION if ends else 0
        return TECHNICAL_ID if _names_technical_id(key) else 0

    @staticmethod
    def is_base64(text: str) -> bool:
        payload = text
        if text.startswith("data:"):
            comma = text[:128].find(";base64,")
            if comma < 0:
                return False
            payload = text[comma + 8 :]
        elif len(text.encode("utf-8", "surrogatepass")) < 64:
            return False
        return re.fullmatch(r"[A-Za-z0-9+/_-]+=*", payload) is not None
