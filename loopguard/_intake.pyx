# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""What a server does for every message: the short way of plain frames, the write of the answer, how long it took.

The short way goes from bytes to the encoded answer with hardly an object between. It does what `loopguard.server` says
in Python, step by step, for a batch of one call and for an outcome of which there is nothing to say. For anything else
it answers `None`, nothing has changed, and the long way decides. Not thread-safe.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.object cimport PyObject
from cpython.ref cimport Py_DECREF
from libc.stdint cimport uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

from loopguard._prints cimport (
    CallPrint, CallReader, OpenCall, OutcomePrint, OutcomeReader, RunState, add_call, may_admit, oldest_admitted,
    open_call, report_plain,
)
from loopguard._wire cimport (
    AT, CALLS, DELIMITED, FIFTH, FIRST, FOURTH, OUTCOME, SECOND, SECOND_NUMBER, SEQ, THIRD, Span, allowed_call_body,
    allowed_outcome_body, put_numbers, put_varint, read_duration, read_span, read_varint, size_of_numbers, span_of,
    to_text, varint_size,
)

cdef extern from "Python.h":
    ctypedef enum PySendResult:
        PYGEN_RETURN, PYGEN_ERROR, PYGEN_NEXT

    PySendResult PyIter_Send(object coroutine, object value, PyObject** result) except PYGEN_ERROR

cdef enum:
    # The number of `loopguard.v1.Status` OK; 0 is none.
    OK = 1
    DIGEST_BYTES = 16
    # What a tag and a number take at most.
    HEAD_BYTES = 11
    # Longer ids are left to the long way, which knows how long one may be.
    SHORT_BYTES = 4096


cdef struct Plain:
    # A batch of one call with arguments, or an outcome that says nothing but its result; either as JSON or as a digest.
    uint64_t seq
    bint asks
    Span call_id
    Span tool
    Span json
    Span digest
    Span action


cdef inline bint read_call(Span* span, Plain* plain) noexcept nogil:
    cdef Span inner
    cdef unsigned tag, seen = 0
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag & 7 != DELIMITED or tag < FIRST or tag > FIFTH or seen & (1u << (tag >> 3)):
            return False
        seen |= 1u << (tag >> 3)
        if not read_span(span, &inner):
            return False
        if tag == FIRST:
            plain.call_id = inner
        elif tag == SECOND:
            plain.tool = inner
        elif tag == THIRD:
            plain.json = inner
        elif tag == FOURTH:
            plain.digest = inner
        else:
            plain.action = inner
    # Without a digest it is the arguments that tell the action.
    return is_one(plain, seen) and (plain.action.at == plain.action.end or plain.json.at == plain.json.end)


cdef inline bint is_one(Plain* plain, unsigned seen) noexcept nogil:
    """Tell whether there is JSON or a digest, and not both."""
    if seen & 8 and seen & 16:
        return False
    return plain.json.at < plain.json.end or plain.digest.end - plain.digest.at == DIGEST_BYTES


cdef inline bint read_batch(Span* span, Plain* plain) noexcept nogil:
    cdef Span call
    if span.at == span.end or span.at[0] != FIRST:
        return False
    span.at += 1
    return read_span(span, &call) and span.at == span.end and read_call(&call, plain)


cdef inline bint read_outcome(Span* span, Plain* plain) noexcept nogil:
    cdef Span inner
    cdef uint64_t status = 0
    cdef unsigned tag, seen = 0
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag > FOURTH or seen & (1u << (tag >> 3)):
            return False
        seen |= 1u << (tag >> 3)
        if tag == SECOND_NUMBER:
            if not read_varint(span, &status) or status > OK:
                return False
        elif (tag == FIRST or tag == THIRD or tag == FOURTH) and read_span(span, &inner):
            if tag == FIRST:
                plain.call_id = inner
            elif tag == THIRD:
                plain.json = inner
            else:
                plain.digest = inner
        else:
            return False
    return is_one(plain, seen)


