// Key rules: the same by every kernel, and nothing is left for a second application. Lines before an empty one are paths.
#include "common.hpp"

namespace {

void add_path(loopguard::Rules& rules, const std::string& line) {
    const auto kind = line[0] == 'k' ? loopguard::Rules::kKeep : line[0] == 'm' ? loopguard::Rules::kMask : loopguard::Rules::kDrop;
    std::vector<std::string> segments(1);
    for (const char c : line.substr(1)) {
        if (c == '.') {
            segments.emplace_back();
        } else {
            segments.back() += c;
        }
    }
    const bool all_deep = std::all_of(segments.begin(), segments.end(), [](const std::string& s) { return s == "**"; });
    if (segments.size() > 6 || (kind == loopguard::Rules::kDrop && all_deep)) return;
    rules.add_path(kind, loopguard::kAllMasks);
    for (const std::string& segment : segments) {
        const auto type = segment == "**"  ? loopguard::Rules::kDeep
                          : segment == "*" ? loopguard::Rules::kAny
                                           : loopguard::Rules::kLiteral;
        rules.add_segment(type, segment);
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    loopguard::Rules rules;
    size_t at = 0;
    for (int paths = 0; paths < 4; ++paths) {
        std::string line;
        while (at < size && data[at] != '\n') line += static_cast<char>(data[at++]);
        if (at < size) ++at;
        if (line.empty()) break;
        add_path(rules, line);
    }
    rules.compile();
    const fuzz::Result ruled = fuzz::agree(data + at, size - at, 0, &rules);
    if (ruled.json && rules.masks() == 0) {
        const fuzz::Result again = fuzz::run(loopguard::choose_kernel(false), ruled.text, 0, &rules);
        fuzz::check(again.json && again.text == ruled.text, "what is left stays");
    }
    return 0;
}
