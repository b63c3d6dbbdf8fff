# What other extensions of this package take from here: they write and read values past Python.
from libc.stdint cimport uint64_t

from loopguard cimport _pack_native as native


cdef class Writer:
    cdef native.Writer to
    cdef list names_seen
    cdef list things_seen  # they stay where they are, by which `to` knows them
    cdef int put_mark(self, uint64_t value) except -1
    cdef int put_text(self, str value, bint named) except -1
    cdef int put_name(self, native.Lane lane, str value) except -1
    cdef int put_names(self, list values) except -1


cdef class Reader:
    cdef bytes data  # owns what `source` looks at
    cdef native.Reader source
    cdef list names_read
    cdef list things_read
    cdef str take_name(self, native.Lane lane)
    cdef list take_names(self)
    cdef str take_text(self)
    cdef bytes take_bytes(self, uint64_t size)
