// XXH3-128 by the system's libxxhash, where the build found it.
#pragma once

#include "arena.hpp"

#if defined(LOOPGUARD_XXHASH_DISPATCH)
#include <xxh_x86dispatch.h>
#elif defined(LOOPGUARD_XXHASH)
#include <xxhash.h>
#endif

namespace loopguard {

constexpr uint64_t kOpaqueSeed = 0x6c6f6f7067756172;

#if defined(LOOPGUARD_XXHASH) || defined(LOOPGUARD_XXHASH_DISPATCH)

constexpr bool kNativeHash = true;

inline void put_digest(XXH128_hash_t hash, uint8_t* digest) {
    XXH128_canonical_t canonical;
    XXH128_canonicalFromHash(&canonical, hash);
    std::memcpy(digest, canonical.digest, sizeof canonical.digest);
}

inline void hash_bytes(const uint8_t* data, size_t size, uint64_t seed, uint8_t* digest) {
    put_digest(XXH3_128bits_withSeed(data, size, seed), digest);
}

// Hashes the arena's result, in pieces where its members lie apart.
inline void hash_result(Arena& arena, uint8_t* digest) {
    if (!arena.spans) {
        put_digest(XXH3_128bits(arena.text, arena.size), digest);
        return;
    }
    struct StateDeleter {
        XXH3_state_t* state = XXH3_createState();
        ~StateDeleter() { XXH3_freeState(state); }
    };
    thread_local StateDeleter holder;
    XXH3_state_t* const state = holder.state;
    if (state == nullptr) throw std::bad_alloc();
    XXH3_128bits_reset(state);
    XXH3_128bits_update(state, "{", 1);
    uint8_t* const text = arena.output.data();
    for (const Member& member : arena.members) {
        text[member.offset + member.size] = &member == &arena.members.last() ? '}' : ',';
        XXH3_128bits_update(state, text + member.offset, member.size + 1);
    }
    put_digest(XXH3_128bits_digest(state), digest);
}

#else

constexpr bool kNativeHash = false;

// Never called: the face asks kNativeHash first. Here so that it compiles without the library.
inline void hash_bytes(const uint8_t*, size_t, uint64_t, uint8_t*) { std::abort(); }
inline void hash_result(Arena&, uint8_t*) { std::abort(); }

#endif

inline const char* hash_library() {
#if defined(LOOPGUARD_XXHASH_DISPATCH)
    return "libxxhash (dispatching)";
#elif defined(LOOPGUARD_XXHASH)
    return "libxxhash";
#else
    return "xxhash wheel";
#endif
}

}  // namespace loopguard
