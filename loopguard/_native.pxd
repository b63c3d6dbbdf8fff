# The border to the C++ headers: declarations only.
from libc.stddef cimport size_t
from libc.stdint cimport uint8_t, uint32_t, uint64_t
from libcpp cimport bool
from libcpp.string cimport string
from libcpp.vector cimport vector

cdef extern from "native/core.hpp" namespace "loopguard" nogil:
    const uint64_t kOpaqueSeed
    const bool kNativeHash

    cdef enum Flag:
        kBigint, kOverflow, kDuplicateKey, kSurrogate, kOpaque

    cdef enum Mask:
        kWrapperNonce

    const uint32_t kAllMasks

    cdef cppclass MaskKind:
        uint32_t bit
        const char* name
        const char* placeholder
        const char* example

    const MaskKind kMaskKinds[16]

    cdef cppclass Edit:
        size_t start
        size_t end
        uint32_t kind

    cdef cppclass Buffer:
        uint8_t* data()

    cdef cppclass Member:
        size_t offset
        size_t size

    cdef cppclass Listed:
        size_t key_offset
        size_t key_size
        size_t start
        size_t end

    cdef cppclass Arena:
        Buffer output
        vector[Listed] listed
        vector[Edit] spans_masked
        bool trace
        const uint8_t* text
        size_t size
        uint32_t flags
        uint32_t kinds_masked
        uint8_t* make_room(uint8_t* out, size_t needed) except +

    cdef enum PathKind "loopguard::Rules::PathKind":
        kDrop "loopguard::Rules::kDrop"
        kKeep "loopguard::Rules::kKeep"
        kMask "loopguard::Rules::kMask"

    cdef enum SegmentKind "loopguard::Rules::SegmentKind":
        kLiteral "loopguard::Rules::kLiteral"
        kAny "loopguard::Rules::kAny"
        kDeep "loopguard::Rules::kDeep"

    cdef cppclass Rules:
        void add_path(PathKind kind, uint32_t mask) except +
        void add_segment(SegmentKind kind, const string& key) except +
        void compile() except +OverflowError

    cdef cppclass Kernel:
        const char* name
        bool (*write)(Arena&, const uint8_t*, size_t, size_t, uint32_t, const Rules*, bool) except +
        bool (*list_members)(Arena&, const uint8_t*, size_t) except +
        void (*hash_bytes)(const uint8_t* data, size_t size, uint64_t seed, uint8_t* digest) noexcept
        void (*hash_result)(Arena& arena, uint8_t* digest) except +

    const Kernel& choose_kernel(bool baseline_only)
    bool cpu_has_avx2()
    Arena* lease_arena() except +
    void return_arena(Arena* arena)
    const char* hash_library()
    size_t decode_text(const uint8_t* text, size_t size, uint8_t* out)
