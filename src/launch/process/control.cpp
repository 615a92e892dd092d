// SPDX-License-Identifier: MIT
#include "launch/process/control.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>

namespace stallprof {
namespace {

constexpr std::size_t kTextLimit = 4096;  // PATH_MAX: the longest text is a path or one sentence

struct Header {
  std::uint32_t kind;
  std::int32_t number;
  std::int64_t wide;
  std::uint32_t flag;
  std::uint32_t textBytes;  // the rest is `second`
};
static_assert(sizeof(Header) == 24);

}  // namespace

Result<std::pair<Control, Control>> Control::makePair() {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends) != 0)
    return ioError("making the recorder's socket", errno);
  return std::pair(Control(Fd(ends[0])), Control(Fd(ends[1])));
}

bool Control::send(const ControlMessage& message) const {
  const std::size_t text = std::min(message.text.size(), kTextLimit);
  Header header{static_cast<std::uint32_t>(message.kind), message.number, message.wide,
                message.flag ? 1u : 0u, static_cast<std::uint32_t>(text)};
  iovec parts[3] = {
      {&header, sizeof header},
      {const_cast<char*>(message.text.data()), text},
      {const_cast<char*>(message.second.data()), std::min(message.second.size(), kTextLimit)}};
  msghdr datagram{};
  datagram.msg_iov = parts;
  datagram.msg_iovlen = 3;
  return ::sendmsg(socket_.get(), &datagram, MSG_NOSIGNAL | MSG_DONTWAIT) >= 0;
}

std::optional<ControlMessage> Control::receive() {
  char bytes[sizeof(Header) + 2 * kTextLimit];
  ssize_t got = -1;
  do got = ::recv(socket_.get(), bytes, sizeof bytes, MSG_DONTWAIT);
  while (got < 0 && errno == EINTR);
  if (got == 0 || (got < 0 && errno != EAGAIN)) closed_ = true;
  if (got < static_cast<ssize_t>(sizeof(Header))) return std::nullopt;
  Header header;
  std::copy_n(bytes, sizeof header, reinterpret_cast<char*>(&header));
  ControlMessage message;
  message.kind = static_cast<ControlMessage::Kind>(header.kind);
  message.number = header.number;
  message.flag = header.flag != 0;
  message.wide = header.wide;
  const std::string_view texts(bytes + sizeof header,
                               static_cast<std::size_t>(got) - sizeof header);
  message.text = texts.substr(0, header.textBytes);
  message.second = texts.substr(message.text.size());
  return message;
}

std::optional<ControlMessage> Control::await(ControlMessage::Kind kind, ControlMessage::Kind orKind,
                                             Nanos deadline) {
  for (;;) {
    while (const auto message = receive())
      if (message->kind == kind || message->kind == orKind) return message;
    if (closed_) return std::nullopt;
    const Nanos left = deadline - now();
    if (left <= Nanos(0)) return std::nullopt;
    pollfd ready{socket_.get(), POLLIN, 0};
    const auto wait = std::chrono::ceil<std::chrono::milliseconds>(left).count();
    ::poll(&ready, 1, static_cast<int>(std::min<std::int64_t>(wait, 60'000)));
  }
}

}  // namespace stallprof
