// XXH3-128 by the system's libxxhash, where the build found it.
#pragma once

#include "arena.hpp"

#if defined(LOOPGUARD_XXHASH_DISPATCH)
#include <xxh_x86dispatch.h>
// Both ways of the library by their own names, in place of the header's one name for them.
#undef XXH3_128bits
#undef XXH3_128bits_withSeed
#undef XXH3_128bits_update
#elif defined(LOOPGUARD_XXHASH)
#include <xxhash.h>
#endif

namespace loopguard {

constexpr uint64_t kOpaqueSeed = 0x6c6f6f7067756172;

#if defined(LOOPGUARD_XXHASH) || defined(LOOPGUARD_XXHASH_DISPATCH)

constexpr bool kNativeHash = true;

template <class Hash>
void put_digest(Hash hash, uint8_t* digest) {
    for (uint64_t half : {uint64_t{hash.high64}, uint64_t{hash.low64}}) {
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
        half = __builtin_bswap64(half);
#endif
        std::memcpy(digest, &half, sizeof half);
        digest += sizeof half;
    }
}

// Hashes a result whose members lie apart.
template <class State, class Update>
void update_with_members(State* state, Arena& arena, Update update) {
    update(state, "{", 1);
    uint8_t* const text = arena.output.data();
    for (const Member& member : arena.members) {
        text[member.offset + member.size] = &member == &arena.members.last() ? '}' : ',';
        update(state, text + member.offset, member.size + 1);
    }
}

#if defined(LOOPGUARD_XXHASH_DISPATCH)
// The widest instructions hash faster, but a CPU may take half a microsecond to be back at full speed behind them.
constexpr size_t kWidePays = 8192;

inline XXH128_hash_t hash_one(const uint8_t* data, size_t size, uint64_t seed) {
    if (size < kWidePays) return XXH3_128bits_withSeed(data, size, seed);
    return XXH3_128bits_withSeed_dispatch(data, size, seed);
}

inline auto updater(size_t size) { return size < kWidePays ? XXH3_128bits_update : XXH3_128bits_update_dispatch; }
#else
inline XXH128_hash_t hash_one(const uint8_t* data, size_t size, uint64_t seed) {
    return XXH3_128bits_withSeed(data, size, seed);
}

constexpr size_t kWidePays = SIZE_MAX;

inline auto updater(size_t) { return XXH3_128bits_update; }
#endif

inline void hash_bytes(const uint8_t* data, size_t size, uint64_t seed, uint8_t* digest) {
    put_digest(hash_one(data, size, seed), digest);
}

// Hashes the arena's result, in pieces where its members lie apart.
inline void hash_result(Arena& arena, uint8_t* digest) {
    if (!arena.spans) {
        put_digest(hash_one(arena.text, arena.size, 0), digest);
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
    update_with_members(state, arena, updater(arena.size));
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
