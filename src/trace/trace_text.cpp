// SPDX-License-Identifier: MIT
#include "trace/trace_text.h"

#include <algorithm>
#include <charconv>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "trace/manifest_text.h"
#include "trace/text_value.h"
#include "trace/trace_builder.h"

namespace stallprof {
namespace {

// What `repeat` may make of a text: enough for any test, too little to fill memory.
constexpr std::size_t kMostEvents = 2'000'000;

std::span<const std::string_view> namesOf(Wait) { return kWaitNames; }
std::span<const std::string_view> namesOf(Phase) { return kPhaseNames; }
std::span<const std::string_view> namesOf(SpanSource) { return kSpanSourceNames; }
std::span<const std::string_view> namesOf(Coverage) { return kCoverageNames; }
std::span<const std::string_view> namesOf(FrameKind) { return kFrameKindNames; }
std::span<const std::string_view> namesOf(Gil) { return kGilNames; }
std::span<const std::string_view> namesOf(DeviceWorkKind) { return kDeviceWorkKindNames; }
std::span<const std::string_view> namesOf(HostMemory) { return kHostMemoryNames; }
std::span<const std::string_view> namesOf(DeviceCallKind) { return kDeviceCallKindNames; }
std::span<const std::string_view> namesOf(LossKind) { return kLossNames; }

// ---- values of one field, both ways -------------------------------------------------------------

struct FieldReader {
  const TextWord& word;
  std::int64_t round;
  Strings& strings;

  bool read(StringId& field) const {
    if (!word.quoted) return false;
    field = strings.intern(word.value);
    return true;
  }
  template <class Tag>
  bool read(Id<Tag>& field) const {
    return read(field.value);
  }
  bool read(Nanos& field) const {
    Nanos::rep count = 0;
    if (!number(count, true)) return false;
    field = Nanos{count};
    return true;
  }
  bool read(bool& field) const {
    std::uint8_t value = 0;
    if (!number(value, false) || value > 1) return false;
    field = value == 1;
    return true;
  }
  template <class T>
  requires std::is_integral_v<T>
  bool read(T& field) const { return number(field, false); }
  template <class T>
  requires std::is_enum_v<T>
  bool read(T& field) const {
    const auto names = namesOf(T{});
    const auto found = std::find(names.begin(), names.end(), word.value);
    if (word.quoted || found == names.end()) return false;
    field = static_cast<T>(found - names.begin());
    return true;
  }

 private:
  template <class T>
  bool number(T& field, bool time) const {
    const std::optional<Wide> value =
        word.quoted ? std::nullopt : parseNumber(word.value, time, round);
    if (!value || *value < Wide{std::numeric_limits<T>::min()} ||
        *value > Wide{std::numeric_limits<T>::max()})
      return false;
    field = static_cast<T>(*value);
    return true;
  }
};

std::string written(StringId id, const Strings& strings) { return quoteText(strings.at(id)); }
template <class Tag>
std::string written(Id<Tag> id, const Strings&) {
  return std::to_string(id.value);
}
std::string written(Nanos t, const Strings&) { return std::to_string(t.count()); }
template <class T>
std::string written(T value, const Strings&) {
  if constexpr (std::is_enum_v<T>)
    return std::string(nameOf(value));
  else
    return std::to_string(value);
}

template <class P>
std::string payloadLine(const P& payload, const Strings& strings) {
  std::vector<std::string> defaults;
  const P plain{};
  const Strings none;
  P::fields(plain,
            [&](const char*, const auto& field) { defaults.push_back(written(field, none)); });
  std::string line = P::kName;
  std::size_t i = 0;
  P::fields(payload, [&](const char* name, const auto& field) {
    const std::string value = written(field, strings);
    if (value != defaults[i++]) line.append(" ").append(name).append("=").append(value);
  });
  return line;
}

// ---- a line of text into an event
// -----------------------------------------------------------------

// Fills `payload` from `words`; the reason when a word fits no field.
template <class P>
std::optional<std::string> fill(P& payload, std::span<const TextWord> words, std::int64_t round,
                                Strings& strings) {
  for (const TextWord& word : words) {
    bool known = false, good = false;
    P::fields(payload, [&](const char* name, auto& field) {
      if (word.name == name) known = true, good = FieldReader{word, round, strings}.read(field);
    });
    if (!known) return "'" + word.name + "' is no field of " + P::kName;
    if (!good) return "'" + word.value + "' cannot be the " + word.name + " of " + P::kName;
  }
  return std::nullopt;
}

std::optional<std::string> parsePayload(std::string_view kind, std::span<const TextWord> words,
                                        std::int64_t round, Strings& strings, Payload& into) {
  std::optional<std::string> wrong = "no kind of event is called '" + std::string(kind) + "'";
  const auto tryKind = [&]<class P>(P payload) {
    if (kind != P::kName) return;
    wrong = fill(payload, words, round, strings);
    into = payload;
  };
  [&]<class... P>(std::variant<P...>*) { (tryKind(P{}), ...); }(static_cast<Payload*>(nullptr));
  return wrong;
}

// ---- the whole text
// -------------------------------------------------------------------------------

struct Line {
  std::size_t number = 0;
  std::vector<TextWord> words;
};

class Parser {
 public:
  Result<Trace> parse(std::string_view text) {
    for (std::size_t number = 1; !text.empty(); ++number) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      take(number, text.substr(0, end));
      if (wrong_) return Error{Error::Kind::kDamaged, *wrong_};
      text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (repeating_) return Error{Error::Kind::kDamaged, "repeat without end"};
    return builder_.seal();
  }

