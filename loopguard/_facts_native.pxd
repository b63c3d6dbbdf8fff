# The border to the C++ headers of `_facts`: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport uint32_t, uint64_t
from libcpp cimport bool
from libcpp.vector cimport vector

cdef extern from "native/facts_wording.hpp" namespace "loopguard::facts::Wording" nogil:
    const uint32_t MOST
    const uint32_t PLACES
    const uint32_t NO_WORD
    const uint32_t NARROW

cdef extern from "native/facts_call.hpp" namespace "loopguard::facts" nogil:
    cdef cppclass Wording:
        vector[uint32_t] words
        uint32_t options
        vector[uint32_t] sketch
        bool is_long()
        double likeness(const Wording&)
        bool fills_form(const Wording&)

    cdef enum CallFlag:
        CHANGES, WAITS, FREE_TEXT, BARE, VOLATILE, VIEWS, INLINE_CODE

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
        Wording wording

    uint64_t hash_bytes(const char*, size_t)
    uint64_t pair(uint64_t, uint64_t)
    CallFacts describe_call(const char*, size_t, bool, ToolClass) except +

cdef extern from "native/facts_numbers.hpp" namespace "loopguard::facts" nogil:
    cdef cppclass Numbers:
        pass

    int moved(const Numbers&, const Numbers&)

cdef extern from "native/facts_outcome.hpp" namespace "loopguard::facts" nogil:
    cdef enum OutcomeFlag:
        FAILED, EMPTY, ACKNOWLEDGED, PENDING, TRANSIENT, VERDICT, REJECTED, LOOSE, VAIN, PICTURE

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
