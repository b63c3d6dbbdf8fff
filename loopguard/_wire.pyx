# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""The few messages that make up nearly all traffic, decoded and encoded without an object a field.

Calls and outcomes in the plain encoding that every generator writes (each field once, none unknown) are read here; for
anything else the functions answer `None`, and protobuf decides. Linear in the bytes; no state but shared answers.
"""
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.type cimport PyType_GenericNew
from libc.stdint cimport uint64_t

from loopguard.model import Call, CallBatch, Outcome, Status

cdef enum:
    DIGEST_BYTES = 16
    # No server allows larger batches; one that is larger is left to `measure_frame` to count.
    CALLS_MAX = 1024
    # Which bodies are shared: those for ids as short as this, and how many.
    SHARED_LENGTH = 5
    SHARED_MOST = 10_000

# By the numbers of `loopguard.v1.Status`; 0 is none. PENDING, the last one, is refused in an outcome.
cdef tuple STATUSES = (
    None, Status.OK, Status.ERROR, Status.UNKNOWN_TOOL, Status.INVALID_ARGUMENTS, Status.DENIED, Status.LOOP_VETO,
    Status.CANCELLED,
)


cdef inline object to_bytes(Span* span):
    if span.at == span.end:
        return None
    return PyBytes_FromStringAndSize(<const char*> span.at, span.end - span.at)


cdef inline bint is_digest(Span* span) noexcept nogil:
    return span.at == span.end or span.end - span.at == DIGEST_BYTES


cdef object read_call(Span* span):
    """Return a `Call`, or `None` for one that isn't plain."""
    cdef Span inner
    cdef unsigned seen = 0
    cdef unsigned tag
    cdef object call_id = "", tool = "", args = None, digest = None, action = ""
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag & 7 != DELIMITED or tag > FIFTH or seen & (1u << (tag >> 3)) or not read_span(span, &inner):
            return None
        seen |= 1u << (tag >> 3)
        if tag == FIRST:
            call_id = to_text(&inner)
        elif tag == SECOND:
            tool = to_text(&inner)
        elif tag == THIRD:
            args = to_bytes(&inner)
        elif tag == FOURTH:
            if not is_digest(&inner):
                return None
            digest = to_bytes(&inner)
        elif tag == FIFTH:
            action = to_text(&inner)
        else:
            return None
    if seen & 8 and seen & 16:
        return None
    # Slot by slot: to enter a dataclass's `__init__` from here takes longer than all that it does. So below.
    cdef object call = PyType_GenericNew(Call, None, None)
    call.tool = tool
    call.args = args
    call.call_id = call_id
    call.args_digest = digest
    call.action = action
    return call


cdef object read_batch(Span* span):
    """Return a `CallBatch`, or `None` for one that isn't plain."""
    cdef Span inner
    cdef uint64_t dry_run = 0
    cdef bint has_dry_run = False
    cdef unsigned tag
    cdef list calls = []
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag == FIRST:
            if not read_span(span, &inner):
                return None
            call = read_call(&inner)
            if call is None:
                return None
            calls.append(call)
            if len(calls) > CALLS_MAX:
                return None
        elif tag == SECOND_NUMBER and not has_dry_run:
            has_dry_run = True
            if not read_varint(span, &dry_run):
                return None
        else:
            return None
    if not calls:
        return None
    cdef object batch = PyType_GenericNew(CallBatch, None, None)
    batch.calls = calls
    batch.dry_run = dry_run != 0
    return batch


cdef object read_outcome(Span* span):
    """Return an `Outcome`, or `None` for one that isn't plain."""
    cdef Span inner
    cdef unsigned seen = 0
    cdef unsigned tag
    cdef uint64_t status = 0
    cdef object call_id = "", result = None, digest = None, error = None, private = None
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag > SIXTH or seen & (1u << (tag >> 3)):
            return None
        seen |= 1u << (tag >> 3)
        if tag == SECOND_NUMBER:
            if not read_varint(span, &status) or status >= <uint64_t> len(STATUSES):
                return None
            continue
        if not read_span(span, &inner):
            return None
        if tag == FIRST:
            call_id = to_text(&inner)
        elif tag == THIRD:
            result = to_bytes(&inner)
        elif tag == FOURTH:
            if not is_digest(&inner):
                return None
            digest = to_bytes(&inner)
        elif tag == FIFTH:
            error = to_bytes(&inner)
        elif tag == SIXTH:
            private = to_bytes(&inner)
        else:
            return None
    if seen & 8 and seen & 16:
        return None
    cdef object outcome = PyType_GenericNew(Outcome, None, None)
    outcome.call_id = call_id
    outcome.status = STATUSES[status]
    outcome.result = result
    outcome.result_digest = digest
    outcome.error = error
    outcome.private = private
    return outcome


