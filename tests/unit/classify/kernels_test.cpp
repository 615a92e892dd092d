// SPDX-License-Identifier: MIT
#include "classify/kernels.h"

#include "classify/mangled_name.h"
#include "tests/catch.h"

using namespace stallprof;

namespace {

std::string shortOf(const char* raw) { return kernelName(raw).shortName; }
KernelCategory kindOf(const char* raw) { return kernelName(raw).category; }

}  // namespace

TEST_CASE("a mangled kernel keeps its qualified name and the functor it was made for") {
  CHECK(
      shortOf("_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_15CUDAFunctor_addIfEESt5arrayI"
              "PcLm3EEEEviT0_T1_") == "at::native::vectorized_elementwise_kernel<CUDAFunctor_add>");
  CHECK(
      shortOf("_ZN2at6native13reduce_kernelILi512ELi1ENS0_8ReduceOpIfNS0_7MeanOpsIffffEEjfLi4EEEEE"
              "vT1_") == "at::native::reduce_kernel<MeanOps>");
  CHECK(shortOf("_Z3addPfS_S_i") == "add");
}

TEST_CASE("lambdas inside functions inside template arguments are read to their end") {
  const char* copy =
      "_ZN2at6native27unrolled_elementwise_kernelIZZZNS0_23direct_copy_kernel_cudaERNS_18Tensor"
      "IteratorBaseEENKUlvE1_clEvENKUlvE7_clEvEUlN3c108BFloat16EE_NS_6detail5ArrayIPcLi2EEELi4E23"
      "TrivialOffsetCalculatorILi1EjESC_NS0_6memory12LoadWithCastILi1EEENSD_13StoreWithCastILi1EEE"
      "EEviT_T0_T2_T3_T4_T5_";
  CHECK(shortOf(copy) == "at::native::unrolled_elementwise_kernel<direct_copy_kernel_cuda>");
  CHECK(kindOf(copy) == KernelCategory::kMovement);
}

TEST_CASE("names that are not mangled, or demangled before, read the same") {
  CHECK(shortOf("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, "
                "at::detail::Array<char*, 3> >(int, at::native::AddFunctor<float>)") ==
        "at::native::vectorized_elementwise_kernel<AddFunctor>");
  CHECK(shortOf("ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)") ==
        "ncclDevKernel_AllReduce_Sum_f32_RING_LL");
  CHECK(shortOf("void (anonymous namespace)::softmax_warp_forward<float, 8>(float*, int)") ==
        "softmax_warp_forward");
  CHECK(shortOf("triton_poi_fused_add_relu_0") == "triton_poi_fused_add_relu_0");
}

TEST_CASE("kernels are sorted by what they do") {
  CHECK(kindOf("ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL") == KernelCategory::kCollective);
  CHECK(kindOf("sm80_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x64x32_stage4") ==
        KernelCategory::kMatmul);
  CHECK(kindOf("nvjet_hsh_128x256_64x4_1x2_h_bz_coopA_NNT") == KernelCategory::kMatmul);
  CHECK(kindOf("sm90_xmma_fprop_implicit_gemm_bf16bf16_bf16f32_f32_nhwckrsc_nhwc") ==
        KernelCategory::kConvolution);
  CHECK(kindOf("void cudnn::cnn::wgrad2d_grouped_direct_kernel<float>(int)") ==
        KernelCategory::kConvolution);
  CHECK(
      kindOf(
          "_ZN5flash16flash_fwd_kernelI23Flash_fwd_kernel_traitsILi64EEEvNS_16Flash_fwd_paramsE") ==
      KernelCategory::kAttention);
  CHECK(kindOf("void at::native::(anonymous namespace)::multi_tensor_apply_kernel<A>(B)") ==
        KernelCategory::kOptimizer);
  CHECK(kindOf("triton_red_fused_native_layer_norm_1") == KernelCategory::kNormalization);
  CHECK(kindOf("void at::native::indexSelectLargeIndex<float>(int)") == KernelCategory::kIndexing);
  CHECK(kindOf("triton_poi_fused_add_relu_0") == KernelCategory::kElementwise);
  CHECK(kindOf("triton_poi_fused_convolution_relu_0") == KernelCategory::kElementwise);
  CHECK(kindOf("void cutlass::device_kernel<flash::enable_sm90_or_later<"
               "flash::FlashAttnFwdSm90<int>>>(int)") == KernelCategory::kAttention);
  CHECK(kindOf("void cutlass__5x_cudnn::Kernel<cutlass_tensorop_f16_s16816fprop_optimized_f16_"
               "128x128_32x5_nhwc_align8>(Params)") == KernelCategory::kConvolution);
  CHECK(kindOf("void cutlass::Kernel2<cutlass_80_tensorop_f16_s16816gemm_f16_128x128>(Params)") ==
        KernelCategory::kMatmul);
  CHECK(kindOf("ampere_scudnn_128x64_relu_small_nn_v1") == KernelCategory::kConvolution);
  CHECK(kindOf("volta_fp16_s884cudnn_fp16_256x128_ldg8_relu_exp_small_nhwc_tn_v1") ==
        KernelCategory::kConvolution);
  CHECK(kindOf("void cudnn::bn_fw_tr_1C11_kernel_NCHW<float>(int)") ==
        KernelCategory::kNormalization);
  CHECK(kindOf("somebody::lambda_map_kernel") != KernelCategory::kOptimizer);
  CHECK(kindOf("void multi_tensor_lamb_stage1(int)") == KernelCategory::kOptimizer);
  CHECK(kindOf("loop_convert_fusion") == KernelCategory::kElementwise);
  CHECK(kindOf("loop_convert_convolution_fusion") == KernelCategory::kConvolution);
  CHECK(kindOf("somebodys_own") == KernelCategory::kOther);
}

TEST_CASE("damaged and hostile names stay bounded, and are left as they are") {
  for (const char* raw : {"_Z", "_ZN", "_ZN1a", "_ZN1aI", "_Z9999999999999999999999a", "_ZNE",
                          "_ZN0E", "_Z1fIEEEEE", "_ZN1aILE", "_ZN1aIUlE", "_ZN3abcILi", "_ZN1aID"})
    CHECK(kernelName(raw).shortName.size() <= KernelName::kLongest);
  CHECK(shortOf("_ZN") == "_ZN");
  CHECK(shortOf("") == "");
  // 60 substitutions, each twice the one before: a demangler would need 2^60 bytes for it.
  std::string bomb = "_Z1fI4pairIiiE";
  for (int i = 0; i < 60; ++i) bomb += "S" + std::string(1, static_cast<char>('0' + i % 10)) + "_";
  CHECK(kernelName(bomb + "Evv").shortName == "f");
  CHECK(kernelName(std::string(100'000, 'x')).shortName.size() == KernelName::kLongest);
  std::string deep = "_ZN1a1bI";
  deep += std::string(4000, 'I');
  CHECK(kernelName(deep).shortName.size() <= KernelName::kLongest);
}
