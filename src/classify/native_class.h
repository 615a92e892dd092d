// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>

namespace stallprof {

// What a piece of native code is for, by its library and symbol. What it is part of (a batch,
// a step) its thread and its callers say; this only says what kind of work it was.
enum class NativeClass : std::uint8_t {
  kProgram,      // the program's own file, and libraries that no rule knows
  kInterpreter,  // CPython running bytecode, and its own types
  kTensor,       // torch, TensorFlow, XLA, ONNX: kernels on the CPU, and what calls them
  kMath,         // BLAS, oneDNN, FFT, numpy's loops
  kParallel,     // OpenMP and TBB, handing out work
  kSpin,         // OpenMP and locks, waiting without giving up the CPU
  kLock,         // acquiring and releasing mutexes, in user code: whoever calls them
  kDecode,       // JPEG, PNG, audio, video
  kCompression,
  kNetwork,  // TLS, HTTP, RPC, object stores
  kStorage,  // Arrow, HDF5, LMDB, SQLite
  kRuntime,  // libc, libstdc++, allocators: whoever calls them
  kDevice,   // CUDA's and ROCm's libraries and drivers, on the host
  kKernel,
  kJit,  // code made at run time
};
inline constexpr std::size_t kNativeClasses = 15;
inline constexpr std::array<std::string_view, kNativeClasses> kNativeClassNames = {
    "program",     "interpreter", "tensor",  "math",    "parallel", "spin",   "lock", "decode",
    "compression", "network",     "storage", "runtime", "device",   "kernel", "jit"};
[[nodiscard]] constexpr std::string_view nameOf(NativeClass c) {
  return kNativeClassNames[static_cast<std::size_t>(c)];
}

// Libraries and symbols of one class, as patterns (`*`: any run of characters). A rule with symbols
// claims only those; with no libraries, in any file. A library is meant by its name, or by its
// path where the pattern has a '/'.
struct NativeRule {
  NativeClass is = NativeClass::kProgram;
  std::span<const std::string_view> libraries, symbols;
};
// The table, in the order it is tried: the first rule that fits decides.
[[nodiscard]] std::span<const NativeRule> nativeRules();

// Of a place in `file` (a path as it was mapped) whose function is `symbol` (readable, may be "").
[[nodiscard]] NativeClass nativeClass(std::string_view file, std::string_view symbol);

// A function of OpenMP's runtimes, by its name; the library of scalar functions (expf), by its
// file.
[[nodiscard]] bool isOfOpenMp(std::string_view symbol);
[[nodiscard]] bool isOfLibm(std::string_view file);

// The kernel's part of a lock that others have, and of waiting for other threads in general.
[[nodiscard]] constexpr bool isFutex(NativeClass is, std::string_view symbol) {
  return is == NativeClass::kKernel && symbol == "futex";
}

// A symbol as a person reads it: C++ names without arguments, versions ("@@GLIBC_2.2.5") left out.
// Bytes of the job's: escape at the sink. At most 200.
[[nodiscard]] std::string readableSymbol(std::string_view raw);

}  // namespace stallprof
