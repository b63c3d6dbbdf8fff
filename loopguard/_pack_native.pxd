# The border to native/pack.hpp: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string

cdef extern from "native/pack.hpp" namespace "loopguard::pack" nogil:
    const uint64_t MARKS

    cdef enum Lane:
        CALL, NAME, TOOL, SAME, NEAR, TARGET, PROGRAM, FAMILY, OUTCOME, RAW, DIGITLESS, SIGNATURE
        ROUND_NEAR, ROUND_SAME, ROUND_OUTCOME, TREND, OTHER, WORD

    cdef cppclass Buffer:
        const char* data()
        size_t size()

    # Memory is all that can fail.
    cdef cppclass Writer:
        const Buffer& written()
        void number(uint64_t value) except +
        void distance(uint64_t start, uint64_t to) except +
        void flag(bool value) except +
        void raw(const void* start, size_t size) except +
        void bytes(const void* start, size_t size) except +
        void text(const char* start, size_t size) except +
        bool thing(const void* which) except +
        uint32_t place_of(uint64_t hash) except +
        void refer(Lane lane, uint64_t place, bool known) except +
        void mark(Lane lane, uint64_t value) except +
        void word(uint32_t value) except +
        void lone(uint64_t value) except +

    # Raises `ValueError`.
    cdef cppclass Reader:
        Reader()
        Reader(const uint8_t* data, size_t size)
        size_t left()
        uint64_t number() except +
        uint64_t small(uint64_t limit) except +
        uint64_t distance(uint64_t start, uint64_t limit) except +
        uint64_t count() except +
        uint64_t count(size_t size) except +
        bool flag() except +
        const uint8_t* raw(uint64_t size) except +
        const string& text() except +
        bool again(Lane lane, uint64_t known, uint64_t& place) except +
        uint64_t mark(Lane lane) except +
        uint32_t word() except +
        uint64_t lone() except +
