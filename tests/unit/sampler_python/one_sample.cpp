// SPDX-License-Identifier: MIT
#include "one_sample.h"

#include <algorithm>
#include <fstream>
#include <sstream>

namespace stallprof::python::testing {
namespace {

std::string lastPart(const std::string& path) { return path.substr(path.rfind('/') + 1); }

std::string hexOf(const std::vector<std::uint8_t>& bytes) {
  static const char* kDigits = "0123456789abcdef";
  std::string text;
  for (const std::uint8_t byte : bytes) {
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

std::vector<std::uint8_t> bytesOf(const std::string& hex) {
  std::vector<std::uint8_t> bytes;
  for (std::size_t i = 0; i + 1 < hex.size(); i += 2)
    bytes.push_back(static_cast<std::uint8_t>(std::stoul(hex.substr(i, 2), nullptr, 16)));
  return bytes;
}

}  // namespace

std::string describe(const Stack& stack) {
  std::string text = std::to_string(stack.tid);
  for (const Frame& frame : stack.frames)
    text += " " + frame.function + ":" + lastPart(frame.file) + ":" + std::to_string(frame.line);
  return text;
}

Sample sampleOnce(const Runtime& runtime, RemoteMemory& memory,
                  const std::function<bool(std::uint32_t)>& isThread, Kept& kept, int tries) {
  Sample sample;
  auto attached = Interpreters::attach(runtime, memory);
  if (!attached.ok()) {
    sample.wrong = attached.error().message;
    return sample;
  }
  Interpreters interpreters = std::move(attached).value();
  const Layout& layout = interpreters.layout();
  sample.version = layout.version;
  std::vector<std::uint8_t> states;
  std::vector<const PythonThread*> threads;
  if (!interpreters.list(memory, isThread)) sample.wrong = "the threads cannot be listed";
  for (const PythonThread& thread : interpreters.threads()) threads.push_back(&thread);
  StackReader reader;
  reader.expectNone(interpreters.roomBeside(threads.size()));
  std::vector<StackCopy*> copies;
  for (const PythonThread* thread : threads)
    copies.push_back(reader.expect(layout, kept[thread->tid]));
  const auto refreshed = interpreters.refresh(memory, threads, states, reader.expected());
  if (!refreshed) sample.wrong = "no thread states";
  std::size_t copied = 0;
  CodeCache codes(layout, runtime.codeType);
  for (std::size_t i = 0; sample.wrong.empty() && i < threads.size(); ++i) {
    std::vector<RawFrame> raw;
    Stack stack;
    stack.tid = threads[i]->tid;
    const InterpreterState& of = interpreters.interpreters()[threads[i]->interpreter];
    stack.holdsGil = of.holder == threads[i]->at;
    stack.collecting = of.collecting;
    const auto state = std::span(states).subspan(i * layout.threadBytes, layout.threadBytes);
    if (copies[i] != nullptr) copied += copies[i]->spans();
    if (copied > refreshed->more) copies[i] = nullptr;
    for (int tried = 0; tried < tries && stack.outcome == StackReader::Outcome::kTorn; ++tried)
      stack.outcome = reader.read(layout, threads[i]->at, state, tried == 0 ? copies[i] : nullptr,
                                  memory, kept[threads[i]->tid], raw);
    for (const RawFrame& frame : raw) {
      Code* code = codes.at(frame.code, Nanos(1), memory);
      if (code == nullptr)
        stack.frames.push_back({"?", "?", 0});
      else
        stack.frames.push_back(
            {code->function, code->file, codes.placeOf(*code, frame, memory).line});
    }
    sample.stacks.push_back(std::move(stack));
  }
  return sample;
}

std::size_t RecordingMemory::read(std::span<const RemoteSpan> spans) {
  const std::size_t whole = of_.read(spans);
  for (const RemoteSpan& span : spans.first(whole)) {
    const auto* bytes = static_cast<const std::uint8_t*>(span.into);
    auto& kept = ranges_[span.address];
    if (kept.size() < span.bytes) kept.assign(bytes, bytes + span.bytes);
  }
  return whole;
}

void save(const std::string& path, const std::string& comment, const Runtime& runtime,
          const Sample& sample, const RecordingMemory& memory) {
  std::ofstream out(path);
  out << "# " << comment << "\n"
      << std::hex << "runtime " << runtime.at << " " << runtime.codeType << " " << runtime.versionAt
      << " " << std::dec << runtime.minor << "\n";
  for (const Stack& stack : sample.stacks)
    out << "thread " << stack.tid << "\nstack " << describe(stack) << "\n";
  Address reported = 0;  // ranges that lie within others are left out
  for (const auto& [at, bytes] : memory.ranges()) {
    if (at + bytes.size() <= reported) continue;
    reported = at + bytes.size();
    out << "memory " << std::hex << at << std::dec << " " << hexOf(bytes) << "\n";
  }
}

Image Image::load(const std::string& path) {
  Image image;
  std::ifstream in(path);
  for (std::string line; std::getline(in, line);) {
    std::istringstream words(line);
    std::string kind;
    words >> kind;
    if (kind == "runtime") {
      words >> std::hex >> image.runtime.at >> image.runtime.codeType >> image.runtime.versionAt >>
          std::dec >> image.runtime.minor;
    } else if (kind == "thread") {
      image.threads.emplace_back();
      words >> image.threads.back();
    } else if (kind == "stack") {
      image.stacks.push_back(line.substr(6));
    } else if (kind == "memory") {
      Address at = 0;
      std::string hex;
      words >> std::hex >> at >> hex;
      image.ranges[at] = bytesOf(hex);
    }
  }
  return image;
}

std::size_t Image::read(std::span<const RemoteSpan> spans) {
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const RemoteSpan& span = spans[i];
    auto* into = static_cast<std::uint8_t*>(span.into);
    std::size_t have = 0;  // a read may span ranges that lie end to end
    while (have < span.bytes) {
      const Address at = span.address + have;
      // Of the ranges that begin before, the one that reaches furthest: some overlap.
      const std::vector<std::uint8_t>* best = nullptr;
      Address from = 0;
      for (auto range = ranges.upper_bound(at); range != ranges.begin();) {
        --range;
        if (range->first + range->second.size() > at) {
          best = &range->second;
          from = range->first;
          break;
        }
        if (at - range->first > (1u << 20)) break;
      }
      if (best == nullptr) return i;
      const std::size_t bytes = std::min<std::size_t>(span.bytes - have, from + best->size() - at);
      std::copy_n(best->begin() + static_cast<std::ptrdiff_t>(at - from), bytes, into + have);
      have += bytes;
    }
  }
  return spans.size();
}

}  // namespace stallprof::python::testing
