// SPDX-License-Identifier: MIT
#include "recording/writer.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <deque>
#include <utility>

#include "base/text.h"
#include "recording/encode.h"
#include "recording/segment_encoder.h"
#include "recording/segment_file.h"
#include "recording/sync_thread.h"
#include "recording/writer_storage.h"

namespace stallprof {
namespace {

// A frame is sealed at this size at the latest; a quarter of what a reader accepts, because one
// event may bring identities and strings with it.
constexpr std::size_t kFrameBytes = 128u << 10;
// Frames held while the disk is full: minutes of a usual job (budget: 50 MB an hour).
constexpr std::size_t kHeldBytes = 4u << 20;

bool isFull(int error) { return error == ENOSPC || error == EDQUOT || error == EFBIG; }
// The file cannot go on, but another can: too large for a limit, or its content unknown after EIO.
bool needsNewFile(int error) { return error != ENOSPC && error != EDQUOT; }

// Under a file size limit segments stay below it, so that EFBIG is not met in the first place.
std::size_t segmentLimit(std::size_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return wanted;
  return std::min<std::size_t>(wanted, limit.rlim_cur);
}

class DirectoryWriter final : public Writer {
 public:
  DirectoryWriter(Storage& storage, Fd directory, std::string manifest, const Options& options)
      : options_(options),
        segmentBytes_(segmentLimit(options.segmentBytes)),
        frameBytes_(std::clamp<std::size_t>(segmentBytes_ / 4, 256, kFrameBytes)),
        manifest_(std::move(manifest)),
        encoder_(options.stringBytes),
        files_(storage, std::move(directory)),
        sync_(storage) {}
  ~DirectoryWriter() override = default;

  int start() { return files_.open(manifest_); }

  StringId intern(std::string_view text) override { return encoder_.intern(text); }
  void put(const Event& event) override;
  void tick(Nanos now) override;
  void close() override;
  std::int64_t bytesWritten() const override { return files_.bytesWritten(); }

 private:
  struct Frame {
    std::string payload;
    std::uint64_t events = 0;
  };

  void seal();
  void writeFrames();
  void rollWhenFull();
  void fail(int error);
  void lastWords();
  void resume();
  void drop(std::uint64_t events);
  void reportDropped();
  void reportStrings();
  void syncWhenDue();

