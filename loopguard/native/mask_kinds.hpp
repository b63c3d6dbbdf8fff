// The kinds of volatile text, a bit each, with what shows of them in canonical text.
#pragma once

#include <cstdint>

namespace loopguard {

enum Mask : uint32_t {
    kWrapperNonce = 1u << 0,
    kAnsi = 1u << 1,
    kWhiteSpace = 1u << 2,
    kTimestamp = 1u << 3,
    kDuration = 1u << 4,
    kShellLine = 1u << 5,
    kAddress = 1u << 6,
    kProcessId = 1u << 7,
    kNotebook = 1u << 8,
    kTempPath = 1u << 9,
    kProgress = 1u << 10,
    kUuid = 1u << 11,
    kTechnicalId = 1u << 12,
    kAttempt = 1u << 13,
    kEpoch = 1u << 14,
    kBinary = 1u << 15,
};

constexpr uint32_t kAllMasks = (1u << 16) - 1;

struct MaskKind {
    uint32_t bit;
    const char* name;
    const char* placeholder;  // numbered kinds have their number behind it
    const char* example;      // JSON
};

inline constexpr MaskKind kMaskKinds[] = {
    {kWrapperNonce, "wrapper_nonce", "",
     R"("<<<EXTERNAL_UNTRUSTED_CONTENT id=\"00f1e2d3c4b5a697\">>>hi<<<END_EXTERNAL_UNTRUSTED_CONTENT id=\"00f1e2d3c4b5a697\">>>")"},
    {kAnsi, "ansi", "", R"("\u001b[32mok\u001b[0m  10%\rdone")"},
    {kWhiteSpace, "white_space", "", R"("a   b  \n\n")"},
    {kTimestamp, "timestamp", "<time>", R"("2025-11-18T23:44:32Z INFO ready")"},
    {kDuration, "duration", "<duration>", R"("3 failed, 12 passed in 0.53s")"},
    {kShellLine, "shell_line", "<line>", R"("bash: line 33941: javac: command not found")"},
    {kAddress, "address", "<address>", R"("<pkg.TestSet object at 0x7fc95c12f520>")"},
    {kProcessId, "process_id", "<pid>", R"({"pid":4711,"text":"worker pid=4712"})"},
    {kNotebook, "notebook", "<cell>", R"("(729100229.py, line 93)  Cell In[20]")"},
    {kTempPath, "temp_path", "<tmp>", R"("/tmp/pip-build-env-zq9qjm2_/overlay")"},
    {kProgress, "progress", "<progress>", R"("20%| 1/5 [00:01<00:04,  1.25s/it]")"},
    {kUuid, "uuid", "<uuid:", R"("job 123e4567-e89b-12d3-a456-426614174000 queued")"},
    {kTechnicalId, "technical_id", "<id:", R"({"request_id":"req_8fK2"})"},
    {kAttempt, "attempt", "<attempt>", R"("retry 2/5")"},
    {kEpoch, "epoch", "<epoch>", R"({"timestamp":1790000000123})"},
    {kBinary, "binary", "<binary:", R"({"data":"data:image/png;base64,iVBORw0KGgo=","text":"a chart"})"},
};

}  // namespace loopguard
