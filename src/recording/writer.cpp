// SPDX-License-Identifier: MIT
#include "recording/writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <initializer_list>
#include <optional>
#include <utility>

#include "base/text.h"
#include "recording/format/segment_encoder.h"
#include "recording/segment_file.h"
#include "recording/storage.h"
#include "recording/sync_thread.h"

namespace stallprof {
namespace {

// A frame is cut at this size at the latest; an eighth of what a reader accepts, because the last
// event may bring strings with it.
constexpr std::size_t kFrameBytes = 128u << 10;
// Frames held while the disk is full: minutes of a usual job (budget: 50 MB an hour).
constexpr std::size_t kHeldBytes = 4u << 20;
// An event is no later than the last tick by more.
constexpr Nanos kAhead = std::chrono::hours(1);

LossKind lossKind(int error) {
  return isFull(error) || error == EFBIG ? LossKind::kDiskFull : LossKind::kWriteError;
}
// The file cannot go on, but another can: too large for a limit, or its content unknown after EIO.
bool needsNewFile(int error) { return !isFull(error); }

// Under a file size limit segments stay below it, so that EFBIG is not met in the first place.
std::size_t segmentLimit(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min<std::size_t>(wanted, limit.rlim_cur);
}

class DirectoryWriter final : public Writer {
 public:
  DirectoryWriter(Storage& storage, std::string path, Fd directory, std::string manifest,
                  const Options& options)
      : path_(std::move(path)),
        options_(options),
        segmentBytes_(segmentLimit(options.segmentBytes)),
        frameBytes_(std::clamp<std::size_t>(segmentBytes_ / 4, 256, kFrameBytes)),
        manifest_(std::move(manifest)),
        encoder_(options.stringBytes, frameBytes_),
        files_(storage, std::move(directory),
               options.maxBytes - std::min<std::uint64_t>(options.maxBytes, manifest_.size()),
               segmentBytes_ < options.segmentBytes ? 0 : options.reserveBytes),
        sync_(storage) {}
  ~DirectoryWriter() override = default;

  int start() { return files_.open(manifest_); }

  StringId intern(std::string_view text) override { return encoder_.intern(text); }
  std::string_view textOf(StringId id) const override { return encoder_.textOf(id); }
  void put(const Event& event) override;
  void tick(Nanos now) override;
  void flush() override;
  void close() override;
  std::string directory() const override {
    return "/proc/self/fd/" + std::to_string(files_.directory());
  }
  void discard() override;
  std::int64_t bytesWritten() const override { return files_.bytesWritten(); }
  int error() const override { return error_; }
  Notes takeNotes() override { return std::exchange(notes_, {}); }

 private:
  void note(const Event& event);
  void writeFrames();
  void rollWhenFull();
  void fail(int error);
  void lastWords(std::initializer_list<Event> words);
  void endWithoutRoom();
  [[nodiscard]] Nanos heldSince() const;
  void resume();
  void drop(std::uint64_t events, Nanos since);
  void reportDropped(int error);
  void reportStrings();
  void syncWhenDue();

