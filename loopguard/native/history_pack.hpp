// A ring of records as bytes and back. What is read is believed in nothing: any bytes end in a ring or in `false`.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "history.hpp"

namespace loopguard::history {

inline void put_number(std::string& out, uint64_t value) {
    for (; value >= 0x80; value >>= 7) out.push_back(static_cast<char>(value | 0x80));
    out.push_back(static_cast<char>(value));
}

inline void put_raw(std::string& out, const void* from, size_t size) {
    out.append(static_cast<const char*>(from), size);
}

// `moved` is the number of each name in the list that goes with the bytes; 0 is none.
inline std::string pack(const Ring& ring, const std::vector<uint32_t>& moved) {
    std::string out;
    out.reserve(16 + size_t{56} * ring.size());
    put_number(out, ring.limit());
    put_number(out, ring.appended());
    put_number(out, ring.size());
    for (uint32_t at = 0; at < ring.size(); ++at) {
        const RecordHead& head = ring.head(at);
        const RecordBody& body = ring.body(at);
        const uint8_t settled = head.kind == kDone || head.kind == kReject;
        out.push_back(static_cast<char>(head.kind | head.marks << 2));
        put_number(out, moved[head.tool]);
        put_raw(out, body.arguments.bytes, sizeof body.arguments.bytes);
        size_t id_size = 0;
        const uint8_t* id = ring.id(at, &id_size);
        put_number(out, id_size);
        put_raw(out, id, id_size);
        if (settled) put_raw(out, body.outcome.bytes, sizeof body.outcome.bytes);
        if (head.marks & kIdentified) {
            const uint64_t identity = ring.identity(at);
            put_raw(out, &identity, sizeof identity);
        }
        put_number(out, moved[body.missing]);
        put_number(out, moved[body.stripped]);
    }
    return out;
}

class PackedRing {
public:
    PackedRing(const uint8_t* data, size_t size) : at_(data), end_(data + size) {}

    // Names have the numbers 1 to `names`, texts first; `texts` is how many of those there are.
    bool unpack(uint32_t names, uint32_t texts, Ring& into) {
        uint64_t limit = 0, appended = 0, size = 0;
        if (!number(limit, 0xFFFFFFFF) || !number(appended, UINT64_MAX) || !number(size, limit)) return false;
        if (limit == 0 || appended < size) return false;
        Ring ring(static_cast<uint32_t>(limit));
        for (uint64_t i = 0; i < size; ++i) {
            if (!record(names, texts, ring)) return false;
        }
        if (at_ != end_) return false;
        ring.count_from(appended);
        into = ring;
        return true;
    }

private:
    bool number(uint64_t& value, uint64_t limit) {
        value = 0;
        for (int shift = 0; shift < 64; shift += 7) {
            if (at_ == end_) return false;
            const uint8_t byte = *at_++;
            if (shift == 63 && byte > 1) return false;
            value |= static_cast<uint64_t>(byte & 0x7F) << shift;
            if (byte < 0x80) return value <= limit;
        }
        return false;
    }

    bool raw(void* into, size_t size) {
        if (static_cast<size_t>(end_ - at_) < size) return false;
        std::memcpy(into, at_, size);
        at_ += size;
        return true;
    }

    bool record(uint32_t names, uint32_t texts, Ring& ring) {
        uint8_t head = 0;
        uint64_t tool = 0, id_size = 0, missing = 0, stripped = 0, identity = 0;
        Signature signature{};
        Digest outcome{};
        if (!raw(&head, 1) || head >= 32 || !number(tool, texts) || tool == 0) return false;
        const RecordKind kind = static_cast<RecordKind>(head & 3);
        const uint32_t marks = head >> 2;
        if (!raw(signature.arguments.bytes, sizeof signature.arguments.bytes)) return false;
        if (!number(id_size, static_cast<uint64_t>(end_ - at_))) return false;
        const uint8_t* id = at_;
        at_ += id_size;
        const bool settled = kind == kDone || kind == kReject;
        if (settled && !raw(outcome.bytes, sizeof outcome.bytes)) return false;
        if ((marks & kIdentified) && !raw(&identity, sizeof identity)) return false;
        if (!number(missing, texts) || !number(stripped, names)) return false;
        if (stripped != 0 && stripped <= texts) return false;
        signature.tool = static_cast<uint32_t>(tool);
        ring.append(signature, kind, id, id_size);
        if (settled || marks != 0) {
            ring.settle(ring.size() - 1, kind, marks, outcome, identity, static_cast<uint32_t>(missing),
                        static_cast<uint32_t>(stripped));
        }
        return true;
    }

    const uint8_t* at_;
    const uint8_t* end_;
};

}  // namespace loopguard::history