  const Options options_;
  const std::size_t segmentBytes_, frameBytes_;
  const std::string manifest_;
  SegmentEncoder encoder_;
  SegmentFiles files_;
  SyncThread sync_;
  std::deque<Frame> frames_;  // sealed, not yet in the file
  std::size_t heldBytes_ = 0;
  Nanos clock_{};               // the latest instant heard of, by a tick or an event
  Nanos lastTick_{}, begun_{};  // the tick before the first event of the frame
  Nanos lastSync_{}, retryAt_{};
  Nanos droppedSince_{};
  std::uint64_t dropped_ = 0;
  int error_ = 0;  // why nothing is being written now; 0: all is well
  bool unsynced_ = false, closed_ = false;
};

void DirectoryWriter::put(const Event& event) {
  if (closed_) return;
  clock_ = std::max(clock_, event.at);
  encoder_.note(event);
  if (error_ != 0 && heldBytes_ + encoder_.payload().size() >= kHeldBytes) return drop(1);
  if (encoder_.events() == 0) begun_ = lastTick_;
  encoder_.encode(event);
  if (encoder_.payload().size() < frameBytes_) return;
  seal();
  writeFrames();
}

void DirectoryWriter::tick(Nanos now) {
  if (closed_) return;
  clock_ = std::max(clock_, now);
  if (error_ != 0 && now >= retryAt_) resume();
  if (encoder_.events() > 0 && now - begun_ >= options_.flushEvery) {
    reportStrings();
    seal();
    writeFrames();
  }
  lastTick_ = now;
  syncWhenDue();
}

void DirectoryWriter::seal() {
  if (encoder_.events() == 0) return;
  frames_.push_back({encoder_.payload(), encoder_.events()});
  heldBytes_ += encoder_.payload().size();
  encoder_.clear();
}

void DirectoryWriter::writeFrames() {
  if (error_ != 0) return;
  while (!frames_.empty()) {
    const Frame& frame = frames_.front();
    if (const int error = files_.append(format::FrameType::kEvents, frame.payload); error != 0)
      return fail(error);
    heldBytes_ -= frame.payload.size();
    frames_.pop_front();
    unsynced_ = true;
  }
  rollWhenFull();
}

// Only between frames: what is encoded already belongs to the segment that is open.
void DirectoryWriter::rollWhenFull() {
  if (encoder_.events() > 0 || files_.size() + frameBytes_ <= segmentBytes_) return;
  if (unsynced_) sync_.request(files_.file());
  encoder_.beginSegment();
  if (const int error = files_.open(manifest_); error != 0) fail(error);
}

void DirectoryWriter::fail(int error) {
  error_ = error;
  retryAt_ = clock_ + options_.retryEvery;
  if (files_.isOpen()) lastWords();
  if (!needsNewFile(error)) return;
  // Frames of the old segment mean nothing in another: they are lost, and counted.
  files_.close();
  std::uint64_t lost = encoder_.events();
  for (const Frame& frame : frames_) lost += frame.events;
  if (lost > 0) drop(lost);
  frames_.clear();
  heldBytes_ = 0;
  encoder_.beginSegment();
  if (error == EFBIG) retryAt_ = clock_;  // a new file may be all it takes
}

// Why the recording stops here, for the case that it never goes on. In the space kept for it, and
// without strings: those of this segment may be in frames that are not written.
void DirectoryWriter::lastWords() {
  std::string words;
  const LossKind kind = isFull(error_) ? LossKind::kDiskFull : LossKind::kWriteError;
  encodeEvent(Event{clock_, Loss{kind, 0, {}}}, Nanos{}, {}, words);
  (void)files_.appendReserved(format::FrameType::kEvents, words);
}

void DirectoryWriter::resume() {
  if (!files_.isOpen())
    if (const int error = files_.open(manifest_); error != 0) {
      retryAt_ = clock_ + options_.retryEvery;
      return;
    }
  const int before = std::exchange(error_, 0);
  writeFrames();
  if (error_ != 0 || dropped_ == 0) return;
  error_ = before;
  reportDropped();
  error_ = 0;
  encoder_.announceAll();
}

void DirectoryWriter::drop(std::uint64_t events) {
  if (dropped_ == 0) droppedSince_ = clock_;
  dropped_ += events;
}

void DirectoryWriter::reportDropped() {
  const LossKind kind = isFull(error_) ? LossKind::kDiskFull : LossKind::kWriteError;
  const StringId why = encoder_.intern(errnoText(error_));
  encoder_.encode(Event{droppedSince_, Gap{clock_ - droppedSince_, why}});
  encoder_.encode(Event{clock_, Loss{kind, dropped_, why}});
  dropped_ = 0;
}

void DirectoryWriter::reportStrings() {
  if (const std::uint64_t over = encoder_.takeStringsOver(); over > 0)
    encoder_.encode(Event{clock_, Loss{LossKind::kStringsFull, over, {}}});
}

void DirectoryWriter::syncWhenDue() {
  if (const int error = sync_.takeError(); error != 0 && error_ == 0) {
    seal();
    writeFrames();
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
  reportStrings();
  seal();
  if (error_ != 0) resume();
  seal();
  writeFrames();
  if (!files_.isOpen()) return;
  if (error_ != 0) {  // still full: say what is lost, in the space kept for it
    for (const Frame& frame : frames_) drop(frame.events);
    std::string words;
    const LossKind kind = isFull(error_) ? LossKind::kDiskFull : LossKind::kWriteError;
    encodeEvent(Event{droppedSince_, Gap{clock_ - droppedSince_, {}}}, Nanos{}, {}, words);
    encodeEvent(Event{clock_, Loss{kind, dropped_, {}}}, droppedSince_, {}, words);
    (void)files_.appendReserved(format::FrameType::kEvents, words);
  }
  (void)files_.appendReserved(format::FrameType::kEnd, {});
  sync_.request(files_.file());
  files_.close();
}

Error refused(const std::string& directory, int error) {
  if (error == EEXIST)
    return Error{Error::Kind::kUsage, "'" + escapeTerminal(directory) +
                                          "' already exists: remove it or choose another name"};
  return ioError("making the recording '" + escapeTerminal(directory) + "'", error);
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
    auto writer = std::make_unique<DirectoryWriter>(storage, std::move(forWriter), json, options);
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
