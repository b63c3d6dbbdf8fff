# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""What the texts of calls and outcomes say, as numbers to compare. Data in, data out, no policy.

Linear in the bytes; each thread reuses its own memory, so functions may be called from any thread.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from libc.stdint cimport uint8_t, uint16_t, uint32_t, uint64_t
from libc.string cimport memcpy

from loopguard cimport _facts_native as native
from loopguard cimport _pack_native as pack
from loopguard._pack cimport Reader, Writer
from loopguard._utf8 cimport utf8_of

from loopguard.tool_class import ToolClass

FAILED = <int>native.FAILED
EMPTY = <int>native.EMPTY
ACKNOWLEDGED = <int>native.ACKNOWLEDGED
PENDING = <int>native.PENDING
TRANSIENT = <int>native.TRANSIENT
VERDICT = <int>native.VERDICT
REJECTED = <int>native.REJECTED
LOOSE = <int>native.LOOSE
VAIN = <int>native.VAIN
PICTURE = <int>native.PICTURE

CHANGES = <int>native.CHANGES
WAITS = <int>native.WAITS
FREE_TEXT = <int>native.FREE_TEXT
BARE = <int>native.BARE
VOLATILE = <int>native.VOLATILE
VIEWS = <int>native.VIEWS
INLINE_CODE = <int>native.INLINE_CODE

cdef tuple tool_classes = tuple(ToolClass)


cdef enum:
    # What a packed call says in one number, the most common first: its tool's class, its marks, what else there is.
    CLASS_BITS = 4
    CLASSES = 10
    HAS_WORDS = 1 << 4
    HAS_TARGET = 1 << 5
    MARKED_FREE_TEXT = 1 << 6
    MARKED_CHANGES = 1 << 7
    HAS_OPTIONS = 1 << 8
    IS_LONG = 1 << 9
    HAS_LINES = 1 << 10
    MARKED_POLL = 1 << 11
    MARKED_NOTE = 1 << 12
    MARKED_WHOLE = 1 << 13
    MARKED_BARE = 1 << 14
    HAS_PAUSE = 1 << 15
    HAS_NUMBERS = 1 << 16
    SHAPES = (1 << 17) - 1
    NARROW_SIZE = 2
    # No number of a line or of seconds is larger.
    LARGEST = 0x7FFFFFFF
    READ = 1


@cython.final
cdef class Asked:
    """What a call asks: `near` is equal for two spellings of one question, 0 is no program, family or target.

    `lines` (`first_line`, `end_line`) are the lines it reads, both 0 if it names none; `pause_s` is how long it says
    that it waits; `numbers` stands for the page and line numbers that `near` leaves out; `flags` is a sum of CHANGES to
    INLINE_CODE.
    """

    def likeness(self, Asked other not None):
        """Return about which share of their words two calls have in common, 0 to 1."""
        return self.wording.likeness(other.wording)

    def fills_form(self, Asked other not None):
        """Whether both are one form, filled in with other words."""
        return self.wording.fills_form(other.wording)


