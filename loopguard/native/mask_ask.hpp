// What a place in text may be, by what stands next to it: most places are dismissed here, in a few loads.
#pragma once

#include "mask_kinds.hpp"
#include "mask_text.hpp"

namespace loopguard {

// Questions about a place; each is asked only where the characters round it allow a yes. Those about numbers first.
enum Ask : uint32_t {
    kAskLabelled = 1u << 0,   // a date or clock behind a word that says so
    kAskOpening = 1u << 1,    // a date or clock that opens its line, behind blanks or a bracket
    kAskFirst = 1u << 2,      // or at its very start
    kAskDay = 1u << 3,        // a day behind the name of its month
    kAskDayFirst = 1u << 4,   // or before it
    kAskBar = 1u << 5,
    kAskAddress = 1u << 6,
    kAskCell = 1u << 7,
    kAskCellFile = 1u << 8,
    kAskCellInput = 1u << 9,
    kAskProcess = 1u << 10,
    kAskAttempt = 1u << 11,
    kAskShellLine = 1u << 12,
    kAskEpoch = 1u << 13,
    kAskBareDuration = 1u << 14,
    kAskSyslog = 1u << 15,
    kAskProc = 1u << 16,
    kAskJob = 1u << 17,
    kAskRate = 1u << 18,
    kAskDuration = 1u << 19,
    kAskElapsed = 1u << 20,  // a clock that counts up
    kAskLeft = 1u << 21,     // the rest of a progress bar
    kAskBlanks = 1u << 22,
    kAskAssignment = 1u << 23,
    kAskPath = 1u << 24,
    kAskSpinner = 1u << 25,
    kAskUuid = 1u << 26,
};

constexpr uint32_t kAskMoment = kAskLabelled | kAskOpening | kAskFirst;
constexpr uint32_t kAskNamedMoment = kAskDay | kAskDayFirst;
constexpr uint32_t kAskNumber = (1u << 22) - 1;
constexpr uint32_t kAskAnything = (1u << 27) - 1;
constexpr uint32_t kAskByLabel = kAskLabelled | kAskDay | kAskProcess | kAskAttempt | kAskShellLine | kAskEpoch | kAskBareDuration |
                                 kAskElapsed | kAskLeft | kAskAssignment;
constexpr uint32_t kAskByUnit = kAskRate | kAskDuration | kAskDayFirst;

// The questions that a mask allows.
constexpr uint32_t asks_of(uint32_t mask) {
    uint32_t asks = 0;
    if (mask & kTimestamp) asks |= kAskMoment | kAskNamedMoment;
    if (mask & kDuration) asks |= kAskBareDuration | kAskDuration | kAskElapsed;
    if (mask & kShellLine) asks |= kAskShellLine;
    if (mask & kAddress) asks |= kAskAddress;
    if (mask & kProcessId) asks |= kAskProcess | kAskSyslog | kAskProc | kAskJob;
    if (mask & kNotebook) asks |= kAskCell | kAskCellFile | kAskCellInput;
    if (mask & kProgress) asks |= kAskBar | kAskRate | kAskLeft | kAskSpinner;
    if (mask & kAttempt) asks |= kAskAttempt;
    if (mask & kEpoch) asks |= kAskEpoch;
    if (mask & kWhiteSpace) asks |= kAskBlanks;
    if (mask & kTechnicalId) asks |= kAskAssignment;
    if (mask & kTempPath) asks |= kAskPath;
    if (mask & kUuid) asks |= kAskUuid;
    return asks;
}

using AskTable = std::array<uint32_t, 256>;

constexpr void allow(AskTable& table, std::string_view characters, uint32_t asks) {
    for (const char c : characters) table[static_cast<uint8_t>(c)] |= asks;
}

constexpr std::string_view kDigits = "0123456789";

// By the character itself.
constexpr AskTable make_asks_here() {
    AskTable table{};
    allow(table, kDigits, kAskNumber);
    allow(table, " \t", kAskBlanks);
    allow(table, ":=", kAskAssignment);
    allow(table, "/", kAskPath);
    allow(table, "-", kAskUuid);
    allow(table, "/-\\|\xE2", kAskSpinner);
    return table;
}

// Set for what may stand between a label and its value.
constexpr int kSeparatorBit = 31;

// By the one before it.
constexpr AskTable make_asks_before() {
    AskTable table{};
    constexpr uint32_t kAnywhere = kAskDayFirst | kAskAddress | kAskCellFile | kAskRate | kAskDuration;
    for (int c = 0; c < 256; ++c) {
        table[c] = kAskPath | kAskUuid | kAskSpinner;
        if ((kCharClass[c] & kWordChar) == 0) table[c] |= kAnywhere;
        if (c != ' ' && c != '\t') table[c] |= kAskBlanks;
    }
    allow(table, std::string_view("\0\n", 2), kAskFirst);
    allow(table, " \t[(-", kAskOpening);
    allow(table, " \t#:=\"", kAskByLabel & ~(kAskDay | kAskAssignment));
    allow(table, " ", kAskDay);
    allow(table, " \t", kAskJob);
    allow(table, "[", kAskBar | kAskCell | kAskSyslog);
    allow(table, "-", kAskCellInput);
    allow(table, "/", kAskProc);
    allow(table, "degDEG\"", kAskAssignment);
    for (int c = 0; c < 256; ++c) table[c] |= static_cast<uint32_t>((kCharClass[c] & kSeparatorChar) != 0) << kSeparatorBit;
    return table;
}

// By the one before that.
constexpr AskTable make_asks_first() {
    AskTable table{};
    constexpr uint32_t kOnly = kAskOpening | kAskJob | kAskCellInput;
    for (uint32_t& asks : table) asks = kAskAnything & ~kOnly;
    allow(table, std::string_view(" \t\n\0-", 5), kAskOpening);
    allow(table, "] \t", kAskJob);
    allow(table, "t", kAskCellInput);
    return table;
}

// By the character behind a number's digits, or behind any other character.
constexpr AskTable make_asks_behind() {
    AskTable table{};
    for (uint32_t& asks : table) {
        asks = kAskProcess | kAskAttempt | kAskEpoch | kAskBareDuration | kAskCellInput | kAskAssignment | kAskUuid | kAskRate | kAskDuration |
               kAskLeft;
    }
    for (int c = 0xA0; c < 0xA4; ++c) table[c] |= kAskSpinner;
    allow(table, ":", kAskMoment | kAskBar | kAskShellLine | kAskElapsed);
    allow(table, "-/", kAskMoment);
    allow(table, "/", kAskProc);
    allow(table, " ,", kAskDay);
    allow(table, " ", kAskDayFirst);
    allow(table, std::string_view("\0\n \t", 4), kAskJob | kAskBlanks | kAskSpinner);
    allow(table, "\\", kAskSpinner);
    allow(table, "x", kAskAddress);
    allow(table, "]", kAskCell | kAskSyslog);
    allow(table, ".", kAskCellFile);
    allow(table, "tv", kAskPath);
    return table;
}

// By how many digits there are, up to eight.
constexpr std::array<uint32_t, 9> make_asks_by_size() {
    std::array<uint32_t, 9> table{};
    for (size_t size = 0; size <= 8; ++size) {
        uint32_t asks = kAskAnything & ~(kAskMoment | kAskNamedMoment | kAskAddress | kAskCellFile | kAskEpoch | kAskBar | kAskElapsed);
        if (size <= 2) asks |= kAskMoment | kAskNamedMoment | kAskElapsed;
        if (size == 4) asks |= kAskMoment;
        if (size <= 3) asks |= kAskBar;
        if (size == 1) asks |= kAskAddress;
        if (size >= 6) asks |= kAskCellFile;
        if (size == 8) asks |= kAskEpoch;
        table[size] = asks;
    }
    return table;
}

// By the unit's first character behind a number and one blank or none; and what needs no unit.
constexpr AskTable make_asks_by_unit() {
    AskTable table{};
    for (uint32_t& asks : table) asks = kAskAnything & ~kAskByUnit;
    allow(table, "numsh\xC2\xCE.", kAskDuration);
    allow(table, "iskKMGTbB.", kAskRate);
    allow(table, "JFMASOND", kAskDayFirst);
    // There are more blanks before it.
    allow(table, " \t", kAskRate | kAskDuration);
    return table;
}

// Where two letters, in either case, have their entry. Others share it with letters: it may allow more there than it should.
constexpr size_t pair_index(uint8_t first, uint8_t second) { return (first & 31u) | (second & 31u) << 5; }

// By the last two letters of the label before it, in either case; and what needs no label.
constexpr std::array<uint32_t, 1024> make_asks_by_label() {
    std::array<uint32_t, 1024> table{};
    for (uint32_t& asks : table) asks = kAskAnything & ~kAskByLabel;
    const auto allow_ending = [&table](std::string_view words, uint32_t asks) {
        for (size_t at = 0; at + 1 < words.size(); at += 3) {
            table[pair_index(static_cast<uint8_t>(words[at]), static_cast<uint8_t>(words[at + 1]))] |= asks;
        }
    };
    // timestamp ts now started starting date at on time of
    allow_ending("mp ts ow ed ng te at on me of", kAskLabelled);
    allow_ending("an eb ar pr ay un ul ug ep ct ov ec", kAskDay);
    allow_ending("id ss", kAskProcess);             // pid process
    allow_ending("pt ry", kAskAttempt);             // attempt retry
    allow_ending("ne", kAskShellLine);              // line
    allow_ending("mp ts ch me", kAskEpoch);         // timestamp ts epoch time
    allow_ending("on ed cy ms", kAskBareDuration);  // duration elapsed latency _ms
    allow_ending("ed ok on", kAskElapsed);          // elapsed took duration
    allow_ending("ta", kAskLeft);                   // eta
    allow_ending("id ce ag", kAskAssignment);       // request_id nonce etag
    // request_i_d and "request_id_" count too.
    for (const uint8_t dash : {'_', '-'}) {
        for (const uint8_t last : {'d', 'e', 'g'}) table[pair_index(dash, last)] |= kAskAssignment;
        for (uint8_t any = 0; any < 32; ++any) table[pair_index(any, dash)] |= kAskAssignment;
    }
    return table;
}

// All in one, so that one address leads to them.
struct AskTables {
    AskTable here = make_asks_here();
    AskTable before = make_asks_before();
    AskTable first = make_asks_first();
    AskTable behind = make_asks_behind();
    AskTable by_unit = make_asks_by_unit();
    std::array<uint32_t, 9> by_size = make_asks_by_size();
    std::array<uint32_t, 1024> by_label = make_asks_by_label();
};

inline constexpr AskTables kAsks;

inline const uint8_t* behind_digits(const uint8_t* at) {
    unsigned count = 8;
    for (; count == 8; at += count) count = leading_digits(load_eight(at));
    return at;
}

// What the label before a place allows. It stands behind one separator or none; behind more of them it is looked for, up to a few.
inline uint32_t asks_by_label(const uint8_t* at) {
    const auto separates = [](uint8_t c) { return kAsks.before[c] >> kSeparatorBit; };
    const uint8_t* label = at - separates(at[-1]);
    if (__builtin_expect(separates(label[-1]), 0)) {
        --label;
        if (separates(label[-1])) --label;
        if (separates(label[-1])) return kAskAnything;
    }
    return kAsks.by_label[pair_index(label[-2], label[-1])];
}

// What is left to ask of a place where no number begins, out of what is `allowed`.
inline uint32_t asks_of_mark(const uint8_t* at, uint32_t allowed) {
    const uint32_t asks = allowed & kAsks.here[at[0]] & kAsks.before[at[-1]] & kAsks.behind[at[1]] & ~kAskNumber;
    return (asks & kAskAssignment) == 0 ? asks : asks & asks_by_label(at);
}

// What is left to ask of a number by its size, the characters next to it, the unit behind it and the label before it. Nearly all
// places are numbers.
[[gnu::always_inline]] inline uint32_t asks_of_number(const uint8_t* at, uint32_t allowed) {
    const unsigned digits = leading_digits(load_eight(at));
    const uint8_t* const behind = __builtin_expect(digits == 8, 0) ? behind_digits(at) : at + digits;
    return allowed & kAskNumber & kAsks.before[at[-1]] & kAsks.first[at[-2]] & kAsks.behind[*behind] & kAsks.by_size[digits] &
           kAsks.by_unit[behind[*behind == ' ']] & asks_by_label(at);
}

}  // namespace loopguard
