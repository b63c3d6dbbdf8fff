# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""Calls and outcomes as the engine compares them, and the short way from bytes to most of them.

The short ways do what `loopguard.fingerprints` says in Python, step by step, for what is plain; for anything else they
answer `None`, and the long way decides. What is plain, and what counts of it, comes as data. No state, any thread.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.dict cimport PyDict_DelItem, PyDict_GetItemWithError, PyDict_Next, PyDict_SetItem, PyDict_Size
from cpython.object cimport PyObject
from cpython.unicode cimport PyUnicode_FromFormat
from libc.stdint cimport uint8_t, uint64_t
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from loopguard cimport _history
from loopguard cimport _native as native
from loopguard cimport _outcome as outcome
from loopguard._core cimport Names, Reading, Values, digest_bytes, digest_result, write
from loopguard._ring cimport Ring

from loopguard._core import text_of

cdef bytes NONCE_START = b"<<<EXTERNAL_UNTRUSTED_CONTENT"
cdef bytes ACTION = b'"action"'
cdef int OPAQUE = <int>native.kOpaque

cdef enum:
    # How many calls may be open, as in `loopguard.calls`.
    OPEN_CALLS = 1024
    DONE = 1
    # What stands before an outcome that was sent as a digest, as in `loopguard.fingerprints.short_way`.
    DIGEST_TAG = 2
    # Places of a result's parts, as `_core.read_result` returns them.
    WHOLE = 1
    DETAILS = 4
    TEXT = 5
    PICKED = 6
    # Of the values behind an identity, the one that is the exit code.
    EXIT_CODE = 1


@cython.final
cdef class CallPrint:
    """A call as the engine sees it.

    `action` is the arguments' top-level string of that name (of a call sent as digest: what the client said), `digest`
    16 bytes, `flags` those of the arguments.
    """

    def __init__(self, str tool, bytes digest, bint poll, bint wait, bint send, str action, int flags):
        self.tool = tool
        self.digest = digest
        self.poll = poll
        self.wait = wait
        self.send = send
        self.action = action
        self.flags = flags


# It holds no more than numbers, bytes and tuples of texts, which make no cycle.
@cython.no_gc
@cython.final
cdef class OutcomePrint:
    """An outcome as the engine sees it.

    `digest` is `None` for what is pending and for a veto; `identity` says that a command failed in the end, and how;
    `missing_tool` is empty where no tool was missing; `stripped` names volatile keys and kinds of text that were left
    out of the digest, `moving` those that the identity leaves out besides.
    """

    def __init__(
        self, kind, bytes digest=None, bint failed=False, bint stuck=False, bytes identity=None, str missing_tool="",
        int flags=0, tuple stripped=(), tuple moving=(),
    ):
        self.kind = kind
        self.digest = digest
        self.failed = failed
        self.stuck = stuck
        self.identity = identity
        self.missing_tool = missing_tool
        self.flags = flags
        self.stripped = stripped
        self.moving = moving


@cython.final
cdef class OpenCall:
    """A call without outcome.

    `number` is its record's in the history, `None` if the call was blocked. `place` is its place in `batch`, where it
    has one that keeps order.
    """

    def __init__(self, CallPrint call not None, number, batch=None, int place=0):
        self.print = call
        self.number = number
        self.batch = batch
        self.place = place


def settle(Ring history not None, uint64_t number, OutcomePrint printed not None):
    """Write an outcome into the record of that number; False if it has left the history."""
    return write_print(history, number, printed)


cdef bint write_print(Ring history, uint64_t number, OutcomePrint printed) except -1:
    cdef tuple stripped = ()
    if printed.stripped or printed.moving:
        stripped = (printed.stripped, printed.moving)
    return history.write_outcome(
        number, printed.kind, printed.digest, printed.identity, printed.failed, printed.stuck, printed.missing_tool,
        stripped,
    )


@cython.final
cdef class Readers:
    """What a fingerprinter reads calls by, by the names they were asked under, and outcomes, by (tool, action).

    `None` stands for what only the long way can read.
    """

    def __cinit__(self):
        self.calls = {}
        self.outcomes = {}


cdef class Streak:
    """What every outcome asks a guard: how long a streak stands, and the batch whose order it still keeps."""

    def __cinit__(self):
        self.streak = 0