 private:
  void take(std::size_t number, std::string_view text) {
    std::optional<std::vector<TextWord>> words = splitWords(text);
    if (!words) return fail(number, "a quoted text does not end, or holds a bad escape");
    if (words->empty()) return;
    const Line line{number, std::move(*words)};
    const std::string& first = line.words[0].name;
    if (first == "repeat") return beginRepeat(line);
    if (first == "end") return endRepeat(number);
    if (repeating_) return body_.push_back(line);
    if (first == "manifest") return takeManifest(line);
    if (first == "clean_end") return builder_.setCleanEnd(true);
    takeEvent(line, 0, Nanos{0});
  }

  void beginRepeat(const Line& line) {
    const auto number = [&](std::size_t i, bool time) {
      return i < line.words.size() ? parseNumber(line.words[i].name, time, 0) : std::nullopt;
    };
    const std::optional<Wide> rounds = number(1, false), every = number(3, true);
    const bool shape = line.words.size() == 4 && line.words[2].name == "every";
    if (!shape || !rounds || !every || *rounds < 0 || *every < 0 || repeating_)
      return fail(line.number, "expected: repeat N every TIME, not inside another");
    repeating_ = true, body_.clear();
    rounds_ = *rounds, every_ = *every;
  }

  void endRepeat(std::size_t number) {
    if (!repeating_) return fail(number, "end without repeat");
    repeating_ = false;
    if (rounds_ > static_cast<Wide>(kMostEvents) ||
        every_ > std::numeric_limits<Nanos::rep>::max() / (rounds_ + 1))
      return fail(number, "repeat is too long");
    for (std::int64_t round = 0; round < static_cast<std::int64_t>(rounds_); ++round)
      for (const Line& line : body_)
        takeEvent(line, round, Nanos(static_cast<Nanos::rep>(every_)) * round);
  }

  void takeManifest(const Line& line) {
    for (std::size_t i = 1; i < line.words.size(); ++i)
      if (!readManifest(line.words[i], builder_.manifest()))
        return fail(line.number, "'" + line.words[i].name + "' cannot be so in a manifest");
  }

