// SPDX-License-Identifier: MIT
#include "trace/load.h"

#include <malloc.h>

#include <memory>
#include <utility>

#include "recording/reader.h"

namespace stallprof {
namespace {

// A large table outgrown is released at once; glibc's own limit for that would rise with the
// tables. What is smaller is used again: at 1 MB a run of ten hours of 64 threads took 400,000 page
// faults and 205 MB, at 4 MB 240,000 and 236, at 32 MB 100,000 and 273.
constexpr int kReleasedAtOnce = 1 << 22;

void setManifest(TraceBuilder& builder, Manifest manifest, const std::vector<Untrusted>& maps) {
  manifest.maps.insert(manifest.maps.end(), maps.begin(), maps.end());
  builder.manifest() = std::move(manifest);
}

}  // namespace

EventSource recordingEvents(const std::string& directory, const std::vector<Untrusted>& maps) {
  std::shared_ptr<RecordingReader> reader;
  return [=](TraceBuilder& builder) mutable -> Result<bool> {
    if (!reader) {
      ::mallopt(M_MMAP_THRESHOLD, kReleasedAtOnce);
      reader = std::make_shared<RecordingReader>(
          directory, builder.strings(), [&builder](const Event& event) { builder.take(event); });
      // A part is analysed by what the run's manifest says; where that is damaged there is one
      // part.
      if (Result<Manifest> manifest = readManifest(directory); manifest.ok())
        setManifest(builder, std::move(manifest).value(), maps);
      else
        builder.keepAll();
    }
    Result<bool> more = reader->next();
    if (!more.ok() || more.value()) return more;
    setManifest(builder, reader->summary().manifest, maps);
    builder.setCleanEnd(reader->summary().cleanEnd);
    return false;
  };
}

Result<bool> TraceReader::nextPart() {
  for (;;) {
    Result<bool> more = events_(builder_);
    if (!more.ok() || !more.value()) return more;
    if (builder_.full()) return true;
  }
}

}  // namespace stallprof
