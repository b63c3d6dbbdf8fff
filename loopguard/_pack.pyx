# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""Numbers, texts and bytes one after another, and back: what snapshots are written with. Data in, data out, no policy.

There are no tags: who reads knows what was written. A reader believes nothing, so that any bytes end in a value or in
`ValueError`. Not thread-safe.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_AsUTF8AndSize, PyUnicode_DecodeUTF8
from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.string cimport string

cdef enum:
    WORD_SIZE = 8
    # Seven bits a byte: a number of 64 bits takes ten.
    NUMBER_SIZE = 10
    ZERO = 0
    POSITIVE = 1
    NEGATIVE = 2


@cython.final
cdef class Writer:
    """Takes values and returns them as bytes."""
    cdef string out
    cdef dict seen

    def __cinit__(self):
        self.seen = {}

    def written(self):
        """Return what was written so far."""
        return PyBytes_FromStringAndSize(self.out.data(), self.out.size())

    def number(self, uint64_t value):
        """Write a number from 0 to 2**64 - 1; small ones are short."""
        self.put_number(value)

    def optional(self, value):
        """Write a number from 0 to 2**64 - 2, or `None`."""
        self.put_number(0 if value is None else <uint64_t>value + 1)

    def flag(self, bint value):
        """Write a truth value."""
        self.out.push_back(<char>(1 if value else 0))

    def real(self, double value):
        """Write a float."""
        self.out.append(<const char*>&value, WORD_SIZE)

    def word(self, value):
        """Write a hash: a number from -2**63 to 2**64 - 1."""
        self.put_word(value)

    def words(self, values):
        """Write a list of hashes."""
        self.put_number(len(values))
        for value in values:
            self.put_word(value)

    def text(self, str value not None):
        """Write a text; lone surrogates are kept."""
        self.put_text(value)

    def texts(self, values):
        """Write a list of texts."""
        self.put_number(len(values))
        for value in values:
            self.put_text(value)

    def blob(self, bytes value not None):
        """Write bytes."""
        self.put_bytes(value)

    def blobs(self, values):
        """Write a list of bytes."""
        self.put_number(len(values))
        for value in values:
            self.put_bytes(value)

    def once(self, bytes value not None):
        """Write bytes that may come again; the second time only their number."""
        cdef object place = self.seen.get(value)
        if place is not None:
            self.put_number(<uint64_t>place)
            return
        self.seen[value] = len(self.seen) + 1
        self.put_number(0)
        self.put_bytes(value)

    def optional_blob(self, bytes value):
        """Write bytes or `None`."""
        if value is None:
            self.put_number(0)
            return
        self.put_number(<uint64_t>PyBytes_GET_SIZE(value) + 1)
        self.out.append(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))

    cdef int put_number(self, uint64_t value) except -1:
        while value >= 0x80:
            self.out.push_back(<char>(value & 0x7F | 0x80))
            value >>= 7
        self.out.push_back(<char>value)
        return 0

    cdef int put_word(self, object value) except -1:
        cdef uint64_t bits
        if value == 0:
            self.out.push_back(<char>ZERO)
            return 0
        if value > 0:
            bits = value
            self.out.push_back(<char>POSITIVE)
        else:
            bits = <uint64_t><int64_t>value
            self.out.push_back(<char>NEGATIVE)
        self.out.append(<const char*>&bits, WORD_SIZE)
        return 0

    cdef int put_text(self, str value) except -1:
        cdef Py_ssize_t size
        cdef const char* text
        cdef bytes long_way
        try:
            text = PyUnicode_AsUTF8AndSize(value, &size)
        except UnicodeEncodeError:
            long_way = value.encode("utf-8", "surrogatepass")
            text, size = PyBytes_AS_STRING(long_way), PyBytes_GET_SIZE(long_way)
        self.put_number(<uint64_t>size)
        self.out.append(text, size)
        return 0

    cdef int put_bytes(self, bytes value) except -1:
        self.put_number(<uint64_t>PyBytes_GET_SIZE(value))
        self.out.append(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))
        return 0


