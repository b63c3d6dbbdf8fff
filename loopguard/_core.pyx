# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""The compiled core: canonical JSON and its 128-bit digest, and a scanner for spans. Data in, data out, no policy.

One pass over the bytes, no Python object per JSON value. Each thread reuses its own memory, so functions may be called from
any thread; the GIL is held up to RELEASE_SIZE bytes, because letting go of it costs a busy process more than the work.
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_READ
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from loopguard cimport _native as native

import os as _os

if not native.kNativeHash:
    import xxhash as _xxhash

cdef enum:
    DIGEST_SIZE = 16
    RELEASE_SIZE = 1024 * 1024
    # The xxhash wheel lets go of the GIL for larger pieces.
    WHEEL_PIECE = 64 * 1024
    # Neither can stand raw in canonical text, so no JSON value looks like the stand-in of an opaque one.
    OPAQUE_MARK = 0x1A

BIGINT = <int>native.kBigint
OVERFLOW = <int>native.kOverflow
DUPLICATE_KEY = <int>native.kDuplicateKey
SURROGATE = <int>native.kSurrogate
OPAQUE = <int>native.kOpaque

WRAPPER_NONCE = <int>native.kWrapperNonce
cdef uint32_t KNOWN_MASKS = native.kWrapperNonce

cdef const native.Kernel* kernel = &native.choose_kernel(_os.environ.get("LOOPGUARD_CPU") == "baseline")


cdef struct Source:
    Py_buffer view
    const uint8_t* data
    size_t size
    bint held


cdef inline int open_source(object data, Source* source) except -1:
    if PyBytes_CheckExact(data):
        source.held = False
        source.data = <const uint8_t*>PyBytes_AS_STRING(data)
        source.size = PyBytes_GET_SIZE(data)
        return 0
    if isinstance(data, str):
        raise TypeError("data must be bytes-like, not str: encode it first")
    if not PyObject_CheckBuffer(data):
        raise TypeError(f"data must be bytes-like, not {type(data).__name__}")
    PyObject_GetBuffer(data, &source.view, PyBUF_SIMPLE)
    source.held = True
    source.data = <const uint8_t*>source.view.buf
    source.size = source.view.len
    return 0


cdef inline void close_source(Source* source) noexcept:
    if source.held:
        PyBuffer_Release(&source.view)


cdef inline uint32_t check_mask(object mask) except? 0xFFFFFFFF:
    if mask.__class__ is not int or not 0 <= mask <= 0xFFFFFFFF or <uint32_t>mask & ~KNOWN_MASKS:
        raise ValueError(f"mask must be a sum of mask kinds, not {mask!r}")
    return <uint32_t>mask


cdef inline bint write(
    native.Arena& arena, const uint8_t* data, size_t size, size_t offset, uint32_t mask, bint spans
) except -1:
    if size <= RELEASE_SIZE:
        return kernel.write(arena, data, size, offset, mask, spans)
    cdef bint written
    with nogil:
        written = kernel.write(arena, data, size, offset, mask, spans)
    return written


cdef bytes wheel_digest(const uint8_t* data, size_t size, uint64_t seed):
    if size <= WHEEL_PIECE:
        return _xxhash.xxh3_128_digest(PyMemoryView_FromMemory(<char*>data, size, PyBUF_READ), seed)
    state = _xxhash.xxh3_128(seed=seed)
    cdef size_t at = 0
    cdef size_t piece
    while at < size:
        piece = min(<size_t>WHEEL_PIECE, size - at)
        state.update(PyMemoryView_FromMemory(<char*>data + at, piece, PyBUF_READ))
        at += piece
    return state.digest()


cdef inline bytes digest_bytes(const uint8_t* data, size_t size, uint64_t seed):
    cdef uint8_t digest[DIGEST_SIZE]
    if not native.kNativeHash:
        return wheel_digest(data, size, seed)
    if size <= RELEASE_SIZE:
        native.hash_bytes(data, size, seed, digest)
    else:
        with nogil:
            native.hash_bytes(data, size, seed, digest)
    return PyBytes_FromStringAndSize(<char*>digest, DIGEST_SIZE)


cdef inline bytes digest_result(native.Arena& arena):
    cdef uint8_t digest[DIGEST_SIZE]
    if not native.kNativeHash:
        return wheel_digest(arena.text, arena.size, 0)
    if arena.size <= RELEASE_SIZE:
        native.hash_result(arena, digest)
    else:
        with nogil:
            native.hash_result(arena, digest)
    return PyBytes_FromStringAndSize(<char*>digest, DIGEST_SIZE)


cdef inline str decode(const uint8_t* text, size_t size):
    cdef bytearray decoded = bytearray(size)
    cdef size_t kept = native.decode_text(text, size, <uint8_t*>decoded)
    return PyUnicode_DecodeUTF8(<char*>decoded, kept, "surrogatepass")