cdef class RunState:
    """What of a run every frame touches, in fields, for the steps below and for the short way of whole frames.

    `_quiet_below` is the count that a call has to reach for anybody to have something to say about it, 0 if that can't
    be told. Where `_readers` is `None` there is no short way.
    """

    def __cinit__(self):
        self._next_number = 1


cdef str may_admit(RunState run, str call_id, CallPrint call):
    """Return the id of a call that can be admitted with nothing to say of it, `None` for the long way to decide.

    Changes nothing.
    """
    cdef _history.Survey found
    if run.closed or run._abort is not None or run._errors.batch is not None or call.flags:
        return None
    if not call_id:
        call_id = PyUnicode_FromFormat("c%zd", run._next_number)
    if PyDict_GetItemWithError(run._open, call_id) is not NULL or PyDict_Size(run._open) >= OPEN_CALLS:
        return None
    if run._history is not None:
        if not run._quiet_below:
            return None
        if run._history.look(call.tool, call.digest, call.tool == "exec", run._quiet_below, &found):
            return None
    return call_id


cdef int add_call(RunState run, str call_id, CallPrint call, bint numbered) except -1:
    """Add a call that may be admitted to the run's history and its open calls."""
    cdef OpenCall added = OpenCall.__new__(OpenCall)
    added.print = call
    added.number = 0 if run._history is None else run._history.add(call.tool, call.digest, call_id, 0)
    PyDict_SetItem(run._open, call_id, added)
    run._next_number += numbered
    run.calls_asked += 1
    return 0


def admit(RunState run not None, str call_id not None, CallPrint call not None):
    """Admit a call, the only one of its batch, and return its id; `None`, and nothing done, for the long way to decide.

    Nearly all batches are of one call of which there is nothing to say.
    """
    cdef str given = may_admit(run, call_id, call)
    if given is not None:
        add_call(run, given, call, not call_id)
    return given


cdef str oldest_admitted(RunState run):
    """Return the id of the open call that was admitted first, `None` if there is none."""
    cdef PyObject* key = NULL
    cdef PyObject* call = NULL
    cdef Py_ssize_t place = 0
    while PyDict_Next(run._open, &place, &key, &call):
        if (<OpenCall>call).number is not None:
            return <str>key
    return None


cdef OpenCall open_call(RunState run, str call_id):
    """Return an open call, `None` if there is none of this id."""
    cdef PyObject* found = PyDict_GetItemWithError(run._open, call_id)
    return None if found is NULL else <OpenCall>found


def report(RunState run not None, str call_id not None, OpenCall call not None, OutcomePrint printed not None):
    """Take the outcome of an open call if it says nothing to any guard; false, and nothing done, where it may."""
    return report_plain(run, call_id, call, printed)


cdef bint report_plain(RunState run, str call_id, OpenCall call, OutcomePrint printed) except -1:
    if (
        run.closed or run._abort is not None or run._compaction is not None or run._errors.streak
        or call.batch is not None or call.number is None or printed.failed or printed.flags or <int>printed.kind != DONE
    ):
        return False
    if run._history is not None and not write_print(run._history, call.number, printed):
        return False
    PyDict_DelItem(run._open, call_id)
    return True


@cython.final
cdef class CallReader:
    """Makes the prints of one tool's calls.

    Whether they are polls or sends is the tool's or its actions'. Arguments that mention one of the names `dropped`
    are for the long way.
    """

    def __cinit__(
        self, str tool not None, bint poll, frozenset poll_actions not None, bint send, frozenset send_actions not None,
        Names dropped,
    ):
        self.tool = tool
        self.poll = poll
        self.poll_actions = poll_actions
        self.send = send
        self.send_actions = send_actions
        self.dropped = dropped

    def print(self, bytes args not None):
        """Return the print of a call with these arguments, or `None` for the long way to decide."""
        return self.read(<const uint8_t*>PyBytes_AS_STRING(args), PyBytes_GET_SIZE(args))

    cdef CallPrint read(self, const uint8_t* data, Py_ssize_t size):
        cdef outcome.Span text
        cdef str action = ""
        cdef bytes digest
        cdef int flags = OPAQUE
        cdef native.Arena* arena = native.lease_arena()
        try:
            if write(arena[0], data, size, 0, 0, NULL, False):
                text = outcome.Span(<const char*>arena.text, <const char*>arena.text + arena.size)
                if self.dropped is not None:
                    for name in self.dropped.views:
                        if outcome.mentions(text, name):
                            return None
                if outcome.mentions(text, view_of(ACTION)):
                    action = action_in(text)
                digest = digest_result(arena[0])
                flags = <int>arena.flags
            else:
                digest = digest_bytes(data, size, native.kOpaqueSeed)
        finally:
            native.return_arena(arena)
        return self.made(digest, action, flags)

    cdef CallPrint made(self, bytes digest, str action, int flags):
        cdef CallPrint made = CallPrint.__new__(CallPrint)
        made.tool = self.tool
        made.digest = digest
        made.poll = self.poll or action in self.poll_actions
        made.wait = self.tool == "wait"
        made.send = self.send or action in self.send_actions
        made.action = action
        made.flags = flags
        return made


