// SPDX-License-Identifier: MIT
#include "classify/kernels.h"

#include <array>
#include <cctype>
#include <initializer_list>
#include <vector>

#include "classify/mangled_name.h"
#include "event/collectives.h"

namespace stallprof {
namespace {

constexpr std::size_t kLongestRaw = 4096;  // what the agent keeps of a name

bool has(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}
bool hasAny(std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts)
    if (has(text, part)) return true;
  return false;
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return out;
}

bool word(char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; }

// Past the bracket that closes the one at `open`; the end of text where none does.
std::size_t pastBracket(std::string_view text, std::size_t open) {
  const char begin = text[open], end = begin == '<' ? '>' : ')';
  int depth = 0;
  for (std::size_t i = open; i < text.size(); ++i) {
    if (end == '>' && text[i] == '-' && i + 1 < text.size() && text[i + 1] == '>') ++i;
    if (text[i] == begin) ++depth;
    if (text[i] == end && --depth == 0) return i + 1;
  }
  return text.size();
}

constexpr std::string_view kAnonymous = "(anonymous namespace)";

// Where the qualified name begins: behind the return type, which only templates have.
std::size_t behindReturnType(std::string_view text) {
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (text.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
    } else if (text[i] == '<') {
      i = pastBracket(text, i);
    } else if (text[i] == '(') {
      return begin;
    } else if (text[i++] == ' ') {
      begin = i;
    }
  }
  return begin;
}

// "AddFunctor" of the template arguments: what makes one of PyTorch's generic kernels this one.
std::string_view functorIn(const std::vector<std::string_view>& words) {
  for (const std::string_view w : words)
    if (has(w, "Functor") || w.ends_with("Ops") || w.ends_with("_kernel_cuda") ||
        w.ends_with("_kernel"))
      return w;
  return {};
}

std::vector<std::string_view> wordsOf(std::string_view text) {
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && word(text[end])) ++end;
    if (end > i) words.push_back(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

// A name and the words of its template arguments, which say what a generic kernel does.
struct Plain {
  std::string name;
  std::vector<std::string_view> words;
};

// Of one that is not mangled: C, Triton's, or demangled already.
Plain plainName(std::string_view raw) {
  Plain out;
  for (std::size_t i = behindReturnType(raw); i < raw.size();) {
    if (raw.substr(i).starts_with(kAnonymous)) {
      i += kAnonymous.size();
      if (raw.substr(i).starts_with("::")) i += 2;
    } else if (raw[i] == '<') {
      const std::size_t past = pastBracket(raw, i);
      if (out.words.empty()) out.words = wordsOf(raw.substr(i, past - i));
      i = past;
    } else if (raw[i] == '(') {
      break;
    } else {
      out.name += raw[i++];
    }
  }
  while (out.name.ends_with(' ')) out.name.pop_back();
  if (out.name.empty()) out.name = raw;
  return out;
}

Plain readName(std::string_view raw) {
  if (auto mangled = readMangled(raw))
    return {std::move(mangled->qualified), std::move(mangled->words)};
  return plainName(raw);
}

std::string without(std::string_view part, std::string text) {
  for (std::size_t at = 0; (at = text.find(part, at)) != text.npos;) text.erase(at, part.size());
  return text;
}

struct Pattern {
  KernelCategory category;
  std::initializer_list<std::string_view> parts;
};

// The first that fits the lower-case name. Sources: the categories of HTA, XProf and PyTorch's
// TensorBoard plugin, and the libraries' own names.
KernelCategory categoryOf(const std::string& name, const std::string& arguments) {
  static const std::array<Pattern, 8> kPatterns = {{
      {KernelCategory::kAttention,
       {"flash_fwd", "flash_bwd", "flash::", "fmha", "sdpa", "attention"}},
      {KernelCategory::kOptimizer,
       {"multi_tensor_apply", "fused_adam", "fusedadam", "fused_sgd", "adam_", "lamb_", "lambstage",
        "lambupdate"}},
      {KernelCategory::kConvolution,
       {"conv", "implicit_gemm", "wgrad", "dgrad", "winograd", "im2col", "col2im", "scudnn",
        "884cudnn", "1688cudnn", "16816cudnn"}},
      {KernelCategory::kMatmul,
       {"gemm", "gemv", "nvjet_", "cutlass", "splitk", "cublas", "matmul", "_mm_", "dot_kernel"}},
      {KernelCategory::kNormalization,
       {"layer_norm", "layernorm", "rms_norm", "rmsnorm", "batch_norm", "batchnorm", "bn_fw",
        "bn_bw", "group_norm", "groupnorm"}},
      {KernelCategory::kIndexing,
       {"embedding", "index", "gather", "scatter", "sort", "topk", "scan", "unique"}},
      {KernelCategory::kReduction,
       {"reduce", "softmax", "nll_loss", "triton_red", "triton_per", "pool", "norm"}},
      {KernelCategory::kMovement,
       {"catarray", "copy", "transpose", "tocontiguous", "nchwtonhwc", "nhwctonchw", "permute",
        "pad"}},
  }};
  // CUTLASS' own name says nothing of what it computes, nor do the operators that Inductor has put
  // into one kernel of element by element.
  if (hasAny(arguments, {"flashattn", "fmha"})) return KernelCategory::kAttention;
  if (hasAny(arguments, {"fprop", "wgrad", "dgrad"})) return KernelCategory::kConvolution;
  if (name.starts_with("triton_poi_")) return KernelCategory::kElementwise;
  const std::string read = without("convert", name);  // of types: XLA's loop_convert_fusion
  if (isCollective(read)) return KernelCategory::kCollective;
  for (const Pattern& p : kPatterns)
    if (hasAny(read, p.parts)) return p.category;
  // A generic kernel's arguments name its operation.
  if (hasAny(name, {"cutlass", "kernel2"}) && has(arguments, "gemm"))
    return KernelCategory::kMatmul;
  if (hasAny(name, {"elementwise", "triton_", "convert"}))
    return has(arguments, "direct_copy") ? KernelCategory::kMovement : KernelCategory::kElementwise;
  return KernelCategory::kOther;
}

}  // namespace

KernelName kernelName(std::string_view raw) {
  raw = raw.substr(0, kLongestRaw);
  Plain plain = readName(raw);
  std::string words;
  for (const std::string_view w : plain.words) words.append(w).append(" ");
  KernelName out;
  out.category = categoryOf(lower(plain.name), lower(words));
  if (const std::string_view functor = functorIn(plain.words); !functor.empty())
    plain.name.append("<").append(functor).append(">");
  if (plain.name.size() > KernelName::kLongest) {
    plain.name.resize(KernelName::kLongest - 3);
    plain.name += "...";
  }
  out.shortName = std::move(plain.name);
  return out;
}

}  // namespace stallprof
