// SPDX-License-Identifier: MIT
#include "classify/native_work.h"

#include <algorithm>
#include <cctype>
#include <string>
#include <vector>

#include "classify/native_class.h"

namespace stallprof {
namespace {

using Words = const std::string_view[];

constexpr Words kOpenCalls = {"open",       "openat",     "openat2",    "close",      "stat",
                              "lstat",      "fstat",      "newfstatat", "statx",      "access",
                              "faccessat",  "faccessat2", "getdents",   "getdents64", "readlink",
                              "readlinkat", "statfs"};
constexpr Words kReadCalls = {"read",     "readv",   "pread64",        "preadv",
                              "preadv2",  "lseek",   "readahead",      "io_getevents",
                              "recvfrom", "recvmsg", "io_uring_enter", "recvmmsg"};
// Of libc.
constexpr Words kDrawCalls = {"rand",      "rand_r",    "random",    "random_r", "drand48",
                              "drand48_r", "erand48",   "erand48_r", "lrand48",  "lrand48_r",
                              "nrand48",   "nrand48_r", "mrand48"};
// Of libc, as they begin: text compared and searched, characters read one by one. What reads or
// parses whatever the caller is for has rules: rules/native.toml.
constexpr Words kTextCalls = {
    "strcmp", "strncmp", "strcasecmp", "strlen",        "strnlen", "strchr",  "strrchr",
    "strstr", "strspn",  "strcspn",    "strpbrk",       "memchr",  "getc",    "fgetc",
    "ungetc", "uflow",   "underflow",  "default_uflow", "isspace", "tolower", "toupper"};
constexpr Words kTemplates = {"std::", "__gnu_cxx::"};
// Of libstdc++.
constexpr Words kTextClasses = {"std::istream", "std::basic_istream"};
constexpr Words kWriteCalls = {"write",     "writev",    "pwrite64", "pwritev", "pwritev2",
                               "fsync",     "fdatasync", "rename",   "unlink",  "unlinkat",
                               "ftruncate", "mkdir",     "msync"};

// Words of functions that train, whatever else is in the name; and of those that make data.
constexpr Words kComputes = {"forward", "backward",  "backprop",  "matmul", "gemm",    "gemv",
                             "softmax", "attention", "layernorm", "conv2d", "adamw",   "adam",
                             "sgd",     "gradient",  "gradients", "grad",   "rmsnorm", "gelu"};
constexpr Words kForward = {"forward"};
constexpr Words kBackward = {"backward", "backprop", "gradient", "gradients", "grad"};
constexpr Words kTrains = {"train", "training", "optimizer", "optim", "update"};
constexpr Words kTrained = {"step", "batch", "weights", "params", "parameters", "iteration"};
constexpr Words kMakesData = {"dataloader", "loader",     "augment",   "augmentation", "decode",
                              "tokenize",   "tokenizer",  "collate",   "dataset",      "parse",
                              "parser",     "preprocess", "decompress"};
constexpr Words kGets = {"make", "load", "next", "read", "fetch", "get", "prepare", "generate"};
constexpr Words kGot = {"batch",   "batches", "sample",   "samples", "image", "images", "record",
                        "records", "example", "examples", "line",    "lines", "file",   "files",
                        "tokens",  "token",   "word",     "words",   "data"};

bool among(std::string_view word, std::span<const std::string_view> words) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

bool anyAmong(std::span<const std::string> words, std::span<const std::string_view> of) {
  return std::any_of(words.begin(), words.end(),
                     [&](const std::string& word) { return among(word, of); });
}

NativeWork byClass(NativeClass is) {
  switch (is) {
    case NativeClass::kDecode:
    case NativeClass::kCompression:
      return {NativeWork::Is::kPhase, Phase::kTransform};
    case NativeClass::kTensor:
      return {NativeWork::Is::kPhase, Phase::kCompute};
    case NativeClass::kSpin:
    case NativeClass::kParallel:
      return {NativeWork::Is::kTeam};
    default:
      return {};
  }
}

bool beginsAmong(std::string_view name, std::span<const std::string_view> begins) {
  return std::any_of(begins.begin(), begins.end(),
                     [&](std::string_view begin) { return name.starts_with(begin); });
}

// "__strcmp_evex", "__GI_strlen" and "_IO_file_xsgetn" of libc.
bool handlesText(std::string_view name) {
  if (name.starts_with("std::")) return beginsAmong(name, kTextClasses);
  for (const std::string_view before : {"GI_", "IO_", ""}) {
    name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
    if (name.starts_with(before)) name.remove_prefix(before.size());
  }
  return beginsAmong(name, kTextCalls);
}

// "__random" of libc; the engines and distributions of C++, which lie in the program's own file.
bool drawsByName(std::string_view name, bool runtime) {
  if (runtime) {
    name.remove_prefix(std::min(name.find_first_not_of('_'), name.size()));
    return among(name, kDrawCalls);
  }
  if (!name.starts_with("std::")) return false;
  return name.find("_engine") != std::string_view::npos ||
         name.find("_distribution") != std::string_view::npos ||
         name.find("generate_canonical") != std::string_view::npos;
}

// A template of the standard library does what the lambda that it was given is for, and that is for
// the function in which it was written: of "_ZSt6__sortI...ZN5Words4loadEvEUliiE_..." the symbol
// "_ZN5Words4loadEv...". Empty where the mangled name has none (Itanium ABI: a local name is
// Z, its function's encoding, E).
std::string functionOfLambda(std::string_view symbol) {
  constexpr int kTries = 16;  // of a forged name each letter may be one
  std::size_t at = 1;
  for (int tries = 0; tries < kTries; ++tries) {
    at = symbol.find('Z', at + 1);
    if (at >= symbol.size() - 1) break;  // none, too
    const auto next = static_cast<unsigned char>(symbol[at + 1]);
    if (next != 'N' && !std::isdigit(next)) continue;
    const std::string owner = "_Z" + std::string(symbol.substr(at + 1));
    const std::string name = readableSymbol(owner);
    if (name != owner && !beginsAmong(name, kTemplates)) return owner;
  }
  return {};
}

}  // namespace

bool isOpenMpLoop(std::string_view symbol) {
  return symbol.find("._omp_fn.") != std::string_view::npos ||
         symbol.find("omp_outlined") != std::string_view::npos;
}

std::vector<std::string> splitName(std::string_view name) {
  std::vector<std::string> words;
  bool open = false;
  char before = 0;
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    const bool hump = std::isupper(byte) && std::islower(static_cast<unsigned char>(before));
    before = c;
    if (!std::isalpha(byte) && !(open && std::isdigit(byte))) {
      open = false;
      continue;
    }
    if (!open || hump) words.emplace_back();
    open = true;
    words.back() += static_cast<char>(std::tolower(byte));
  }
  return words;
}

