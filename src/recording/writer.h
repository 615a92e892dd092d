// SPDX-License-Identifier: MIT
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/result.h"
#include "event/event_out.h"
#include "recording/manifest.h"

namespace stallprof {

class Storage;

// Writes one recording directory. The owner calls `tick` a few times a second; frames reach the
// file at most `flushEvery` after their first event, and are fdatasynced from a thread of the
// writer's own at most `syncEvery` later. Disk trouble never blocks or fails the caller: see
// FORMAT.md, "When the disk is full". One thread at a time.
class Writer : public EventOut {
 public:
  struct Options {
    Nanos flushEvery = std::chrono::seconds(1);
    Nanos syncEvery = std::chrono::seconds(5);
    Nanos retryEvery = std::chrono::seconds(30);  // after ENOSPC; tests shorten it
    std::size_t segmentBytes = 64u << 20;
    std::size_t reserveBytes = 1u << 20;  // of the disk asked for ahead: a minute's, or more
    // Of manifest and segments together; at it nothing more is written, as on a full disk.
    std::uint64_t maxBytes = ~0ull;
    std::size_t stringBytes = 32u << 20;  // interning budget; past it names are "(other)"
  };

  // Makes the directory (0700; must not exist) with manifest.json and the first segment (0600).
  // Refuses symbolic links and existing names; never overwrites.
  [[nodiscard]] static Result<std::unique_ptr<Writer>> create(const std::string& directory,
                                                              const Manifest& manifest,
                                                              const Options& options);
  [[nodiscard]] static Result<std::unique_ptr<Writer>> create(const std::string& directory,
                                                              const Manifest& manifest) {
    return create(directory, manifest, Options{});
  }

  // Flushes a frame that is due; retries a full disk. Cheap when nothing is due.
  virtual void tick(Nanos now) = 0;
  // Writes what it still holds, as far as the disk takes it.
  virtual void flush() = 0;
  // Flushes everything and marks a clean end. The recording is complete without it.
  virtual void close() = 0;
  // The directory, wherever it is by now, as a path: for what else belongs into it.
  [[nodiscard]] virtual std::string directory() const = 0;
  // Closes it and removes all of it, wherever its directory is by now; what has been put in its
  // place stays.
  virtual void discard() = 0;
  [[nodiscard]] virtual std::int64_t bytesWritten() const = 0;
  // Why nothing is being written now, as storage.h names it; 0: all is well.
  [[nodiscard]] virtual int error() const = 0;

  // What was put that is about the recorder itself, since the last call.
  struct Notes {
    static constexpr std::size_t kMaxEvents = 1024;
    std::vector<Event> events;  // states of sources and gaps; more are left out
    std::array<std::uint64_t, kLossNames.size()> losses{};
  };
  [[nodiscard]] virtual Notes takeNotes() = 0;
};

// Writer::create on another file system; `storage` must outlive the writer. For tests.
[[nodiscard]] Result<std::unique_ptr<Writer>> createWriter(const std::string& directory,
                                                           const Manifest& manifest,
                                                           const Writer::Options& options,
                                                           Storage& storage);

}  // namespace stallprof