cdef bint read_plain(Span span, Plain* plain) noexcept nogil:
    """Read a frame that is plain; false for any other."""
    cdef Span inner
    cdef double seconds = 0
    cdef unsigned tag
    cdef bint has_seq = False, has_at = False, has_frame = False
    plain.seq = 0
    plain.call_id = plain.tool = plain.json = plain.digest = plain.action = Span(span.at, span.at)
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag == SEQ and not has_seq:
            has_seq = True
            if not read_varint(&span, &plain.seq):
                return False
            continue
        if not read_span(&span, &inner):
            return False
        if tag == AT and not has_at:
            has_at = True
            if not read_duration(&inner, &seconds):
                return False
        elif (tag == CALLS or tag == OUTCOME) and not has_frame:
            has_frame = True
            plain.asks = tag == CALLS
            if not (read_batch(&inner, plain) if plain.asks else read_outcome(&inner, plain)):
                return False
        else:
            return False
    return has_frame


@cython.final
cdef class TokenBucket:
    """So many a second, and what was not used of the last second on top."""
    cdef double rate
    cdef double level
    cdef double at

    def __cinit__(self, double rate, double now):
        """Start full."""
        self.rate = rate
        self.level = rate
        self.at = now

    def set_rate(self, double rate):
        """Go on with another rate."""
        self.rate = rate

    def take(self, double count, double now):
        """Take `count`, or nothing; return 0 if taken, else the seconds after which it could be.

        More than a second's worth is taken from a full bucket, which then has a debt: else it would never fit.
        """
        cdef double level = self.level_at(now)
        cdef double wanted = min(count, self.rate)
        self.at = now
        if level >= wanted:
            self.level = level - count
            return 0.0
        self.level = level
        return (wanted - level) / self.rate

    cdef inline double level_at(self, double now):
        cdef double level = self.level
        if now > self.at:
            level += (now - self.at) * self.rate
        return min(level, self.rate)

    cdef inline bint takes_one(self, double now):
        """Take one if it is there; if not, nothing has changed."""
        cdef double level = self.level_at(now)
        if level < 1 or self.rate < 1:
            return False
        self.at = now
        self.level = level - 1
        return True


cdef class Account:
    """What of a tenant every call touches: how many calls were asked since the last report, and how many it may."""
    cdef public Py_ssize_t asked
    cdef public TokenBucket bucket

    def __init__(self, TokenBucket bucket not None):
        self.bucket = bucket


cdef class Counts:
    """What is counted of plain frames: calls that were allowed with nothing to say of them."""
    cdef public Py_ssize_t allowed


cdef class Place:
    """What of a run's place in the conversation every frame touches.

    `answers` is a ring of the newest encoded bodies, `dirty` whether the run has changed since its last snapshot.
    """
    cdef public RunState run
    cdef public Account tenant
    cdef public object owner
    cdef public list answers
    cdef public uint64_t last_seq
    cdef public uint64_t durable_seq
    cdef public double used_at
    cdef public bint dirty

    def __init__(self, RunState run not None, Account tenant not None):
        self.run = run
        self.tenant = tenant
        self.answers = []
        self.dirty = True


cdef class Latencies:
    """How long messages waited for their answers, counted up to each of some bounds in seconds and beyond the last."""
    cdef vector[double] bounds
    cdef vector[uint64_t] counted
    cdef readonly double sum_s

    def __init__(self, bounds_s):
        self.bounds = bounds_s
        self.counted.resize(self.bounds.size() + 1)

    @property
    def counts(self):
        """The numbers of messages."""
        return list(self.counted)

    def add(self, double seconds):
        """Count one message."""
        cdef size_t index = 0
        while index < self.bounds.size() and self.bounds[index] < seconds:
            index += 1
        self.counted[index] += 1
        self.sum_s += seconds


