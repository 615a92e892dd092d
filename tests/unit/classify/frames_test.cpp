// SPDX-License-Identifier: MIT
#include "classify/frames.h"

#include "base/splitmix64.h"
#include "tests/catch.h"

using namespace stallprof;

TEST_CASE("installed files are named from their package on, the user's as they are") {
  const auto path = [](std::string_view file) { return modulePathOf(file).path; };
  const auto users = [](std::string_view file) { return modulePathOf(file).users; };
  CHECK(path("/usr/lib/python3/dist-packages/PIL/Image.py") == "PIL/Image.py");
  CHECK(path("/venv/lib/python3.12/site-packages/torch/nn/modules/module.py") ==
        "torch/nn/modules/module.py");
  CHECK(path("/usr/lib/python3.11/json/decoder.py") == "json/decoder.py");
  CHECK(path("/opt/conda/lib64/python3.9/gzip.py") == "gzip.py");
  CHECK(path("/home/me/.pyenv/versions/3.13.0/lib/python3.13/random.py") == "random.py");
  CHECK(path("<frozen importlib._bootstrap_external>") == "importlib/_bootstrap_external.py");
  CHECK(path("<__array_function__ internals>") == "numpy/core/overrides.py");
  CHECK(!users("<frozen os>"));
  CHECK(path("/tmp/torchinductor_me/ab/cabc.py") == "torchinductor_me/ab/cabc.py");
  CHECK(!users("/tmp/torchinductor_me/ab/cabc.py"));  // written by torch.compile
  CHECK(!users("/usr/lib/python3.11/os.py"));
  CHECK(path("/opt/lib/stallprof/hook/stallprof_hook/loader.py") == "stallprof_hook/loader.py");
  CHECK(!users("/opt/lib/stallprof/hook/stallprof_hook/loader.py"));
  for (const char* own : {"train.py", "/home/me/lib/python/train.py", "/srv/datasets/coco.py",
                          "<string>", "<stdin>", "/srv/python3.11/train.py"}) {
    INFO(own);
    CHECK(users(own));
    CHECK(path(own) == own);
  }
}

TEST_CASE("a star stands for any run of characters") {
  CHECK(fitsPattern("libjpeg.so.62", "libjpeg*"));
  CHECK(fitsPattern("abc", "*"));
  CHECK(fitsPattern("a.b.c", "a*c"));
  CHECK(fitsPattern("aXbXc", "a*b*c"));
  CHECK(!fitsPattern("aXbX", "a*b*c"));
  CHECK(!fitsPattern("libjpeg", "libjpeg.so"));
  CHECK(fitsPattern("", ""));
  CHECK(!fitsPattern("", "a"));
  // Would take years with a naive matcher.
  CHECK(!fitsPattern(std::string(5000, 'a'), "a*a*a*a*a*a*a*a*a*a*b"));
}

TEST_CASE("a module pattern fits a whole installed path, or the end of the user's own") {
  const ModulePath pillow{"PIL/Image.py", false}, own{"/home/me/proj/mine/codec.py", true};
  CHECK(fitsModule(pillow, "PIL/Image.py"));
  CHECK(fitsModule(pillow, "PIL/"));
  CHECK(!fitsModule(pillow, "Image.py"));
  CHECK(!fitsModule(pillow, "PIL"));
  CHECK(fitsModule(own, "mine/codec.py"));
  CHECK(fitsModule(own, "mine/"));
  CHECK(!fitsModule(own, "ine/codec.py"));
  CHECK(!fitsModule({"vendored/PIL/Image.py", false}, "PIL/"));
}

// fitsModule and fitsFunction put no pattern together; what they answer is as if they had.
TEST_CASE("a pattern fits behind any boundary as one with a star before it would") {
  std::uint64_t random = 0;
  const auto word = [&](std::string_view letters, std::size_t maxLetters) {
    std::string out;
    for (std::size_t left = splitmix64(++random) % (maxLetters + 1); left > 0; --left)
      out += letters[splitmix64(++random) % letters.size()];
    return out;
  };
  for (int i = 0; i < 30'000; ++i) {
    const std::string path = word("ab/", 9), module = word("aab/*", 6);
    const std::string below = module + (module.ends_with('/') ? "*" : "");
    const bool whole = fitsPattern(path, below), end = whole || fitsPattern(path, "*/" + below);
    if (fitsModule({path, false}, module) != whole || fitsModule({path, true}, module) != end)
      FAIL(path << " and " << module);
    const std::string function = word("ab", 4) + "." + word("ab.", 6), name = word("aab.*", 6);
    if (fitsFunction(function, name) !=
        (fitsPattern(function, name) || fitsPattern(function, "*." + name)))
      FAIL(function << " and " << name);
  }
}

TEST_CASE("functions fit by qualified name, and by their last part where no more is known") {
  CHECK(fitsFunction("Tensor.backward", "Tensor.backward"));
  CHECK(fitsFunction("backward", "Tensor.backward"));  // before CPython 3.11
  CHECK(fitsFunction("Tensor.backward", "backward"));
  CHECK(fitsFunction("make.<locals>.Tensor.backward", "Tensor.backward"));
  CHECK(!fitsFunction("Function.backward", "Tensor.backward"));
  CHECK(!fitsFunction("backward_hook", "backward"));
  CHECK(fitsFunction("GzipFile.read", "GzipFile.*"));
}