# It refers to nothing that refers back.
@cython.no_gc
@cython.final
@cython.freelist(64)
cdef class CallFacts:
    """A call on several levels: `same` its exact identity, `near` one that forgives spelling, `family` its program.

    `number` stands for the tool in identities. `program` is tool and program, action or operation: what an error
    belongs to; `family` tool and the program's first word; `numbers` stands for the page and line numbers that `near`
    leaves out. `target`, `family` and `numbers` are 0 if there is none. `pause_s` is how long it says that it waits.
    `note`: it only keeps the model's own words; `whole`: it gives all of what it writes, so that another such call
    replaces it; `bare`: it has no arguments, so what it asks depends on where the agent stands; `worded`: not only a
    digest of it is known.
    """

    def __cinit__(self, str tool not None, tool_class, bytes digest not None):
        self.tool = tool
        self.number = number_of(tool) & pack.MARKS
        self.tool_class = tool_class
        self.same = self.near = native.pair(self.number, number_in(digest)) & pack.MARKS
        self.program = self.family = self.number

    @property
    def lines(self):
        """The lines it reads, the last one not included; `None` if it names none."""
        return (self.first_line, self.end_line) if self.end_line else None

    def ask(self, Asked asked not None, str action not None):
        """Take what its arguments ask, and the action that they name."""
        cdef unsigned flags = asked.flags
        self.near = native.pair(self.number, asked.near) & pack.MARKS
        if flags & native.VOLATILE:
            self.same = self.near
        self.program = native.pair(self.number, native.pair(asked.program, number_of(action))) & pack.MARKS
        self.family = 0 if flags & native.INLINE_CODE else native.pair(self.number, asked.family) & pack.MARKS
        self.target = asked.target & pack.MARKS
        self.numbers = asked.numbers & pack.MARKS
        self.first_line, self.end_line, self.pause_s = asked.first_line, asked.end_line, asked.pause_s
        self.changes = self.changes or (flags & native.CHANGES) != 0
        self.poll = self.poll or (flags & native.WAITS) != 0
        self.free_text = (flags & native.FREE_TEXT) != 0
        self.bare = (flags & native.BARE) != 0
        if flags & native.VIEWS:
            self.changes = False
            self.tool_class = tool_classes[READ]
        self.wording = asked.wording
        self.worded = True

    def act(self, str action not None):
        """Take the action of a call of which only a digest is known."""
        self.program = self.family = native.pair(self.number, number_of(action)) & pack.MARKS

    def likeness(self, CallFacts other not None):
        """Return about which share of their words two calls have in common, 0 to 1."""
        return self.alike(other)

    def fills_form(self, CallFacts other not None):
        """Whether both are one form, filled in with other words."""
        return self.worded and other.worded and self.wording.fills_form(other.wording)

    def pack(self, Writer out not None, bint settled=False):
        """Write it into a snapshot; of one that has been answered less is still of use."""
        self.put(out, settled)

    @staticmethod
    def unpack(Reader data not None):
        """Read one that was packed. Raises `ValueError`."""
        return read_call(data)

    cdef double alike(self, CallFacts other):
        if self.worded and other.worded:
            return self.wording.likeness(other.wording)
        return 1.0 if self.same == other.same else 0.0

    cdef int put(self, Writer out, bint settled) except -1:
        if not out.to.thing(<const void*>self):
            return 0
        out.things_seen.append(self)
        # The words of a long text are for telling what its answer repeats of it.
        cdef bint has_first_words = self.worded and not (settled and self.wording.is_long())
        cdef unsigned shape = (
            <unsigned>self.tool_class
            | (HAS_WORDS if self.worded else 0)
            | (HAS_TARGET if self.target else 0)
            | (MARKED_FREE_TEXT if self.free_text else 0)
            | (MARKED_CHANGES if self.changes else 0)
            | (HAS_OPTIONS if has_first_words and self.wording.options else 0)
            | (IS_LONG if self.wording.is_long() else 0)
            | (HAS_LINES if self.end_line else 0)
            | (MARKED_POLL if self.poll else 0)
            | (MARKED_NOTE if self.note else 0)
            | (MARKED_WHOLE if self.whole else 0)
            | (MARKED_BARE if self.bare else 0)
            | (HAS_PAUSE if self.pause_s else 0)
            | (HAS_NUMBERS if self.numbers else 0)
        )
        out.to.number(shape)
        out.put_name(pack.TOOL, self.tool)
        out.to.mark(pack.SAME, self.same)
        out.to.mark(pack.NEAR, self.near)
        if shape & HAS_TARGET:
            out.to.mark(pack.TARGET, self.target)
        out.to.mark(pack.PROGRAM, self.program)
        out.to.mark(pack.FAMILY, self.family)
        if shape & HAS_LINES:
            out.to.number(<uint64_t>self.first_line)
            out.to.number(<uint64_t>self.end_line)
        if shape & HAS_PAUSE:
            out.to.number(<uint64_t>self.pause_s)
        if shape & HAS_NUMBERS:
            out.to.mark(pack.OTHER, self.numbers)
        cdef uint32_t word
        cdef uint16_t least
        if shape & HAS_WORDS:
            out.to.number(self.wording.words.size() if has_first_words else 0)
            if shape & HAS_OPTIONS:
                out.to.number(self.wording.options)
            if has_first_words:
                for word in self.wording.words:
                    out.to.word(word)
        if shape & IS_LONG:
            for word in self.wording.sketch:
                least = <uint16_t>word
                out.to.raw(&least, NARROW_SIZE)
        return 0


