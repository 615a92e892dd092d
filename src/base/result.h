// SPDX-License-Identifier: MIT
#pragma once

#include <string>
#include <utility>
#include <variant>

namespace stallprof {

// What went wrong, for a person: `message` says what failed, on what, and what to try next.
// Context is added where it is known (`within`). No other failure channel crosses a folder's edge.
struct Error {
  enum class Kind {
    kIo,           // the system refused (message holds errno's text)
    kDamaged,      // bytes that cannot be what they claim
    kUnsupported,  // understood, but not by this version or on this host
    kUsage,        // the caller's words are wrong
  };
  Kind kind = Kind::kIo;
  std::string message;

  [[nodiscard]] Error within(const std::string& context) && {
    message = context + ": " + message;
    return std::move(*this);
  }
};

// A value or an Error. No implicit bool: a forgotten check must not compile.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT: wraps
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT: wraps
  operator bool() const = delete;

  [[nodiscard]] bool ok() const { return state_.index() == 0; }
  T& value() & { return std::get<0>(state_); }
  const T& value() const& { return std::get<0>(state_); }
  T&& value() && { return std::get<0>(std::move(state_)); }
  const Error& error() const& { return std::get<1>(state_); }
  Error&& error() && { return std::get<1>(std::move(state_)); }

 private:
  std::variant<T, Error> state_;
};

// Success without a value.
struct Done {};
using Status = Result<Done>;

}  // namespace stallprof
