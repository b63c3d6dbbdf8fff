# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, freethreading_compatible=True
"""The compiled core: canonical JSON and its 128-bit digest, and a scanner for spans. Data in, data out, no policy.

One pass over the bytes, no Python object per JSON value. Each thread reuses its own memory, so functions may be called
from any thread; the GIL is held up to RELEASE_SIZE bytes, because letting go of it costs a busy process more than the
work.
"""
cimport cython
from cpython.buffer cimport PyBUF_SIMPLE, PyBuffer_Release, PyObject_CheckBuffer, PyObject_GetBuffer
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_CheckExact, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from cpython.memoryview cimport PyMemoryView_FromMemory
from cpython.buffer cimport PyBUF_READ
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libc.string cimport memcpy

from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from loopguard cimport _native as native
from loopguard cimport _outcome as outcome

import os as _os
from json import dumps as _json_dumps
from operator import itemgetter as _itemgetter

if not native.kNativeHash:
    import xxhash as _xxhash

cdef enum:
    DIGEST_SIZE = 16
    RELEASE_SIZE = 1024 * 1024
    # The xxhash wheel lets go of the GIL for larger pieces.
    WHEEL_PIECE = 64 * 1024
    # It can't stand raw in canonical text, so no JSON value looks like the stand-in of an opaque one.
    OPAQUE_MARK = 0x1A

BIGINT = <int>native.kBigint
OVERFLOW = <int>native.kOverflow
DUPLICATE_KEY = <int>native.kDuplicateKey
SURROGATE = <int>native.kSurrogate
OPAQUE = <int>native.kOpaque

WRAPPER_NONCE = <int>native.kWrapperNonce
MASK_KINDS = {native.kMaskKinds[i].name.decode(): <int>native.kMaskKinds[i].bit for i in range(16)}
MASK_EXAMPLES = {native.kMaskKinds[i].name.decode(): bytes(native.kMaskKinds[i].example) for i in range(16)}
DEFAULT_MASK = <int>native.kAllMasks
cdef uint32_t KNOWN_MASKS = native.kAllMasks

_span_start = _itemgetter(1)

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
    cdef int overflow = 0
    cdef long bits = PyLong_AsLongAndOverflow(mask, &overflow) if PyLong_CheckExact(mask) else -1
    if bits < 0 or bits & ~<long>KNOWN_MASKS:
        raise ValueError(f"mask must be a sum of mask kinds, not {mask!r}")
    return <uint32_t>bits


cdef bint write(
    native.Arena& arena, const uint8_t* data, size_t size, size_t offset, uint32_t mask, const native.Rules* rules,
    bint spans
) except -1:
    if size <= RELEASE_SIZE:
        return kernel.write(arena, data, size, offset, mask, rules, spans)
    cdef bint written
    with nogil:
        written = kernel.write(arena, data, size, offset, mask, rules, spans)
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


cdef bytes digest_bytes(const uint8_t* data, size_t size, uint64_t seed):
    cdef uint8_t digest[DIGEST_SIZE]
    if not native.kNativeHash:
        return wheel_digest(data, size, seed)
    if size <= RELEASE_SIZE:
        kernel.hash_bytes(data, size, seed, digest)
    else:
        with nogil:
            kernel.hash_bytes(data, size, seed, digest)
    return PyBytes_FromStringAndSize(<char*>digest, DIGEST_SIZE)


cdef bytes digest_result(native.Arena& arena):
    cdef uint8_t digest[DIGEST_SIZE]
    if not native.kNativeHash:
        return wheel_digest(arena.text, arena.size, 0)
    if arena.size <= RELEASE_SIZE:
        kernel.hash_result(arena, digest)
    else:
        with nogil:
            kernel.hash_result(arena, digest)
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
        parts = f"canonical={self.canonical!r}, digest={self.digest!r}, flags={self.flags}, spans={self.spans!r}"
        return f"Inspection({parts})"


