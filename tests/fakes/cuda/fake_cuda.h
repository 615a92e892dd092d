/* SPDX-License-Identifier: MIT
 *
 * A driver without a GPU: what the agent needs of libcuda.so.1 (cuInit with injection, its version,
 * contexts), and calls by which a test gives the device work. All work takes no time but the sleep
 * that is asked for, and is reported to the tracer, the fake CUPTI, if one has registered. */
#ifndef STALLPROF_TESTS_FAKE_CUDA_H
#define STALLPROF_TESTS_FAKE_CUDA_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct fake_call { /* one call of the program into the driver or runtime */
  uint32_t domain; /* 1: driver, 2: runtime */
  uint32_t cbid;
  uint32_t correlation;
  uint64_t start, end; /* CLOCK_REALTIME, ns */
};

struct fake_tracer {
  void (*context)(void);                      /* one was made */
  void (*call)(const struct fake_call* call); /* after the call */
  void (*kernel)(const struct fake_call* call, const char* name, uint64_t start, uint64_t end);
  void (*copy)(const struct fake_call* call, int kind, int memory, uint64_t bytes);
  void (*sync)(const struct fake_call* call, int type);
  void (*graph)(const struct fake_call* call, uint64_t start, uint64_t end);
};

int cuInit(unsigned flags);
int cuDriverGetVersion(int* version);
int cuCtxCreate_v2(void** context, unsigned flags, int device);
int cuCtxSynchronize(void);

void fakeSetTracer(const struct fake_tracer* tracer);
void fakeLaunch(const char* name, uint64_t ns);      /* cudaLaunchKernel */
void fakeGraph(uint64_t ns);                         /* cudaGraphLaunch */
void fakeCopy(int kind, int memory, uint64_t bytes); /* cudaMemcpyAsync */
void fakeDriverCopy(void);         /* cuMemcpyHtoDAsync, without a record of work */
void fakeSynchronize(uint64_t ns); /* cudaStreamSynchronize: sleeps */
void fakeQuery(void);              /* cudaGetDevice: of no interest */

#ifdef __cplusplus
}
#endif
#endif
