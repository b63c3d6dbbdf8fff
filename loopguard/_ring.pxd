# What other extensions of this package do with a run's records.
from libc.stdint cimport uint64_t

from loopguard cimport _history


cdef class Ring:
    cdef _history.Ring ring
    # Tools, missing tools and tuples of what was stripped, by index; the first stands for none.
    cdef list names
    cdef uint64_t add(self, str tool, bytes digest, str call_id, int kind) except? 0
    cdef bint write_outcome(
        self, uint64_t number, int kind, bytes result, bytes identity, bint failed, bint stuck, str missing_tool,
        tuple stripped,
    ) except -1
    cdef bint look(self, str tool, bytes digest, bint commands, Py_ssize_t lowest, _history.Survey* found) except -1
    cdef _history.Signature signature(self, Py_ssize_t tool, bytes digest) except *
    cdef Py_ssize_t find(self, object name) except -2
    cdef Py_ssize_t index(self, object name) except -1
    cdef int sweep_names(self) except -1
