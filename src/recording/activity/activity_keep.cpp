// SPDX-License-Identifier: MIT
#include "recording/activity/activity_keep.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <string_view>

namespace stallprof {
namespace {

static_assert(sizeof(kept::Header) == 24);

std::string_view recordBytes(const auto& value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

// The largest part of an area there is.
constexpr std::uint64_t kLengthLimit =
    std::max<std::uint64_t>(STALLPROF_NAME_BYTES, STALLPROF_ACTIVITY_BUFFER_BYTES);

}  // namespace

Result<std::unique_ptr<ActivityKeep>> ActivityKeep::create(const std::string& file) {
  Fd fd = openAt(AT_FDCWD, file.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW, 0600);
  if (!fd.valid()) return ioError("'" + file + "'", errno);
  if (!writeAll(fd.get(), recordBytes(kept::kMagic)))
    return ioError("writing '" + file + "'", errno);
  return std::unique_ptr<ActivityKeep>(new ActivityKeep(std::move(fd)));
}

void ActivityKeep::step(kept::Step step, std::uint32_t area, Nanos now,
                        std::span<const std::uint8_t> bytes) {
  if (!fd_.valid()) return;
  const kept::Header header{step, area, now.count(), bytes.size()};
  if (!writeAll(fd_.get(), recordBytes(header)) ||
      !writeAll(fd_.get(), {reinterpret_cast<const char*>(bytes.data()), bytes.size()}))
    fd_.reset();
}

Result<std::unique_ptr<KeptActivity>> KeptActivity::open(const std::string& file) {
  Fd fd = openAt(AT_FDCWD, file.c_str(), O_RDONLY);
  if (!fd.valid()) return ioError("'" + file + "'", errno);
  std::unique_ptr<KeptActivity> kept(new KeptActivity(std::move(fd)));
  std::array<char, 8> magic{};
  if (!kept->read(magic.data(), magic.size()) || magic != kept::kMagic)
    return Error{Error::Kind::kDamaged, "'" + file + "' is not kept activity"};
  return kept;
}

bool KeptActivity::read(void* to, std::size_t size) {
  return readNext(fd_.get(), to, size) == size;
}

bool KeptActivity::next(Item& item) {
  if (!read(&item.header, sizeof item.header) || item.header.length > kLengthLimit ||
      item.header.area >= STALLPROF_ACTIVITY_AREAS)
    return false;
  item.bytes.resize(item.header.length);
  return read(item.bytes.data(), item.bytes.size());
}

}  // namespace stallprof
