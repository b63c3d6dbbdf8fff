# The border to the C++ headers of `_facts`: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool

cdef extern from "native/facts_call.hpp" namespace "loopguard::facts" nogil:
    const size_t BINS

    cdef cppclass Sketch:
        uint32_t* data()

    cdef cppclass Wording:
        uint32_t count

    cdef enum class ToolClass(int):
        pass

    cdef cppclass CallFacts:
        uint64_t near
        uint64_t program
        uint64_t family
        uint64_t target
        long first_line
        long end_line
        long pause_s
        uint64_t numbers
        unsigned flags
        Sketch sketch
        Wording wording

    uint64_t hash_bytes(const char*, size_t)
    CallFacts describe_call(const char*, size_t, bool, ToolClass) except +
    double likeness(const Sketch&, const Sketch&)
    bool fills_form(const Wording&, const Wording&)

cdef extern from "native/facts_numbers.hpp" namespace "loopguard::facts" nogil:
    cdef cppclass Numbers:
        size_t count

    int moved(const Numbers&, const Numbers&)

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
        Numbers numbers

    cdef cppclass Seen:
        uint64_t raw
        Numbers numbers

    Seen look_at(const char*, size_t, bool) except +
    OutcomeFacts describe_outcome(const char*, size_t, bool, Told, bool, const Wording*) except +
