// SPDX-License-Identifier: MIT
#include "classify/native_work.h"

#include "tests/catch.h"

using namespace stallprof;
using Is = NativeWork::Is;

namespace {

NativeWork at(std::string_view file, std::string_view symbol) {
  return nativeWork(RuleTable::builtIn(), file, symbol);
}

const std::string_view kProgram = "/opt/trainer", kLibc = "/lib/x86_64-linux-gnu/libc.so.6";

}  // namespace

TEST_CASE("time in the kernel is by its system call") {
  CHECK(at("[kernel]", "openat").is == Is::kOpen);
  CHECK(at("[kernel]", "close").is == Is::kOpen);
  CHECK(at("[kernel]", "pread64").is == Is::kRead);
  CHECK(at("[kernel]", "pread64").phase == Phase::kExtract);
  CHECK(at("[kernel]", "write").phase == Phase::kOther);
  CHECK(at("[kernel]", "page_fault").is == Is::kUnknown);
  CHECK(at("[kernel]", "").is == Is::kUnknown);
}

TEST_CASE(
    "libraries of numerics compute, codecs transform, the C library does what it is called for") {
  CHECK(at("/usr/lib/libopenblasp-r0.3.21.so", "dgemm_kernel_HASWELL").phase == Phase::kCompute);
  CHECK(at("/usr/lib/libjpeg.so.62", "decode_mcu").phase == Phase::kTransform);
  CHECK(at("/usr/lib/libz.so.1", "inflate_fast").phase == Phase::kTransform);
  CHECK(at(kLibc, "read").phase == Phase::kExtract);
  CHECK(at(kLibc, "____strtof_l_internal").phase == Phase::kTransform);
  CHECK(at(kLibc, "__GI_____strtod_l_internal").phase ==
        Phase::kTransform);  // of its debug symbols
  CHECK(at(kLibc, "str_to_mpn.part.0.constprop.0").phase == Phase::kTransform);
  CHECK(at(kLibc, "__GI_strlen").is == Is::kMakes);
  for (const char* reads :
       {"_IO_file_xsgetn", "__GI__IO_file_xsgetn", "_IO_getline_info", "getdelim"})
    CHECK(at(kLibc, reads).phase == Phase::kExtract);
  for (const char* parses : {"__strtok_r", "__isoc99_fscanf", "__GI___isoc99_vfscanf", "atoi"})
    CHECK(at(kLibc, parses).phase == Phase::kTransform);
  CHECK(at(kLibc, "__memmove_avx_unaligned_erms").is == Is::kUnknown);
  CHECK(at("/usr/lib/x86_64-linux-gnu/libm.so.6", "__tanhf").phase != Phase::kTransform);
}

TEST_CASE("trainers without an interpreter are known by their symbols") {
  CHECK(at("/usr/bin/fasttext", "_ZN8fasttext5Model6updateERKSt6vectorIiSaIiEES5_ifRNS0_5StateE")
            .phase == Phase::kCompute);
  CHECK(at("/usr/lib/libfasttext.so.0",
           "_ZNK8fasttext10Dictionary8readWordERSiRNSt7__cxx1112basic_stringIcSt11char_"
           "traitsIcESaIcEEE")
            .phase == Phase::kTransform);
}

