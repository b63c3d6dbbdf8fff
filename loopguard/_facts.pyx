# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""What the texts of calls and outcomes say, as numbers to compare. Data in, data out, no policy.

Linear in the bytes; each thread reuses its own memory, so functions may be called from any thread.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from libc.stdint cimport uint32_t, uint64_t
from libc.string cimport memcpy

from loopguard cimport _facts_native as native

FAILED = 1
EMPTY = 2
ACKNOWLEDGED = 4
PENDING = 8
TRANSIENT = 16
VERDICT = 32
REJECTED = 64
LOOSE = 128
VAIN = 256
PICTURE = 512

CHANGES = 1
WAITS = 2
FREE_TEXT = 4
BARE = 8
VOLATILE = 16
VIEWS = 32
INLINE_CODE = 64


@cython.final
cdef class Asked:
    """What a call asks: `near` is equal for two spellings of one question, 0 is no program, family or target.

    `lines` (`first_line`, `end_line`) are the lines it reads, both 0 if it names none; `pause_s` is how long it says
    that it waits; `numbers` stands for the page and line numbers that `near` leaves out; `flags` is a sum of CHANGES to
    INLINE_CODE.
    """
    cdef readonly uint64_t near, program, family, target, numbers
    cdef readonly long first_line, end_line, pause_s
    cdef readonly unsigned flags
    cdef native.Sketch sketch
    cdef native.Wording wording

    def likeness(self, Asked other not None):
        """Return about which share of their words two calls have in common, 0 to 1."""
        return native.likeness(self.sketch, other.sketch)

    def fills_form(self, Asked other not None):
        """Whether both are one form, filled in with other words."""
        return native.fills_form(self.wording, other.wording)

    def pack(self):
        """Return it as bytes."""
        cdef uint64_t[9] numbers = [
            self.near, self.program, self.family, self.target, <uint64_t>self.first_line, <uint64_t>self.end_line,
            <uint64_t>self.pause_s, self.flags, self.numbers,
        ]
        cdef bytes head = PyBytes_FromStringAndSize(<const char*>numbers, sizeof(numbers))
        head += PyBytes_FromStringAndSize(<const char*>self.sketch.data(), native.BINS * sizeof(uint32_t))
        return head + PyBytes_FromStringAndSize(<const char*>&self.wording, sizeof(native.Wording))

    @staticmethod
    def unpack(bytes packed not None):
        """Return what `pack` made bytes of. Raises `ValueError` for others."""
        cdef uint64_t[9] numbers
        cdef size_t words = native.BINS * sizeof(uint32_t)
        if PyBytes_GET_SIZE(packed) != <Py_ssize_t>(sizeof(numbers) + words + sizeof(native.Wording)):
            raise ValueError("no packed call")
        cdef const char* begin = PyBytes_AS_STRING(packed)
        memcpy(numbers, begin, sizeof(numbers))
        cdef Asked made = Asked.__new__(Asked)
        made.near, made.program, made.family, made.target = numbers[0], numbers[1], numbers[2], numbers[3]
        made.first_line, made.end_line = <long>numbers[4], <long>numbers[5]
        made.pause_s, made.flags, made.numbers = <long>numbers[6], <unsigned>numbers[7], numbers[8]
        memcpy(made.sketch.data(), begin + sizeof(numbers), words)
        memcpy(&made.wording, begin + sizeof(numbers) + words, sizeof(native.Wording))
        return made


@cython.final
cdef class Counters:
    """The whole numbers that stand first in a text, and its size."""
    cdef native.Numbers numbers

    def moved_since(self, Counters before not None):
        """Return where the first number that differs went, or the size if none does: 1 up, -1 down, 0 for neither."""
        return native.moved(before.numbers, self.numbers)

    def pack(self):
        """Return it as bytes."""
        return PyBytes_FromStringAndSize(<const char*>&self.numbers, sizeof(native.Numbers))

    @staticmethod
    def unpack(bytes packed not None):
        """Return what `pack` made bytes of. Raises `ValueError` for others."""
        if PyBytes_GET_SIZE(packed) != <Py_ssize_t>sizeof(native.Numbers):
            raise ValueError("no packed numbers")
        cdef Counters made = Counters.__new__(Counters)
        memcpy(&made.numbers, PyBytes_AS_STRING(packed), sizeof(native.Numbers))
        return made


@cython.final
cdef class Answered:
    """What an outcome says: `bag` its lines in any order, `digitless` the set of them without digits (0 if short).

    `last_error` and `first_error` are equal for two cases of one error; `size` is the text's in bytes; `flags` a sum of
    FAILED to PICTURE (LOOSE: `bag` leaves out more than what was masked); `counters` is there for a long text.
    """
    cdef readonly uint64_t bag, digitless, last_error, first_error
    cdef readonly Counters counters
    cdef readonly size_t size
    cdef readonly unsigned flags


def number_of(str text not None):
    """Return a number that stands for a text; the same in every process."""
    cdef bytes data = text.encode("utf-8", "surrogatepass")
    return native.hash_bytes(PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))


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
    made.sketch = facts.sketch
    made.wording = facts.wording
    return made


def describe_outcome(bytes result not None, bint readable, int told, bint shell, Asked asked=None):
    """Describe a result or an error: canonical JSON with its volatile parts masked, or any bytes if not `readable`.

    `told` says what the status told: 0 nothing, 1 success, 2 failure; `shell` that a command's output is read. An error
    is signed without the words of what was `asked`.
    """
    if not 0 <= told <= 2:
        raise ValueError(f"there is no telling {told}")
    cdef const native.Wording* words = NULL
    if asked is not None:
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
