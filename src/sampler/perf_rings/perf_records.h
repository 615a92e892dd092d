// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/time.h"

namespace stallprof {

// What one record of a perf ring says, of the kinds that samples and tasks need. Which members
// count depends on the kind.
struct PerfRecord {
  enum class Kind : std::uint8_t {
    kSample,  // pid, tid, address, kernel, userAddress, stack
    kMap,     // pid, address, bytes, offset, path, build, inode: an executable mapping appeared
    kFork,    // pid, tid, parentPid, parentTid; pid == parentPid: a thread
    kExec,    // pid, tid, comm: all mappings are gone
    kName,    // pid, tid, comm: a task is called otherwise
    kExit,    // pid, tid, parentPid, parentTid
    kLost,    // count
  };
  Kind kind = Kind::kSample;
  Nanos at{};      // CLOCK_MONOTONIC
  Nanos period{};  // kSample
  std::uint32_t pid = 0, tid = 0, parentPid = 0, parentTid = 0;
  std::uint64_t address = 0, bytes = 0, offset = 0, count = 0;
  std::uint64_t userAddress = 0;  // where the thread runs on outside the kernel; 0: not known
  bool kernel = false;
  std::vector<std::uint64_t> stack;  // of the thread outside the kernel, from its top
  std::string path, comm;            // may hold any byte
  std::string build;                 // the build id in hex; empty: the kernel did not give it
  std::uint64_t inode = 0;           // of the file, where there is no build id
};

// The record at the begin of `bytes`, which is all of it. Nothing for kinds we do not ask about and
// for records too short for what they claim. Written for events with sample_type IP | TID | TIME
// | PERIOD | REGS_USER | STACK_USER, of the registers the instruction pointer, and sample_id_all.
[[nodiscard]] std::optional<PerfRecord> readPerfRecord(std::span<const std::uint8_t> bytes);

}  // namespace stallprof
