// The compiled core without its Python face: one kernel per instruction set, and the choice between them.
#pragma once

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#include "digest.hpp"
#include "mask_codec.hpp"
#include "mask_hint.hpp"
#include "mask_keys.hpp"
#include "nonce.hpp"
#include "number.hpp"
#include "order.hpp"
#include "rules.hpp"

#define LOOPGUARD_TARGET baseline
#include "kernel.hpp"
#undef LOOPGUARD_TARGET

#if defined(__x86_64__) && defined(__GNUC__)
#define LOOPGUARD_HAS_AVX2 1
#define LOOPGUARD_AVX2 1
#define LOOPGUARD_TARGET avx2
#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,bmi,bmi2,popcnt"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,bmi,bmi2,popcnt")
#endif
#include "kernel.hpp"
#if defined(LOOPGUARD_XXHASH) || defined(LOOPGUARD_XXHASH_DISPATCH)
#include "digest_avx2.hpp"
#else
namespace loopguard::avx2 {
using loopguard::hash_bytes;
using loopguard::hash_result;
}
#endif
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef LOOPGUARD_TARGET
#undef LOOPGUARD_AVX2
#endif

namespace loopguard {

struct Kernel {
    const char* name;
    bool (*write)(Arena&, const uint8_t*, size_t, size_t, uint32_t, const Rules*, bool);
    bool (*list_members)(Arena&, const uint8_t*, size_t);
    // Only where kNativeHash says so.
    void (*hash_bytes)(const uint8_t*, size_t, uint64_t, uint8_t*);
    void (*hash_result)(Arena&, uint8_t*);
};

inline constexpr Kernel kBaselineKernel{"baseline", baseline::write, baseline::list_members, hash_bytes, hash_result};

inline bool cpu_has_avx2() {
#if defined(LOOPGUARD_HAS_AVX2)
    return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
           __builtin_cpu_supports("popcnt");
#else
    return false;
#endif
}

inline const Kernel& choose_kernel(bool baseline_only) {
#if defined(LOOPGUARD_HAS_AVX2)
    static constexpr Kernel kAvx2Kernel{"avx2", avx2::write, avx2::list_members, avx2::hash_bytes, avx2::hash_result};
    if (!baseline_only && cpu_has_avx2()) return kAvx2Kernel;
#endif
    (void)baseline_only;
    return kBaselineKernel;
}

// The calling thread's memory, or fresh memory where that is in use: a finalizer may run Python code, and with it the core,
// in the middle of another call.
inline Arena* lease_arena() {
    thread_local Arena own;
    Arena* const arena = own.leased ? new Arena : &own;
    arena->leased = true;
    arena->owned_by_thread = arena == &own;
    arena->begin();
    return arena;
}

inline void return_arena(Arena* arena) {
    if (!arena->owned_by_thread) {
        delete arena;
        return;
    }
    arena->trim();
    arena->leased = false;
}

}  // namespace loopguard