cdef inline string_view view_of(bytes text):
    return string_view(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


cdef str action_in(outcome.Span object_):
    cdef vector[string_view] names
    cdef vector[outcome.Span] found
    names.push_back(view_of(ACTION))
    outcome.pick(object_, names, found)
    if found[0].begin == found[0].end:
        return ""
    return text_of(PyBytes_FromStringAndSize(found[0].begin, found[0].end - found[0].begin)) or ""


@cython.final
cdef class Condition:
    """Holds where the picked member at `place` has the type `kind`, or with 0 is one of the scalars (JSON text)."""
    cdef int place
    cdef int kind
    cdef tuple kept  # owns the bytes that the views look at
    cdef vector[string_view] scalars

    def __cinit__(self, int place, int kind, scalars):
        self.place = place
        self.kind = kind
        self.kept = tuple(scalars)
        for scalar in self.kept:
            self.scalars.push_back(view_of(scalar))

    cdef bint holds(self, vector[outcome.Span]& parts):
        cdef outcome.Span found = parts[self.place]
        cdef string_view text
        if self.kind:
            return outcome.kind_of(found) == self.kind
        text = string_view(found.begin, found.end - found.begin)
        for scalar in self.scalars:
            if scalar == text:
                return True
        return False


@cython.final
cdef class Case:
    """What a rule makes of a result for which its conditions hold; `values` `None` is for the long way.

    With `identity` the values are those of a command, and one that failed is for the long way.
    """
    cdef tuple conditions
    cdef int tag
    cdef Values values
    cdef bint stuck
    cdef bint identity

    def __cinit__(self, conditions, int tag, Values values, bint stuck, bint identity):
        self.conditions = tuple(conditions)
        self.tag = tag
        self.values = values
        self.stuck = stuck
        self.identity = identity


@cython.final
cdef class OutcomeReader:
    """Makes the prints of outcomes that neither failed nor say anything but their result.

    `done` is the kind that they get. The cases of a shape are asked in order. A result for which one of the `vetoes`
    (lists of conditions) holds is for the long way.
    """

    def __cinit__(self, done, Names names not None, vetoes, shaped, plain):
        self.done = done
        self.names = names
        self.vetoes = tuple(tuple(conditions) for conditions in vetoes)
        self.shaped = tuple(shaped)
        self.plain = tuple(plain)

    def print(self, bytes result not None):
        """Return the print of an outcome with this result, or `None` for the long way to decide."""
        return self.read(<const uint8_t*>PyBytes_AS_STRING(result), PyBytes_GET_SIZE(result))

    cdef OutcomePrint read(self, const uint8_t* data, Py_ssize_t size):
        cdef native.Arena* arena = native.lease_arena()
        try:
            if not write(arena[0], data, size, 0, 0, NULL, False):
                return None
            return judge(self, arena[0])
        finally:
            native.return_arena(arena)

    cdef OutcomePrint read_digest(self, bytes digest):
        """Return the print of an outcome that was sent as this digest."""
        cdef bytes text = b'%c["%b"]' % (DIGEST_TAG, digest.hex().encode())
        cdef OutcomePrint made = OutcomePrint.__new__(OutcomePrint)
        made.kind = self.done
        made.digest = digest_bytes(<const uint8_t*>PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text), 0)
        made.missing_tool = ""
        made.stripped = made.moving = ()
        return made