@cython.final
cdef class Reader:
    """Returns the values that a `Writer` took, in the same order. Raises `ValueError` where they can't be."""
    cdef bytes data  # owns what the pointers look at
    cdef const uint8_t* at
    cdef const uint8_t* end
    cdef list known

    def __cinit__(self, bytes data not None):
        self.data = data
        self.known = []
        self.at = <const uint8_t*>PyBytes_AS_STRING(data)
        self.end = self.at + PyBytes_GET_SIZE(data)

    @property
    def left(self):
        """How many bytes are not read yet."""
        return self.end - self.at

    def finish(self):
        """Raise `ValueError` if anything is left."""
        if self.at != self.end:
            raise ValueError(f"{self.end - self.at} bytes too many")

    def number(self):
        """Read a number."""
        return self.take_number()

    def small(self, uint64_t limit):
        """Read a number of at most `limit`."""
        cdef uint64_t value = self.take_number()
        if value > limit:
            raise ValueError(f"{value} where at most {limit} can be")
        return value

    def optional(self):
        """Read a number or `None`."""
        cdef uint64_t value = self.take_number()
        return None if value == 0 else value - 1

    def count(self):
        """Read how many things follow, each of at least a byte."""
        return self.take_count(1)

    def flag(self):
        """Read a truth value."""
        self.need(1)
        cdef uint8_t value = self.at[0]
        if value > 1:
            raise ValueError(f"{value} is no truth value")
        self.at += 1
        return value == 1

    def real(self):
        """Read a float."""
        self.need(WORD_SIZE)
        cdef double value
        memcpy(&value, self.at, WORD_SIZE)
        self.at += WORD_SIZE
        return value

    def word(self):
        """Read a hash."""
        return self.take_word()

    def words(self):
        """Read a list of hashes."""
        cdef uint64_t count = self.take_count(1)
        return [self.take_word() for _ in range(count)]

    def text(self):
        """Read a text."""
        return self.take_text()

    def texts(self):
        """Read a list of texts."""
        cdef uint64_t count = self.take_count(1)
        return [self.take_text() for _ in range(count)]

    def blob(self):
        """Read bytes."""
        return self.take_bytes(self.take_count(1))

    def blobs(self):
        """Read a list of bytes."""
        cdef uint64_t count = self.take_count(1)
        return [self.take_bytes(self.take_count(1)) for _ in range(count)]

    def again(self):
        """Return what was made of bytes that were written once before; `None` where they stand here."""
        cdef uint64_t place = self.take_number()
        if place == 0:
            return None
        if place > <uint64_t>len(self.known):
            raise ValueError(f"thing {place} of {len(self.known)}")
        return self.known[place - 1]

    def keep(self, made):
        """Keep what was made of bytes that stand here, for `again`."""
        self.known.append(made)

    def optional_blob(self):
        """Read bytes or `None`."""
        cdef uint64_t size = self.take_number()
        return None if size == 0 else self.take_bytes(size - 1)

    cdef int need(self, uint64_t size) except -1:
        if size > <uint64_t>(self.end - self.at):
            raise ValueError(f"{size} bytes where {self.end - self.at} are left")
        return 0

    cdef uint64_t take_number(self) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t value = 0
        cdef int place
        cdef uint8_t byte
        for place in range(NUMBER_SIZE):
            self.need(1)
            byte = self.at[0]
            self.at += 1
            if place == NUMBER_SIZE - 1 and byte > 1:
                break
            value |= <uint64_t>(byte & 0x7F) << (7 * place)
            if byte < 0x80:
                return value
        raise ValueError("a number of more than 64 bits")

    cdef uint64_t take_count(self, uint64_t size) except? 0xFFFFFFFFFFFFFFFF:
        cdef uint64_t count = self.take_number()
        if count > <uint64_t>(self.end - self.at) // size:
            raise ValueError(f"{count} things where {self.end - self.at} bytes are left")
        return count

    cdef object take_word(self):
        self.need(1)
        cdef uint8_t kind = self.at[0]
        cdef uint64_t bits
        self.at += 1
        if kind == ZERO:
            return 0
        self.need(WORD_SIZE)
        memcpy(&bits, self.at, WORD_SIZE)
        self.at += WORD_SIZE
        if kind == POSITIVE:
            return bits
        if kind != NEGATIVE:
            raise ValueError(f"{kind} is no kind of number")
        return <int64_t>bits

    cdef str take_text(self):
        cdef uint64_t size = self.take_count(1)
        cdef const char* begin = <const char*>self.at
        self.at += size
        return PyUnicode_DecodeUTF8(begin, size, "surrogatepass")

    cdef bytes take_bytes(self, uint64_t size):
        self.need(size)
        cdef const char* begin = <const char*>self.at
        self.at += size
        return PyBytes_FromStringAndSize(begin, size)