@cython.final
cdef class Rules:
    """Key rules, compiled: which members of a document stay, and what is masked below them.

    A path is a tuple of keys, where "*" is any key or index and "**" any depth, none included. `drop` leaves members
    and items out. With any `keep` only values at or below such a path stay, and the containers that lead to them.
    `mask` adds kinds for strings at or below a path; of several the one with most keys counts, then with most "*", then
    the last. Documents that are no object or array stay as they are.

    Immutable; any number of threads may use it. Raises `ValueError` for a path that can't be, `OverflowError` for too
    many.
    """
    cdef native.Rules compiled

    def __cinit__(self, drop=(), keep=(), mask=()):
        for path in drop:
            if not any(segment != "**" for segment in path):
                raise ValueError(f"a path that drops everything: {path!r}")
            self.add(native.kDrop, path, 0)
        for path in keep:
            self.add(native.kKeep, path, 0)
        for path, bits in mask:
            self.add(native.kMask, path, check_mask(bits))
        self.compiled.compile()

    cdef int add(self, native.PathKind kind, object path, uint32_t mask) except -1:
        if not isinstance(path, (tuple, list)) or not all(isinstance(segment, str) for segment in path):
            raise ValueError(f"a path is a tuple of strings, not {path!r}")
        self.compiled.add_path(kind, mask)
        for segment in path:
            if segment == "**":
                self.compiled.add_segment(native.kDeep, b"")
            elif segment == "*":
                self.compiled.add_segment(native.kAny, b"")
            else:
                self.compiled.add_segment(native.kLiteral, canonical_key(segment))
        return 0


cdef bytes canonical_key(str key):
    """Return a key's canonical text without quotes, as the writer meets it."""
    return canonicalize(_json_dumps(key).encode())[1:-1]


cdef inline const native.Rules* compiled(Rules rules) noexcept:
    if rules is None:
        return NULL
    return &rules.compiled


def canonicalize(data, *, mask=0, Rules rules=None):
    """Return the canonical form of `data`; the bytes unchanged if they are not JSON."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, paths, False):
            return PyBytes_FromStringAndSize(<const char*>arena.text, arena.size)
        return PyBytes_FromStringAndSize(<const char*>source.data, source.size)
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint(data, *, mask=0, Rules rules=None):
    """Return the 16-byte digest of the canonical form of `data`, or of its raw bytes if they are not JSON."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, paths, native.kNativeHash):
            return digest_result(arena[0])
        return digest_bytes(source.data, source.size, native.kOpaqueSeed)
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint_flags(data, *, mask=0, Rules rules=None):
    """Return (digest, flags) of `data`: `fingerprint` and what was noticed on the way."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, paths, native.kNativeHash):
            return digest_result(arena[0]), <int>arena.flags
        return digest_bytes(source.data, source.size, native.kOpaqueSeed), OPAQUE
    finally:
        native.return_arena(arena)
        close_source(&source)


def fingerprint_many(documents, *, mask=0, Rules rules=None):
    """Return the digest of each document, as `fingerprint` does; a call for many costs less than many calls."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    cdef list digests = []
    cdef native.Arena* arena
    for data in documents:
        open_source(data, &source)
        arena = native.lease_arena()
        try:
            if write(arena[0], source.data, source.size, 0, bits, paths, native.kNativeHash):
                digests.append(digest_result(arena[0]))
            else:
                digests.append(digest_bytes(source.data, source.size, native.kOpaqueSeed))
        finally:
            native.return_arena(arena)
            close_source(&source)
    return digests


