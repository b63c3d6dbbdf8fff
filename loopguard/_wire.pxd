# The smallest parts of messages, which the short way of whole frames reads and writes as well.
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

ctypedef const unsigned char* Bytes

cdef enum:
    VARINT_BYTES = 10
    DELIMITED = 2
    # Tags: field number times 8, plus 2 for what has a length.
    SEQ = 0x08
    AT = 0x12
    CALLS = 0x22
    OUTCOME = 0x2A
    HISTORY = 0x32
    FIRST = 0x0A
    SECOND = 0x12
    THIRD = 0x1A
    FOURTH = 0x22
    FIFTH = 0x2A
    SIXTH = 0x32
    FIRST_NUMBER = 0x08
    SECOND_NUMBER = 0x10
    THIRD_NUMBER = 0x18


cdef struct Span:
    Bytes at
    Bytes end


cdef inline bint read_varint(Span* span, uint64_t* value) noexcept nogil:
    cdef uint64_t byte, number = 0
    cdef int shift = 0
    while span.at < span.end and shift < 7 * VARINT_BYTES:
        byte = span.at[0]
        span.at += 1
        # The tenth byte has room for one bit; protobuf drops the others, which no generator writes.
        if shift == 63 and byte > 1:
            return False
        number |= (byte & 127) << shift
        if byte < 128:
            value[0] = number
            return True
        shift += 7
    return False


cdef inline bint read_span(Span* span, Span* inner) noexcept nogil:
    cdef uint64_t size = 0
    if not read_varint(span, &size) or size > <uint64_t> (span.end - span.at):
        return False
    inner.at = span.at
    inner.end = span.at + size
    span.at = inner.end
    return True


cdef inline str to_text(Span* span):
    return PyUnicode_DecodeUTF8(<const char*> span.at, span.end - span.at, NULL)


cdef inline bint read_duration(Span* span, double* seconds_out) noexcept nogil:
    cdef uint64_t seconds = 0, nanos = 0
    cdef unsigned tag, seen = 0
    while span.at < span.end:
        tag = span.at[0]
        span.at += 1
        if seen & tag:
            return False
        seen |= tag
        if tag == FIRST_NUMBER:
            if not read_varint(span, &seconds):
                return False
        elif tag == SECOND_NUMBER:
            if not read_varint(span, &nanos):
                return False
        else:
            return False
    seconds_out[0] = <double> <int64_t> seconds + <double> <int32_t> nanos / 1e9
    return True


cdef inline Span span_of(bytes data):
    cdef Span span
    span.at = <Bytes> PyBytes_AS_STRING(data)
    span.end = span.at + PyBytes_GET_SIZE(data)
    return span


cdef inline Py_ssize_t varint_size(uint64_t number) noexcept nogil:
    cdef Py_ssize_t size = 1
    while number >= 128:
        number >>= 7
        size += 1
    return size


cdef inline unsigned char* put_varint(unsigned char* out, uint64_t number) noexcept nogil:
    while number >= 128:
        out[0] = number & 127 | 128
        number >>= 7
        out += 1
    out[0] = number
    return out + 1


cdef inline unsigned char* put_bytes(unsigned char* out, const char* data, Py_ssize_t size) noexcept nogil:
    memcpy(out, data, size)
    return out + size


cdef inline Py_ssize_t size_of_numbers(uint64_t seq, uint64_t durable_seq, bytes body):
    """Return the size of an answer to the newest frame."""
    cdef Py_ssize_t number = 1 + varint_size(seq)
    return 2 * number + (1 + varint_size(durable_seq) if durable_seq else 0) + PyBytes_GET_SIZE(body)


cdef inline void put_numbers(unsigned char* out, uint64_t seq, uint64_t durable_seq, bytes body) noexcept:
    """Write an answer to the newest frame: `seq`, the same as `acked_seq`, `durable_seq`, and its body."""
    out[0] = FIRST_NUMBER
    out = put_varint(out + 1, seq)
    out[0] = SECOND_NUMBER
    out = put_varint(out + 1, seq)
    if durable_seq:
        out[0] = THIRD_NUMBER
        out = put_varint(out + 1, durable_seq)
    put_bytes(out, PyBytes_AS_STRING(body), PyBytes_GET_SIZE(body))


cpdef bytes allowed_call_body(str call_id)
cpdef bytes allowed_outcome_body(str call_id)