@cython.final
cdef class Writing:
    """The writes of a stream, one at a time, each begun as a task would by its first step and not waited for.

    So the next message can be waited for at once. Whoever writes next waits for the end of the one before.
    """
    cdef object write
    cdef object coroutine
    cdef readonly object future

    def __init__(self, write):
        """Take what returns the coroutine of a write."""
        self.write = write

    def begin(self, bytes message not None):
        """Begin to write; no other write may be under way. Raises what that raises at once."""
        self.step(self.write(message))

    def over(self):
        """Return whether no write is under way. Raises what the last one has raised, once."""
        cdef object coroutine = self.coroutine
        if coroutine is None:
            return True
        if not self.future.done():
            return False
        self.coroutine = self.future = None
        self.step(coroutine)
        return self.coroutine is None

    cdef int step(self, object coroutine) except -1:
        cdef PyObject* result = NULL
        cdef PySendResult sent = PyIter_Send(coroutine, None, &result)
        cdef object future = <object>result
        Py_DECREF(future)
        if sent == PYGEN_NEXT:
            self.coroutine = coroutine
            self.future = future
        return 0


@cython.final
cdef class ShortWay:
    """Takes plain frames in. `mark` is told of a run that has changed since its last snapshot."""
    cdef Py_ssize_t in_flight
    cdef object now
    cdef Counts counts
    cdef public object mark

    def __init__(self, Py_ssize_t in_flight, now, Counts counts not None, mark):
        self.in_flight = in_flight
        self.now = now
        self.counts = counts
        self.mark = mark

    def frame(self, Place place not None, bytes data not None):
        """Take one frame of an open run and return its encoded answer, or `None` for the long way to decide."""
        cdef bytes body = self.take(place, span_of(data))
        cdef bytes answer
        cdef unsigned char* out
        if body is None:
            return None
        answer = PyBytes_FromStringAndSize(NULL, size_of_numbers(place.last_seq, place.durable_seq, body))
        out = <unsigned char*>PyBytes_AS_STRING(answer)
        put_numbers(out, place.last_seq, place.durable_seq, body)
        return answer

    def runs(self, bytes data not None, dict places not None, owner, bint held, decode, take):
        """Take a message of many runs and return their answers, or `None` for the long way to decide.

        `places` has the runs that `owner` has by their ids. A frame that is not for the short way is told to `take`,
        with its run's id, as `decode` reads its bytes. With `held` nothing is taken unless `owner` has all the runs.
        """
        cdef list names = []
        cdef vector[Span] parts
        cdef Span frames, frame
        cdef size_t index
        cdef string out, answers
        cdef str name
        cdef object place
        cdef bytes body
        try:
            if not outline(span_of(data), names, parts):
                return None
        except UnicodeDecodeError:
            return None
        if held:
            for name in names:
                place = places.get(name)
                if place is None or (<Place?>place).owner is not owner:
                    return None
        for index in range(parts.size()):
            name = names[<Py_ssize_t>index]
            frames = parts[index]
            answers.clear()
            while frames.at < frames.end:
                frames.at += 1
                read_span(&frames, &frame)
                body = None
                # Asked again for every frame: one before it may have closed the run.
                place = places.get(name)
                if place is not None and (<Place?>place).owner is owner:
                    body = self.take(<Place>place, frame)
                if body is None:
                    body = decode_and_take(name, frame, decode, take)
                    append_head(answers, SECOND, PyBytes_GET_SIZE(body))
                    answers.append(PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body))
                else:
                    append_answer(answers, <Place>place, body)
            append_run(out, name, answers)
        return PyBytes_FromStringAndSize(out.data(), out.size())

    cdef bytes take(self, Place place, Span frame):
        """Take a plain frame in and return the body of its answer."""
        cdef Plain plain
        cdef bytes body
        cdef uint64_t seq = place.last_seq + 1
        if place.run._readers is None or not read_plain(frame, &plain) or plain.seq != seq:
            return None
        cdef double now = self.now()
        try:
            body = self.ask(place, &plain, now) if plain.asks else self.settle(place.run, &plain)
        except UnicodeDecodeError:
            return None
        if body is None:
            return None
        place.run.touched = place.used_at = now
        place.last_seq = seq
        if seq <= <uint64_t>self.in_flight:
            place.answers.append(body)
        else:
            place.answers[<Py_ssize_t>((seq - 1) % self.in_flight)] = body
        if not place.dirty:
            self.mark(place)
        return body

    cdef bytes ask(self, Place place, Plain* plain, double now):
        cdef RunState run = place.run
        cdef CallReader reader = run._readers.calls.get(to_text(&plain.tool))
        cdef CallPrint call
        cdef str given, call_id
        cdef bytes body
        if reader is None or plain.call_id.end - plain.call_id.at > SHORT_BYTES:
            return None
        given = to_text(&plain.call_id)
        if plain.json.at < plain.json.end:
            call = reader.read(plain.json.at, plain.json.end - plain.json.at)
        else:
            call = reader.made(digest_of(plain), to_text(&plain.action), 0)
        if call is None:
            return None
        call_id = may_admit(run, given, call)
        if call_id is None:
            return None
        body = allowed_call_body(call_id)
        if not place.tenant.bucket.takes_one(now):
            return None
        place.tenant.asked += 1
        add_call(run, call_id, call, not given)
        self.counts.allowed += 1
        return body

    cdef bytes settle(self, RunState run, Plain* plain):
        cdef str call_id = to_text(&plain.call_id) or oldest_admitted(run)
        cdef OpenCall call = None if call_id is None else open_call(run, call_id)
        cdef OutcomeReader reader
        cdef OutcomePrint printed
        cdef bytes body
        if call is None:
            return None
        reader = run._readers.outcomes.get((call.print.tool, call.print.action))
        if reader is None:
            return None
        if plain.json.at < plain.json.end:
            printed = reader.read(plain.json.at, plain.json.end - plain.json.at)
        else:
            printed = reader.read_digest(digest_of(plain))
        if printed is None:
            return None
        body = allowed_outcome_body(call_id)
        return body if report_plain(run, call_id, call, printed) else None


