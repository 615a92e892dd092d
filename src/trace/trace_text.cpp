// SPDX-License-Identifier: MIT
#include "trace/trace_text.h"

#include <algorithm>
#include <cstring>
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
constexpr std::size_t kMaxEvents = 2'000'000;

// ---- fields without their types
// ------------------------------------------------------------------ Each kind of event lists its
// fields once (`fields`); what is done with them is then one function for all 35 kinds, and not one
// of each.

std::span<const std::string_view> namesOf(Wait) { return kWaitNames; }
std::span<const std::string_view> namesOf(Phase) { return kPhaseNames; }
std::span<const std::string_view> namesOf(SpanSource) { return kSpanSourceNames; }
std::span<const std::string_view> namesOf(Coverage) { return kCoverageNames; }
std::span<const std::string_view> namesOf(FrameKind) { return kFrameKindNames; }
std::span<const std::string_view> namesOf(Gil) { return kGilNames; }
std::span<const std::string_view> namesOf(LoopCode) { return kLoopCodeNames; }
std::span<const std::string_view> namesOf(DeviceWorkKind) { return kDeviceWorkKindNames; }
std::span<const std::string_view> namesOf(HostMemory) { return kHostMemoryNames; }
std::span<const std::string_view> namesOf(DeviceCallKind) { return kDeviceCallKindNames; }
std::span<const std::string_view> namesOf(LossKind) { return kLossNames; }

struct Field {
  enum class Type : std::uint8_t { kNumber, kText, kTime, kBool, kEnum };
  const char* name;
  void* at;  // in the payload
  Type type = Type::kNumber;
  std::uint8_t size;                             // bytes: 1, 2, 4 or 8
  bool negative;                                 // it may be
  std::span<const std::string_view> names = {};  // of an enum's values

  [[nodiscard]] Wide value() const;
  // False where the field cannot hold it.
  [[nodiscard]] bool set(Wide value) const;
};

template <class T>
Field numberField(const char* name, T& field, Field::Type type) {
  static_assert(sizeof(T) <= 8);
  return {name, &field, type, sizeof(T), std::is_signed_v<T>};
}
Field fieldOf(const char* name, StringId& field) {
  return numberField(name, field.value, Field::Type::kText);
}
template <class Tag>
Field fieldOf(const char* name, Id<Tag>& field) {
  return numberField(name, field.value, Field::Type::kNumber);
}
Field fieldOf(const char* name, Nanos& field) {
  static_assert(sizeof(Nanos) == sizeof(Nanos::rep));
  return {name, &field, Field::Type::kTime, sizeof(Nanos), true};
}
Field fieldOf(const char* name, bool& field) {
  return {name, &field, Field::Type::kBool, sizeof(bool), false};
}
template <class T>
requires std::is_integral_v<T> Field fieldOf(const char* name, T& field) {
  return numberField(name, field, Field::Type::kNumber);
}
template <class T>
requires std::is_enum_v<T> Field fieldOf(const char* name, T& field) {
  return {name, &field, Field::Type::kEnum, sizeof(T), false, namesOf(T{})};
}

template <class P>
std::vector<Field> fieldsOf(P& payload) {
  std::vector<Field> fields;
  P::fields(payload,
            [&](const char* name, auto& field) { fields.push_back(fieldOf(name, field)); });
  return fields;
}

Wide Field::value() const {
  std::uint64_t bits = 0;
  std::memcpy(&bits, at, size);  // little-endian, as all hosts of the recorder
  const unsigned unused = 64 - 8u * size;
  if (!negative) return Wide{bits};
  return Wide{static_cast<std::int64_t>(bits << unused) >> unused};
}

bool Field::set(Wide value) const {
  const unsigned bits = 8u * size - (negative ? 1 : 0);
  const Wide limit = Wide{1} << bits;
  if (value >= limit || value < (negative ? -limit : Wide{0})) return false;
  const auto low = static_cast<std::uint64_t>(value);
  std::memcpy(at, &low, size);
  return true;
}