Phase phaseOfWords(std::string_view function) {
  const std::vector<std::string> words = splitName(function);
  const auto any = [&](std::span<const std::string_view> of) { return anyAmong(words, of); };
  const bool computes = any(kComputes) || (any(kTrains) && any(kTrained));
  const bool data = any(kMakesData) || (any(kGets) && any(kGot));
  if (computes == data) return Phase::kUnknown;
  return computes ? Phase::kCompute : Phase::kTransform;
}

ModelPass passOfWords(std::string_view function) {
  const std::vector<std::string> words = splitName(function);
  const bool forward = anyAmong(words, kForward), backward = anyAmong(words, kBackward);
  if (forward == backward) return ModelPass::kNone;
  return forward ? ModelPass::kForward : ModelPass::kBackward;
}

NativeWork kernelWork(std::string_view call) {
  using Is = NativeWork::Is;
  if (among(call, kOpenCalls)) return {Is::kOpen, Phase::kExtract};
  if (among(call, kReadCalls)) return {Is::kRead, Phase::kExtract};
  if (call == "futex") return {Is::kLock};
  if (among(call, kWriteCalls)) return {Is::kPhase, Phase::kOther};
  return {};
}

NativeWork nativeWork(const RuleTable& table, std::string_view file, std::string_view symbol) {
  const std::string name = readableSymbol(symbol);
  const NativeClass is = nativeClass(file, name);
  if (is == NativeClass::kKernel) return kernelWork(symbol);
  if (is == NativeClass::kSpin || is == NativeClass::kParallel) return byClass(is);
  if (const PhaseRule* rule = claim(table, {true, name, file}, Side::kTrainer)) {
    if (rule->work) return {NativeWork::Is::kPhase, Phase::kCompute};
    if (rule->phase)
      return {.is = NativeWork::Is::kPhase,
              .phase = *rule->phase,
              .evaluates = rule->overhead == OverheadKind::kEvaluation};
  }
  if (is == NativeClass::kLock)
    return {isOfOpenMp(name) ? NativeWork::Is::kTeam : NativeWork::Is::kLock};
  const bool runtime = is == NativeClass::kRuntime;
  if ((runtime || is == NativeClass::kProgram) && drawsByName(name, runtime))
    return {NativeWork::Is::kMakes};
  if (runtime && handlesText(name)) return {NativeWork::Is::kMakes};
  if (is != NativeClass::kProgram) return byClass(is);
  const bool ofTemplate = beginsAmong(name, kTemplates);  // std::forward runs no model
  const Phase phase = ofTemplate ? Phase::kUnknown : phaseOfWords(name);
  if (isOpenMpLoop(symbol) && phase != Phase::kTransform)
    return {.is = NativeWork::Is::kRegion, .pass = passOfWords(name)};
  if (ofTemplate)
    if (const std::string owner = functionOfLambda(symbol); !owner.empty())
      return nativeWork(table, file, owner);
  if (phase == Phase::kUnknown) return {.is = NativeWork::Is::kOwn, .ofTemplate = ofTemplate};
  return {NativeWork::Is::kPhase, phase, true, passOfWords(name)};
}

}  // namespace stallprof