@cython.final
cdef class Inspection:
    """What the core made of a document: canonical form, digest, flags, and the spans that masking stripped.

    A span is (kind, start, end), the kind a mask bit, the place in the input's bytes; in the order of the input.
    """
    cdef readonly bytes canonical
    cdef readonly bytes digest
    cdef readonly int flags
    cdef readonly list spans

    def __cinit__(self, bytes canonical not None, bytes digest not None, int flags, list spans not None):
        self.canonical = canonical
        self.digest = digest
        self.flags = flags
        self.spans = spans

    def __repr__(self):
        return (
            f"Inspection(canonical={self.canonical!r}, digest={self.digest!r}, flags={self.flags}, spans={self.spans!r})"
        )


def canonicalize(data, *, mask=0, rules=None):
    """Return the canonical form of `data`; the bytes unchanged if they are not JSON."""
    cdef uint32_t bits = check_mask(mask)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, False):
            return PyBytes_FromStringAndSize(<const char*>arena.text, arena.size)
        return PyBytes_FromStringAndSize(<const char*>source.data, source.size)
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint(data, *, mask=0, rules=None):
    """Return the 16-byte digest of the canonical form of `data`, or of its raw bytes if they are not JSON."""
    cdef uint32_t bits = check_mask(mask)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, native.kNativeHash):
            return digest_result(arena[0])
        return digest_bytes(source.data, source.size, native.kOpaqueSeed)
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint_flags(data, *, mask=0, rules=None):
    """Return (digest, flags) of `data`: `fingerprint` and what was noticed on the way."""
    cdef uint32_t bits = check_mask(mask)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, native.kNativeHash):
            return digest_result(arena[0]), <int>arena.flags
        return digest_bytes(source.data, source.size, native.kOpaqueSeed), OPAQUE
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint_values(tag, values, *, mask=0):
    """Return the digest of a tag byte (0 to 255) and the canonical JSON array of `values`, where `None` is null.

    A value that is not JSON stands in the array as a string of the raw byte 0x1A and its opaque digest in hexadecimal; canonical
    JSON has no raw control character, so no value that is JSON equals it.
    """
    cdef uint32_t bits = check_mask(mask)
    cdef uint8_t tag_byte = tag
    cdef Source source
    cdef native.Arena* arena = native.lease_arena()
    cdef size_t size = 2
    cdef bytes stand_in
    cdef bint first = True
    try:
        arena.make_room(arena.output.data(), size)
        arena.output.data()[0] = tag_byte
        arena.output.data()[1] = c'['
        for value in values:
            if not first:
                arena.make_room(arena.output.data() + size, 1)[0] = c','
                size += 1
            first = False
            if value is None:
                stand_in = b"null"
            else:
                open_source(value, &source)
                try:
                    if write(arena[0], source.data, source.size, size, bits, False):
                        size += arena.size
                        continue
                    stand_in = b'"%c%b"' % (
                        OPAQUE_MARK, digest_bytes(source.data, source.size, native.kOpaqueSeed).hex().encode()
                    )
                finally:
                    close_source(&source)
            memcpy(
                arena.make_room(arena.output.data() + size, len(stand_in)), PyBytes_AS_STRING(stand_in), len(stand_in)
            )
            size += len(stand_in)
        arena.make_room(arena.output.data() + size, 1)[0] = c']'
        return digest_bytes(arena.output.data(), size + 1, 0)
    finally:
        native.return_arena(arena)


def inspect(data, *, mask=0, rules=None):
    """Return canonical form, digest, flags and stripped spans of `data` together."""
    cdef uint32_t bits = check_mask(mask)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, False):
            canonical = PyBytes_FromStringAndSize(<const char*>arena.text, arena.size)
            return Inspection(canonical, digest_result(arena[0]), arena.flags, [])
        canonical = PyBytes_FromStringAndSize(<const char*>source.data, source.size)
        return Inspection(canonical, digest_bytes(source.data, source.size, native.kOpaqueSeed), OPAQUE, [])
    finally:
        native.return_arena(arena)
        close_source(&source)


def members(data):
    """Return (key, start, end) for each member of an object or item of an array, in order, duplicate keys too.

    `data[start:end]` is the value; the key of an item is empty. `None` for a scalar and for what is not JSON.
    """
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    cdef native.Listed item
    cdef const uint8_t* text
    try:
        if not kernel.list_members(arena[0], source.data, source.size):
            return None
        text = arena.output.data()
        return [
            (
                decode(text + item.key_offset + 1, item.key_size - 2) if item.key_size else "",
                <Py_ssize_t>item.start,
                <Py_ssize_t>item.end,
            )
            for item in arena.listed
        ]
    finally:
        native.return_arena(arena)
        close_source(&source)


def text_of(data):
    """Return the value of a JSON string, lone surrogates kept; `None` for everything else."""
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if not write(arena[0], source.data, source.size, 0, 0, False) or arena.text[0] != c'"':
            return None
        return decode(arena.text + 1, arena.size - 2)
    finally:
        native.return_arena(arena)
        close_source(&source)


def features():
    """Return how this build hashes (`hash`) and which inner loops run (`cpu`, and `avx2`: whether the CPU has it)."""
    return {"hash": native.hash_library().decode(), "cpu": kernel.name.decode(), "avx2": bool(native.cpu_has_avx2())}