  void takeEvent(const Line& line, std::int64_t round, Nanos shift) {
    if (wrong_) return;
    if (line.words.size() < 2) return fail(line.number, "expected: AT KIND FIELD=VALUE ...");
    const std::optional<Wide> at = parseNumber(line.words[0].name, true, round);
    if (!at || *at < 0 || *at > std::numeric_limits<Nanos::rep>::max() - shift.count())
      return fail(line.number, "'" + line.words[0].name + "' is no time");
    if (++events_ > kMostEvents) return fail(line.number, "too many events");
    Event event{Nanos(static_cast<Nanos::rep>(*at)) + shift, {}};
    const std::optional<std::string> wrong =
        parsePayload(line.words[1].name, std::span(line.words).subspan(2), round,
                     builder_.strings(), event.payload);
    if (wrong) return fail(line.number, *wrong);
    builder_.take(event);
  }

  void fail(std::size_t number, const std::string& why) {
    if (!wrong_) wrong_ = "line " + std::to_string(number) + ": " + why;
  }

  TraceBuilder builder_;
  std::optional<std::string> wrong_;
  std::vector<Line> body_;
  bool repeating_ = false;
  Wide rounds_ = 0, every_ = 0;
  std::size_t events_ = 0;
};

// ---- a Trace into text
// ----------------------------------------------------------------------------

struct Lines {
  const Trace& trace;
  std::vector<std::pair<Nanos, std::string>> lines;

  template <class P>
  void add(Nanos at, const P& payload) {
    lines.emplace_back(at, eventLine(Event{at, payload}, trace.strings));
  }
  template <class P>
  void addAll(const Table<P>& table) {
    for (const Timed<P>& row : table) add(row.at, row.data);
  }
};

void addLives(Lines& into) {
  const Trace& trace = into.trace;
  for (const ProcessLife& p : trace.processes) {
    into.add(p.seen, ProcessSeen{p.id, p.parent, p.pid, 0, p.comm, p.command, p.exe});
    if (p.gone != Nanos::max()) into.add(p.gone, ProcessGone{p.id});
    into.addAll(p.usage);
  }
  for (const Timed<StackSeen>& s : trace.stacks)
    if (!s.data.stack.none()) into.add(s.at, s.data);
  for (const ThreadLife& t : trace.threads) {
    into.add(t.seen, ThreadSeen{t.id, t.process, t.tid, t.name});
    if (t.gone != Nanos::max()) into.add(t.gone, ThreadGone{t.id});
    into.addAll(t.slices);
    into.addAll(t.stacks);
    into.addAll(t.natives);
  }
}

}  // namespace

Result<Trace> parseTrace(std::string_view text) { return Parser{}.parse(text); }

std::string eventLine(const Event& event, const Strings& strings) {
  return std::to_string(event.at.count()) + " " +
         std::visit([&](const auto& p) { return payloadLine(p, strings); }, event.payload);
}

std::string traceText(const Trace& trace) {
  Lines all{trace, {}};
  addLives(all);
  all.addAll(trace.host), all.addAll(trace.disks), all.addAll(trace.networks);
  all.addAll(trace.cgroups), all.addAll(trace.files), all.addAll(trace.syscalls);
  all.addAll(trace.counters);
  all.addAll(trace.frameworks), all.addAll(trace.loaders), all.addAll(trace.iterators);
  all.addAll(trace.fetches), all.addAll(trace.workers), all.addAll(trace.tasks);
  all.addAll(trace.optimizerSteps), all.addAll(trace.spans), all.addAll(trace.clocks);
  all.addAll(trace.sources), all.addAll(trace.losses), all.addAll(trace.gaps);
  all.addAll(trace.ends), all.addAll(trace.recorder), all.addAll(trace.signals);
  all.addAll(trace.devices), all.addAll(trace.deviceTraces), all.addAll(trace.deviceSpans);
  all.addAll(trace.deviceWorks), all.addAll(trace.deviceUses), all.addAll(trace.deviceCalls);
  all.addAll(trace.deviceCallUses), all.addAll(trace.ranges), all.addAll(trace.deviceUsages);
  all.addAll(trace.deviceProcesses);
  std::stable_sort(all.lines.begin(), all.lines.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::string text = manifestLines(trace.manifest);
  for (const auto& [at, line] : all.lines) text.append(line).append("\n");
  if (trace.cleanEnd) text.append("clean_end\n");
  return text;
}

}  // namespace stallprof
