// SPDX-License-Identifier: MIT
#include "recording/manifest.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "recording/format/format.h"

namespace stallprof {
namespace {

using nlohmann::json;

// THE lists of the members that are one value, for both directions.
template <class H, class V>
void hostFields(H& h, V&& v) {
  v("name", h.name), v("kernel", h.kernel), v("cpu_model", h.cpuModel), v("boot_id", h.bootId),
      v("cores_online", h.coresOnline), v("cores_usable", h.coresUsable),
      v("memory_bytes", h.memoryBytes), v("page_bytes", h.pageBytes),
      v("ticks_per_s", h.ticksPerSecond);
}
template <class M, class V>
void fields(M& m, V&& v) {
  v("tool", m.toolVersion), v("command", m.command), v("command_words_left_out", m.wordsLeftOut),
      v("directory", m.directory), v("started_realtime_ns", m.startedRealtime),
      v("started_monotonic_ns", m.startedMonotonic), v("front_pid", m.frontPid),
      v("recorder_pid", m.recorderPid), v("hz", m.hz), v("budget", m.budget), v("map", m.maps),
      v("overrides", m.overrides);
}

json written(const std::string& text) { return toUtf8(text); }
json written(const Untrusted& text) { return toUtf8(text.raw()); }
json written(Nanos time) { return time.count(); }
json written(const std::vector<Untrusted>& words) {
  json array = json::array();
  for (const Untrusted& word : words) array.push_back(written(word));
  return array;
}
template <class Number>
json written(Number number) {
  return number;
}

// A member of the type of `field` is copied into it; a missing or other-typed one leaves the
// default: an older or damaged manifest costs only what it lacks.
void take(const json& object, const char* name, std::string& field) {
  if (const auto at = object.find(name); at != object.end() && at->is_string())
    field = at->get<std::string>();
}
void take(const json& object, const char* name, Untrusted& field) {
  std::string text;
  take(object, name, text);
  field = Untrusted(std::move(text));
}
void take(const json& object, const char* name, std::vector<Untrusted>& field) {
  const auto at = object.find(name);
  if (at == object.end() || !at->is_array()) return;
  for (const json& word : *at)
    if (word.is_string()) field.emplace_back(word.get<std::string>());
}
void take(const json& object, const char* name, double& field) {
  if (const auto at = object.find(name); at != object.end() && at->is_number())
    field = at->get<double>();
}
template <class Integer>
void take(const json& object, const char* name, Integer& field) {
  if (const auto at = object.find(name); at != object.end() && at->is_number_integer()) {
    const auto value = at->get<std::int64_t>();
    if (std::in_range<Integer>(value)) field = static_cast<Integer>(value);
  }
}
void take(const json& object, const char* name, Nanos& field) {
  std::int64_t count = field.count();
  take(object, name, count);
  field = Nanos(count);
}

// The object of that name, else one that is empty.
const json& member(const json& object, const char* name) {
  static const json kNone = json::object();
  const auto at = object.find(name);
  return at != object.end() && at->is_object() ? *at : kNone;
}

Result<Manifest> fromObject(const json& object) {
  std::string format;
  take(object, "format", format);
  if (format != format::kName)
    return Error{Error::Kind::kDamaged, "not the manifest of a stallprof recording"};
  Manifest manifest;
  const auto takeFrom = [](const json& from) {
    return [&from](const char* name, auto& field) { take(from, name, field); };
  };
  fields(manifest, takeFrom(object));
  std::uint32_t version = 0, oldestReader = 0;
  take(object, "version", version);
  take(object, "oldest_reader", oldestReader);
  if (auto readable = format::checkVersion(version, oldestReader); !readable.ok())
    return std::move(readable).error().within("written by stallprof " +
                                              escapeTerminal(manifest.toolVersion, 32));
  for (const auto& [name, value] : member(object, "environment").items())
    if (value.is_string())
      manifest.environment.emplace_back(name, Untrusted(value.get<std::string>()));
  Manifest::Host& host = manifest.host;
  hostFields(host, takeFrom(member(object, "host")));
  if (host.pageBytes <= 0) host.pageBytes = Manifest::Host().pageBytes;
  if (host.ticksPerSecond <= 0) host.ticksPerSecond = Manifest::Host().ticksPerSecond;
  return manifest;
}

std::string toText(const Manifest& manifest) {
  json object = {{"format", format::kName},
                 {"version", format::kVersion},
                 {"oldest_reader", format::kOldestReader},
                 {"environment", json::object()},
                 {"host", json::object()}};
  const auto writeTo = [](json& to) {
    return [&to](const char* name, const auto& field) { to[name] = written(field); };
  };
  fields(manifest, writeTo(object));
  hostFields(manifest.host, writeTo(object["host"]));
  for (const auto& [name, value] : manifest.environment)
    object["environment"][toUtf8(name)] = written(value);
  return object.dump(1) + "\n";
}

// Keeps the first words of the command that fit in `bytes`; at least the program.
void cutCommand(Manifest& manifest, std::size_t bytes) {
  constexpr std::size_t kBesideWord = 8;  // quotes, comma, line and indent
  std::size_t kept = 0;
  for (std::size_t used = 0; kept < manifest.command.size(); ++kept) {
    used += written(manifest.command[kept]).dump().size() + kBesideWord;
    if (used > bytes && kept > 0) break;
  }
  manifest.wordsLeftOut += static_cast<std::uint32_t>(manifest.command.size() - kept);
  manifest.command.resize(kept);
}

}  // namespace

bool Manifest::imported() const {
  return directory.empty() && command.size() == 2 && command[0].raw() == kImport;
}

std::string_view Manifest::variable(std::string_view name) const {
  for (const auto& [key, value] : environment)
    if (key == name) return value.raw();
  return {};
}

std::optional<std::int64_t> Manifest::numberIn(std::string_view name) const {
  const std::string_view text = variable(name);
  std::int64_t number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  const bool whole = read.ec == std::errc() && read.ptr == text.data() + text.size();
  return whole && number >= 0 ? std::optional(number) : std::nullopt;
}

std::string manifestToJson(const Manifest& manifest) {
  std::string text = toText(manifest);
  if (text.size() <= format::kFrameLimit) return text;
  Manifest cut = manifest;
  cutCommand(cut, format::kFrameLimit / 2);
  text = toText(cut);
  if (text.size() <= format::kFrameLimit) return text;
  cut.environment.clear();
  return toText(cut);
}

Result<Manifest> manifestFromJson(const std::string& text) {
  // The library's parser recurses only as deep as its own stack vector grows: not at all.
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Error{Error::Kind::kDamaged, "not the manifest of a stallprof recording"};
  return fromObject(object);
}

}  // namespace stallprof