  const std::string path_;
  const Options options_;
  const std::size_t segmentBytes_, frameBytes_;
  const std::string manifest_;
  SegmentEncoder encoder_;
  SegmentFiles files_;
  SyncThread sync_;
  Nanos clock_{};               // the latest instant heard of, by a tick or an event
  Nanos lastTick_{}, begun_{};  // the tick before the first event of the frame
  Nanos lastSync_{}, retryAt_{};
  Nanos droppedSince_{};
  std::uint64_t dropped_ = 0;
  Notes notes_;
  std::optional<Event> end_;     // the command's, until written: said where nothing else can be
  std::size_t framesToEnd_ = 0;  // frames held up to the one that it closes; 0: it is in none
  int error_ = 0;                // why nothing is being written now; 0: all is well
  bool saidWhy_ = false;         // once a pause: the space kept for last words is small
  bool unsynced_ = false, closed_ = false;
};

void DirectoryWriter::put(const Event& event) {
  if (closed_) return;
  // Whatever a process of the job says that the time is.
  if (lastTick_ == Nanos{} || event.at <= lastTick_ + kAhead) clock_ = std::max(clock_, event.at);
  encoder_.note(event);
  note(event);
  if (error_ != 0 && encoder_.bytes() >= kHeldBytes) return drop(1, event.at);
  if (!encoder_.pending()) begun_ = lastTick_;
  encoder_.encode(event);
  if (std::holds_alternative<CommandEnd>(event.payload)) {
    encoder_.cut();
    framesToEnd_ = encoder_.frames().size();
  }
  if (!encoder_.frames().empty()) writeFrames();
}

void DirectoryWriter::note(const Event& event) {
  const Payload& payload = event.payload;
  if (std::holds_alternative<CommandEnd>(payload))
    end_ = event;
  else if (const auto* loss = std::get_if<Loss>(&payload)) {
    if (const auto kind = static_cast<std::size_t>(loss->kind); kind < notes_.losses.size())
      notes_.losses[kind] += std::max<std::uint64_t>(loss->count, 1);
  } else if ((std::holds_alternative<SourceState>(payload) ||
              std::holds_alternative<Gap>(payload)) &&
             notes_.events.size() < Notes::kMaxEvents)
    notes_.events.push_back(event);
}

void DirectoryWriter::tick(Nanos now) {
  if (closed_) return;
  clock_ = std::max(clock_, now);
  if (error_ != 0 && now >= retryAt_) resume();
  if (encoder_.pending() && now - begun_ >= options_.flushEvery) flush();
  lastTick_ = now;
  syncWhenDue();
}

void DirectoryWriter::flush() {
  reportStrings();
  encoder_.cut();
  writeFrames();
}

void DirectoryWriter::writeFrames() {
  if (error_ != 0) return;
  while (!encoder_.frames().empty()) {
    const std::string& payload = encoder_.frames().front().payload;
    if (const int error = files_.append(format::FrameType::kEvents, payload); error != 0)
      return fail(error);
    encoder_.popFrame();
    if (framesToEnd_ > 0 && --framesToEnd_ == 0) end_.reset();
    unsynced_ = true;
  }
  rollWhenFull();
}

// Only between frames: what is encoded already belongs to the segment that is open.
void DirectoryWriter::rollWhenFull() {
  if (encoder_.pending() || files_.size() + frameBytes_ <= segmentBytes_) return;
  if (!files_.mayOpen(manifest_, frameBytes_)) return;  // the last one grows to the limit instead
  if (unsynced_) sync_.request(files_.file());
  encoder_.beginSegment();
  if (const int error = files_.open(manifest_); error != 0) fail(error);
}

void DirectoryWriter::fail(int error) {
  error_ = error;
  retryAt_ = clock_ + options_.retryEvery;
  if (!std::exchange(saidWhy_, true)) lastWords({{clock_, Loss{lossKind(error), 0, {}}}});
  if (!needsNewFile(error)) return;
  // Frames of the old segment mean nothing in another: they are lost, and counted.
  files_.close();
  if (const std::uint64_t lost = encoder_.events(); lost > 0) drop(lost, heldSince());
  encoder_.beginSegment();
  framesToEnd_ = 0;
  if (error == EFBIG) retryAt_ = clock_;  // a new file may be all it takes
}

// What must still be said when the disk is full, in the space kept for it. Without strings: those
// of this segment may be in frames that are not written.
void DirectoryWriter::lastWords(std::initializer_list<Event> words) {
  std::string payload;
  Nanos previous{};
  for (const Event& word : words) {
    encodeEvent(word, previous, {}, payload);
    previous = word.at;
  }
  (void)files_.appendReserved(format::FrameType::kEvents, payload);
}

Nanos DirectoryWriter::heldSince() const {
  return encoder_.frames().empty() ? clock_ : encoder_.frames().front().since;
}

void DirectoryWriter::resume() {
  if (!files_.isOpen() && files_.open(manifest_) != 0) {
    retryAt_ = clock_ + options_.retryEvery;
    return;
  }
  const int was = std::exchange(error_, 0);
  writeFrames();
  if (error_ != 0) return;
  saidWhy_ = false;
  if (dropped_ > 0) reportDropped(was);
}

void DirectoryWriter::drop(std::uint64_t events, Nanos since) {
  droppedSince_ = dropped_ == 0 ? since : std::min(droppedSince_, since);
  dropped_ += events;
}

void DirectoryWriter::reportDropped(int error) {
  const StringId why = encoder_.intern(troubleText(error));
  encoder_.encode(Event{droppedSince_, Gap{clock_ - droppedSince_, why}});
  encoder_.encode(Event{clock_, Loss{lossKind(error), dropped_, why}});
  encoder_.announceAll();
  dropped_ = 0;
}

void DirectoryWriter::reportStrings() {
  if (const std::uint64_t over = encoder_.takeStringsOver(); over > 0)
    encoder_.encode(Event{clock_, Loss{LossKind::kStringsFull, over, {}}});
}

void DirectoryWriter::syncWhenDue() {
  if (const int error = sync_.takeError(); error != 0 && error_ == 0) {
    flush();
    if (error_ == 0) fail(needsNewFile(error) ? error : EIO);
    retryAt_ = clock_;
    return;
  }
  if (!unsynced_ || !files_.isOpen() || lastTick_ - lastSync_ < options_.syncEvery) return;
  sync_.request(files_.file());
  lastSync_ = lastTick_;
  unsynced_ = false;
}

void DirectoryWriter::close() {
  if (std::exchange(closed_, true)) return;
  if (error_ != 0) resume();
  flush();
  if (error_ != 0) endWithoutRoom();
  (void)files_.appendReserved(format::FrameType::kEnd, {});
  if (files_.isOpen()) sync_.request(files_.file());
  files_.close();
}

void DirectoryWriter::discard() {
  closed_ = true;
  files_.removeAll(path_);
}

void DirectoryWriter::endWithoutRoom() {
  if (const std::uint64_t lost = encoder_.events(); lost > 0) drop(lost, heldSince());
  const Gap gap{clock_ - droppedSince_, {}};
  if (!end_)
    return lastWords({{droppedSince_, gap}, {clock_, Loss{lossKind(error_), dropped_, {}}}});
  lastWords({{droppedSince_, gap}, {clock_, Loss{lossKind(error_), dropped_ - 1, {}}}, *end_});
}

Error refused(const std::string& directory, int error) {
  if (error == EEXIST)
    return Error{Error::Kind::kUsage,
                 inQuotes(directory) + " already exists: remove it or choose another name"};
  // Of no other place there would be more; and a job in a queue shall not end for want of a disk
  // that would do for itself.
  if (error == EMFILE || error == ENFILE || error == ENOMEM || error == kLastOfDisk)
    return Error{Error::Kind::kUnsupported,
                 "cannot make the recording " + inQuotes(directory) + ": " + troubleText(error)};
  return Error{Error::Kind::kIo,
               "making the recording " + inQuotes(directory) + ": " + troubleText(error)};
}

int writeManifest(Storage& storage, int directory, const std::string& manifest) {
  Fd file;
  if (const int error = storage.makeFile(directory, format::kManifestFile, file); error != 0)
    return error;
  return storage.write(file.get(), manifest, 0);
}

}  // namespace

Result<std::unique_ptr<Writer>> createWriter(const std::string& directory, const Manifest& manifest,
                                             const Writer::Options& options, Storage& storage) {
  Fd made;
  if (const int error = storage.makeDirectory(directory, made); error != 0)
    return refused(directory, error);
  const std::string json = manifestToJson(manifest);
  Fd forWriter = openAt(made.get(), ".", O_RDONLY | O_DIRECTORY);
  int error = writeManifest(storage, made.get(), json);
  if (error == 0) {
    auto writer =
        std::make_unique<DirectoryWriter>(storage, directory, std::move(forWriter), json, options);
    error = writer->start();
    if (error == 0) return std::unique_ptr<Writer>(std::move(writer));
  }
  storage.remove(made.get(), format::kManifestFile);
  ::rmdir(directory.c_str());
  return refused(directory, error);
}

Result<std::unique_ptr<Writer>> Writer::create(const std::string& directory,
                                               const Manifest& manifest, const Options& options) {
  static Storage disk;
  return createWriter(directory, manifest, options, disk);
}

}  // namespace stallprof
