# The border to native/history.hpp: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport int32_t, uint8_t, uint32_t, uint64_t
from libcpp.string cimport string
from libcpp.vector cimport vector

cdef extern from "native/history.hpp" namespace "loopguard::history" nogil:
    cdef enum RecordKind:
        kPending, kDone, kReject, kVeto

    cdef enum RecordMark:
        kFailed, kStuck, kIdentified

    cdef cppclass Digest:
        uint8_t bytes[16]

        @staticmethod
        Digest of(const uint8_t* bytes)

    cdef cppclass RecordHead:
        uint32_t tool
        uint32_t kind
        uint32_t marks

    cdef cppclass RecordBody:
        Digest arguments
        Digest outcome
        uint32_t missing
        uint32_t stripped

    cdef cppclass Signature:
        uint32_t tool
        Digest arguments

    cdef cppclass Survey:
        uint32_t records, no_progress, exec_failures, unknown, alternation, churn, variants
        bint proven
        int32_t anchor, paired, newest
        uint32_t peak()

    cdef cppclass Ring:
        Ring()
        Ring(uint32_t limit)
        uint32_t size()
        uint64_t appended()
        RecordHead& head(uint32_t position)
        RecordBody& body(uint32_t position)
        void append(const Signature& signature, RecordKind kind, const uint8_t* id, size_t id_size) except +
        void settle(
            uint32_t position, RecordKind kind, uint32_t marks, const Digest& outcome, uint64_t identity,
            uint32_t missing, uint32_t stripped,
        ) except +
        const uint8_t* id(uint32_t position, size_t* size)
        Survey survey(const Signature& call, bint commands) except +
        void list_records(const Signature& call, vector[uint32_t]& trail) except +
        void count_no_progress(const Signature& call, Survey& found, vector[uint32_t]* trail) except +
        uint32_t count_exec_failures(const Signature& call, vector[uint32_t]* trail) except +
        uint32_t count_unknown(const Signature& call, Survey& found, vector[uint32_t]* trail) except +
        void count_alternation(const Signature& call, Survey& found, vector[uint32_t]* trail) except +
        void count_churn(const Signature& call, Survey& found, vector[uint32_t]* trail) except +

cdef extern from "native/history_pack.hpp" namespace "loopguard::history" nogil:
    string pack(const Ring& ring, const vector[uint32_t]& moved) except +

    cdef cppclass PackedRing:
        PackedRing(const uint8_t* data, size_t size)
        bint unpack(uint32_t names, uint32_t texts, Ring& into) except +