cdef OutcomePrint judge(OutcomeReader reader, native.Arena& arena):
    cdef outcome.Result result
    cdef vector[outcome.Span] parts, picked
    cdef outcome.Span whole = outcome.Span(<const char*>arena.text, <const char*>arena.text + arena.size)
    cdef bytes no_details = b"{}"
    outcome.read_result(whole, result)
    if result.is_error:
        return None
    if result.shaped:
        if result.details.begin == result.details.end:
            result.details = span_of(no_details)
        outcome.pick(result.details, reader.names.views, picked)
    else:
        picked.resize(reader.names.views.size())
    parts.resize(PICKED)
    parts[WHOLE] = whole
    if result.shaped:
        parts[DETAILS] = result.details
        parts[TEXT] = outcome.Span(result.text.data(), result.text.data() + result.text.size())
    parts.insert(parts.end(), picked.begin(), picked.end())
    if result.shaped:
        for conditions in reader.vetoes:
            if all_hold(<tuple>conditions, parts):
                return None
    cdef Case case
    for case in reader.shaped if result.shaped else reader.plain:
        if all_hold(case.conditions, parts):
            return settle_by(reader, case, parts, <int>arena.flags)
    return None


cdef OutcomePrint settle_by(OutcomeReader reader, Case case, vector[outcome.Span]& parts, int flags):
    cdef Values values = case.values
    cdef string text
    cdef outcome.Span code
    cdef list stripped = None
    cdef size_t index
    if values is None:
        return None
    if case.identity:
        code = parts[values.readings[EXIT_CODE].place]
        # Everything but a code of 0 or none may be a failure.
        if not is_text(code, b"0") and not is_text(code, b"null") and code.begin != code.end:
            return None
    text.push_back(<char>case.tag)
    text.push_back(c"[")
    for index in range(values.readings.size()):
        if index:
            text.push_back(c",")
        append_value(text, values, index, parts)
    text.push_back(c"]")
    if outcome.mentions(outcome.Span(text.data(), text.data() + text.size()), view_of(NONCE_START)):
        return None
    for place, name in values.left_out:
        if parts[<size_t>place].begin != parts[<size_t>place].end:
            stripped = [] if stripped is None else stripped
            stripped.append(name)
    cdef OutcomePrint made = OutcomePrint.__new__(OutcomePrint)
    made.kind = reader.done
    made.digest = digest_bytes(<const uint8_t*>text.data(), text.size(), 0)
    made.stuck = case.stuck
    made.missing_tool = ""
    made.flags = flags
    made.stripped = () if stripped is None else tuple(dict.fromkeys(stripped))
    made.moving = ()
    return made


cdef inline outcome.Span span_of(bytes text):
    return outcome.Span(PyBytes_AS_STRING(text), PyBytes_AS_STRING(text) + PyBytes_GET_SIZE(text))


cdef inline bint is_text(outcome.Span found, bytes text):
    return string_view(found.begin, found.end - found.begin) == view_of(text)


cdef inline bint all_hold(tuple conditions, vector[outcome.Span]& parts):
    cdef Condition condition
    for condition in conditions:
        if not condition.holds(parts):
            return False
    return True


cdef int append_value(string& text, Values values, size_t index, vector[outcome.Span]& parts) except -1:
    """Append what `Values.read` returns, in the form that is hashed."""
    cdef Reading reading = values.readings[index]
    cdef outcome.Span found = parts[reading.place]
    cdef outcome.Span inside
    cdef bytes exactly = values.exactly[index]
    cdef bytes default = values.defaults[index]
    cdef bint trimmed = False
    if exactly:
        text.append(b"true" if is_text(found, exactly) else b"false")
        return 0
    if reading.kind and outcome.kind_of(found) != reading.kind:
        found = outcome.Span()
    if reading.trims and outcome.kind_of(found) == outcome.STRING:
        inside = outcome.trim(outcome.Span(found.begin + 1, found.end - 1))
        trimmed = inside.begin != inside.end
        found = inside
    if found.begin == found.end and reading.otherwise >= 0:
        found = parts[reading.otherwise]
    if default and (found.begin == found.end or is_text(found, b"null")) and not trimmed:
        text.append(PyBytes_AS_STRING(default), PyBytes_GET_SIZE(default))
    elif found.begin == found.end:
        text.append(b"null")
    elif trimmed:
        text.push_back(c'"')
        text.append(found.begin, found.end - found.begin)
        text.push_back(c'"')
    else:
        text.append(found.begin, found.end - found.begin)
    return 0
