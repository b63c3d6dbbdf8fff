# What other extensions of this package take from the core: its writer, its hash, names and values of rules.
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

from loopguard cimport _native as native

cdef bint write(
    native.Arena& arena, const uint8_t* data, size_t size, size_t offset, uint32_t mask, const native.Rules* rules,
    bint spans
) except -1
cdef bytes digest_bytes(const uint8_t* data, size_t size, uint64_t seed)
cdef bytes digest_result(native.Arena& arena)


cdef class Names:
    cdef tuple kept  # owns the bytes that the views look at
    cdef vector[string_view] views


cdef struct Reading:
    int place
    int otherwise
    int kind
    bint trims


cdef class Values:
    cdef vector[Reading] readings
    cdef list exactly
    cdef list defaults
    cdef tuple left_out
    cdef bytes read(self, size_t index, tuple parts)