bool read(const Field& field, const TextWord& word, std::int64_t round, Strings& strings) {
  if (word.quoted != (field.type == Field::Type::kText)) return false;
  if (field.type == Field::Type::kText) return field.set(Wide{strings.intern(word.value).value});
  if (field.type == Field::Type::kEnum) {
    const auto found = std::find(field.names.begin(), field.names.end(), word.value);
    return found != field.names.end() && field.set(Wide{found - field.names.begin()});
  }
  const auto value = parseNumber(word.value, field.type == Field::Type::kTime, round);
  if (!value || (field.type == Field::Type::kBool && *value > 1)) return false;
  return field.set(*value);
}

std::string written(const Field& field, const Strings& strings) {
  const Wide value = field.value();
  if (field.type == Field::Type::kText)
    return quoteText(strings.at(StringId{static_cast<std::uint32_t>(value)}));
  if (field.type == Field::Type::kEnum)
    return std::string(field.names[static_cast<std::size_t>(value)]);
  return value < 0 ? std::to_string(static_cast<std::int64_t>(value))
                   : std::to_string(static_cast<std::uint64_t>(value));
}

std::string fieldsLine(const char* kind, const std::vector<Field>& fields,
                       const std::vector<Field>& defaults, const Strings& strings) {
  const Strings none;
  std::string line = kind;
  for (std::size_t i = 0; i < fields.size(); ++i) {
    const std::string value = written(fields[i], strings);
    if (value != written(defaults[i], none))
      line.append(" ").append(fields[i].name).append("=").append(value);
  }
  return line;
}

template <class P>
std::string payloadLine(P payload, const Strings& strings) {
  P plain{};
  return fieldsLine(P::kName, fieldsOf(payload), fieldsOf(plain), strings);
}

// ---- a line of text into an event
// ----------------------------------------------------------------

// Fills the fields from `words`; the reason when a word fits no field.
std::optional<std::string> fill(const char* kind, const std::vector<Field>& fields,
                                std::span<const TextWord> words, std::int64_t round,
                                Strings& strings) {
  for (const TextWord& word : words) {
    const auto named = [&](const Field& field) { return word.name == field.name; };
    const auto field = std::find_if(fields.begin(), fields.end(), named);
    if (field == fields.end()) return "'" + word.name + "' is no field of " + kind;
    if (!read(*field, word, round, strings))
      return "'" + word.value + "' cannot be the " + word.name + " of " + kind;
  }
  return std::nullopt;
}

std::optional<std::string> parsePayload(std::string_view kind, std::span<const TextWord> words,
                                        std::int64_t round, Strings& strings, Payload& into) {
  std::optional<std::string> wrong = "no kind of event is called '" + std::string(kind) + "'";
  const auto tryKind = [&]<class P>(P payload) {
    if (kind != P::kName) return;
    wrong = fill(P::kName, fieldsOf(payload), words, round, strings);
    into = payload;
  };
  [&]<class... P>(std::variant<P...>*) { (tryKind(P{}), ...); }(static_cast<Payload*>(nullptr));
  return wrong;
}

// ---- the whole text
// ------------------------------------------------------------------------------

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
    repeating_ = true;
    body_.clear();
    rounds_ = *rounds;
    every_ = *every;
  }

  void endRepeat(std::size_t number) {
    if (!repeating_) return fail(number, "end without repeat");
    repeating_ = false;
    if (rounds_ > static_cast<Wide>(kMaxEvents) ||
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
    if (++events_ > kMaxEvents) return fail(line.number, "too many events");
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
  all.addAll(trace.frameworks), all.addAll(trace.settings), all.addAll(trace.loaders);
  all.addAll(trace.iterators);
  all.addAll(trace.fetches), all.addAll(trace.workers), all.addAll(trace.tasks),
      all.addAll(trace.slowSamples);
  all.addAll(trace.optimizerSteps), all.addAll(trace.turns), all.addAll(trace.spans),
      all.addAll(trace.clocks);
  all.addAll(trace.sources), all.addAll(trace.losses), all.addAll(trace.gaps);
  all.addAll(trace.pauses);
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
