# What the short way of frames takes from the prints: runs and their open calls, and the readers of calls and outcomes.
from libc.stdint cimport uint64_t, uint8_t

from loopguard._core cimport Names
from loopguard._ring cimport Ring


cdef class CallPrint:
    cdef public str tool
    cdef public bytes digest
    cdef public bint poll
    cdef public bint wait
    cdef public bint send
    cdef public str action
    cdef public int flags


cdef class OutcomePrint:
    cdef public object kind
    cdef public bytes digest
    cdef public bint failed
    cdef public bint stuck
    cdef public bytes identity
    cdef public str missing_tool
    cdef public int flags
    cdef public tuple stripped
    cdef public tuple moving


cdef class OpenCall:
    cdef public CallPrint print
    cdef public object number
    cdef public object batch
    cdef public int place


cdef class CallReader:
    cdef str tool
    cdef bint poll
    cdef bint send
    cdef frozenset poll_actions
    cdef frozenset send_actions
    cdef Names dropped
    cdef CallPrint read(self, const uint8_t* data, Py_ssize_t size)
    cdef CallPrint made(self, bytes digest, str action, int flags)


cdef class OutcomeReader:
    cdef object done
    cdef Names names
    cdef tuple vetoes
    cdef tuple shaped
    cdef tuple plain
    cdef OutcomePrint read(self, const uint8_t* data, Py_ssize_t size)
    cdef OutcomePrint read_digest(self, bytes digest)


cdef class Readers:
    cdef public dict calls
    cdef public dict outcomes


cdef class Streak:
    cdef public Py_ssize_t streak
    cdef public object batch


cdef class RunState:
    cdef public bint closed
    cdef public double touched
    cdef public Py_ssize_t calls_asked
    cdef public Py_ssize_t _next_number
    # An `OpenCalls`, which is a dictionary of its own class.
    cdef public object _open
    cdef public object _abort
    cdef public object _compaction
    cdef public Ring _history
    cdef public Streak _errors
    cdef public Readers _readers
    cdef public Py_ssize_t _quiet_below


cdef str may_admit(RunState run, str call_id, CallPrint call)
cdef int add_call(RunState run, str call_id, CallPrint call, bint numbered) except -1
cdef str oldest_admitted(RunState run)
cdef OpenCall open_call(RunState run, str call_id)
cdef bint report_plain(RunState run, str call_id, OpenCall call, OutcomePrint printed) except -1
