// SPDX-License-Identifier: MIT
#include "base/secrets.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace stallprof {
namespace {

constexpr std::string_view kMask = "***";

// Words that make a name the name of a secret (the list that Sentry scrubs by, and its relatives).
// A name is compared in lower case with - . and _ taken out, so api_key, apiKey and --api-key are
// one.
constexpr std::array<std::string_view, 28> kSecretWords = {
    "password", "passwd",     "passphrase",    "passcode",   "pwd",     "secret",  "apikey",
    "appkey",   "accesskey",  "accountkey",    "privatekey", "sshkey",  "authkey", "licensekey",
    "dbpass",   "signingkey", "encryptionkey", "credential", "cookie",  "session", "auth",
    "token",    "bearer",     "signature",     "jwt",        "sshpass", "pgpass",  "userpass"};
constexpr std::array<std::string_view, 4> kSecretNames = {"pass", "pw", "sig",
                                                          "sas"};  // whole names

// Names of settings that hold one of the words above and no secret; a training's command line is
// full of tokens that are text.
constexpr std::array<std::string_view, 9> kHarmless = {"tokeniz",  "tokens",   "author",
                                                       "padtoken", "bostoken", "eostoken",
                                                       "unktoken", "clstoken", "masktoken"};
// Longer words are cut: no flag is, and the masks below may then take time by the square.
constexpr std::size_t kWordLimit = 64u << 10;

bool wordByte(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; }

std::string folded(std::string_view name) {
  std::string out;
  for (const char c : name)
    if (wordByte(c)) out += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

bool namesSecret(std::string_view name) {
  std::string word = folded(name);
  if (contains(word, "authoriz")) return true;  // before "author" is taken out
  for (const std::string_view harmless : kHarmless)
    for (auto at = word.find(harmless); at != std::string::npos; at = word.find(harmless, at))
      word.erase(at, harmless.size());
  if (std::find(kSecretNames.begin(), kSecretNames.end(), word) != kSecretNames.end()) return true;
  return std::any_of(kSecretWords.begin(), kSecretWords.end(),
                     [&](std::string_view secret) { return contains(word, secret); });
}

// Tokens that services hand out, known by how they begin: prefix, and the least that follows.
struct Shape {
  std::string_view prefix;
  std::size_t rest;
};
constexpr std::array<Shape, 30> kShapes = {{
    {"sk-", 16},  {"sk_live_", 8},  {"sk_test_", 8},     {"rk_live_", 8},  {"pk_live_", 8},
    {"hf_", 16},  {"api_org_", 16}, {"ghp_", 16},        {"gho_", 16},     {"ghu_", 16},
    {"ghs_", 16}, {"ghr_", 16},     {"github_pat_", 16}, {"glpat-", 12},   {"AKIA", 16},
    {"ASIA", 16}, {"AIza", 30},     {"ya29.", 16},       {"xoxb-", 8},     {"xoxp-", 8},
    {"xoxa-", 8}, {"xapp-", 8},     {"pypi-", 16},       {"npm_", 16},     {"dop_v1_", 16},
    {"SG.", 20},  {"nvapi-", 16},   {"r8_", 20},         {"wandb_v1_", 8}, {"gsk_", 16},
}};

// {"alg":"none"} and {} in base64, two dots and a short signature.
constexpr std::size_t kMinJwt = 30;

bool tokenByte(char c) { return wordByte(c) || c == '-' || c == '_'; }

// The length of the token that `text` begins with, 0 if none: a known shape, or a JSON web token,
// three base64url parts of which the first decodes from {".
std::size_t tokenLength(std::string_view text) {
  const bool jwt = text.starts_with("eyJ");
  const auto shape = std::find_if(kShapes.begin(), kShapes.end(), [&](const Shape& known) {
    return text.starts_with(known.prefix);
  });
  if (!jwt && shape == kShapes.end()) return 0;
  std::size_t end = 0;
  while (end < text.size() && (tokenByte(text[end]) || text[end] == '.')) ++end;
  if (jwt) {
    const auto dots = std::count(text.data(), text.data() + end, '.');
    return dots >= 2 && end >= kMinJwt ? end : 0;
  }
  return end >= shape->prefix.size() + shape->rest ? end : 0;
}

void maskShapes(std::string& text) {
  std::string out;
  for (std::size_t at = 0; at < text.size();) {
    const bool begins = at == 0 || !wordByte(text[at - 1]);
    const std::size_t token = begins ? tokenLength(std::string_view(text).substr(at)) : 0;
    if (token > 0) {
      out += kMask;
      at += token;
    } else {
      out += text[at++];
    }
  }
  text = std::move(out);
}

// user:password@ of a URL, and the values of secret parameters in its query.
void maskUrls(std::string& text) {
  for (std::size_t at = 0; (at = text.find("://", at)) != std::string::npos;) {
    at += 3;
    const std::size_t end = std::min(text.find_first_of("/?# \t\n\"'", at), text.size());
    const std::size_t user = text.rfind('@', end == 0 ? 0 : end - 1);
    if (user != std::string::npos && user >= at && user < end) text.replace(at, user - at, kMask);
  }
}

bool isQuote(char c) { return c == '"' || c == '\''; }
// "f" and the like before a literal of Python's.
bool prefixesLiteral(char c) {
  return std::string_view("bfruBFRU").find(c) != std::string_view::npos;
}

// The quotes that open a value at `at`: one, or three of Python's; none: it is plain.
std::string_view quotesAt(std::string_view text, std::size_t at) {
  if (at >= text.size() || !isQuote(text[at])) return {};
  const std::string_view three = text.substr(at, 3);
  return three == "\"\"\"" || three == "'''" ? three : three.substr(0, 1);
}

// Where what the quotes at `at` open is closed; the text's end where it is not.
std::size_t quotedEnd(std::string_view text, std::size_t at) {
  const std::string_view quotes = quotesAt(text, at);
  for (at += quotes.size(); at < text.size(); ++at) {
    if (text[at] == '\\')
      ++at;
    else if (text.substr(at).starts_with(quotes))
      return at;
  }
  return text.size();
}

// Where the next part of a quoted value opens, behind the quotes at `end` that close one: shells
// and Python join what is side by side, Python (`literals`) with white space between.
std::size_t nextPart(std::string_view text, std::size_t end, bool literals) {
  std::size_t at = end + (end < text.size() ? quotesAt(text, end).size() : 0);
  if (literals) {
    at = std::min(text.find_first_not_of(" \t", at), text.size());
    while (at < text.size() && prefixesLiteral(text[at])) ++at;
  }
  return at < text.size() && isQuote(text[at]) ? at : text.npos;
}

// Up to where a value that begins at `at` goes: a quoted one to its last quote, a plain one to
// white space or to what separates parameters.
std::size_t valueEnd(std::string_view text, std::size_t at, bool literals = false) {
  if (at < text.size() && isQuote(text[at])) {
    std::size_t end = at;
    for (std::size_t part = at; part != text.npos; part = nextPart(text, end, literals))
      end = quotedEnd(text, part);
    return end;
  }
  while (at < text.size() && std::string_view(" \t\r\n&;,\"'})").find(text[at]) == text.npos)
    at += text[at] == '\\' ? 2 : 1;
  return std::min(at, text.size());
}

// A word that is nothing but a secret's setting: --password=a,b or PASSWORD=a;b. All behind its
// first = is the value; not of a shell's line, which has words of its own.
bool maskSetting(std::string& text) {
  const std::size_t at = text.find('=');
  if (at == std::string::npos || at + 1 == text.size()) return false;
  const std::string_view name = std::string_view(text).substr(0, at);
  if (!std::all_of(name.begin(), name.end(), tokenByte) || !namesSecret(name)) return false;
  if (name[0] != '-' && text.find_first_of(" \t\r\n") != std::string::npos) return false;
  text.replace(at + 1, std::string::npos, kMask);
  return true;
}

// name=value and name: value inside a word: query strings, connection strings, JSON, headers. In
// source (`literals`) a value is what is quoted: others are names.
void maskPairs(std::string& text, bool literals = false) {
  for (std::size_t at = 0; (at = text.find_first_of("=:", at)) != std::string::npos; ++at) {
    std::size_t nameEnd = at;
    while (nameEnd > 0 && (isQuote(text[nameEnd - 1]) || text[nameEnd - 1] == ' ')) --nameEnd;
    std::size_t name = nameEnd;
    while (name > 0 && (tokenByte(text[name - 1]) || text[name - 1] == '.')) --name;
    if (name == nameEnd || !namesSecret(std::string_view(text).substr(name, nameEnd - name)))
      continue;
    std::size_t value = at + 1;
    if (text.compare(at, 3, "://") == 0) continue;
    while (value < text.size() && (text[value] == ' ' || text[value] == '\t')) ++value;
    while (literals && value < text.size() && prefixesLiteral(text[value])) ++value;
    const std::size_t quotes = quotesAt(text, value).size();
    if (literals && quotes == 0) continue;
    // A header's whole line: "Authorization: Basic xyz", "Cookie: a=1; b=2".
    const std::string word = folded(std::string_view(text).substr(name, nameEnd - name));
    const bool header =
        text[at] == ':' && (contains(word, "authorization") || contains(word, "cookie"));
    const std::size_t end = header && quotes == 0
                                ? std::min(text.find_first_of("\r\n\"", value), text.size())
                                : valueEnd(text, value, literals);
    value += quotes;
    if (value < end) text.replace(value, end - value, kMask);
    at = std::min(value + kMask.size(), text.size()) - 1;
  }
}

// "Bearer xyz", anywhere in the text.
void maskBearer(std::string& text) {
  constexpr std::string_view kBearer = "bearer ";
  const auto same = [](char a, char b) { return std::tolower(static_cast<unsigned char>(a)) == b; };
  for (auto at = text.begin();;) {
    at = std::search(at, text.end(), kBearer.begin(), kBearer.end(), same);
    if (at == text.end()) return;
    const auto value = static_cast<std::size_t>(at - text.begin()) + kBearer.size();
    text.replace(value, valueEnd(text, value) - value, kMask);
    at = text.begin() + static_cast<std::ptrdiff_t>(value);
  }
}

// A key in the clear: nothing after its first line is kept.
void maskPem(std::string& text) {
  const std::size_t at = text.find("-----BEGIN ");
  if (at != std::string::npos && contains(text, "PRIVATE KEY"))
    text.replace(at, text.size(), kMask);
}

// What the word after one is, when that is the value of a flag: --password hunter2, -token x, not
// --password=hunter2; a name and a password together, as curl and wget take them.
enum class Next { kAny, kSecret, kUser };

Next afterFlag(std::string_view word) {
  if (word == "--user" || word == "--proxy-user" || word == "-u" || word == "-U")
    return Next::kUser;
  const bool flag =
      word.size() > 1 && word[0] == '-' && word.find_first_of("=: \t\r\n") == word.npos;
  return flag && namesSecret(word) ? Next::kSecret : Next::kAny;
}

// Where the password begins in "name:password", npos where it is no such thing but a path or a URL.
std::size_t passwordIn(std::string_view user) {
  const std::size_t colon = user.find(':');
  if (colon >= user.size() - 1 || user.substr(colon).starts_with("://")) return user.npos;
  return user.substr(0, colon).find('/') == user.npos ? colon + 1 : user.npos;
}

// The same in one word with its flag: -ubob:hunter2, --user=bob:hunter2.
std::size_t passwordOfFlag(std::string_view word) {
  for (const std::string_view flag : {"--user=", "--proxy-user=", "-u", "-U"})
    if (word.size() > flag.size() && word.starts_with(flag)) {
      const std::size_t at = passwordIn(word.substr(flag.size()));
      return at == word.npos ? at : at + flag.size();
    }
  return word.npos;
}

// The same inside one word: sh -c "mysql --password 'hunter two'".
void maskFlags(std::string& text) {
  constexpr std::string_view kBlank = " \t\r\n";
  Next next = Next::kAny;
  for (std::size_t at = 0; (at = text.find_first_not_of(kBlank, at)) != std::string::npos;) {
    std::size_t end = std::min(text.find_first_of(kBlank, at), text.size());
    const Next after = afterFlag(std::string_view(text).substr(at, end - at));
    if (next != Next::kAny && after == Next::kAny && isQuote(text[at]))
      end = std::min(text.find_first_of(kBlank, valueEnd(text, at)), text.size());
    const std::string_view word = std::string_view(text).substr(at, end - at);
    std::size_t secret = passwordOfFlag(word);
    if (next == Next::kSecret && after == Next::kAny) secret = 0;
    if (next == Next::kUser) secret = passwordIn(word);
    if (secret != word.npos) {
      text.replace(at + secret, end - at - secret, kMask);
      end = at + secret + kMask.size();
    }
    next = after;
    at = end;
  }
}

std::string maskWord(std::string_view word) {
  std::string text(word.substr(0, kWordLimit));
  maskPem(text);
  maskUrls(text);
  if (!maskSetting(text)) {
    maskFlags(text);
    maskPairs(text);
  }
  maskBearer(text);
  maskShapes(text);
  return text;
}

constexpr std::array<std::string_view, 22> kEnvironmentPrefixes = {
    "CUDA_",  "NVIDIA_",  "NCCL_",         "OMP_", "KMP_",  "MKL_", "OPENBLAS_", "GOMP_",
    "TORCH_", "PYTORCH_", "TORCHELASTIC_", "TF_",  "XLA_",  "JAX_", "SLURM_",    "OMPI_COMM_WORLD_",
    "PMI_",   "HOROVOD_", "MALLOC_",       "UCX_", "ROCR_", "HIP_"};
constexpr std::array<std::string_view, 23> kEnvironmentNames = {"RANK",
                                                                "LOCAL_RANK",
                                                                "WORLD_SIZE",
                                                                "LOCAL_WORLD_SIZE",
                                                                "GROUP_RANK",
                                                                "MASTER_ADDR",
                                                                "MASTER_PORT",
                                                                "NODE_RANK",
                                                                "LD_PRELOAD",
                                                                "GLIBC_TUNABLES",
                                                                "PYTHONOPTIMIZE",
                                                                "PYTHONUNBUFFERED",
                                                                "PYTHONHASHSEED",
                                                                "PYTHONFAULTHANDLER",
                                                                "PYTHONMALLOC",
                                                                "LANG",
                                                                "LC_ALL",
                                                                "NUMEXPR_NUM_THREADS",
                                                                "VECLIB_MAXIMUM_THREADS",
                                                                "TOKENIZERS_PARALLELISM",
                                                                "LSB_JOBID",
                                                                "PBS_JOBID",
                                                                "JOB_ID"};

}  // namespace

std::vector<std::string> maskSecrets(const std::vector<std::string>& argv) {
  std::vector<std::string> masked;
  masked.reserve(argv.size());
  Next next = Next::kAny;
  for (const std::string& word : argv) {
    const Next after = afterFlag(word);
    const std::size_t password = next == Next::kUser ? passwordIn(word) : word.npos;
    if (next == Next::kSecret && after == Next::kAny)
      masked.emplace_back(kMask);
    else if (password != word.npos)
      masked.push_back(word.substr(0, password) + std::string(kMask));
    else
      masked.push_back(maskWord(word));
    next = after;
  }
  return masked;
}

std::string maskSource(std::string_view line) {
  std::string text(line.substr(0, kWordLimit));
  maskPem(text);
  maskUrls(text);
  maskPairs(text, true);
  maskBearer(text);
  maskShapes(text);
  return text;
}

bool environmentRecorded(std::string_view name) {
  const auto begins = [&](std::string_view prefix) { return name.starts_with(prefix); };
  if (namesSecret(name)) return false;
  return std::any_of(kEnvironmentPrefixes.begin(), kEnvironmentPrefixes.end(), begins) ||
         std::find(kEnvironmentNames.begin(), kEnvironmentNames.end(), name) !=
             kEnvironmentNames.end();
}

std::string maskSecret(std::string_view name, std::string_view value) {
  return namesSecret(name) && !value.empty() ? std::string(kMask) : maskWord(value);
}

bool hasMask(std::string_view word) { return word.find(kMask) != std::string_view::npos; }

}  // namespace stallprof