cdef object read_frame(Span* span):
    """Return (seq, at, frame) of plain calls or a plain outcome, or `None`."""
    cdef Span inner
    cdef uint64_t seq = 0
    cdef double seconds = 0
    cdef bint has_seq = False, has_at = False
    cdef unsigned tag
    cdef object frame = None
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag == SEQ and not has_seq:
            has_seq = True
            if not read_varint(span, &seq):
                return None
            continue
        if not read_span(span, &inner):
            return None
        if tag == AT and not has_at:
            has_at = True
            if not read_duration(&inner, &seconds):
                return None
        elif frame is None and (tag == CALLS or tag == OUTCOME):
            frame = read_batch(&inner) if tag == CALLS else read_outcome(&inner)
            if frame is None:
                return None
        else:
            return None
    return None if frame is None else (seq, seconds if has_at else None, frame)


cdef inline bint skip_field(Span* span, uint64_t* tag, Span* inner, uint64_t* number) noexcept nogil:
    """Read any field as protobuf would, taking what is cut off for whole; false at the end or at a fault."""
    cdef uint64_t size = 0
    cdef unsigned kind
    inner.at = inner.end = span.at
    if span.at >= span.end or not read_loosely(span, tag):
        return False
    kind = tag[0] & 7
    if kind == 0:
        return read_loosely(span, number)
    if kind == DELIMITED:
        if not read_loosely(span, &size):
            return False
    elif kind == 1 or kind == 5:
        size = 8 if kind == 1 else 4
    elif kind > 5:
        return False
    if size > <uint64_t> (span.end - span.at):
        size = span.end - span.at
    inner.at = span.at
    span.at += size
    inner.end = span.at
    return True


cdef inline bint read_loosely(Span* span, uint64_t* value) noexcept nogil:
    cdef uint64_t number = 0, byte
    cdef int shift
    for shift in range(0, 7 * VARINT_BYTES, 7):
        if span.at >= span.end:
            return False
        byte = span.at[0]
        span.at += 1
        number |= (byte & 127) << shift
        if byte < 128:
            value[0] = number
            return True
    return False


cdef Py_ssize_t count_inside(Span span, uint64_t wanted) noexcept nogil:
    """Count the fields of one tag, or with 0 all but the first `FIRST`."""
    cdef Span inner
    cdef uint64_t tag = 0, number = 0
    cdef Py_ssize_t count = 0
    cdef bint named = False
    while skip_field(&span, &tag, &inner, &number):
        if wanted:
            count += tag == wanted
        elif tag == FIRST and not named:
            named = True
        else:
            count += 1
    return count


def count_frames(bytes data not None):
    """Count the frames of a `GuardManyRequest` without decoding them; a run with none is one, an odd field too."""
    cdef Span span = span_of(data)
    cdef Span inner
    cdef uint64_t tag = 0, number = 0
    cdef Py_ssize_t count = 0, inside
    while skip_field(&span, &tag, &inner, &number):
        inside = count_inside(inner, 0) if tag == FIRST else 0
        count += inside if inside else 1
    return count


def count_calls(bytes data not None):
    """Count the calls and the records of histories in a `GuardManyRequest` without decoding them."""
    cdef Span span = span_of(data)
    cdef Span run, frame, inner
    cdef uint64_t tag = 0, number = 0
    cdef Py_ssize_t count = 0
    while skip_field(&span, &tag, &run, &number):
        if tag != FIRST:
            continue
        while skip_field(&run, &tag, &frame, &number):
            if tag != SECOND:
                continue
            while skip_field(&frame, &tag, &inner, &number):
                if tag == CALLS or tag == HISTORY:
                    count += count_inside(inner, FIRST)
    return count


def measure_frame(bytes data not None):
    """Return (seq, number of calls, number of records) of a `GuardRequest` without decoding it."""
    cdef Span span = span_of(data)
    cdef Span inner
    cdef uint64_t tag = 0, number = 0, seq = 0
    cdef Py_ssize_t calls = 0, records = 0
    while skip_field(&span, &tag, &inner, &number):
        if tag == SEQ:
            seq = number
        elif tag == CALLS:
            calls += count_inside(inner, FIRST)
        elif tag == HISTORY:
            records += count_inside(inner, FIRST)
    return seq, calls, records


def scan_frame(bytes data not None):
    """Decode a `GuardRequest` of calls or an outcome to (seq, at, frame), or return `None` for protobuf to decide."""
    cdef Span span = span_of(data)
    try:
        return read_frame(&span)
    except UnicodeDecodeError:
        return None


def scan_runs(bytes data not None, decode not None):
    """Decode a `GuardManyRequest` to a list of (run id, frames), or return `None` for others to decide.

    Frames that aren't plain are decoded by `decode`, from their bytes.
    """
    cdef Span span = span_of(data)
    cdef Span run, part
    cdef unsigned tag
    cdef list runs = [], frames
    cdef object name
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if tag != FIRST or not read_span(&span, &run):
            return None
        name, frames = None, []
        while run.at < run.end:
            tag = run.at[0]
            run.at += 1
            if not read_span(&run, &part):
                return None
            if tag == FIRST and name is None:
                try:
                    name = to_text(&part)
                except UnicodeDecodeError:
                    return None
            elif tag == SECOND:
                frames.append(frame_or_decoded(part, decode))
            else:
                return None
        runs.append(("" if name is None else name, frames))
    return runs


