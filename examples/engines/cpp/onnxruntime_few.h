// The few functions of onnxruntime's C API that replay.cpp calls, for machines that have the library but not its
// headers. OrtApi is a table of functions; places in it never change, new ones are added at its end. Where
// onnxruntime_c_api.h is found, replay.cpp takes that and this file is not read.
#pragma once
#include <cstddef>
#include <cstdint>

struct OrtStatus;
struct OrtEnv;
struct OrtSession;
struct OrtSessionOptions;
struct OrtRunOptions;
struct OrtMemoryInfo;
struct OrtValue;
using Unused = void (*)();
#ifdef _WIN32
using ORTCHAR_T = wchar_t;
#else
using ORTCHAR_T = char;
#endif

struct OrtApi {
  Unused create_status, get_error_code;
  const char* (*GetErrorMessage)(const OrtStatus*);
  OrtStatus* (*CreateEnv)(int severity, const char* name, OrtEnv** out);
  Unused from_4_to_6[3];
  OrtStatus* (*CreateSession)(const OrtEnv*, const ORTCHAR_T* path, const OrtSessionOptions*, OrtSession** out);
  Unused from_8_to_8[1];
  OrtStatus* (*Run)(OrtSession*, const OrtRunOptions*, const char* const* input_names, const OrtValue* const* inputs,
                    size_t input_count, const char* const* output_names, size_t output_count, OrtValue** outputs);
  OrtStatus* (*CreateSessionOptions)(OrtSessionOptions** out);
  Unused from_11_to_23[13];
  OrtStatus* (*SetIntraOpNumThreads)(OrtSessionOptions*, int threads);
  Unused from_25_to_48[24];
  OrtStatus* (*CreateTensorWithDataAsOrtValue)(const OrtMemoryInfo*, void* data, size_t bytes, const int64_t* shape,
                                               size_t rank, int type, OrtValue** out);
  Unused from_50_to_68[19];
  OrtStatus* (*CreateCpuMemoryInfo)(int allocator, int memory, OrtMemoryInfo** out);
};

struct OrtApiBase {
  const OrtApi* (*GetApi)(uint32_t version);
  const char* (*GetVersionString)();
};

extern "C" const OrtApiBase* OrtGetApiBase();

#define ORT_API_VERSION 12
constexpr int ORT_LOGGING_LEVEL_ERROR = 3;
constexpr int OrtArenaAllocator = 1;
constexpr int OrtMemTypeDefault = 0;
constexpr int ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT = 1;
