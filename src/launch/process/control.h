// SPDX-License-Identifier: MIT
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "base/fd.h"
#include "base/result.h"
#include "base/time.h"

namespace stallprof {

// What front and recorder say to each other, one datagram each over a SOCK_SEQPACKET pair. An
// unknown kind is ignored by both, so that requests can be added.
struct ControlMessage {
  enum class Kind : std::uint32_t {
    kReady = 1,  // recorder: prepared; `text`, `second`: the paths of event and activity memory
    kRefused,    // recorder: cannot record; `text` says why, for a person. `flag`: no other place
                 // would do, the host lacks what it takes; `number`, not 0: the name is taken
    kCommand,    // front: the held command is process `number`
    kArmed,      // recorder: opened what it needs on the command
    kUninstrumented,  // front: the command runs without the injection; `text` says why
    kSignal,          // front: signal `number` reached it; `flag`: passed on to the command
    kEnded,           // front: the command ended with code `number`, or by it as a signal (`flag`)
    kClosed,          // recorder: the recording is complete; `wide` bytes of it; `number` outlived;
              // `text`: why it lacks its end; `flag`: the hook applied what it was to change
    kDiscard,    // front: the command never started; remove the recording
    kProgress,   // recorder: `text` says how the run goes
    kEnough,     // recorder: the command has made the steps that it was to make
    kWitnessed,  // recorder: a signal reached it; the Witness has the counts
    kStopped,    // front: it stops as the command did (`flag`), or goes on
  };
  Kind kind = Kind::kReady;
  std::int32_t number = 0;
  bool flag = false;
  std::int64_t wide = 0;
  std::string text{};    // cut to what fits a datagram
  std::string second{};  // likewise
};

class Control {
 public:
  Control() = default;
  explicit Control(Fd socket) : socket_(std::move(socket)) {}
  [[nodiscard]] static Result<std::pair<Control, Control>> makePair();

  // Never blocks and never signals: false when the other end is gone or its queue is full.
  bool send(const ControlMessage& message) const;
  // The next message there is. `closed()` after the other end went away.
  [[nodiscard]] std::optional<ControlMessage> receive();
  // Waits for a message of one of the two kinds, dropping others; none when the other end goes away
  // or at `deadline`.
  [[nodiscard]] std::optional<ControlMessage> await(ControlMessage::Kind kind,
                                                    ControlMessage::Kind orKind, Nanos deadline);
  [[nodiscard]] bool closed() const { return closed_; }
  [[nodiscard]] int fd() const { return socket_.get(); }
  [[nodiscard]] Fd takeSocket() { return std::move(socket_); }

 private:
  Fd socket_;
  bool closed_ = false;
};

}  // namespace stallprof
