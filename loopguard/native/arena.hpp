// Memory a thread reuses from document to document, and the small types that the inner loops hand to each other.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <new>
#include <string>
#include <utility>
#include <vector>

#include "mask_edit.hpp"

namespace loopguard {

enum Flag : uint32_t { kBigint = 1, kOverflow = 2, kDuplicateKey = 4, kSurrogate = 8, kOpaque = 16 };

constexpr int kMaxDepth = 256;

// Vector loops load and store whole blocks, so they touch bytes behind the last one that counts.
constexpr size_t kSlack = 128;

// Up to this size a document is copied behind itself with zeros: that takes the bounds checks out of the vector loops.
constexpr size_t kPaddedSize = 16 * 1024;

// What a thread keeps between documents; a larger block is given back after use.
constexpr size_t kKeptSize = 4 * 1024 * 1024;

// Both cursors travel by value: stores through uint8_t* alias everything, so a cursor in memory is reloaded after each
// byte. `in == nullptr` means that the input is not JSON.
struct Cursor {
    const uint8_t* in;
    uint8_t* out;
};

constexpr Cursor kNotJson{nullptr, nullptr};

class Buffer {
public:
    Buffer() = default;
    Buffer(const Buffer&) = delete;
    Buffer& operator=(const Buffer&) = delete;
    ~Buffer() { release(); }

    uint8_t* data() const { return data_; }
    size_t capacity() const { return capacity_; }

    // Makes room; what was in the buffer is lost.
    void reserve(size_t size) {
        if (size <= capacity_) return;
        release();
        resize(size + size / 4);
    }

    // Makes room and keeps what was there.
    void grow(size_t size) {
        if (size > capacity_) resize(size + size / 2);
    }

    void swap(Buffer& other) {
        std::swap(data_, other.data_);
        std::swap(capacity_, other.capacity_);
    }

    void release() {
        if (data_ != nullptr) std::free(data_ - kFront);
        data_ = nullptr;
        capacity_ = 0;
    }

private:
    // Some questions look at the bytes before a place, also before the first.
    static constexpr size_t kFront = 32;

    void resize(size_t size) {
        void* const block = std::realloc(data_ == nullptr ? nullptr : data_ - kFront, kFront + size);
        if (block == nullptr) throw std::bad_alloc();
        if (data_ == nullptr) std::memset(block, 0, kFront);
        data_ = static_cast<uint8_t*>(block) + kFront;
        capacity_ = size;
    }

    uint8_t* data_ = nullptr;
    size_t capacity_ = 0;
};

// One member of an object that was written: `"key":value,` at `offset` of the output.
struct Member {
    int64_t prefix;     // the key's first eight bytes, big-endian, zeros behind a shorter one, moved down to signed numbers
    size_t offset;      // of the key's opening quote
    size_t key_size;    // without quotes
    size_t size;        // without the comma
    uint32_t decode;    // the key has to be decoded to be compared: it has escapes, or bytes whose order differs in UTF-16
    uint32_t raw_key;   // 1 + index into Arena::raw_keys where masking changed the key
};

// The members of all objects that are open, innermost last. Not a std::vector: what a kernel calls must not be a template
// that another kernel shares, since the linker keeps one copy, and that may be the one with instructions the CPU lacks.
class MemberStack {
public:
    MemberStack() = default;
    MemberStack(const MemberStack&) = delete;
    MemberStack& operator=(const MemberStack&) = delete;
    ~MemberStack() { std::free(members_); }

    size_t size() const { return size_; }
    Member* data() { return members_; }
    Member* begin() { return members_; }
    Member* end() { return members_ + size_; }
    Member& last() { return members_[size_ - 1]; }
    void drop_last() { --size_; }
    // The new last one, to be filled in; good until the next is added.
    Member& add() {
        if (__builtin_expect(size_ == capacity_, 0)) grow();
        return members_[size_++];
    }
    void shrink(size_t size) { size_ = size; }

    void trim() {
        if (capacity_ * sizeof(Member) <= kKeptSize) return;
        std::free(members_);
        members_ = nullptr;
        size_ = capacity_ = 0;
    }

private:
    // Members that may be read behind the last: they are ranked in fours.
    static constexpr size_t kBehind = 3;

