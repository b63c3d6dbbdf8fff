# cython: language_level=3, binding=True, auto_pickle=False, autotestdict=False, embedsignature=False
# cython: boundscheck=True, wraparound=False, freethreading_compatible=True
"""Numbers, texts and bytes one after another, and back: what snapshots are written with. Data in, data out, no policy.

There are no tags: who reads knows what was written. A reader believes nothing, so that any bytes end in a value or in
`ValueError`. Not thread-safe.
"""
cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize, PyBytes_GET_SIZE
from cpython.unicode cimport PyUnicode_DecodeUTF8
from libc.stdint cimport uint8_t, uint64_t
from libc.string cimport memcpy
from libcpp.string cimport string

from loopguard cimport _pack_native as native
from loopguard._utf8 cimport utf8_of

cdef enum:
    REAL_SIZE = 8


@cython.final
cdef class Writer:
    """Takes values and returns them as bytes."""

    def __cinit__(self):
        self.names_seen = []
        self.things_seen = []

    def written(self):
        """Return what was written so far."""
        return PyBytes_FromStringAndSize(self.to.written().data(), self.to.written().size())

    def number(self, uint64_t value):
        """Write a number from 0 to 2**64 - 1; small ones are short."""
        self.to.number(value)

    def optional(self, value):
        """Write a number from 0 to 2**64 - 2, or `None`."""
        self.to.number(0 if value is None else <uint64_t>value + 1)

    def flag(self, bint value):
        """Write a truth value."""
        self.to.flag(value)

    def real(self, double value):
        """Write a float."""
        self.to.raw(&value, REAL_SIZE)

    def mark(self, uint64_t value):
        """Write a hash of at most MARKS; one that comes again is short."""
        self.put_mark(value)

    def marks(self, values):
        """Write a list of such hashes."""
        self.to.number(len(values))
        for value in values:
            self.put_mark(value)

    def name(self, str value not None):
        """Write a text that may come again; the second time only which one it is. Lone surrogates are kept."""
        self.put_name(native.NAME, value)

    def names(self, values):
        """Write a list of such texts."""
        self.put_names(values if type(values) is list else list(values))

    def text(self, str value not None):
        """Write a text; lone surrogates are kept."""
        self.put_text(value, False)

    def texts(self, values):
        """Write a list of texts."""
        self.to.number(len(values))
        for value in values:
            self.put_text(value, False)

    def blob(self, bytes value not None):
        """Write bytes."""
        self.to.bytes(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))

    def blobs(self, values):
        """Write a list of bytes."""
        self.to.number(len(values))
        for value in values:
            self.to.bytes(PyBytes_AS_STRING(<bytes?>value), PyBytes_GET_SIZE(<bytes?>value))

    def optional_blob(self, bytes value):
        """Write bytes or `None`."""
        if value is None:
            self.to.number(0)
            return
        self.to.number(<uint64_t>PyBytes_GET_SIZE(value) + 1)
        self.to.raw(PyBytes_AS_STRING(value), PyBytes_GET_SIZE(value))

    cdef int put_mark(self, uint64_t value) except -1:
        if value > native.MARKS:
            raise ValueError(f"{value} is no mark")
        self.to.mark(native.OTHER, value)
        return 0

    cdef int put_text(self, str value, bint named) except -1:
        cdef Py_ssize_t size
        cdef const char* text
        cdef object _owner = utf8_of(value, &text, &size)
        if named:
            self.to.text(text, size)
        else:
            self.to.bytes(text, size)
        return 0

    cdef int put_name(self, native.Lane lane, str value) except -1:
        cdef uint64_t key = <uint64_t>hash(value)
        cdef Py_ssize_t place
        while True:
            place = self.to.place_of(key)
            if place == len(self.names_seen):
                self.names_seen.append(value)
                self.to.refer(lane, place, False)
                return self.put_text(value, True)
            if self.names_seen[place] == value:
                self.to.refer(lane, place, True)
                return 0
            # Two names of one hash.
            key += 1

    cdef int put_names(self, list values) except -1:
        self.to.number(len(values))
        for value in values:
            self.put_name(native.NAME, value)
        return 0


@cython.final
cdef class Reader:
    """Returns the values that a `Writer` took, in the same order. Raises `ValueError` where they can't be."""

    def __cinit__(self, bytes data not None):
        self.data = data
        self.names_read = []
        self.things_read = []
        self.source = native.Reader(<const uint8_t*>PyBytes_AS_STRING(data), PyBytes_GET_SIZE(data))

    @property
    def left(self):
        """How many bytes are not read yet."""
        return self.source.left()

    def finish(self):
        """Raise `ValueError` if anything is left."""
        if self.source.left():
            raise ValueError(f"{self.source.left()} bytes too many")

    def number(self):
        """Read a number."""
        return self.source.number()

    def small(self, uint64_t limit):
        """Read a number of at most `limit`."""
        return self.source.small(limit)

    def optional(self):
        """Read a number or `None`."""
        cdef uint64_t value = self.source.number()
        return None if value == 0 else value - 1

    def count(self):
        """Read how many things follow, each of at least a byte."""
        return self.source.count()

    def flag(self):
        """Read a truth value."""
        return self.source.flag()

    def real(self):
        """Read a float."""
        cdef double value
        memcpy(&value, self.source.raw(REAL_SIZE), REAL_SIZE)
        return value

    def mark(self):
        """Read a hash."""
        return self.source.mark(native.OTHER)

    def marks(self):
        """Read a list of hashes."""
        cdef uint64_t count = self.source.count()
        return [self.source.mark(native.OTHER) for _ in range(count)]

    def name(self):
        """Read a text that may have come before."""
        return self.take_name(native.NAME)

    def names(self):
        """Read a list of such texts."""
        return self.take_names()

    def text(self):
        """Read a text."""
        return self.take_text()

    def texts(self):
        """Read a list of texts."""
        cdef uint64_t count = self.source.count()
        return [self.take_text() for _ in range(count)]

    def blob(self):
        """Read bytes."""
        return self.take_bytes(self.source.count())

    def blobs(self):
        """Read a list of bytes."""
        cdef uint64_t count = self.source.count()
        return [self.take_bytes(self.source.count()) for _ in range(count)]

    def optional_blob(self):
        """Read bytes or `None`."""
        cdef uint64_t size = self.source.number()
        return None if size == 0 else self.take_bytes(size - 1)

    cdef str take_name(self, native.Lane lane):
        cdef uint64_t place = 0
        if self.source.again(lane, len(self.names_read), place):
            return self.names_read[place]
        cdef const string* text = &self.source.text()
        cdef str name = PyUnicode_DecodeUTF8(text.data(), text.size(), "surrogatepass")
        self.names_read.append(name)
        return name

    cdef list take_names(self):
        cdef uint64_t count = self.source.count()
        return [self.take_name(native.NAME) for _ in range(count)]

    cdef str take_text(self):
        cdef uint64_t size = self.source.count()
        return PyUnicode_DecodeUTF8(<const char*>self.source.raw(size), size, "surrogatepass")

    cdef bytes take_bytes(self, uint64_t size):
        return PyBytes_FromStringAndSize(<const char*>self.source.raw(size), size)