cdef inline bytes digest_of(Plain* plain):
    return PyBytes_FromStringAndSize(<const char*>plain.digest.at, DIGEST_BYTES)


cdef bint outline(Span span, list names, vector[Span]& parts) except -1:
    """Find the runs of a message, their ids, and their frames; false for what others have to take apart."""
    cdef Span run, frames, part
    while span.at < span.end:
        if span.at[0] != FIRST:
            return False
        span.at += 1
        if not read_span(&span, &run):
            return False
        part = Span(run.at, run.at)
        if run.at < run.end and run.at[0] == FIRST:
            run.at += 1
            if not read_span(&run, &part):
                return False
        names.append(to_text(&part))
        frames = run
        while run.at < run.end:
            if run.at[0] != SECOND:
                return False
            run.at += 1
            if not read_span(&run, &part):
                return False
        parts.push_back(frames)
    return True


cdef bytes decode_and_take(str name, Span frame, object decode, object take):
    return take(name, decode(PyBytes_FromStringAndSize(<const char*>frame.at, frame.end - frame.at)))


cdef int append_head(string& out, unsigned char tag, Py_ssize_t size) except -1:
    cdef unsigned char head[HEAD_BYTES]
    head[0] = tag
    out.append(<const char*>head, put_varint(head + 1, size) - head)
    return 0


cdef int append_answer(string& out, Place place, bytes body) except -1:
    cdef Py_ssize_t size = size_of_numbers(place.last_seq, place.durable_seq, body)
    cdef size_t before
    append_head(out, SECOND, size)
    before = out.size()
    out.resize(before + size)
    put_numbers(<unsigned char*>out.data() + before, place.last_seq, place.durable_seq, body)
    return 0


cdef int append_run(string& out, str name, const string& answers) except -1:
    cdef bytes run_id = name.encode()
    cdef Py_ssize_t size = PyBytes_GET_SIZE(run_id)
    append_head(out, FIRST, 1 + varint_size(size) + size + answers.size())
    append_head(out, FIRST, size)
    out.append(PyBytes_AS_STRING(run_id), size)
    out.append(answers)
    return 0