TEST_CASE("a template of the standard library is for the function whose lambda it was given") {
  // std::sort in a metric, std::function around an update of the scores, of LightGBM 4.
  const NativeWork sort =
      at("/opt/lightgbm",
         "_ZSt16__introsort_loopIN9__gnu_cxx17__normal_iteratorIPiSt6vectorIiSaIiEEEElNS0_5__ops15_"
         "Iter_comp_iterIZNK8LightGBM9AUCMetric4EvalEPKdPKNS9_17ObjectiveFunctionEEUliiE_EEEvT_SI_"
         "T0_T1_");
  CHECK(sort.phase == Phase::kPeriodic);
  CHECK(sort.evaluates);
  CHECK(at("/opt/lightgbm",
           "_ZNSt17_Function_handlerIFviiiEZNK8LightGBM4Tree20AddPredictionToScoreEPKNS1_"
           "7DatasetEiPdEUliiiE6_E9_M_invokeERKSt9_Any_dataOiSC_SC_")
            .phase == Phase::kCompute);
  CHECK(at(kProgram, "_ZSt6__sortIPiZ10load_batchvEUliiE_EvT_S2_T0_").phase == Phase::kTransform);
  CHECK(at(kProgram, "_ZSt6__sortIPiZ4mainEUliiE_EvT_S2_T0_").is == Is::kOwn);
  CHECK(at(kProgram, "_ZSt6__sortIPiEvT_S1_").is == Is::kOwn);
  CHECK(at(kProgram, "_ZSt6__sortIPiEvT_S1_").ofTemplate);  // for whoever called it
  CHECK_FALSE(at(kProgram, "_ZN6Binner4findEv").ofTemplate);
  CHECK(at(kProgram, "_ZSt" + std::string(4000, 'Z')).is == Is::kOwn);
  std::string forged = "_ZN9__gnu_cxx1aE";
  while (forged.size() < 60'000) forged += "ZN9__gnu_cxx1aE";
  CHECK(at(kProgram, forged).is == Is::kOwn);
  // Words of its names are not the program's.
  CHECK(at(kProgram, "_ZSt7forwardIRiEOT_RNSt16remove_referenceIS1_E4typeE").is == Is::kOwn);
}

TEST_CASE("random numbers are known by libc's functions, and by C++'s engines and distributions") {
  for (const char* makes : {"__random_r", "rand"}) CHECK(at(kLibc, makes).is == Is::kMakes);
  CHECK(at(kLibc, "__rand_shuffle").is == Is::kUnknown);
  for (const char* makes : {"_ZNSt23mersenne_twister_engineImLm32ELm624EE11_M_gen_randEv",
                            "_ZNSt19normal_distributionIfEclEv"})
    CHECK(at(kProgram, makes).is == Is::kMakes);
  CHECK(at(kProgram, "random_forest").is == Is::kOwn);
}

TEST_CASE("a loop that OpenMP divides is a region, as its compiler names it") {
  CHECK(at(kProgram, "main._omp_fn.0").is == Is::kRegion);
  CHECK(at(kProgram, "_Z4loopv.omp_outlined").is == Is::kRegion);
  CHECK(at(kProgram, "_Z13augment_batchv._omp_fn.0").phase == Phase::kTransform);
  CHECK(at("/usr/lib/x86_64-linux-gnu/libgomp.so.1.0.0", "").is == Is::kTeam);
}

TEST_CASE("the words of a function's name say whether it goes forward through a model or back") {
  CHECK(passOfWords("matmul_forward._omp_fn.0") == ModelPass::kForward);
  for (const std::string_view back : {"nn::Conv2d::backward", "computeGradients"})
    CHECK(passOfWords(back) == ModelPass::kBackward);
  for (const std::string_view neither : {"adamw_update", "forward_backward"})
    CHECK(passOfWords(neither) == ModelPass::kNone);
}

TEST_CASE("the program's own code is known by the words of its names, where they agree") {
  CHECK(phaseOfWords("matmul_forward") == Phase::kCompute);
  CHECK(phaseOfWords("nn::AdamW::step") == Phase::kCompute);
  CHECK(phaseOfWords("trainStep") == Phase::kCompute);
  CHECK(phaseOfWords("DataLoader::nextBatch") == Phase::kTransform);
  CHECK(phaseOfWords("load_image") == Phase::kTransform);
  CHECK(phaseOfWords("decoder_forward") == Phase::kCompute);  // a layer: no word of data
  for (const std::string_view vague :
       {"main", "run", "train", "loop", "step", "update", "process", "backward_dataset", ""})
    CHECK(phaseOfWords(vague) == Phase::kUnknown);
  CHECK(at(kProgram, "matmul_forward").byName);
  CHECK(at(kProgram, "main").is == Is::kOwn);
  CHECK(at(kProgram, "").is == Is::kOwn);
}

TEST_CASE("who has libc compare text handles it, and functions that read words make data") {
  for (const char* makes : {"__strcmp_evex", "__strchr_avx2"})
    CHECK(at(kLibc, makes).is == Is::kMakes);
  CHECK(at(kLibc, "memcpy").is == Is::kUnknown);
  CHECK(at("/usr/lib/libstdc++.so.6", "_ZNSi4readEPcl").is == Is::kMakes);
  CHECK(at("/usr/lib/libstdc++.so.6", "_ZNSo5writeEPKcl").is == Is::kUnknown);
  CHECK(at(kProgram, "ReadWord").phase == Phase::kTransform);
  CHECK(at(kProgram, "strcmp").is == Is::kOwn);
}
