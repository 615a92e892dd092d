// SPDX-License-Identifier: MIT
#pragma once

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <string>

// What a test wants to go wrong, from the environment variable FAKE_CUPTI: words with spaces
// between. A number after @ is which call or flush it is, from 1; without one, every.
//
//   fail:FUNCTION=CODE@N   that call of cuptiFUNCTION returns CODE
//   hang:flush@N           that flush never returns
//   stop:flush@N           the whole process is stopped (SIGSTOP) within that flush
//   busy@N                 from that flush on, each buffer holds work that is not finished: it
//                          comes back when full alone
//   stuck@N                from that flush on, a buffer comes back by force alone: it waits for a
//                          record that is never finished
//   steal@N                from that flush on, another tool has the buffers: none comes back
//   fatal@N                at that flush CUPTI gives up, and says so
//   invalid@N              from that flush on, kernels have no times: device memory ran out
//   clock:ahead@N          from that flush on, the clock is an hour ahead
//   clock:ticks@N          ... counts ticks of 3 GHz since the host began, as under Kineto
//   tool:NAME              who else is subscribed
namespace fake {

class Script {
 public:
  Script() {
    const char* text = std::getenv("FAKE_CUPTI");
    words_ = std::string(" ") + (text != nullptr ? text : "") + " ";
  }

  // The value after `=` of the word `name`, if it is for call number `call`; 0: not now.
  [[nodiscard]] int value(const std::string& name, long call) const {
    const std::string word = find(name + "=");
    return !word.empty() && isFor(word, call, true) ? std::atoi(word.c_str()) : 0;
  }
  // Whether `name` is wanted at exactly this call, or from it on.
  [[nodiscard]] bool at(const std::string& name, long call) const { return is(name, call, true); }
  [[nodiscard]] bool since(const std::string& name, long call) const {
    return is(name, call, false);
  }
  [[nodiscard]] std::string text(const std::string& name) const { return find(name); }

 private:
  [[nodiscard]] bool is(const std::string& name, long call, bool exactly) const {
    const std::size_t found = words_.find(" " + name);
    if (found == std::string::npos) return false;
    const char after = words_[found + 1 + name.size()];
    return (after == '@' || after == ' ') && isFor(find(name), call, exactly);
  }
  [[nodiscard]] std::string find(const std::string& name) const {
    const std::size_t found = words_.find(" " + name);
    if (found == std::string::npos) return {};
    const std::size_t from = found + 1 + name.size();
    return words_.substr(from, words_.find(' ', from) - from);
  }
  static bool isFor(const std::string& word, long call, bool exactly) {
    const std::size_t mark = word.find('@');
    if (mark == std::string::npos) return true;
    const long wanted = std::atol(word.c_str() + mark + 1);
    return exactly ? call == wanted : call >= wanted;
  }

  std::string words_;
};

}  // namespace fake
