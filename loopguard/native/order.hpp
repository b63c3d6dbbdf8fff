// The order of an object's members: keys by UTF-16 code unit, the last of equal ones wins.
#pragma once

#include <algorithm>

#include "text.hpp"

namespace loopguard {

// UTF-8 bytes sort as UTF-16 units do but for U+E000 to U+FFFF (lead bytes EE and EF), which come behind the surrogates of
// the characters above them (lead bytes F0 to F4).
inline uint8_t utf16_rank(uint8_t c) {
    if (c < 0xEE) return c;
    return static_cast<uint8_t>(c >= 0xF0 ? c - 2 : c + 8);
}

// Canonical text read as UTF-16.
class Utf16Reader {
public:
    Utf16Reader(const uint8_t* text, size_t size) : in_(text), end_(text + size) {}

    bool done() const { return in_ == end_ && low_ == 0; }

    uint32_t next() {
        if (low_ != 0) {
            const uint32_t low = low_;
            low_ = 0;
            return low;
        }
        const uint32_t point = next_point(in_);
        if (point < 0x10000) return point;
        low_ = 0xDC00 + ((point - 0x10000) & 0x3FF);
        return 0xD800 + ((point - 0x10000) >> 10);
    }

private:
    const uint8_t* in_;
    const uint8_t* end_;
    uint32_t low_ = 0;
};

// Negative, zero, positive.
inline int compare_decoded(const uint8_t* a, size_t a_size, const uint8_t* b, size_t b_size) {
    Utf16Reader x(a, a_size);
    Utf16Reader y(b, b_size);
    while (!x.done() && !y.done()) {
        const uint32_t x_unit = x.next();
        const uint32_t y_unit = y.next();
        if (x_unit != y_unit) return x_unit < y_unit ? -1 : 1;
    }
    return static_cast<int>(y.done()) - static_cast<int>(x.done());
}

// Orders the members of one object whose text lies in `output`.
class MemberOrder {
public:
    explicit MemberOrder(const Arena& arena) : arena_(arena), output_(arena.output.data()) {}

    // Negative, zero, positive; zero means that it is the same key twice.
    int compare(const Member& a, const Member& b) const {
        if ((a.decode | b.decode) == 0) {
            if (a.prefix != b.prefix) return a.prefix < b.prefix ? -1 : 1;
            return compare_behind_prefix(a, b);
        }
        const int masked = compare_decoded(key(a), a.key_size, key(b), b.key_size);
        if (masked != 0 || (a.raw_key | b.raw_key) == 0) return masked;
        const RawKey x = raw(a);
        const RawKey y = raw(b);
        return compare_decoded(x.text, x.size, y.text, y.size);
    }

    // Sorts and drops all but the last of equal keys; returns how many are left. Stable, n log n at worst.
    size_t sort(Member* members, size_t count) const {
        if (count <= kInserted) {
            insertion_sort(members, count);
        } else {
            std::stable_sort(members, members + count,
                             [this](const Member& a, const Member& b) { return compare(a, b) < 0; });
        }
        size_t kept = 0;
        for (size_t i = 0; i < count; ++i) {
            if (i + 1 < count && compare(members[i], members[i + 1]) == 0) continue;
            members[kept++] = members[i];
        }
        return kept;
    }

private:
    struct RawKey {
        const uint8_t* text;
        size_t size;
    };

    static constexpr size_t kInserted = 24;

    const uint8_t* key(const Member& member) const { return output_ + member.offset + 1; }

    RawKey raw(const Member& member) const {
        if (member.raw_key == 0) return {key(member), member.key_size};
        const std::string& text = arena_.raw_keys[member.raw_key - 1];
        return {reinterpret_cast<const uint8_t*>(text.data()), text.size()};
    }

    int compare_behind_prefix(const Member& a, const Member& b) const {
        const uint8_t* x = key(a);
        const uint8_t* y = key(b);
        const size_t shared = std::min(a.key_size, b.key_size);
        for (size_t i = std::min<size_t>(shared, 8); i < shared; ++i) {
            if (x[i] != y[i]) return utf16_rank(x[i]) < utf16_rank(y[i]) ? -1 : 1;
        }
        if (a.key_size == b.key_size) return 0;
        return a.key_size < b.key_size ? -1 : 1;
    }

    void insertion_sort(Member* members, size_t count) const {
        for (size_t i = 1; i < count; ++i) {
            const Member moving = members[i];
            size_t place = i;
            for (; place > 0 && compare(moving, members[place - 1]) < 0; --place) members[place] = members[place - 1];
            members[place] = moving;
        }
    }

    const Arena& arena_;
    const uint8_t* output_;
};

}  // namespace loopguard
