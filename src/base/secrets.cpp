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

// Up to where a value begins at `at` goes: a quoted one to its quote, a plain one to white space or
// to what separates parameters.
std::size_t valueEnd(std::string_view text, std::size_t at) {
  if (at < text.size() && isQuote(text[at]))
    return std::min(text.find(text[at], at + 1), text.size());
  return std::min(text.find_first_of(" \t\r\n&;,\"'})", at), text.size());
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
    if (literals && value < text.size() && prefixesLiteral(text[value])) ++value;
    const char quote = value < text.size() && isQuote(text[value]) ? text[value] : '\0';
    if (literals && quote == '\0') continue;
    // A header's whole line: "Authorization: Basic xyz", "Cookie: a=1; b=2".
    const std::string word = folded(std::string_view(text).substr(name, nameEnd - name));
    const bool header =
        text[at] == ':' && (contains(word, "authorization") || contains(word, "cookie"));
    const std::size_t end = header && quote == '\0'
                                ? std::min(text.find_first_of("\r\n\"", value), text.size())
                                : valueEnd(text, value);
    if (value < end && quote != '\0') ++value;
    if (value < end) text.replace(value, end - value, kMask);
    at = std::min(value + kMask.size(), text.size()) - 1;
  }
}

// "Bearer xyz", anywhere in the text.
void maskBearer(std::string& text) {
  const std::string lower = [&] {
    std::string copy = text;
    for (char& c : copy) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return copy;
  }();
  const std::size_t at = lower.find("bearer ");
  if (at == std::string::npos) return;
  const std::size_t value = at + 7;
  text.replace(value, valueEnd(text, value) - value, kMask);
}

// A key in the clear: nothing after its first line is kept.
void maskPem(std::string& text) {
  const std::size_t at = text.find("-----BEGIN ");
  if (at != std::string::npos && contains(text, "PRIVATE KEY"))
    text.replace(at, text.size(), kMask);
}

// A flag whose value is the next word: --password hunter2, -token x; not --password=hunter2.
bool flagOfSecret(std::string_view word) {
  return word.size() > 1 && word[0] == '-' && word.find_first_of("=: \t\r\n") == word.npos &&
         namesSecret(word);
}

// The same inside one word: sh -c "mysql --password hunter2".
void maskFlags(std::string& text) {
  bool valueOfSecret = false;
  for (std::size_t at = 0; (at = text.find_first_not_of(" \t\r\n", at)) != std::string::npos;) {
    std::size_t end = std::min(text.find_first_of(" \t\r\n", at), text.size());
    const bool flag = flagOfSecret(std::string_view(text).substr(at, end - at));
    if (valueOfSecret && !flag) {
      text.replace(at, end - at, kMask);
      end = at + kMask.size();
    }
    valueOfSecret = flag;
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

// curl's and wget's way to give a name and a password together.
bool flagOfUser(std::string_view word) {
  return word == "--user" || word == "--proxy-user" || word == "-u" || word == "-U";
}
std::string maskUser(const std::string& word) {
  const std::size_t colon = word.find(':');
  const bool path = word.find('/') != std::string::npos;
  return colon == std::string::npos || path ? maskWord(word)
                                            : word.substr(0, colon + 1) + std::string(kMask);
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
  bool valueOfSecret = false, valueOfUser = false;
  for (const std::string& word : argv) {
    const bool flag = flagOfSecret(word);
    if (valueOfSecret && !flag)
      masked.emplace_back(kMask);
    else
      masked.push_back(valueOfUser ? maskUser(word) : maskWord(word));
    valueOfSecret = flag;
    valueOfUser = flagOfUser(word);
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