cdef CallFacts read_call(Reader data):
    cdef uint64_t place = 0
    if data.source.again(pack.CALL, len(data.things_read), place):
        return data.things_read[place]
    cdef unsigned shape = <unsigned>data.source.small(SHAPES)
    cdef unsigned tool_class = shape & ((1 << CLASS_BITS) - 1)
    if tool_class >= CLASSES:
        raise ValueError(f"there is no tool class {tool_class}")
    # Past the constructor's work, which was done when the call came.
    cdef CallFacts made = CallFacts.__new__(CallFacts, data.take_name(pack.TOOL), tool_classes[tool_class], b"")
    made.same = data.source.mark(pack.SAME)
    made.near = data.source.mark(pack.NEAR)
    if shape & HAS_TARGET:
        made.target = data.source.mark(pack.TARGET)
    made.program = data.source.mark(pack.PROGRAM)
    made.family = data.source.mark(pack.FAMILY)
    made.changes = (shape & MARKED_CHANGES) != 0
    made.poll = (shape & MARKED_POLL) != 0
    made.note = (shape & MARKED_NOTE) != 0
    made.free_text = (shape & MARKED_FREE_TEXT) != 0
    made.whole = (shape & MARKED_WHOLE) != 0
    made.bare = (shape & MARKED_BARE) != 0
    made.worded = (shape & HAS_WORDS) != 0
    if shape & HAS_LINES:
        made.first_line, made.end_line = <long>data.source.small(LARGEST), <long>data.source.small(LARGEST)
    if shape & HAS_PAUSE:
        made.pause_s = <long>data.source.small(LARGEST)
    if shape & HAS_NUMBERS:
        made.numbers = data.source.mark(pack.OTHER)
    read_wording(data, shape, made.wording)
    data.things_read.append(made)
    return made


cdef int read_wording(Reader data, unsigned shape, native.Wording& wording) except -1:
    cdef uint16_t least
    cdef uint64_t count
    if shape & HAS_WORDS:
        count = data.source.small(native.MOST)
        if shape & HAS_OPTIONS:
            wording.options = <uint32_t>data.source.small(native.NO_WORD)
        wording.words.reserve(count)
        for _ in range(count):
            wording.words.push_back(data.source.word())
    if shape & IS_LONG:
        wording.sketch.reserve(native.PLACES)
        for _ in range(native.PLACES):
            memcpy(&least, data.source.raw(NARROW_SIZE), NARROW_SIZE)
            wording.sketch.push_back(native.NO_WORD if least == native.NARROW else least)
    return 0


@cython.final
cdef class Counters:
    """The whole numbers that stand first in a text, and its size."""

    def moved_since(self, Counters before not None):
        """Return where the first number that differs went, or the size if none does: 1 up, -1 down, 0 for neither."""
        return native.moved(before.numbers, self.numbers)


@cython.final
cdef class Answered:
    """What an outcome says: `bag` its lines in any order, `digitless` the set of them without digits (0 if short).

    `last_error` and `first_error` are equal for two cases of one error; `size` is the text's in bytes; `flags` a sum of
    FAILED to PICTURE (LOOSE: `bag` leaves out more than what was masked); `counters` is there for a long text.
    """


@cython.no_gc
@cython.final
@cython.freelist(16)
cdef class OutcomeFacts:
    """An outcome on several levels: `raw`, `same` (masked, lines in any order), `digitless` (0 if short), `signatures`.

    `counters` are the numbers in what `same` leaves out, `digits` those in what `digitless` leaves out; both may be
    `None`. Signatures are of errors, none for a success. `stripped` names volatile keys and kinds of text that were
    left out. `missing_tool`: the tool does not exist; `empty`: nothing is in it; `acknowledged`: it says only that it
    was done; `informative`: it is neither; `pending`: what was asked about goes on; `vain`: a search without a hit;
    `verdict`: a red test, so the tool worked; `rejected`: the harness refused the reply.
    """

    def __cinit__(self, bytes digest=None, bint failed=False):
        """Describe an outcome of which only a digest is known, if that."""
        if digest is not None:
            self.same = self.raw = number_in(digest) & pack.MARKS
            self.size = 1
        self.failed = failed
        self.informative = True
        self.stripped = ()
        self.signatures = (self.same,) if failed else ()

    @staticmethod
    def of(Answered answer not None):
        """Describe an outcome by what its text says."""
        cdef OutcomeFacts made = OutcomeFacts.__new__(OutcomeFacts)
        cdef unsigned flags = answer.flags
        made.same = made.raw = answer.bag & pack.MARKS
        made.digitless = answer.digitless & pack.MARKS
        made.digits = answer.counters
        made.size = answer.size
        made.failed = (flags & native.FAILED) != 0
        if made.failed:
            last, first = answer.last_error & pack.MARKS, answer.first_error & pack.MARKS
            made.signatures = (last, first)
            if last == first:
                made.signatures = (last,)
        made.empty = (flags & native.EMPTY) != 0
        made.acknowledged = (flags & native.ACKNOWLEDGED) != 0
        made.pending = (flags & native.PENDING) != 0
        made.transient = (flags & native.TRANSIENT) != 0
        made.vain = (flags & native.VAIN) != 0
        made.verdict = (flags & native.VERDICT) != 0
        made.rejected = (flags & native.REJECTED) != 0
        made.informative = not (made.empty or made.acknowledged)
        return made

    def see(self, uint64_t raw, Counters counters):
        """Take what a reader sees of it, nothing masked."""
        self.raw, self.counters = raw & pack.MARKS, counters

    def equate(self, bytes digest not None):
        """Take the digest of a rule that left out more than masks do: what it calls equal is equal."""
        self.same = self.raw = number_in(digest) & pack.MARKS