    [[gnu::noinline]] void grow() {
        const size_t capacity = capacity_ == 0 ? 64 : capacity_ * 2;
        void* const larger = std::realloc(members_, (capacity + kBehind) * sizeof(Member));
        if (larger == nullptr) throw std::bad_alloc();
        members_ = static_cast<Member*>(larger);
        std::memset(members_ + capacity_, 0, (capacity - capacity_ + kBehind) * sizeof(Member));
        capacity_ = capacity;
    }

    Member* members_ = nullptr;
    size_t size_ = 0;
    size_t capacity_ = 0;
};

// A member or item as list_members finds it: the value's place in the input, the key's in the output.
struct Listed {
    size_t key_offset;
    size_t key_size;
    size_t start;
    size_t end;
};

struct Arena {
    Buffer input;     // the padded copy
    Buffer output;    // canonical text
    Buffer scratch;   // members in their new order
    MemberStack members;
    std::vector<std::string> raw_keys;  // canonical text of keys before masking
    std::vector<Listed> listed;

    Buffer prepared;           // text of the string that is being masked, as masks read it
    Buffer canonical;          // and as it was
    EditStack edits;           // what goes out of it
    CutStack cuts;             // what masks do not read of it
    std::vector<Cell> cells;   // what a screen would show of it
    std::vector<Edit> spans_masked;  // what went out of the document, in places of the input; filled if `trace`
    KeyCache key_cache;
    uint32_t asked_mask = 0;  // the questions of this mask are
    uint32_t asks = 0;
    Numbering uuids;
    Numbering ids;
    uint32_t kinds_masked = 0;
    bool masked = false;  // masks were in force since begin(): what is theirs may have changed
    bool trace = false;
    bool binary_masked = false;
    bool text_seen = false;  // some text that is not blank stands under the key "text"

    // The result: `size` bytes at `text`. If `spans` is set the text is instead '{', the spanned members (each with
    // room for its separator) and '}': a large object's members need not be moved to be hashed in order.
    const uint8_t* text = nullptr;
    size_t size = 0;
    uint32_t flags = 0;
    bool spans = false;

    bool leased = false;
    bool owned_by_thread = false;

    // Room for `needed` more bytes behind `out`; the buffer may move.
    uint8_t* make_room(uint8_t* out, size_t needed) {
        const size_t used = static_cast<size_t>(out - output.data());
        if (output.capacity() - used < needed) output.grow(used + needed);
        return output.data() + used;
    }

    [[gnu::noinline]] void note(uint32_t kind, size_t start, size_t end) { spans_masked.push_back({start, end, kind, 0, false}); }

    // Returns the mark to put into Member::raw_key.
    [[gnu::noinline]] uint32_t keep_raw_key(std::string&& text) {
        raw_keys.push_back(std::move(text));
        return static_cast<uint32_t>(raw_keys.size());
    }

    [[gnu::noinline]] void list(const Listed& item) { listed.push_back(item); }

    void begin() {
        members.shrink(0);
        listed.clear();
        trace = false;
        flags = 0;
        spans = false;
        if (!masked) return;
        masked = false;
        raw_keys.clear();
        spans_masked.clear();
        uuids.clear();
        ids.clear();
        kinds_masked = 0;
        binary_masked = false;
        text_seen = false;
    }

    void trim() {
        if (output.capacity() > kKeptSize) output.release();
        if (scratch.capacity() > kKeptSize) scratch.release();
        members.trim();
        if (listed.capacity() * sizeof(Listed) > kKeptSize) std::vector<Listed>().swap(listed);
        if (!masked) return;
        if (prepared.capacity() > kKeptSize) prepared.release();
        if (canonical.capacity() > kKeptSize) canonical.release();
        if (cells.capacity() * sizeof(Cell) > kKeptSize) std::vector<Cell>().swap(cells);
        cuts.trim(kKeptSize);
        edits.trim(kKeptSize);
        uuids.trim(kKeptSize);
        ids.trim(kKeptSize);
    }
};

}  // namespace loopguard
