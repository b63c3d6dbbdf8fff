// Masking: the same by every kernel, no flags of its own, and still JSON. The first two bytes choose the kinds.
#include "common.hpp"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
    if (size < 2) return 0;
    const uint32_t mask = (static_cast<uint32_t>(data[0]) << 8 | data[1]) & loopguard::kAllMasks;
    const fuzz::Result plain = fuzz::agree(data + 2, size - 2, 0, nullptr);
    const fuzz::Result masked = fuzz::agree(data + 2, size - 2, mask, nullptr);
    fuzz::check(plain.json == masked.json && plain.flags == masked.flags, "masks change no flag");
    if (masked.json) {
        fuzz::check(fuzz::run(loopguard::choose_kernel(false), masked.text, 0, nullptr).json, "what is masked is JSON");
        fuzz::check(masked.text.size() <= plain.text.size() + size * loopguard::kLongestPlaceholder, "growth has a bound");
    }
    return 0;
}
