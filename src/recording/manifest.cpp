// SPDX-License-Identifier: MIT
#include "recording/manifest.h"

#include <nlohmann/json.hpp>

#include "recording/format/format.h"

namespace stallprof {
namespace {

using nlohmann::json;

json texts(const std::vector<Untrusted>& words) {
  json array = json::array();
  for (const Untrusted& word : words) array.push_back(toUtf8(word.raw()));
  return array;
}

json hostToJson(const Manifest::Host& host) {
  return {{"name", toUtf8(host.name)},          {"kernel", toUtf8(host.kernel)},
          {"cpu_model", toUtf8(host.cpuModel)}, {"boot_id", toUtf8(host.bootId)},
          {"cores_online", host.coresOnline},   {"cores_usable", host.coresUsable},
          {"memory_bytes", host.memoryBytes},   {"page_bytes", host.pageBytes},
          {"ticks_per_s", host.ticksPerSecond}};
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

// The member of that name when it is of that type, else one that is empty.
const json& member(const json& object, const char* name, json::value_t type) {
  static const json kNone = json::object();
  const auto at = object.find(name);
  return at != object.end() && at->type() == type ? *at : kNone;
}

Manifest::Host hostFromJson(const json& object) {
  Manifest::Host host;
  take(object, "name", host.name);
  take(object, "kernel", host.kernel);
  take(object, "cpu_model", host.cpuModel);
  take(object, "boot_id", host.bootId);
  take(object, "cores_online", host.coresOnline);
  take(object, "cores_usable", host.coresUsable);
  take(object, "memory_bytes", host.memoryBytes);
  take(object, "page_bytes", host.pageBytes);
  take(object, "ticks_per_s", host.ticksPerSecond);
  if (host.pageBytes <= 0) host.pageBytes = Manifest::Host().pageBytes;
  if (host.ticksPerSecond <= 0) host.ticksPerSecond = Manifest::Host().ticksPerSecond;
  return host;
}

Result<Manifest> fromObject(const json& object) {
  std::string format;
  take(object, "format", format);
  if (format != format::kName)
    return Error{Error::Kind::kDamaged, "not the manifest of a stallprof recording"};
  Manifest manifest;
  take(object, "tool", manifest.toolVersion);
  std::uint32_t version = 0, oldestReader = 0;
  take(object, "version", version);
  take(object, "oldest_reader", oldestReader);
  if (auto readable = format::checkVersion(version, oldestReader); !readable.ok())
    return std::move(readable).error().within("written by stallprof " +
                                              escapeTerminal(manifest.toolVersion, 32));
  for (const json& word : member(object, "command", json::value_t::array))
    if (word.is_string()) manifest.command.emplace_back(word.get<std::string>());
  for (const auto& [name, value] : member(object, "environment", json::value_t::object).items())
    if (value.is_string())
      manifest.environment.emplace_back(name, Untrusted(value.get<std::string>()));
  take(object, "directory", manifest.directory);
  take(object, "started_realtime_ns", manifest.startedRealtime);
  take(object, "started_monotonic_ns", manifest.startedMonotonic);
  take(object, "front_pid", manifest.frontPid);
  take(object, "recorder_pid", manifest.recorderPid);
  take(object, "hz", manifest.hz);
  for (const json& word : member(object, "map", json::value_t::array))
    if (word.is_string()) manifest.maps.emplace_back(word.get<std::string>());
  manifest.host = hostFromJson(member(object, "host", json::value_t::object));
  return manifest;
}

}  // namespace

std::string manifestToJson(const Manifest& manifest) {
  json environment = json::object();
  for (const auto& [name, value] : manifest.environment)
    environment[toUtf8(name)] = toUtf8(value.raw());
  const json object = {{"format", format::kName},
                       {"version", format::kVersion},
                       {"oldest_reader", format::kOldestReader},
                       {"tool", toUtf8(manifest.toolVersion)},
                       {"command", texts(manifest.command)},
                       {"directory", toUtf8(manifest.directory.raw())},
                       {"environment", environment},
                       {"started_realtime_ns", manifest.startedRealtime.count()},
                       {"started_monotonic_ns", manifest.startedMonotonic.count()},
                       {"front_pid", manifest.frontPid},
                       {"recorder_pid", manifest.recorderPid},
                       {"hz", manifest.hz},
                       {"map", texts(manifest.maps)},
                       {"host", hostToJson(manifest.host)}};
  return object.dump(1) + "\n";
}

Result<Manifest> manifestFromJson(const std::string& text) {
  // The library's parser recurses only as deep as its own stack vector grows: not at all.
  const json object = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!object.is_object())
    return Error{Error::Kind::kDamaged, "not the manifest of a stallprof recording"};
  return fromObject(object);
}

}  // namespace stallprof
