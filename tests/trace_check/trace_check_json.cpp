// SPDX-License-Identifier: MIT
#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/text.h"
#include "tests/trace_check/trace_check_lanes.h"

namespace stallprof {
namespace {

using Json = nlohmann::json;

struct JsonField {
  std::string text;
  double number = 0;
  bool isText = false, isNumber = false;
};

// One event of `traceEvents`, as its fields come.
struct EventFields {
  std::map<std::string, JsonField> fields, args;
  [[nodiscard]] const JsonField* find(const char* name) const {
    const auto at = fields.find(name);
    return at == fields.end() ? nullptr : &at->second;
  }
};

// One profile of speedscope's.
struct ProfileFields {
  std::uint64_t samples = 0, weights = 0;
  bool open = false;
};

// Takes the document as it is read. `path_` holds the keys of the objects and arrays around; an
// array's elements have the key "[]".
class Reader final : public nlohmann::json_sax<Json> {
 public:
  explicit Reader(TraceCheck& out) : out_(out), lanes_(out) {}

  bool null() override { return value({}); }
  bool boolean(bool) override { return value({}); }
  bool number_integer(number_integer_t n) override { return number(static_cast<double>(n)); }
  bool number_unsigned(number_unsigned_t n) override { return number(static_cast<double>(n)); }
  bool number_float(number_float_t n, const string_t&) override { return number(n); }
  bool string(string_t& text) override {
    lanes_.text(text);
    return value({text, 0, true, false});
  }
  bool binary(binary_t&) override { return false; }
  bool start_object(std::size_t) override {
    if (inEvents() && path_.back() == "[]") event_.emplace();
    if (!event_ && is("profiles[]")) profile_ = {0, 0, true};
    if (!event_ && is("shared.frames[]")) ++frames_;
    return enter("");
  }
  bool key(string_t& name) override {
    lanes_.text(name);
    path_.back() = name;
    if (path_.size() == 1) top_.insert(name);
    return true;
  }
  bool end_object() override {
    path_.pop_back();
    if (inEvents() && path_.back() == "[]") finishEvent();
    if (is("profiles[]") && profile_.open) finishProfile();
    return true;
  }
  bool start_array(std::size_t) override {
    if (!event_ && is("profiles[].samples[]")) ++profile_.samples;
    return enter("[]");
  }
  bool end_array() override {
    path_.pop_back();
    return true;
  }
  bool parse_error(std::size_t at, const std::string&,
                   const nlohmann::detail::exception&) override {
    lanes_.problem("not JSON at byte " + std::to_string(at));
    return broken_ = true, false;
  }

  void finish() {
    if (broken_) return;
    const bool speedscope = top_.count("$schema") != 0 && top_.count("profiles") != 0;
    out_.format = speedscope ? "speedscope" : "trace events";
    if (!speedscope && top_.count("traceEvents") == 0)
      return lanes_.problem("neither traceEvents nor speedscope's profiles in it");
    for (const double frame : asked_)
      if (frame < 0 || frame >= static_cast<double>(frames_))
        lanes_.problem("a sample names frame " + std::to_string(frame) + " of " +
                       std::to_string(frames_));
    lanes_.finish();
  }

 private:
  bool enter(const char* key) {
    if (path_.size() >= 64) return false;  // no trace is so deep: a stack for nothing
    path_.emplace_back(key);
    return true;
  }
  [[nodiscard]] bool inEvents() const { return path_.size() == 2 && path_[0] == "traceEvents"; }
  [[nodiscard]] bool is(std::string_view where) const {
    std::string all;
    for (const std::string& step : path_) all += (step == "[]" || all.empty() ? "" : ".") + step;
    return all == where;
  }

  bool number(double n) { return value({{}, n, false, true}); }
  bool value(JsonField field) {
    if (event_ && path_.size() == 3)
      event_->fields[path_[2]] = std::move(field);
    else if (event_ && path_.size() == 4 && path_[2] == "args")
      event_->args[path_[3]] = std::move(field);
    else if (!event_ && is("profiles[].weights[]"))
      ++profile_.weights;
    else if (!event_ && is("profiles[].samples[][]"))
      asked_.insert(field.isNumber ? field.number : -1);
    return true;
  }

  void finishProfile() {
    ++out_.events;
    profile_.open = false;
    if (profile_.samples != profile_.weights)
      lanes_.problem("a profile with " + std::to_string(profile_.samples) + " samples and " +
                     std::to_string(profile_.weights) + " weights");
  }

  std::optional<std::int64_t> whole(const char* name, double scale) {
    const JsonField* field = event_->find(name);
    if (field != nullptr && field->isNumber && std::isfinite(field->number) &&
        std::abs(field->number * scale) < 9e18)
      return static_cast<std::int64_t>(std::llround(field->number * scale));
    lanes_.problem("event " + std::to_string(out_.events) + ": no number '" + name + "'");
    return std::nullopt;
  }

  void finishEvent() {
    ++out_.events;
    const JsonField* phase = event_->find("ph");
    if (phase == nullptr || phase->text.size() != 1)
      lanes_.problem("event " + std::to_string(out_.events) + ": no 'ph' of one letter");
    else
      finishEvent(phase->text[0]);
    event_.reset();
  }

  void finishEvent(char phase) {
    const auto pid = whole("pid", 1);
    if (!pid) return;
    if (phase == 'M') return finishName(*pid);
    const auto at = whole("ts", 1000);
    if (!at) return;
    if (phase == 'C') {
      for (const auto& [key, arg] : event_->args)
        if (!arg.isNumber) lanes_.problem("a counter's '" + key + "' is no number");
      return lanes_.counter(*pid);
    }
    const auto tid = whole("tid", 1);
    if (!tid) return;
    const LaneCheck::Lane lane{*pid, *tid};
    if (phase == 'B') return lanes_.begin(lane, *at);
    if (phase == 'E') return lanes_.end(lane, *at);
    if (phase == 's' || phase == 'f') return finishFlow(phase == 's', *at);
    if (phase != 'X') return;
    const auto duration = whole("dur", 1000);
    if (event_->find("name") == nullptr) lanes_.problem("a slice without a name");
    if (duration) lanes_.slice(lane, *at, *duration);
  }

  void finishName(std::int64_t pid) {
    const JsonField* what = event_->find("name");
    if (what == nullptr || event_->args.empty()) return lanes_.problem("an 'M' that says nothing");
    if (what->text == "process_name") return lanes_.nameProcess(pid);
    if (what->text != "thread_name") return;
    if (const auto tid = whole("tid", 1)) lanes_.nameLane({pid, *tid});
  }

  void finishFlow(bool starts, std::int64_t at) {
    const JsonField* id = event_->find("id");
    if (id == nullptr) return lanes_.problem("an arrow without an id");
    const JsonField* category = event_->find("cat");
    lanes_.flow((category == nullptr ? "" : category->text + " ") +
                    (id->isText ? id->text : std::to_string(std::llround(id->number))),
                starts, at);
  }

  TraceCheck& out_;
  LaneCheck lanes_;
  std::vector<std::string> path_;
  std::set<std::string> top_;
  std::optional<EventFields> event_;
  ProfileFields profile_;
  std::uint64_t frames_ = 0;
  std::set<double> asked_;
  bool broken_ = false;
};

}  // namespace

void checkTraceJson(std::FILE* file, TraceCheck& out) {
  Reader reader(out);
  if (!Json::sax_parse(file, &reader) && out.ok()) {
    out.wrong = 1;
    out.problems = {"nested deeper than any trace is"};
  }
  reader.finish();
}

}  // namespace stallprof
