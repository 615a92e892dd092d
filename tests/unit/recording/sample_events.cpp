// SPDX-License-Identifier: MIT
#include "sample_events.h"

#include <fstream>
#include <sstream>
#include <type_traits>

#include "event/event.h"
#include "tests/catch.h"

namespace stallprof::testing {
namespace {

// Gives every field a value: 1, 2, 3 ... in turn, negative for every other signed one.
struct FieldFiller {
  EventOut& out;
  int& next;

  void operator()(const char* name, StringId& id) const {
    id = out.intern(std::string(name) + " " + std::to_string(next++));
  }
  template <class Tag>
  void operator()(const char*, Id<Tag>& id) const {
    id.value = 1;
  }
  void operator()(const char*, Nanos& time) const { time = Nanos(1'000'000'007L * next++); }
  void operator()(const char*, bool& flag) const { flag = !flag; }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(const char*, T& value) const { value = static_cast<T>(knownValues(value) - 1); }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const char*, T& value) const {
    value = static_cast<T>(std::is_signed_v<T> && next % 2 == 0 ? -next : next * 1001);
    ++next;
  }
};

struct FieldPrinter {
  std::ostringstream& text;
  const Strings& strings;

  void operator()(const char* name, StringId id) const {
    text << ' ' << name << "='" << strings.at(id) << "'";
  }
  template <class Tag>
  void operator()(const char* name, Id<Tag> id) const {
    text << ' ' << name << '=' << id.value;
  }
  void operator()(const char* name, Nanos time) const {
    text << ' ' << name << '=' << time.count();
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(const char* name, T value) const { text << ' ' << name << '=' << nameOf(value); }
  template <class T>
  requires std::is_integral_v<T>
  void operator()(const char* name, T value) const { text << ' ' << name << '=' << +value; }
};

template <class... P>
std::vector<Event> fillEach(EventOut& out, std::variant<P...>*) {
  std::vector<Event> events;
  int next = 1;
  const auto add = [&]<class Q>(Q payload) {
    Q::fields(payload, FieldFiller{out, next});
    events.push_back(Event{Nanos(1'000'000L * next - 5'000'000), payload});
  };
  (add(P{}), ...);
  return events;
}

std::vector<std::string> describeAll(const std::vector<Event>& events, const Strings& strings) {
  std::vector<std::string> lines;
  for (const Event& event : events) lines.push_back(describe(event, strings));
  return lines;
}

}  // namespace

Manifest sampleManifest() {
  Manifest manifest;
  manifest.toolVersion = "0.1.0";
  manifest.command = {Untrusted("python"), Untrusted("train.py"), Untrusted("--epochs=3")};
  manifest.directory = Untrusted("/home/user");
  manifest.environment = {{"OMP_NUM_THREADS", Untrusted("4")}};
  manifest.startedRealtime = Nanos(1'700'000'000'000'000'000);
  manifest.startedMonotonic = Nanos(5'000'000'000);
  manifest.frontPid = 100;
  manifest.recorderPid = 101;
  manifest.hz = 100;
  manifest.budget = 2.5;
  manifest.host = {"node1", "6.1.0", "a CPU", "boot-id", 8, 3.5, 16LL << 30, 4096, 100};
  return manifest;
}

std::vector<Event> oneOfEachKind(EventOut& out) {
  return fillEach(out, static_cast<Payload*>(nullptr));
}

std::string describe(const Event& event, const Strings& strings) {
  std::ostringstream text;
  text << event.at.count();
  std::visit(
      [&]<class P>(const P& payload) {
        text << ' ' << P::kName;
        P::fields(payload, FieldPrinter{text, strings});
      },
      event.payload);
  return text.str();
}

std::vector<std::string> describe(const EventList& list) {
  return describeAll(list.events, list.strings);
}

std::vector<std::string> Reading::described() const { return describeAll(events, strings); }

std::size_t Reading::countOf(LossKind kind) const {
  std::size_t count = 0;
  for (const Loss& loss : all<Loss>()) count += loss.kind == kind;
  return count;
}

Reading readAll(const std::string& directory) {
  Reading reading;
  auto summary = readRecording(directory, reading.strings,
                               [&](const Event& event) { reading.events.push_back(event); });
  INFO((summary.ok() ? std::string() : summary.error().message));
  REQUIRE(summary.ok());
  reading.summary = std::move(summary).value();
  return reading;
}

Result<ReadSummary> tryRead(const std::string& directory) {
  Strings strings;
  return readRecording(directory, strings, [](const Event&) {});
}

std::string slurp(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream bytes;
  bytes << file.rdbuf();
  return bytes.str();
}

void spit(const std::string& path, const std::string& bytes) {
  std::ofstream(path, std::ios::binary | std::ios::trunc) << bytes;
}

}  // namespace stallprof::testing
