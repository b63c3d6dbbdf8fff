# The border to the C++ headers of `_course`: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport int64_t, uint32_t, uint64_t
from libcpp cimport bool

from loopguard cimport _facts_native as facts
from loopguard._pack_native cimport Lane, Reader, Writer

cdef extern from "native/course_memory.hpp" namespace "loopguard::course" nogil:
    cdef cppclass Recent:
        Recent()
        Recent(uint32_t limit)
        bool meet(uint64_t member) except +
        bool has(uint64_t member)
        void clear()
        void pack(Writer& out, Lane lane) except +
        void unpack(Reader& data, Lane lane) except +

    cdef cppclass Trends:
        Trends()
        Trends(size_t limit)
        int64_t take(uint64_t call, uint64_t outcome, const facts.Numbers& counted) except +
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

    cdef cppclass Values:
        Values()
        Values(size_t limit, size_t most)
        size_t take(uint64_t call, uint64_t answer) except +
        void clear()
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

    cdef cppclass Worked:
        Worked()
        Worked(size_t limit)
        uint64_t times(uint64_t program)
        void add(uint64_t program) except +
        void clear()
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

    cdef cppclass Pages:
        Pages()
        Pages(size_t files, size_t pieces)
        bool read(uint64_t file, int64_t first, int64_t end) except +
        void forget(uint64_t file) except +
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

    cdef cppclass Manners:
        int64_t long_pause_us
        int64_t most
        double growth
        size_t kept

    cdef cppclass Patience:
        Patience()
        Patience(const Manners& manners)
        int64_t take(uint64_t call, int64_t span, int64_t at_us, int64_t pause_us) except +
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

cdef extern from "native/course_rounds.hpp" namespace "loopguard::course" nogil:
    cdef cppclass Round:
        int64_t times
        int64_t length

    cdef cppclass Rounds:
        void add(uint64_t near, uint64_t same, uint64_t outcome, bool failed) except +
        void reset()
        Round alike(int64_t within)
        Round failing()
        size_t size()
        void pack(Writer& out) except +
        void unpack(Reader& data) except +

cdef extern from "native/course_rounds.hpp" namespace "loopguard::course::Rounds" nogil:
    const size_t KEPT

cdef extern from "native/course_firsts.hpp" namespace "loopguard::course" nogil:
    cdef cppclass Firsts:
        size_t size()
        uint64_t find(uint64_t thing, uint64_t otherwise)
        void add(uint64_t thing, uint64_t where) except +
        void drop(uint64_t thing) except +
