// SPDX-License-Identifier: MIT
#include <algorithm>
#include <cstring>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "tests/text_form/read_manifest.h"
#include "tests/text_form/trace_form.h"
#include "trace/text_fields.h"
#include "trace/trace_builder.h"

namespace stallprof {
namespace {

using text::Field;
using text::fieldsOf;

// What `repeat` may make of a text: enough for any test, too little to fill memory.
constexpr std::size_t kMaxEvents = 2'000'000;

// False where the field cannot hold it.
bool set(const Field& field, Wide value) {
  const unsigned bits = 8u * field.size - (field.negative ? 1 : 0);
  const Wide limit = Wide{1} << bits;
  if (value >= limit || value < (field.negative ? -limit : Wide{0})) return false;
  const auto low = static_cast<std::uint64_t>(value);
  std::memcpy(field.at, &low, field.size);
  return true;
}

bool readField(const Field& field, const TextWord& word, std::int64_t round, Strings& strings) {
  if (word.quoted != (field.type == Field::Type::kText)) return false;
  if (field.type == Field::Type::kText) return set(field, Wide{strings.intern(word.value).value});
  if (field.type == Field::Type::kEnum) {
    const auto found = std::find(field.names.begin(), field.names.end(), word.value);
    return found != field.names.end() && set(field, Wide{found - field.names.begin()});
  }
  const auto value = parseNumber(word.value, field.type == Field::Type::kTime, round);
  if (!value || (field.type == Field::Type::kBool && *value > 1)) return false;
  return set(field, *value);
}

// Fills the fields from `words`; the reason when a word fits no field.
std::optional<std::string> fill(const char* kind, const std::vector<Field>& fields,
                                std::span<const TextWord> words, std::int64_t round,
                                Strings& strings) {
  for (const TextWord& word : words) {
    const auto named = [&](const Field& field) { return word.name == field.name; };
    const auto field = std::find_if(fields.begin(), fields.end(), named);
    if (field == fields.end()) return "'" + word.name + "' is no field of " + kind;
    if (!readField(*field, word, round, strings))
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

}  // namespace

Result<Trace> parseTrace(std::string_view text) { return Parser{}.parse(text); }

}  // namespace stallprof
