// XXH3-128 of what is not large, with AVX2 and out of the library's header: half the time of the library's own baseline, and
// nothing of what its widest instructions cost afterwards. Read under that instruction set (see core.hpp).
#pragma once

#define XXH_INLINE_ALL
#define XXH_VECTOR 2  // XXH_AVX2: the header has that name only once it is read
#include <xxhash.h>

namespace loopguard::avx2 {

inline void hash_bytes(const uint8_t* data, size_t size, uint64_t seed, uint8_t* digest) {
    if (size >= kWidePays) {
        loopguard::hash_bytes(data, size, seed, digest);
    } else {
        put_digest(XXH3_128bits_withSeed(data, size, seed), digest);
    }
}

inline void hash_result(Arena& arena, uint8_t* digest) {
    if (arena.size >= kWidePays) {
        loopguard::hash_result(arena, digest);
    } else if (!arena.spans) {
        put_digest(XXH3_128bits(arena.text, arena.size), digest);
    } else {
        thread_local XXH3_state_t state;
        XXH3_128bits_reset(&state);
        update_with_members(&state, arena, [](XXH3_state_t* to, const void* text, size_t size) { XXH3_128bits_update(to, text, size); });
        put_digest(XXH3_128bits_digest(&state), digest);
    }
}

}  // namespace loopguard::avx2
