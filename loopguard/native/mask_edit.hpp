// What masking takes out of text, and the numbers of what it tells apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

namespace loopguard {

// Decoded text [start, end) that is replaced.
struct Edit {
    size_t start;
    size_t end;
    uint32_t kind;
    uint32_t number;          // of a numbered placeholder, else 0
    const char* placeholder;  // null: nothing, or `blank`
    bool blank;               // one blank stays
};

// Placeholders are numbered by first occurrence within a document, so that two ids never become the same text.
class Numbering {
public:
    uint32_t number(const uint8_t* text, size_t size, bool fold_case) {
        std::string key(reinterpret_cast<const char*>(text), size);
        if (fold_case) {
            for (char& c : key) c = static_cast<char>(c >= 'A' && c <= 'Z' ? c | 0x20 : c);
        }
        return numbers_.emplace(std::move(key), static_cast<uint32_t>(numbers_.size() + 1)).first->second;
    }
    void clear() {
        if (!numbers_.empty()) numbers_.clear();
    }

private:
    std::unordered_map<std::string, uint32_t> numbers_;
};

// What short keys say about their values; the same few come again and again.
struct KeyCache {
    struct Entry {
        uint64_t head;  // the first and the last eight bytes make a key of 8 to 16; a shorter one is in the first, with zeros
        uint64_t tail;
        uint32_t size;  // 0: nothing here yet
        uint32_t kinds;
    };
    static constexpr size_t kEntries = 64;

    Entry& slot(uint64_t head, uint64_t tail, size_t size) {
        const uint64_t mixed = (head ^ (tail * 0x9E3779B97F4A7C15u) ^ size) * 0xD6E8FEB86659FD93u;
        return entries[mixed >> 58];
    }

    Entry entries[kEntries] = {};
};

}  // namespace loopguard
