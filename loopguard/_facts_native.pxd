# The border to the C++ headers of `_facts`: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool

cdef extern from "native/facts_call.hpp" namespace "loopguard::facts" nogil:
    const size_t BINS

    cdef cppclass Sketch:
        uint32_t* data()

    cdef enum class ToolClass(int):
        pass

    cdef cppclass CallFacts:
        uint64_t near
        uint64_t program
        uint64_t family
        uint64_t target
        long first_line
        long end_line
        unsigned flags
        Sketch sketch

    uint64_t hash_bytes(const char*, size_t)
    CallFacts describe_call(const char*, size_t, bool, ToolClass) except +
    double likeness(const Sketch&, const Sketch&)

cdef extern from "native/facts_outcome.hpp" namespace "loopguard::facts" nogil:
    cdef enum class Told(int):
        pass

    cdef cppclass OutcomeFacts:
        uint64_t bag
        uint64_t digitless
        uint64_t last_error
        uint64_t first_error
        size_t size
        unsigned flags

    OutcomeFacts describe_outcome(const char*, size_t, bool, Told, bool) except +
