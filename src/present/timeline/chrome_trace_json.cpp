// SPDX-License-Identifier: MIT
#include "present/timeline/chrome_trace_json.h"

#include <cmath>
#include <cstdio>

namespace stallprof {

std::string jsonText(std::string_view bytes, std::size_t limit) {
  std::string out = "\"";
  for (const char c : escapeTerminal(bytes, limit)) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + "\"";
}

std::string jsonMicros(Nanos ns) {
  const bool negative = ns.count() < 0;
  const std::uint64_t all = negative ? 0 - static_cast<std::uint64_t>(ns.count())
                                     : static_cast<std::uint64_t>(ns.count());
  std::string digits = std::to_string(all % 1000);
  digits.insert(0, 3 - digits.size(), '0');
  return (negative ? "-" : "") + std::to_string(all / 1000) + "." + digits;
}

std::string jsonNumber(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.6g", std::isfinite(value) ? value : 0.0);
  return text;
}

std::string jsonArgs(const TraceSlice& slice) {
  std::string out = "{";
  const auto add = [&](std::string_view key, const std::string& value) {
    if (out.size() > 1) out += ',';
    out += '"';
    out += key;
    out += "\":";
    out += value;
  };
  for (const SliceArg& arg : slice.args)
    if (const auto* n = std::get_if<std::int64_t>(&arg.value))
      add(arg.key, std::to_string(*n));
    else if (const auto* d = std::get_if<double>(&arg.value))
      add(arg.key, jsonNumber(*d));
    else
      add(arg.key, jsonText(std::get<std::string>(arg.value)));
  if (slice.cut > Nanos(0)) add("cut_ns", std::to_string(slice.cut.count()));
  return out + "}";
}

}  // namespace stallprof
