// SPDX-License-Identifier: MIT
// What the writer does when the disk does not: full, limited, failing, and killed.
#include <fcntl.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <filesystem>
#include <random>

#include "recording/storage.h"
#include "recording/writer.h"
#include "sample_events.h"
#include "temporary_directory.h"
#include "tests/catch.h"

namespace stallprof {
namespace {

using testing::readAll;
using testing::Reading;
using testing::TemporaryDirectory;

using secs = std::chrono::seconds;

// A disk that fails as asked, from the Nth call on for `failures` calls.
struct FailingStorage final : Storage {
  enum Call { kMakeFile, kWrite, kReserve, kTruncate, kSync, kCalls };
  struct Plan {
    int after = -1;  // calls that still succeed; -1: never fails
    int failures = 0;
    int error = 0;
  };
  Plan plans[kCalls];
  std::atomic<int> failed{0}, syncs{0};

  void failNext(Call call, int error, int failures = 1, int after = 0) {
    plans[call] = {after, failures, error};
  }
  int trouble(Call call) {
    Plan& plan = plans[call];
    if (plan.after < 0 || plan.failures == 0) return 0;
    if (plan.after > 0) {
      --plan.after;
      return 0;
    }
    --plan.failures;
    ++failed;
    return plan.error;
  }
  int makeFile(int directory, const std::string& name, Fd& file) override {
    const int error = trouble(kMakeFile);
    return error != 0 ? error : Storage::makeFile(directory, name, file);
  }
  int write(int file, std::string_view bytes, std::uint64_t offset) override {
    const int error = trouble(kWrite);
    // As a disk that fills up does: part of it is there.
    (void)Storage::write(file, error != 0 ? bytes.substr(0, bytes.size() / 2) : bytes, offset);
    return error;
  }
  int reserve(int file, std::uint64_t offset, std::uint64_t size) override {
    const int error = trouble(kReserve);
    return error != 0 ? error : Storage::reserve(file, offset, size);
  }
  int truncate(int file, std::uint64_t size) override {
    const int error = trouble(kTruncate);
    return error != 0 ? error : Storage::truncate(file, size);
  }
  int sync(int) override {  // without waiting for the disk the test runs on
    const int error = trouble(kSync);
    ++syncs;
    return error;
  }
};

std::unique_ptr<Writer> writerOn(const std::string& path, Storage& storage,
                                 Writer::Options options = {}) {
  options.retryEvery = secs(1);
  options.reserveBytes = 0;  // each frame meets what a disk has
  auto writer = createWriter(path, testing::sampleManifest(), options, storage);
  INFO((writer.ok() ? std::string() : writer.error().message));
  REQUIRE(writer.ok());
  return std::move(writer).value();
}

void emitCalls(EventOut& out, Nanos at, int count) {
  for (int i = 0; i < count; ++i)
    out.emit(at + Nanos(i), SyscallCount{out.intern("call " + std::to_string(i % 50)), i});
}

std::uint64_t lossCount(const Reading& reading, LossKind kind) {
  std::uint64_t count = 0;
  for (const Loss& loss : reading.all<Loss>())
    if (loss.kind == kind) count += loss.count;
  return count;
}

// ---- errors by injection
// -------------------------------------------------------------------------

TEST_CASE("a disk full for a while costs nothing that fits in memory") {
  for (const auto call : {FailingStorage::kWrite, FailingStorage::kReserve}) {
    const TemporaryDirectory directory;
    FailingStorage storage;
    auto writer = writerOn(directory / "a", storage);
    emitCalls(*writer, secs(1), 10);
    writer->tick(secs(2));
    storage.failNext(call, ENOSPC, 2);
    for (int second = 3; second < 8; ++second) {
      emitCalls(*writer, secs(second), 10);
      writer->tick(secs(second));
    }
    writer->close();
    const auto reading = readAll(directory / "a");
    CHECK(storage.failed == 2);
    CHECK(reading.all<SyscallCount>().size() == 60);
    CHECK(reading.all<Gap>().empty());
    CHECK(lossCount(reading, LossKind::kDiskFull) == 0);
    CHECK(reading.summary.cleanEnd);
    CHECK(reading.summary.lostBytes == 0);
  }
}

// A disk that has room for so many bytes at a time.
struct SmallStorage final : Storage {
  std::uint64_t maxSize = ~0ull;
  int asked = 0;
  int reserve(int file, std::uint64_t offset, std::uint64_t size) override {
    ++asked;
    return size > maxSize ? kLastOfDisk : Storage::reserve(file, offset, size);
  }
};

TEST_CASE("space on the disk is asked for ahead, and for a frame alone where there is no more") {
  for (const bool small : {false, true}) {
    const TemporaryDirectory directory;
    SmallStorage storage;
    if (small) storage.maxSize = 64u << 10;
    auto writer = createWriter(directory / "a", testing::sampleManifest(), {}, storage);
    REQUIRE(writer.ok());
    for (int second = 1; second <= 100; ++second) {
      emitCalls(*writer.value(), secs(second), 10);
      writer.value()->tick(secs(second));
    }
    writer.value()->close();
    CHECK((storage.asked > 100) == small);
    CHECK((storage.asked <= 2) == !small);
    const auto reading = readAll(directory / "a");
    CHECK(reading.all<SyscallCount>().size() == 1000);
    CHECK(lossCount(reading, LossKind::kDiskFull) == 0);
  }
}

TEST_CASE("what does not fit in memory while the disk is full is counted, and a gap recorded") {
  const TemporaryDirectory directory;
  FailingStorage storage;
  auto writer = writerOn(directory / "a", storage);
  writer->emit(Nanos(1), ProcessSeen{{1}, {}, 7, 9, writer->intern("python"), {}, {}});
  writer->tick(secs(1));
  storage.failNext(FailingStorage::kReserve, ENOSPC, 1000);
  const int total = 1'200'000;  // of about 7 bytes: more than 4 MiB
  emitCalls(*writer, secs(2), total / 2);
  writer->emit(secs(3), ProcessSeen{{2}, {1}, 8, 9, writer->intern("python2"), {}, {}});
  emitCalls(*writer, secs(3), total / 2);
  writer->emit(secs(4), ProcessSeen{{3}, {1}, 9, 9, writer->intern("python3"), {}, {}});
  writer->tick(secs(5));
  storage.failNext(FailingStorage::kReserve, 0, 0);
  writer->tick(secs(40));
  emitCalls(*writer, secs(41), 10);
  writer->close();

  const auto reading = readAll(directory / "a");
  const std::uint64_t lost = lossCount(reading, LossKind::kDiskFull);
  CHECK(lost > 0);
  const auto seen = reading.all<ProcessSeen>();
  // Of the three processes' own events, dropped ones are in the count too.
  CHECK(reading.all<SyscallCount>().size() + lost >= std::size_t{total} + 10);
  CHECK(reading.all<SyscallCount>().size() + lost <= std::size_t{total} + 10 + 2);
  REQUIRE(reading.all<Gap>().size() == 1);
  CHECK(reading.all<Gap>()[0].duration > secs(30));
  CHECK(reading.strings.at(reading.all<Gap>()[0].why) == "No space left on device");
  // Processes that appeared in the gap are announced behind it.
  CHECK(std::any_of(seen.begin(), seen.end(),
                    [](const ProcessSeen& process) { return process.process.value == 3; }));
  CHECK(reading.summary.cleanEnd);
}

TEST_CASE("a disk still full at the end has its last words in the space kept for them") {
  const TemporaryDirectory directory;
  FailingStorage storage;
  auto writer = writerOn(directory / "a", storage);
  emitCalls(*writer, secs(1), 10);
  writer->tick(secs(2));
  storage.failNext(FailingStorage::kReserve, ENOSPC, 1000);
  for (int second = 3; second < 300; ++second) {
    emitCalls(*writer, secs(second), 1);
    writer->tick(secs(second));
  }
  writer->close();
  const auto reading = readAll(directory / "a");
  CHECK(reading.all<SyscallCount>().size() == 10);
  CHECK(lossCount(reading, LossKind::kDiskFull) == 297);
  REQUIRE(reading.all<Gap>().size() == 1);
  CHECK(reading.all<Gap>()[0].duration == secs(299) - secs(3));
  CHECK(reading.summary.cleanEnd);
}

TEST_CASE("after an error that is not about space the recording goes on in a new segment") {
  const TemporaryDirectory directory;
  FailingStorage storage;
  auto writer = writerOn(directory / "a", storage);
  writer->emit(Nanos(1), ThreadSeen{{1}, {}, 7, writer->intern("main")});
  emitCalls(*writer, secs(1), 10);
  writer->tick(secs(2));
  storage.failNext(FailingStorage::kWrite, EIO);
  emitCalls(*writer, secs(3), 10);
  writer->tick(secs(4));  // these ten are lost
  writer->tick(secs(6));
  writer->emit(secs(7), ThreadSlice{{1}, Wait::kPipe, {}, {}, {}, {}, 1});
  emitCalls(*writer, secs(7), 10);
  writer->close();
  CHECK(std::filesystem::exists(directory / "a/events-000002.seg"));
  const auto reading = readAll(directory / "a");
  CHECK(reading.all<SyscallCount>().size() == 20);
  CHECK(lossCount(reading, LossKind::kWriteError) == 10);
  CHECK(reading.all<ThreadSeen>().size() == 2);
  REQUIRE(reading.all<Gap>().size() == 1);
  CHECK(reading.summary.cleanEnd);
  CHECK(reading.summary.lostBytes == 0);
}

TEST_CASE("a failed sync is not asked for again: the recording goes on in a new segment") {
  const TemporaryDirectory directory;
  FailingStorage storage;
  storage.failNext(FailingStorage::kSync, EIO);
  auto writer = writerOn(directory / "a", storage);
  for (int second = 1; second < 40 || storage.syncs < 2; ++second) {
    emitCalls(*writer, secs(second), 2);
    writer->tick(secs(second));
    if (second % 5 == 0) ::usleep(2000);  // the other thread's turn
    REQUIRE(second < 10'000);
  }
  writer->close();
  CHECK(std::filesystem::exists(directory / "a/events-000002.seg"));
  const auto reading = readAll(directory / "a");
  CHECK(reading.summary.lostBytes == 0);
  CHECK(reading.all<Gap>().empty());
  CHECK(reading.summary.cleanEnd);
}

TEST_CASE("any call may fail at any time, once or for good: the recording stays readable") {
  for (int call = 0; call < FailingStorage::kCalls; ++call)
    for (const int error : {ENOSPC, EIO, EFBIG, EDQUOT})
      for (const int failures : {1, 1'000'000})
        for (int after = 0; after < 24; ++after) {
          const TemporaryDirectory directory;
          FailingStorage storage;
          storage.failNext(static_cast<FailingStorage::Call>(call), error, failures, after);
          Writer::Options options;
          options.segmentBytes = 4096;
          options.retryEvery = secs(1);
          if (after % 2 == 0) options.reserveBytes = 0;
          auto made = createWriter(directory / "a", testing::sampleManifest(), options, storage);
          INFO("call " << call << " error " << error << " after " << after << " x " << failures);
          if (!made.ok()) {  // before anything was recorded: nothing is left behind
            REQUIRE_FALSE(std::filesystem::exists(directory / "a"));
            continue;
          }
          auto writer = std::move(made).value();
          const int total = 300;
          for (int i = 0; i < total; ++i) {
            emitCalls(*writer, secs(i), 1);
            if (i % 10 == 0) writer->tick(secs(i));
          }
          writer->close();
          writer.reset();
          const auto reading = readAll(directory / "a");
          const std::uint64_t lost =
              lossCount(reading, LossKind::kDiskFull) + lossCount(reading, LossKind::kWriteError);
          if (failures == 1) {
            REQUIRE(reading.all<SyscallCount>().size() + lost >= std::size_t{total});
            REQUIRE(reading.summary.cleanEnd);
          }
          REQUIRE(reading.all<SyscallCount>().size() <= std::size_t{total});
        }
}

// ---- real disks
// ----------------------------------------------------------------------------------

// A tmpfs of its own; not there when this process may not mount.
class SmallDisk {
 public:
  SmallDisk(const std::string& path, const std::string& size) : path_(path) {
    std::filesystem::create_directory(path);
    mounted_ = ::mount("none", path.c_str(), "tmpfs", 0, ("size=" + size).c_str()) == 0;
  }
  ~SmallDisk() {
    if (mounted_) ::umount2(path_.c_str(), MNT_DETACH);
  }
  [[nodiscard]] bool mounted() const { return mounted_; }

 private:
  std::string path_;
  bool mounted_ = false;
};

TEST_CASE("a small disk fills up, is freed, and the recording goes on with a gap") {
  const TemporaryDirectory directory;
  const SmallDisk disk(directory / "disk", "1m");
  if (!disk.mounted()) return testing::skipTest("mounting a tmpfs needs root");
  const std::string ballast = directory / "disk/ballast";
  testing::spit(ballast, std::string(512 << 10, 'x'));
  Storage storage;
  auto writer = writerOn(directory / "disk/a", storage);
  int emitted = 0;
  const auto second = [&](int at) {
    for (int i = 0; i < 10'000; ++i)
      writer->emit(secs(at) + Nanos(i * 1013), SyscallCount{writer->intern("read"), ++emitted});
    writer->tick(secs(at + 1));
  };
  for (int at = 1; at < 80; ++at) second(at);  // full, then past what memory holds
  CHECK(writer->bytesWritten() < (512 << 10));
  const auto meanwhile = readAll(directory / "disk/a");
  CHECK(meanwhile.countOf(LossKind::kDiskFull) == 1);
  CHECK(meanwhile.summary.lostBytes == 0);

  REQUIRE(::mount("none", (directory / "disk").c_str(), "tmpfs", MS_REMOUNT, "size=16m") == 0);
  for (int at = 80; at < 85; ++at) second(at);
  writer->close();
  const auto reading = readAll(directory / "disk/a");
  const auto calls = reading.all<SyscallCount>();
  CHECK(calls.back().count == emitted);
  CHECK(calls.size() + lossCount(reading, LossKind::kDiskFull) ==
        static_cast<std::size_t>(emitted));
  REQUIRE(reading.all<Gap>().size() == 1);
  CHECK(reading.all<Gap>()[0].duration > secs(5));
  CHECK(reading.summary.cleanEnd);
  CHECK(reading.summary.lostBytes == 0);
}

TEST_CASE("of a large file system 2 GiB are left to the job, not a share") {
  CHECK(blocksLeftToTheJob(1'000'000, 4096) == 50'000);
  CHECK(blocksLeftToTheJob(25'000'000'000, 4096) == (2ULL << 30) / 4096);
  CHECK(blocksLeftToTheJob(~0ULL, 1u << 20) == 2048);
}

TEST_CASE("row 63: the last 5 % of a file system are left to the job") {
  const TemporaryDirectory directory;
  const SmallDisk disk(directory / "disk", "2m");
  if (!disk.mounted()) return testing::skipTest("mounting a tmpfs needs root");
  Storage storage;
  auto writer = writerOn(directory / "disk/a", storage);
  for (int at = 1; at < 200; ++at) {
    emitCalls(*writer, secs(at), 3000);
    writer->tick(secs(at + 1));
  }
  CHECK(writer->error() == kLastOfDisk);
  const std::filesystem::space_info space = std::filesystem::space(directory / "disk");
  CHECK(space.available >= space.capacity / 20);
  CHECK(space.available < space.capacity / 10);
  writer->emit(secs(200), CommandEnd{4, -1, 0});
  writer->close();
  const auto reading = readAll(directory / "disk/a");
  CHECK(reading.summary.cleanEnd);
  REQUIRE(reading.all<CommandEnd>().size() == 1);
  CHECK(reading.all<CommandEnd>()[0].exitCode == 4);
  CHECK(reading.all<SyscallCount>().size() + lossCount(reading, LossKind::kDiskFull) == 199 * 3000);

  testing::spit(
      directory / "disk/ballast",
      std::string(std::filesystem::space(directory / "disk").available - space.capacity / 25, 'x'));
  auto none = createWriter(directory / "disk/b", testing::sampleManifest(), {}, storage);
  REQUIRE_FALSE(none.ok());
  CHECK(none.error().kind == Error::Kind::kUnsupported);  // the command runs unrecorded
  CHECK_FALSE(std::filesystem::exists(directory / "disk/b"));
}

TEST_CASE("row 63: a recording stays within the size that it may have, its end included") {
  for (const std::uint64_t limit : {64u << 10, 300u << 10, 512u << 10, 520u << 10}) {
    const TemporaryDirectory directory;
    Storage storage;
    Writer::Options options;
    options.segmentBytes = 256 << 10;
    options.maxBytes = limit;
    auto writer = writerOn(directory / "a", storage, options);
    for (int at = 1; at < 150; ++at) {
      emitCalls(*writer, secs(at), 1000);
      writer->tick(secs(at + 1));
    }
    CHECK(writer->error() == kSizeLimit);
    writer->emit(secs(200), CommandEnd{4, -1, 0});
    writer->close();
    std::uint64_t taken = 0;
    for (const auto& file : std::filesystem::directory_iterator(directory / "a"))
      taken += file.file_size();
    CHECK(taken <= limit);
    CHECK(taken > limit / 2);
    const auto reading = readAll(directory / "a");
    CHECK(reading.summary.cleanEnd);
    CHECK(reading.all<CommandEnd>().size() == 1);
    CHECK(reading.all<SyscallCount>().size() + lossCount(reading, LossKind::kDiskFull) == 149'000);
  }
}

TEST_CASE("an end that is on disk is not written again where what follows it has no room") {
  const TemporaryDirectory directory;
  FailingStorage storage;
  auto writer = writerOn(directory / "a", storage);
  writer->emit(secs(1), CommandEnd{4, -1, 0});
  writer->flush();
  storage.failNext(FailingStorage::kReserve, ENOSPC, 1000);
  emitCalls(*writer, secs(2), 10);
  writer->close();
  const auto reading = readAll(directory / "a");
  CHECK(reading.all<CommandEnd>().size() == 1);
  CHECK(reading.all<SyscallCount>().size() + lossCount(reading, LossKind::kDiskFull) == 10);
}

TEST_CASE("space freed by somebody else is used again") {
  const TemporaryDirectory directory;
  const SmallDisk disk(directory / "disk", "1m");
  if (!disk.mounted()) return testing::skipTest("mounting a tmpfs needs root");
  testing::spit(directory / "disk/ballast", std::string(880 << 10, 'x'));
  Storage storage;
  auto writer = writerOn(directory / "disk/a", storage);
  for (int at = 1; at < 10; ++at) {
    emitCalls(*writer, secs(at), 2000);
    writer->tick(secs(at + 1));
  }
  CHECK(readAll(directory / "disk/a").countOf(LossKind::kDiskFull) == 1);
  std::filesystem::remove(directory / "disk/ballast");
  writer->tick(secs(20));
  writer->close();
  const auto reading = readAll(directory / "disk/a");
  CHECK(reading.all<SyscallCount>().size() == 9 * 2000);
  CHECK(reading.all<Gap>().empty());
  CHECK(reading.summary.cleanEnd);
}

// Runs `body` in a child of its own and gives its wait status.
template <class Body>
int inChild(Body body) {
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    body();
    ::_exit(0);
  }
  int status = -1;
  ::waitpid(child, &status, 0);
  return status;
}

TEST_CASE("under a file size limit the recording is in more and smaller segments") {
  const TemporaryDirectory directory;
  const int status = inChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{32 << 10, RLIM_INFINITY};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    auto writer = std::move(Writer::create(directory / "a", testing::sampleManifest())).value();
    for (int at = 1; at < 50; ++at) {
      emitCalls(*writer, secs(at), 500);
      writer->tick(secs(at + 1));
    }
    writer->close();
  });
  CHECK(status == 0);
  const auto reading = readAll(directory / "a");
  CHECK(reading.all<SyscallCount>().size() == 49 * 500);
  CHECK(reading.all<Loss>().empty());
  CHECK(std::filesystem::exists(directory / "a/events-000005.seg"));
}

TEST_CASE("a file size limit set while recording costs what was in flight") {
  const TemporaryDirectory directory;
  const int status = inChild([&] {
    ::signal(SIGXFSZ, SIG_IGN);
    auto writer = std::move(Writer::create(directory / "a", testing::sampleManifest())).value();
    for (int at = 1; at < 20; ++at) {
      if (at == 5) {
        const rlimit limit{16 << 10, RLIM_INFINITY};
        ::setrlimit(RLIMIT_FSIZE, &limit);
      }
      emitCalls(*writer, secs(at), 1000);
      writer->tick(secs(at + 1));
    }
    writer->close();
  });
  CHECK(status == 0);
  const auto reading = readAll(directory / "a");
  const std::uint64_t lost = lossCount(reading, LossKind::kDiskFull);
  CHECK(lost > 0);
  CHECK(reading.all<SyscallCount>().size() + lost == 19 * 1000);
  CHECK(reading.summary.lostBytes == 0);
  CHECK(reading.summary.cleanEnd);
}

// ---- refusals
// ------------------------------------------------------------------------------------

TEST_CASE("a writer takes no name that is there already, nor follows a link") {
  const TemporaryDirectory directory;
  std::filesystem::create_directory(directory / "there");
  testing::spit(directory / "file", "");
  std::filesystem::create_symlink(directory / "nowhere", directory / "dangling");
  std::filesystem::create_directory_symlink(directory / "there", directory / "link");
  for (const char* name : {"there", "file", "dangling", "link"}) {
    const auto writer = Writer::create(directory / name, testing::sampleManifest());
    REQUIRE_FALSE(writer.ok());
    CHECK(writer.error().message.find("already exists") != std::string::npos);
  }
  CHECK(std::filesystem::is_empty(directory / "there"));
  CHECK_FALSE(std::filesystem::exists(directory / "nowhere"));
  const auto nested = Writer::create(directory / "no/such/a", testing::sampleManifest());
  REQUIRE_FALSE(nested.ok());
  CHECK(nested.error().message.find("No such file or directory") != std::string::npos);
}

TEST_CASE("row 76: what is discarded is what was made, not what lies at its path by now") {
  for (const bool link : {false, true}) {
    const TemporaryDirectory directory;
    std::filesystem::create_directory(directory / "theirs");
    testing::spit(directory / "theirs/file", "kept");
    auto writer = std::move(Writer::create(directory / "a", testing::sampleManifest())).value();
    testing::spit(directory / "a/log", "ours");
    std::filesystem::rename(directory / "a", directory / "b");
    if (link)
      std::filesystem::create_symlink(directory / "theirs", directory / "a");
    else
      std::filesystem::rename(directory / "theirs", directory / "a");
    writer->discard();
    CHECK(testing::slurp(directory / "a/file") == "kept");
    CHECK(std::filesystem::is_empty(directory / "b"));
  }
  const TemporaryDirectory directory;
  auto writer = std::move(Writer::create(directory / "a", testing::sampleManifest())).value();
  writer->discard();
  CHECK_FALSE(std::filesystem::exists(directory / "a"));
}

TEST_CASE("a recording goes on when its directory is renamed or removed under it") {
  const TemporaryDirectory directory;
  Writer::Options options;
  options.segmentBytes = 4096;
  Storage storage;
  auto renamed = writerOn(directory / "a", storage, options);
  std::filesystem::rename(directory / "a", directory / "b");
  emitCalls(*renamed, secs(1), 2000);
  renamed->close();
  CHECK(readAll(directory / "b").all<SyscallCount>().size() == 2000);

  auto removed = writerOn(directory / "c", storage, options);
  std::filesystem::remove_all(directory / "c");
  emitCalls(*removed, secs(1), 2000);
  removed->tick(secs(2));
  removed->close();
  CHECK_FALSE(std::filesystem::exists(directory / "c"));
}

// ---- budgets
// -------------------------------------------------------------------------------------

TEST_CASE("a million names do not grow the recorder: past the budget they are (other)") {
  const TemporaryDirectory directory;
  Storage storage;
  Writer::Options options;
  options.stringBytes = 100'000;
  auto writer = writerOn(directory / "a", storage, options);
  for (int i = 0; i < 50'000; ++i)
    writer->emit(Nanos(i), SyscallCount{writer->intern("name " + std::to_string(i)), i});
  writer->close();
  const auto reading = readAll(directory / "a");
  const auto calls = reading.all<SyscallCount>();
  REQUIRE(calls.size() == 50'000);
  CHECK(reading.strings.at(calls.front().name) == "name 0");
  CHECK(reading.strings.at(calls.back().name) == "(other)");
  std::size_t other = 0;
  for (const auto& call : calls) other += reading.strings.at(call.name) == "(other)";
  CHECK(lossCount(reading, LossKind::kStringsFull) == other);
}

TEST_CASE("texts of any length and content are kept up to 64 KiB") {
  const TemporaryDirectory directory;
  Storage storage;
  auto writer = writerOn(directory / "a", storage);
  const std::string odd("\0\xFF\n\x1B[2J\xF6\x5A\xA5\xF5 x", 13);
  writer->emit(Nanos(1), SyscallCount{writer->intern(odd), 1});
  for (int i = 0; i < 40; ++i)  // a chain of processes with long names, announced at once
    writer->emit(Nanos(2), ProcessSeen{{static_cast<std::uint32_t>(i + 1)},
                                       {static_cast<std::uint32_t>(i)},
                                       1,
                                       1,
                                       {},
                                       writer->intern(std::string(2'000'000, char('A' + i))),
                                       {}});
  writer->close();
  const auto reading = readAll(directory / "a");
  CHECK(reading.strings.at(reading.all<SyscallCount>()[0].name) == odd);
  REQUIRE(reading.all<ProcessSeen>().size() == 40);
  CHECK(reading.strings.at(reading.all<ProcessSeen>()[39].command) ==
        std::string(65'536, char('A' + 39)));
  CHECK(reading.all<Loss>().empty());
}

TEST_CASE("identities that ended are forgotten with the segment they were used in") {
  const TemporaryDirectory directory;
  Storage storage;
  auto writer = writerOn(directory / "a", storage, {.segmentBytes = 4096});
  writer->emit(Nanos(1), ThreadSeen{{1}, {}, 7, writer->intern("short")});
  writer->emit(Nanos(2), ThreadSeen{{2}, {}, 8, writer->intern("long")});
  writer->emit(Nanos(3), ThreadGone{{1}});
  for (int i = 0; i < 5000; ++i)
    writer->emit(Nanos(10 + i), ThreadSlice{{2}, Wait::kPipe, {}, {}, {}, {}, 1});
  writer->close();
  std::size_t shortLived = 0, longLived = 0;
  for (const ThreadSeen& thread : readAll(directory / "a").all<ThreadSeen>())
    (thread.thread.value == 1 ? shortLived : longLived)++;
  CHECK(shortLived == 1);
  CHECK(longLived > 3);
}

// ---- while it is written, and killed
// ---------------------------------------------------------------

TEST_CASE("a recording is read while it is written") {
  const TemporaryDirectory directory;
  Storage storage;
  auto writer = writerOn(directory / "a", storage, {.segmentBytes = 8192});
  std::size_t before = 0;
  for (int at = 1; at < 60; ++at) {
    emitCalls(*writer, secs(at), 50);
    writer->tick(secs(at + 1));
    const auto reading = readAll(directory / "a");
    const std::size_t found = reading.all<SyscallCount>().size();
    REQUIRE(found >= before);
    REQUIRE(found == static_cast<std::size_t>(at) * 50);
    REQUIRE(reading.summary.lostBytes == 0);
    REQUIRE_FALSE(reading.summary.cleanEnd);
    before = found;
  }
}

// Writes until it is killed; after each flush says on `acknowledge` how many events that were.
[[noreturn]] void writeForever(const std::string& path, int acknowledge) {
  Writer::Options options;
  options.segmentBytes = 64 << 10;
  options.flushEvery = Nanos(1);
  options.syncEvery = std::chrono::milliseconds(5);
  auto writer = std::move(Writer::create(path, testing::sampleManifest(), options)).value();
  std::int64_t count = 0;
  for (Nanos clock{1};; clock += std::chrono::milliseconds(1)) {
    for (int i = 0; i < 20; ++i)
      writer->emit(clock, SyscallCount{writer->intern("n" + std::to_string(count % 100)), ++count});
    writer->tick(clock);
    if (!writeAll(acknowledge, {reinterpret_cast<const char*>(&count), sizeof count})) ::_exit(1);
  }
}

TEST_CASE("a writer killed at any of 200 random instants leaves every flushed event readable") {
  const TemporaryDirectory directory;
  std::mt19937 random(12345);
  std::int64_t recovered = 0;
  for (int round = 0; round < 200; ++round) {
    const std::string path = directory / std::to_string(round);
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    const Fd read(ends[0]);
    Fd write(ends[1]);
    const pid_t child = ::fork();
    REQUIRE(child >= 0);
    if (child == 0) writeForever(path, write.get());
    write.reset();
    std::int64_t acknowledged = 0, next = 0;
    // Killed between 0 and 8 ms after its first flush.
    REQUIRE(::read(read.get(), &acknowledged, sizeof acknowledged) == sizeof acknowledged);
    ::usleep(static_cast<useconds_t>(random() % 8000));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    while (::read(read.get(), &next, sizeof next) == sizeof next) acknowledged = next;
    const auto reading = readAll(path);
    const auto calls = reading.all<SyscallCount>();
    INFO("round " << round);
    REQUIRE(static_cast<std::int64_t>(calls.size()) >= acknowledged);
    for (std::size_t i = 0; i < calls.size(); ++i)
      REQUIRE(calls[i].count == static_cast<std::int64_t>(i) + 1);
    recovered += static_cast<std::int64_t>(calls.size());
    std::filesystem::remove_all(path);
  }
  CHECK(recovered > 200 * 20);
}

}  // namespace
}  // namespace stallprof
