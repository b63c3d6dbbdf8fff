// What the fuzz targets share: one run of the core over exactly allocated input.
#pragma once

#include <cstdio>
#include <memory>

#include "../loopguard/native/core.hpp"

namespace fuzz {

using loopguard::Arena;
using loopguard::Kernel;
using loopguard::Rules;

[[noreturn]] inline void fail(const char* what) {
    std::fprintf(stderr, "property does not hold: %s\n", what);
    std::abort();
}

inline void check(bool holds, const char* what) {
    if (!holds) fail(what);
}

struct Result {
    bool json = false;
    std::string text;
    uint32_t flags = 0;
    std::string digest;
    std::vector<loopguard::Edit> spans;
};

// The input is copied to a block of its own size, so that the sanitizer sees any byte read behind it.
inline Result run(const Kernel& kernel, const uint8_t* data, size_t size, uint32_t mask, const Rules* rules, bool spans, bool trace) {
    const std::unique_ptr<uint8_t[]> exact(new uint8_t[size]);
    if (size != 0) std::memcpy(exact.get(), data, size);
    Arena* const arena = loopguard::lease_arena();
    arena->trace = trace;
    Result result;
    result.json = kernel.write(*arena, exact.get(), size, 0, mask, rules, spans);
    if (result.json) {
        result.flags = arena->flags;
        result.digest.resize(16);
        kernel.hash_result(*arena, reinterpret_cast<uint8_t*>(&result.digest[0]));
        if (!arena->spans) result.text.assign(reinterpret_cast<const char*>(arena->text), arena->size);
        result.spans = arena->spans_masked;
    }
    loopguard::return_arena(arena);
    return result;
}

inline Result run(const Kernel& kernel, const std::string& text, uint32_t mask, const Rules* rules) {
    return run(kernel, reinterpret_cast<const uint8_t*>(text.data()), text.size(), mask, rules, false, false);
}

// All ways through the core agree; returns what they say.
inline Result agree(const uint8_t* data, size_t size, uint32_t mask, const Rules* rules) {
    const Kernel& best = loopguard::choose_kernel(false);
    const Kernel& baseline = loopguard::choose_kernel(true);
    const Result result = run(best, data, size, mask, rules, false, false);
    const Result other = run(baseline, data, size, mask, rules, false, false);
    const Result spanned = run(best, data, size, mask, rules, true, false);
    const Result traced = run(best, data, size, mask, rules, false, true);
    check(result.json == other.json && result.text == other.text && result.flags == other.flags, "kernels agree");
    check(result.digest == spanned.digest, "members hashed where they lie hash alike");
    check(result.text == traced.text, "tracing changes nothing");
    for (const loopguard::Edit& span : traced.spans) {
        check(span.start <= span.end && span.end <= size, "spans lie in the input");
    }
    return result;
}

}  // namespace fuzz
