// Where masks look at all: what a byte and its neighbours have to be, as sets that a vector lookup can meet.
#pragma once

#include <cstdint>
#include <string_view>

namespace loopguard {

// For each half of a byte the questions it may be for, a bit each; a byte is in a question's set if both its halves are.
struct HintTable {
    alignas(16) uint8_t low[16];
    alignas(16) uint8_t high[16];
};

constexpr void allow_halves(HintTable& table, int question, std::string_view high, std::string_view low) {
    const auto value = [](char c) { return c <= '9' ? c - '0' : c - 'A' + 10; };
    for (const char c : high) table.high[value(c)] |= static_cast<uint8_t>(1 << question);
    for (const char c : low) table.low[value(c)] |= static_cast<uint8_t>(1 << question);
}

constexpr std::string_view kAnyHalf = "0123456789ABCDEF";

// The sets are products of two sets of halves, so some hold more than they should: whoever follows a hint looks again.
enum Hint { kNumber, kNumberBehindMark, kNumberBehindQuote, kBlanks, kAssignment, kPath, kSpinner, kDash };

constexpr HintTable make_hints_here() {
    HintTable table{};
    for (const int number : {kNumber, kNumberBehindMark, kNumberBehindQuote}) allow_halves(table, number, "3", "0123456789");
    allow_halves(table, kBlanks, "2", "0");
    allow_halves(table, kAssignment, "3", "AD");       // : =
    allow_halves(table, kPath, "2", "F");
    allow_halves(table, kSpinner, "257", "CDF");       // / - backslash |
    allow_halves(table, kDash, "2", "D");
    return table;
}

constexpr HintTable make_hints_before() {
    HintTable table{};
    allow_halves(table, kNumber, "01289ABCDEF", kAnyHalf);         // nothing that a word has
    allow_halves(table, kNumberBehindMark, "34567", "ABCDEF");     // : to ? [ to _ and the like
    allow_halves(table, kNumberBehindQuote, "46", "0");            // @ `
    allow_halves(table, kBlanks, kAnyHalf, kAnyHalf);
    allow_halves(table, kAssignment, "246", "2457");               // d e g "
    allow_halves(table, kPath, kAnyHalf, kAnyHalf);
    allow_halves(table, kSpinner, "2", "0");
    allow_halves(table, kDash, "346", "0123456789");               // hexadecimal digits
    return table;
}

constexpr HintTable make_hints_behind() {
    HintTable table{};
    for (const int any : {kNumber, kNumberBehindMark, kNumberBehindQuote, kAssignment}) allow_halves(table, any, kAnyHalf, kAnyHalf);
    allow_halves(table, kBlanks, "02", "09A");         // a blank, a line's end or the text's
    allow_halves(table, kPath, "7", "46");             // t v
    allow_halves(table, kSpinner, "025", "09AC");      // the same as for blanks, and the backslash's double
    allow_halves(table, kDash, "346", "0123456789");
    return table;
}

inline constexpr HintTable kHintsHere = make_hints_here();
inline constexpr HintTable kHintsBefore = make_hints_before();
inline constexpr HintTable kHintsBehind = make_hints_behind();

}  // namespace loopguard