cdef object frame_or_decoded(Span part, object decode):
    cdef Span whole = part
    cdef object frame
    try:
        frame = read_frame(&part)
    except UnicodeDecodeError:
        frame = None
    if frame is None:
        return decode(PyBytes_FromStringAndSize(<const char*> whole.at, whole.end - whole.at))
    return frame


def encode_answer(uint64_t seq, uint64_t acked_seq, uint64_t durable_seq, bytes body not None):
    """Put the numbers of a `GuardResponse` before its encoded answer."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(body)
    cdef Py_ssize_t head = 1 + varint_size(seq)
    cdef bytes answer
    cdef unsigned char* out
    head += 1 + varint_size(acked_seq) if acked_seq else 0
    head += 1 + varint_size(durable_seq) if durable_seq else 0
    answer = PyBytes_FromStringAndSize(NULL, head + size)
    out = <unsigned char*> PyBytes_AS_STRING(answer)
    out[0] = FIRST_NUMBER
    out = put_varint(out + 1, seq)
    if acked_seq:
        out[0] = SECOND_NUMBER
        out = put_varint(out + 1, acked_seq)
    if durable_seq:
        out[0] = THIRD_NUMBER
        out = put_varint(out + 1, durable_seq)
    put_bytes(out, PyBytes_AS_STRING(body), size)
    return answer


def encode_run(str run_id not None, list items not None):
    """Encode some frames or answers of one run; the concatenation of several is a message of many runs."""
    cdef bytes name = run_id.encode()
    cdef bytes item, message
    cdef Py_ssize_t size = 1 + varint_size(PyBytes_GET_SIZE(name)) + PyBytes_GET_SIZE(name)
    cdef unsigned char* out
    for item in items:
        size += 1 + varint_size(PyBytes_GET_SIZE(item)) + PyBytes_GET_SIZE(item)
    message = PyBytes_FromStringAndSize(NULL, 1 + varint_size(size) + size)
    out = <unsigned char*> PyBytes_AS_STRING(message)
    out[0] = FIRST
    out = put_varint(out + 1, size)
    out[0] = FIRST
    out = put_varint(out + 1, PyBytes_GET_SIZE(name))
    out = put_bytes(out, PyBytes_AS_STRING(name), PyBytes_GET_SIZE(name))
    for item in items:
        out[0] = SECOND
        out = put_varint(out + 1, PyBytes_GET_SIZE(item))
        out = put_bytes(out, PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item))
    return message


cdef bytes encode_allow(str call_id, bint batch):
    cdef bytes name = call_id.encode()
    cdef Py_ssize_t length = PyBytes_GET_SIZE(name)
    cdef Py_ssize_t verdict = 3 + varint_size(length) + length
    cdef Py_ssize_t inner = 1 + varint_size(verdict) + verdict if batch else verdict
    cdef bytes body = PyBytes_FromStringAndSize(NULL, 1 + varint_size(inner) + inner)
    cdef unsigned char* out = <unsigned char*> PyBytes_AS_STRING(body)
    out[0] = 0x2A if batch else 0x32
    out = put_varint(out + 1, inner)
    if batch:
        out[0] = FIRST
        out = put_varint(out + 1, verdict)
    out[0] = FIRST
    out = put_varint(out + 1, length)
    out = put_bytes(out, PyBytes_AS_STRING(name), length)
    out[0] = 0x10
    out[1] = 1
    return body


# The bodies for short ids, which are the same in many runs (`c1`, `c2`, …): stored answers of all runs share them.
cdef dict SHARED_CALLS = {}
cdef dict SHARED_OUTCOMES = {}


cpdef bytes allowed_call_body(str call_id):
    """Encode the answer to a batch of one call that is allowed with nothing to say of it."""
    return SHARED_CALLS.get(call_id) or shared_body(call_id, SHARED_CALLS, True)


cpdef bytes allowed_outcome_body(str call_id):
    """Encode the answer to an outcome of which there is nothing to say."""
    return SHARED_OUTCOMES.get(call_id) or shared_body(call_id, SHARED_OUTCOMES, False)


cdef bytes shared_body(str call_id, dict shared, bint batch):
    cdef bytes body = encode_allow(call_id, batch)
    if len(call_id) <= SHARED_LENGTH and len(shared) < SHARED_MOST:
        shared[call_id] = body
    return body


def number_frame(uint64_t seq, bytes frame not None):
    """Put its number before a `GuardRequest` that was encoded without one."""
    cdef Py_ssize_t size = PyBytes_GET_SIZE(frame)
    cdef bytes message = PyBytes_FromStringAndSize(NULL, 1 + varint_size(seq) + size)
    cdef unsigned char* out = <unsigned char*> PyBytes_AS_STRING(message)
    out[0] = SEQ
    put_bytes(put_varint(out + 1, seq), PyBytes_AS_STRING(frame), size)
    return message
