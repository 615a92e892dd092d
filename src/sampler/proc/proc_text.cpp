// SPDX-License-Identifier: MIT
#include "sampler/proc/proc_text.h"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <limits>

namespace stallprof {
namespace {

constexpr bool blank(char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

std::string_view skipBlanks(std::string_view text) {
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  return text;
}

// The first word, cut off `text`; empty at the end. The files of every sample are read with this:
// no allocation.
std::string_view takeWord(std::string_view& text) {
  text = skipBlanks(text);
  std::size_t end = 0;
  while (end < text.size() && !blank(text[end])) ++end;
  const std::string_view word = text.substr(0, end);
  text.remove_prefix(end);
  return word;
}

std::optional<std::uint64_t> parseHex(std::string_view text) {
  if (text.starts_with("0x")) text.remove_prefix(2);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, 16);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

std::optional<std::int64_t> parseNumber(std::string_view text) {
  text = skipBlanks(text);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range)
    return text.front() == '-' ? std::numeric_limits<std::int64_t>::min()
                               : std::numeric_limits<std::int64_t>::max();
  if (error != std::errc() || end == text.data()) return std::nullopt;
  return value;
}

std::vector<std::string_view> splitWords(std::string_view text, std::size_t limit) {
  std::vector<std::string_view> words;
  while (words.size() < limit) {
    const std::string_view word = takeWord(text);
    if (word.empty()) break;
    words.push_back(word);
  }
  return words;
}

std::vector<std::string_view> wordsOf(std::string_view text, std::string_view key) {
  std::vector<std::string_view> words;
  forEachLine(text, [&](std::string_view line) {
    if (words.empty() && line.starts_with(key)) words = splitWords(line.substr(key.size()));
  });
  return words;
}

std::int64_t valueOf(std::string_view text, std::string_view key) {
  std::int64_t value = -1;
  forEachLine(text, [&](std::string_view line) {
    if (value >= 0 || !line.starts_with(key)) return;
    const std::string_view rest = line.substr(key.size());
    if (rest.empty() || (!blank(rest.front()) && key.back() != ':')) return;
    value = parseNumber(rest).value_or(-1);
  });
  return value;
}

std::optional<ProcStat> parseStat(std::string_view text) {
  const std::size_t open = text.find('(');
  const std::size_t close = text.rfind(')');
  if (open == std::string_view::npos || close == std::string_view::npos || close < open)
    return std::nullopt;
  // words[i] is field i + 3 of proc(5).
  const auto words = splitWords(text.substr(close + 1), 37);
  if (words.size() < 20 || words[0].size() != 1) return std::nullopt;
  const auto number = [&](std::size_t field) { return parseNumber(words[field - 3]).value_or(-1); };
  ProcStat stat;
  stat.pid = static_cast<std::uint32_t>(parseNumber(text).value_or(0));
  stat.comm = std::string(text.substr(open + 1, close - open - 1));
  stat.state = words[0][0];
  stat.parent = static_cast<std::uint32_t>(std::max<std::int64_t>(number(4), 0));
  stat.minorFaults = number(10);
  stat.majorFaults = number(12);
  stat.userTicks = number(14);
  stat.systemTicks = number(15);
  stat.childrenUserTicks = number(16);
  stat.childrenSystemTicks = number(17);
  stat.threads = number(20);
  stat.startTicks = static_cast<std::uint64_t>(std::max<std::int64_t>(number(22), 0));
  if (words.size() >= 21) stat.virtualBytes = number(23);
  if (words.size() >= 26)
    stat.stack = static_cast<std::uint64_t>(std::max<std::int64_t>(number(28), 0));
  if (words.size() >= 37) stat.cpu = number(39);
  return stat;
}

std::optional<SchedStat> parseSchedStat(std::string_view text) {
  const auto run = parseNumber(takeWord(text)), queued = parseNumber(takeWord(text)),
             count = parseNumber(takeWord(text));
  if (!run || !queued || !count || *run < 0 || *queued < 0) return std::nullopt;
  return SchedStat{Nanos(*run), Nanos(*queued), *count};
}

std::optional<SyscallLine> parseSyscall(std::string_view text) {
  if (text.starts_with("running")) return SyscallLine{};
  const auto number = parseNumber(takeWord(text));
  if (!number) return std::nullopt;
  SyscallLine line;
  line.number = *number;
  line.kind = *number < 0 ? SyscallLine::Kind::kOutside : SyscallLine::Kind::kCall;
  if (line.kind == SyscallLine::Kind::kOutside) return line;
  for (std::uint64_t& arg : line.args) {
    const auto value = parseHex(takeWord(text));
    if (!value) return std::nullopt;
    arg = *value;
  }
  line.stack = parseHex(takeWord(text)).value_or(0);
  return line;
}

std::optional<MapsLine> parseMapsLine(std::string_view line) {
  const std::string_view range = takeWord(line), rights = takeWord(line), offset = takeWord(line);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || rights.size() < 4) return std::nullopt;
  const auto begin = parseHex(range.substr(0, dash)), end = parseHex(range.substr(dash + 1)),
             from = parseHex(offset);
  if (!begin || !end || !from || *end <= *begin) return std::nullopt;
  const std::string_view device = takeWord(line);
  const auto inode = static_cast<std::uint64_t>(parseNumber(takeWord(line)).value_or(0));
  return MapsLine{*begin,           *end, *from, rights[1] == 'w', rights[2] == 'x', device,
                  skipBlanks(line), inode};
}

bool takeDeleted(std::string_view& path) {
  constexpr std::string_view kDeleted = " (deleted)";
  if (!path.ends_with(kDeleted)) return false;
  path.remove_suffix(kDeleted.size());
  return true;
}

std::vector<std::string> parseCommandLine(std::string_view text, std::size_t maxWords) {
  std::vector<std::string> words;
  while (!text.empty() && words.size() < maxWords) {
    const std::size_t end = text.find('\0');
    words.emplace_back(text.substr(0, end));
    if (end == std::string_view::npos) break;
    text.remove_prefix(end + 1);
  }
  return words;
}

Nanos pressureTotal(std::string_view text, std::string_view kind) {
  Nanos total{-1};
  forEachLine(text, [&](std::string_view line) {
    if (!line.starts_with(kind)) return;
    const std::size_t at = line.find("total=");
    if (at == std::string_view::npos) return;
    if (const auto micros = parseNumber(line.substr(at + 6)); micros && *micros >= 0)
      total = std::chrono::microseconds(*micros);
  });
  return total;
}

// "cpu  user nice system idle iowait irq softirq steal guest guest_nice"; guest is inside user.
std::optional<CpuTimes> parseCpuTimes(std::string_view line) {
  if (!line.starts_with("cpu")) return std::nullopt;
  const auto words = splitWords(line, 9);
  if (words.size() < 8) return std::nullopt;
  const auto ticks = [&](std::size_t i) {
    return i < words.size() ? tickLength() * parseNumber(words[i]).value_or(0) : Nanos::zero();
  };
  return CpuTimes{ticks(1) + ticks(2) + ticks(3) + ticks(6) + ticks(7), ticks(4), ticks(5),
                  ticks(8)};
}

Nanos tickLength() {
  static const Nanos length = [] {
    const long hz = ::sysconf(_SC_CLK_TCK);
    return Nanos(1'000'000'000 / (hz > 0 ? hz : 100));
  }();
  return length;
}

}  // namespace stallprof
