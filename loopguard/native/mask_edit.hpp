// What masking takes out of text, and the numbers of what it tells apart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <vector>

namespace loopguard {

// Decoded text [start, end) that is replaced.
struct Edit {
    size_t start;
    size_t end;
    uint32_t kind;
    uint32_t number;  // of a numbered placeholder, else 0
    bool blank;       // one blank stays
};

// A stretch of canonical text that is not in the text that masks read, where `place` is where it would be.
struct Cut {
    size_t place;
    size_t start;
    size_t end;
};

// A character of canonical text.
struct Cell {
    size_t start;
    size_t size;
};

// Twice the room of a stack, or its first. Here, for one that is in several kernels would be shared by them.
[[gnu::noinline]] inline void* grow_stack(void* items, size_t& capacity, size_t item_size) {
    const size_t larger = capacity == 0 ? 64 : capacity * 2;
    items = std::realloc(items, larger * item_size);
    if (items == nullptr) throw std::bad_alloc();
    capacity = larger;
    return items;
}

// Edits or cuts. Not a std::vector: an item is written where it stays, since a copy of what was just written in parts has to
// wait until all of it is in the cache.
template <class Item>
class ItemStack {
public:
    ItemStack() = default;
    ItemStack(const ItemStack&) = delete;
    ItemStack& operator=(const ItemStack&) = delete;
    ~ItemStack() { std::free(items_); }

    size_t size() const { return size_; }
    bool empty() const { return size_ == 0; }
    const Item* begin() const { return items_; }
    const Item* end() const { return items_ + size_; }
    const Item& last() const { return items_[size_ - 1]; }

    // Room for one more, to be filled.
    Item& add() {
        if (__builtin_expect(size_ == capacity_, 0)) items_ = static_cast<Item*>(grow_stack(items_, capacity_, sizeof(Item)));
        return items_[size_++];
    }
    void remove_last() { --size_; }
    void clear() { size_ = 0; }

    void trim(size_t kept) {
        if (capacity_ * sizeof(Item) <= kept) return;
        std::free(items_);
        items_ = nullptr;
        size_ = capacity_ = 0;
    }

private:
    Item* items_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

class EditStack : public ItemStack<Edit> {
public:
    void put(size_t start, size_t end, uint32_t kind, uint32_t number, bool blank) {
        Edit& edit = add();
        edit.start = start;
        edit.end = end;
        edit.kind = kind;
        edit.number = number;
        edit.blank = blank;
    }
};

class CutStack : public ItemStack<Cut> {
public:
    void put(size_t place, size_t start, size_t end) {
        Cut& cut = add();
        cut.place = place;
        cut.start = start;
        cut.end = end;
    }
};

// Placeholders are numbered by first occurrence within a document, so that two ids never become the same text.
class Numbering {
public:
    // In lower case: only letters, digits and dashes may be folded, since a letter's bit does it.
    uint32_t number(const uint8_t* text, size_t size, bool fold_case) {
        const uint64_t lower = fold_case ? 0x2020202020202020u : 0;
        if (2 * (known_.size() + 1) > slots_.size()) spread(slots_.empty() ? 64 : slots_.size() * 2);
        const uint64_t hash = hash_of(text, size, lower);
        for (size_t at = hash & (slots_.size() - 1);; at = (at + 1) & (slots_.size() - 1)) {
            const uint32_t number = slots_[at];
            if (number == 0) {
                known_.push_back({hash, texts_.size(), size});
                texts_.insert(texts_.end(), text, text + size);
                uint8_t* const own = texts_.data() + known_.back().offset;
                for (size_t i = 0; fold_case && i < size; ++i) own[i] |= 0x20;
                return slots_[at] = static_cast<uint32_t>(known_.size());
            }
            const Known& known = known_[number - 1];
            if (known.hash == hash && known.size == size && equals(texts_.data() + known.offset, text, size, fold_case)) return number;
        }
    }
    void clear() {
        if (known_.empty()) return;
        for (const Known& known : known_) slots_[taken_slot(known.hash)] = 0;
        known_.clear();
        texts_.clear();
    }
    void trim(size_t kept) {
        if (texts_.capacity() > kept) std::vector<uint8_t>().swap(texts_);
        if (known_.capacity() * sizeof(Known) <= kept) return;
        std::vector<Known>().swap(known_);
        std::vector<uint32_t>().swap(slots_);
    }

private:
    struct Known {
        uint64_t hash;
        size_t offset;
        size_t size;
    };

    static uint64_t fold(uint64_t hash, uint64_t word) {
        const unsigned __int128 product = static_cast<unsigned __int128>(hash ^ word) * 0xD6E8FEB86659FD93u;
        return static_cast<uint64_t>(product) ^ static_cast<uint64_t>(product >> 64);
    }

    static bool equals(const uint8_t* known, const uint8_t* text, size_t size, bool fold_case) {
        if (!fold_case) return std::memcmp(known, text, size) == 0;
        size_t same = 0;
        while (same < size && known[same] == (text[same] | 0x20)) ++same;
        return same == size;
    }

    // Folded products of 128 bits, begun at an address that nobody outside knows, so that nobody can choose ids that collide.
    uint64_t hash_of(const uint8_t* text, size_t size, uint64_t lower) const {
        uint64_t hash = fold(reinterpret_cast<uintptr_t>(this) ^ 0x9E3779B97F4A7C15u, size);
        uint64_t word = 0;
        size_t at = 0;
        for (; size - at > 8; at += 8) {
            std::memcpy(&word, text + at, 8);
            hash = fold(hash, word | lower);
        }
        word = 0;
        if (size >= 8) {
            std::memcpy(&word, text + size - 8, 8);
        } else {
            for (; at < size; ++at) word = word << 8 | text[at];
        }
        return fold(hash, word | lower);
    }

    // A slot that is taken, the text's own or one behind it: asked once for each text, that finds all of them.
    size_t taken_slot(uint64_t hash) const {
        size_t at = hash & (slots_.size() - 1);
        while (slots_[at] == 0) at = (at + 1) & (slots_.size() - 1);
        return at;
    }

    void spread(size_t size) {
        slots_.assign(size, 0);
        for (size_t i = 0; i < known_.size(); ++i) {
            size_t at = known_[i].hash & (size - 1);
            while (slots_[at] != 0) at = (at + 1) & (size - 1);
            slots_[at] = static_cast<uint32_t>(i + 1);
        }
    }

    std::vector<uint8_t> texts_;
    std::vector<Known> known_;
    std::vector<uint32_t> slots_;  // 0: free, else the number
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
