# What other extensions of this package take from the facts: what they compare, past Python.
from libc.stdint cimport uint64_t

from loopguard cimport _facts_native as native
from loopguard._pack cimport Reader, Writer


cdef class Asked:
    cdef readonly uint64_t near, program, family, target, numbers
    cdef readonly long first_line, end_line, pause_s
    cdef readonly unsigned flags
    cdef native.Wording wording


cdef class CallFacts:
    cdef readonly str tool
    cdef readonly uint64_t number, same, near, program, family, target, numbers
    cdef readonly object tool_class
    cdef long first_line, end_line
    cdef readonly long pause_s
    cdef public bint changes, poll, note, whole, bare
    cdef readonly bint free_text, worded
    cdef native.Wording wording
    cdef double alike(self, CallFacts other)
    cdef int put(self, Writer out, bint settled) except -1


cdef CallFacts read_call(Reader data)


cdef class Counters:
    cdef native.Numbers numbers


cdef class Answered:
    cdef readonly uint64_t bag, digitless, last_error, first_error
    cdef readonly Counters counters
    cdef readonly size_t size
    cdef readonly unsigned flags


cdef class OutcomeFacts:
    cdef public uint64_t same
    cdef readonly uint64_t raw, digitless
    cdef readonly Counters counters, digits
    cdef readonly tuple signatures
    cdef public tuple stripped
    cdef readonly size_t size
    cdef readonly bint failed, empty, acknowledged, informative, pending, transient, vain, verdict, rejected
    cdef public bint missing_tool
