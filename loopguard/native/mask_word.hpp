// What a word says of what stands behind it: one look into a table tells all that the masks want to know of it.
#pragma once

#include "mask_text.hpp"

namespace loopguard {

enum Role : uint32_t {
    kSaysMoment = 1u << 0,
    kSaysDate = 1u << 1,       // where it opens its line
    kJoinsMoment = 1u << 2,    // where it stands behind a word for what happened
    kSaysHappened = 1u << 3,   // started at, finished on
    kSaysAs = 1u << 4,
    kSaysOf = 1u << 5,
    kSaysProcess = 1u << 6,
    kMaySayProcess = 1u << 7,  // unless processes are counted
    kSaysAttempt = 1u << 8,
    kSaysEpoch = 1u << 9,
    kSaysDuration = 1u << 10,
    kMeasures = 1u << 11,      // what follows is a duration
    kCountsUp = 1u << 12,      // or a clock that tells one
    kReports = 1u << 13,       // a duration, where it opens its line
    kSaysTime = 1u << 14,
    kNamesTime = 1u << 15,     // total time, wall time
    kSaysIn = 1u << 16,
    kIsDone = 1u << 17,        // passed in, finished in
    kIsAhead = 1u << 18,       // expires in, retrying in
    kSaysLeft = 1u << 19,
    kNamesShell = 1u << 20,
};

struct RoleWords {
    uint32_t role;
    std::string_view words;
};

inline constexpr RoleWords kRoleWords[] = {
    {kSaysMoment, "timestamp ts now started starting finished ended generated"},
    {kSaysDate, "date"},
    {kJoinsMoment, "date at on time"},
    {kSaysHappened, "start started starting finished ended generated current"},
    {kSaysAs, "as"},
    {kSaysOf, "of"},
    {kSaysProcess, "pid ppid"},
    {kMaySayProcess, "process"},
    {kSaysAttempt, "attempt retry"},
    {kSaysEpoch, "timestamp ts epoch time"},
    {kSaysDuration, "duration elapsed latency"},
    {kMeasures, "took elapsed duration latency"},
    {kCountsUp, "took elapsed duration"},
    {kReports, "real user sys"},
    {kSaysTime, "time"},
    {kNamesTime, "total execution elapsed run running wall response build query cpu user system real processing compile test"},
    {kSaysIn, "in"},
    {kIsDone, "passed failed skipped deselected xfailed xpassed warning warnings error errors test tests finished completed complete done "
              "ended exited succeeded success successfully built ran compiled executed loaded downloaded installed generated processed "
              "resolved added audited packages modules files"},
    {kIsAhead, "expires expire expiring retry retries retrying again resets reset arrives arriving due starts starting begins closes opens "
               "reconnecting waiting sleeping timeout departs"},
    {kSaysLeft, "eta"},
    {kNamesShell, "sh bash zsh dash ksh csh ash fish"},
};

// A word's last eight characters in lower case, and those before them; a word that is shorter ends with zeros.
struct WordKey {
    uint64_t tail;
    uint64_t head;

    constexpr bool operator==(const WordKey& other) const { return ((tail ^ other.tail) | (head ^ other.head)) == 0; }
};

class WordRoles {
public:
    static constexpr size_t kLongest = 16;

    constexpr WordRoles() : slots_{} {
        for (const RoleWords& row : kRoleWords) {
            for (std::string_view rest = row.words; !rest.empty();) {
                const std::string_view word = rest.substr(0, rest.find(' '));
                rest.remove_prefix(word.size() == rest.size() ? word.size() : word.size() + 1);
                slot_of(key_of(word)) = {key_of(word), slot_of(key_of(word)).roles | row.role};
            }
        }
    }

    uint32_t operator[](const WordKey& key) const {
        size_t at = place_of(key);
        while (!(slots_[at].key == key) && slots_[at].roles != 0) at = (at + 1) % kSlots;
        return slots_[at].roles;
    }

private:
    struct Slot {
        WordKey key;
        uint32_t roles;  // none where nothing is
    };
    static constexpr size_t kSlots = 512;

    static constexpr WordKey key_of(std::string_view word) {
        WordKey key{0, 0};
        const size_t head_size = word.size() <= 8 ? 0 : word.size() - 8;
        for (size_t i = word.size(); i-- > head_size;) key.tail = key.tail << 8 | static_cast<uint8_t>(word[i]);
        for (size_t i = head_size; i-- > 0;) key.head = key.head << 8 | static_cast<uint8_t>(word[i]);
        return key;
    }
    static constexpr size_t place_of(const WordKey& key) { return ((key.tail + (key.head >> 7)) * 0xD6E8FEB86659FD93u) >> 55; }
    constexpr Slot& slot_of(const WordKey& key) {
        size_t at = place_of(key);
        while (!(slots_[at].key == key) && slots_[at].roles != 0) at = (at + 1) % kSlots;
        return slots_[at];
    }

    std::array<Slot, kSlots> slots_;
};

inline constexpr WordRoles kWordRoles;

// The word that ends somewhere, of no size if none does.
struct Word {
    size_t start;
    size_t end;
    uint32_t roles;

    Word(const TextView& text, size_t word_end) : Word(text, text.word_start(word_end), word_end) {}
    Word(const TextView& text, size_t word_start, size_t word_end) : start(word_start), end(word_end), roles(0) {
        const size_t size = end - start;
        if (size == 0 || size > WordRoles::kLongest) return;
        // A blank's bit makes letters lower-case, and no character of a word another's.
        constexpr uint64_t kLower = 0x2020202020202020u;
        const uint64_t tail = load_eight(text.data() + end - 8) | kLower;
        const uint64_t head = load_eight(text.data() + end - 16) | kLower;
        if (size <= 8) {
            roles = kWordRoles[{tail >> (64 - 8 * size), 0}];
        } else {
            roles = kWordRoles[{tail, head >> (128 - 8 * size)}];
        }
    }
};

}  // namespace loopguard
