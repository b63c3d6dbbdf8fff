# The border to the C++ headers that read tool results: declarations only.
from libc.stdint cimport uint32_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.string_view cimport string_view
from libcpp.vector cimport vector

cdef extern from "native/outcome.hpp" namespace "loopguard::outcome" nogil:
    cdef enum Kind:
        ABSENT, STRING, NUMBER, BOOLEAN, NULLS, OBJECT, ARRAY

    cdef cppclass Span:
        const char* begin
        const char* end
        Span()
        Span(const char* begin, const char* end)

    cdef cppclass Result:
        bool shaped
        bool is_error
        Span details
        Span content
        string text

    cdef cppclass Typed:
        string_view name
        Kind kind

    cdef cppclass Pruner:
        Typed key
        vector[Typed] all
        vector[Typed] any
        string out
        bool pruned
        void write(Span value) except +

    void read_result(Span whole, Result& result) except +
    void pick(Span value, const vector[string_view]& names, vector[Span]& found) except +
    Span trim(Span inside)
    Kind kind_of(Span value)
    bool mentions(Span whole, string_view name)
    void decode(Span inside, string& text) except +

cdef extern from "native/failure.hpp" namespace "loopguard::failure" nogil:
    const char* MOVING_KINDS[5]
    uint32_t blank_moving_parts(string& text) except +