def fingerprint_values(tag, values, *, mask=0):
    """Return the digest of a tag byte (0 to 255) and the canonical JSON array of `values`, where `None` is null.

    A value that is not JSON stands in the array as a string of the raw byte 0x1A and its opaque digest in hexadecimal;
    canonical JSON has no raw control character, so no value that is JSON equals it.
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
                    if write(arena[0], source.data, source.size, size, bits, NULL, False):
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


def inspect(data, *, mask=0, Rules rules=None):
    """Return canonical form, digest, flags and stripped spans of `data` together."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        arena.trace = True
        if write(arena[0], source.data, source.size, 0, bits, paths, False):
            canonical = PyBytes_FromStringAndSize(<const char*>arena.text, arena.size)
            spans = [(<int>edit.kind, <Py_ssize_t>edit.start, <Py_ssize_t>edit.end) for edit in arena.spans_masked]
            spans.sort(key=_span_start)
            return Inspection(canonical, digest_result(arena[0]), arena.flags, spans)
        canonical = PyBytes_FromStringAndSize(<const char*>source.data, source.size)
        return Inspection(canonical, digest_bytes(source.data, source.size, native.kOpaqueSeed), OPAQUE, [])
    finally:
        native.return_arena(arena)
        close_source(&source)


def members(data):
    """Return (key, start, end) for each member of an object or item of an array, in order, duplicate keys too.

    `data[start:end]` is the value; the key of an item is empty. `None` for a scalar and for what is not JSON. Each
    value is as deep as itself: one that is opaque for its depth alone is listed, unread.
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
        if not write(arena[0], source.data, source.size, 0, 0, NULL, False) or arena.text[0] != c'"':
            return None
        return decode(arena.text + 1, arena.size - 2)
    finally:
        native.return_arena(arena)
        close_source(&source)


def features():
    """Return how this build hashes (`hash`) and which inner loops run (`cpu`, and `avx2`: whether the CPU has it)."""
    return {"hash": native.hash_library().decode(), "cpu": kernel.name.decode(), "avx2": bool(native.cpu_has_avx2())}


# What outcome rules read, on canonical text only: slices of it, never a Python object per JSON value.

cdef bytes NONCE_START = b"<<<EXTERNAL_UNTRUSTED_CONTENT"


cdef inline object slice_of(outcome.Span span):
    if span.begin == span.end:
        return None
    return PyBytes_FromStringAndSize(span.begin, span.end - span.begin)


cdef inline outcome.Span span_of(bytes canonical):
    cdef const char* begin = PyBytes_AS_STRING(canonical)
    return outcome.Span(begin, begin + PyBytes_GET_SIZE(canonical))


cdef inline string_view view_of(bytes text):
    return string_view(PyBytes_AS_STRING(text), PyBytes_GET_SIZE(text))


@cython.final
cdef class Names:
    """Member names to look up together."""

    def __cinit__(self, names):
        self.kept = tuple(quoted_name(name) for name in names)
        for name in self.kept:
            self.views.push_back(view_of(name))

    def __repr__(self):
        return f"Names({self.kept!r})"


cdef bytes quoted_name(str name):
    return b'"%b"' % name.replace("\\", "\\\\").replace('"', '\\"').encode()


cdef list picked(outcome.Span value, Names names):
    cdef vector[outcome.Span] found
    outcome.pick(value, names.views, found)
    return [slice_of(span) for span in found]


def pick(bytes canonical not None, Names names not None):
    """Return the text of each named member of an object, `None` where it is missing."""
    return picked(span_of(canonical), names)


def read_arguments(data, Names names not None, Names dropped=None):
    """Return (digest, flags, picked, touched) of arguments.

    `picked` is empty if the text of the first name does not occur, `touched` is whether that of any `dropped` one does.
    """
    cdef Source source
    cdef outcome.Span text
    cdef bint touched = False
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if not write(arena[0], source.data, source.size, 0, 0, NULL, False):
            return digest_bytes(source.data, source.size, native.kOpaqueSeed), OPAQUE, [], False
        text = outcome.Span(<const char*>arena.text, <const char*>arena.text + arena.size)
        if dropped is not None:
            for name in dropped.views:
                touched |= outcome.mentions(text, name)
        found = picked(text, names) if outcome.mentions(text, names.views[0]) else []
        return digest_result(arena[0]), <int>arena.flags, found, touched
    finally:
        native.return_arena(arena)
        close_source(&source)


def read_result(data, Names names not None):
    """Return (flags, canonical, shaped, is_error, details, text, picked) of a tool's result.

    `details` (an object) and `text` (a string literal, trimmed) are those of a shaped result, `picked` the named
    members of `details`; of another result, and of what is not JSON, they are `None` and empty.
    """
    cdef outcome.Result result
    cdef bytes canonical
    cdef int flags
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if not write(arena[0], source.data, source.size, 0, 0, NULL, False):
            canonical = PyBytes_FromStringAndSize(<const char*>source.data, source.size)
            return OPAQUE, canonical, False, False, None, None, []
        flags = <int>arena.flags
        canonical = PyBytes_FromStringAndSize(<const char*>arena.text, arena.size)
    finally:
        native.return_arena(arena)
        close_source(&source)
    outcome.read_result(span_of(canonical), result)
    if not result.shaped:
        return flags, canonical, False, result.is_error, None, None, []
    return (
        flags,
        canonical,
        True,
        result.is_error,
        slice_of(result.details) or b"{}",
        PyBytes_FromStringAndSize(result.text.data(), result.text.size()),
        picked(result.details, names),
    )


def canonicalize_kinds(data, *, mask=0, Rules rules=None):
    """Return the canonical form of JSON and the mask kinds that changed it; cheaper than the spans of `inspect`."""
    cdef uint32_t bits = check_mask(mask)
    cdef const native.Rules* paths = compiled(rules)
    cdef Source source
    open_source(data, &source)
    cdef native.Arena* arena = native.lease_arena()
    try:
        if write(arena[0], source.data, source.size, 0, bits, paths, False):
            return PyBytes_FromStringAndSize(<const char*>arena.text, arena.size), <int>arena.kinds_masked
        return PyBytes_FromStringAndSize(<const char*>source.data, source.size), 0
    finally:
        native.return_arena(arena)
        close_source(&source)


def digest_canonical(tag, values):
    """Return what `fingerprint_values` does with wrapper nonces masked, for values that are canonical already.

    The second item says whether that masked any.
    """
    cdef bint nonces = False
    cdef bytes digest = digest_array(tag, values, &nonces)
    return digest, nonces


cdef bytes digest_array(int tag, object values, bint* nonces):
    cdef string text
    cdef size_t size = 2
    for item in values:
        size += 5 if item is None else 1 + <size_t>len(<bytes>item)
    text.reserve(size)
    text.push_back(<char>tag)
    text.push_back(c"[")
    for item in values:
        if text.size() > 2:
            text.push_back(c",")
        if item is None:
            text.append(b"null")
        else:
            text.append(PyBytes_AS_STRING(item), PyBytes_GET_SIZE(item))
    text.push_back(c"]")
    cdef bytes digest = digest_bytes(<const uint8_t*>text.data(), text.size(), 0)
    nonces[0] = False
    if not outcome.mentions(outcome.Span(text.data(), text.data() + text.size()), view_of(NONCE_START)):
        return digest
    cdef bytes masked = fingerprint_values(tag, values, mask=WRAPPER_NONCE)
    nonces[0] = masked != digest
    return masked


@cython.final
cdef class Values:
    """The values that count of a result, and the members that are left out, read in one step from its parts.

    A value is (place, otherwise, kind, trims, exactly, default): the place of a part as `read_result` returns them,
    from 6 on that of a picked member; the place to read where nothing is found, -1 for none; the kind that counts, 0
    for any; the rest as a rule says it, empty for nothing. A member that is left out is (place, name).
    """

    def __cinit__(self, values, left_out=()):
        cdef Reading reading
        self.exactly = []
        self.defaults = []
        for place, otherwise, kind, trims, exactly, default in values:
            reading.place = place
            reading.otherwise = otherwise
            reading.kind = kind
            reading.trims = trims
            self.readings.push_back(reading)
            self.exactly.append(exactly)
            self.defaults.append(default)
        self.left_out = tuple(left_out)

    def digest(self, int tag, tuple parts not None):
        """Return what `digest_canonical` does of the values, with the names of what was left out, and the values."""
        cdef list values = []
        cdef list stripped = []
        cdef bint nonces = False
        cdef size_t index
        for index in range(self.readings.size()):
            values.append(self.read(index, parts))
        cdef bytes digest = digest_array(tag, values, &nonces)
        if nonces:
            stripped.append("wrapper_nonce")
        for place, name in self.left_out:
            if part_at(parts, place) is not None:
                stripped.append(name)
        return digest, stripped, values

    cdef bytes read(self, size_t index, tuple parts):
        cdef Reading reading = self.readings[index]
        cdef bytes found = part_at(parts, reading.place)
        cdef bytes exactly = self.exactly[index]
        cdef bytes default = self.defaults[index]
        if exactly:
            return b"true" if found == exactly else b"false"
        if found is not None and reading.kind and outcome.kind_of(span_of(found)) != reading.kind:
            found = None
        if found is not None and reading.trims and found.startswith(b'"'):
            found = trim(found)
            if PyBytes_GET_SIZE(found) == 2:
                found = None
        if found is None and reading.otherwise >= 0:
            found = part_at(parts, reading.otherwise)
        return default if default and (found is None or found == b"null") else found


cdef inline bytes part_at(tuple parts, int place):
    """Return a part of a result, the picked members in place of the last one."""
    return parts[place] if place < 6 else (<list>parts[6])[place - 6]


def trim(bytes literal not None):
    """Return a string literal without white space (Unicode White_Space, U+FEFF) at both ends of its text."""
    cdef outcome.Span whole = span_of(literal)
    cdef outcome.Span inside = outcome.trim(outcome.Span(whole.begin + 1, whole.end - 1))
    if inside.end - inside.begin == whole.end - whole.begin - 2:
        return literal
    return b'"%b"' % PyBytes_FromStringAndSize(inside.begin, inside.end - inside.begin)


@cython.final
cdef class Pruner:
    """Leaves out `member` of each object, at any depth, that has all members `beside` and one of `beside_any`.

    Each is (name, kind); the kinds are 1 string, 2 number, 3 boolean, 4 null, 5 object, 6 array.
    """
    cdef list kept  # owns the names that the views look at
    cdef outcome.Pruner pruner

    def __cinit__(self, tuple member not None, beside, beside_any):
        beside = tuple(beside)
        self.kept = [(quoted_name(name), kind) for name, kind in (member, *beside, *beside_any)]
        self.pruner.key = typed(self.kept[0])
        for pair in self.kept[1 : 1 + len(beside)]:
            self.pruner.all.push_back(typed(pair))
        for pair in self.kept[1 + len(beside) :]:
            self.pruner.any.push_back(typed(pair))

    def prune(self, bytes canonical not None):
        """Return the rest of `canonical`; where nothing is left out, that very object."""
        cdef outcome.Pruner pruner = self.pruner
        pruner.write(span_of(canonical))
        return PyBytes_FromStringAndSize(pruner.out.data(), pruner.out.size()) if pruner.pruned else canonical


cdef outcome.Typed typed(tuple pair):
    cdef outcome.Typed made
    made.name = view_of(pair[0])
    made.kind = <outcome.Kind><int>pair[1]
    return made


def blank_moving_parts(bytes literal not None):
    """Return a string literal's text with each date and time, clock, attempt, duration, process id as U+FFFC.

    The second item are the kinds that there were.
    """
    cdef outcome.Span whole = span_of(literal)
    cdef string text
    outcome.decode(outcome.Span(whole.begin + 1, whole.end - 1), text)
    cdef uint32_t found = outcome.blank_moving_parts(text)
    blank = PyBytes_FromStringAndSize(text.data(), text.size())
    return blank, tuple([outcome.MOVING_KINDS[i].decode() for i in range(5) if found >> i & 1]) if found else ()