cdef uint64_t number_of(str text) except? 0:
    """A number that stands for a text; the same in every process."""
    cdef Py_ssize_t size
    cdef const char* begin
    cdef object _owner = utf8_of(text, &begin, &size)
    return native.hash_bytes(begin, size)


cdef uint64_t number_in(bytes digest):
    """The first eight bytes of a digest."""
    cdef uint64_t number = 0
    cdef Py_ssize_t i
    for i in range(min(PyBytes_GET_SIZE(digest), 8)):
        number = number << 8 | <uint8_t>PyBytes_AS_STRING(digest)[i]
    return number


def describe_call(bytes args not None, bint readable, int tool_class):
    """Describe the arguments of a call: canonical or other valid JSON, or any bytes if not `readable`.

    `tool_class` is a place in the order OTHER, READ, WRITE, POLL, SHELL, SPAWN, SEND, NOTE, MOVE, REJECT.
    """
    if not 0 <= tool_class <= 9:
        raise ValueError(f"there is no tool class {tool_class}")
    cdef native.CallFacts facts = native.describe_call(
        PyBytes_AS_STRING(args), PyBytes_GET_SIZE(args), readable, <native.ToolClass>tool_class
    )
    cdef Asked made = Asked.__new__(Asked)
    made.near, made.program, made.family, made.target = facts.near, facts.program, facts.family, facts.target
    made.first_line, made.end_line, made.flags = facts.first_line, facts.end_line, facts.flags
    made.pause_s, made.numbers = facts.pause_s, facts.numbers
    made.wording = facts.wording
    return made


def describe_outcome(bytes result not None, bint readable, int told, bint shell, CallFacts asked=None):
    """Describe a result or an error: canonical JSON with its volatile parts masked, or any bytes if not `readable`.

    `told` says what the status told: 0 nothing, 1 success, 2 failure; `shell` that a command's output is read. An error
    is signed without the words of what was `asked`.
    """
    if not 0 <= told <= 2:
        raise ValueError(f"there is no telling {told}")
    cdef const native.Wording* words = NULL
    if asked is not None and asked.worded:
        words = &asked.wording
    cdef native.OutcomeFacts facts = native.describe_outcome(
        PyBytes_AS_STRING(result), PyBytes_GET_SIZE(result), readable, <native.Told>told, shell, words
    )
    cdef Answered made = Answered.__new__(Answered)
    made.bag, made.digitless = facts.bag, facts.digitless
    made.last_error, made.first_error = facts.last_error, facts.first_error
    made.size, made.flags = facts.size, facts.flags
    if facts.digitless:
        made.counters = _counters(facts.numbers)
    return made


def look_at(bytes result not None, bint readable):
    """Return a number that stands for all that a reader sees of an outcome, nothing masked, and its `Counters`."""
    cdef native.Seen seen = native.look_at(PyBytes_AS_STRING(result), PyBytes_GET_SIZE(result), readable)
    return seen.raw, _counters(seen.numbers)


cdef Counters _counters(const native.Numbers& numbers):
    cdef Counters made = Counters.__new__(Counters)
    made.numbers = numbers
    return made
