// Plays an exported controller in onnxruntime's C API and holds it to its recording:
//
//   c++ -O2 -std=c++17 replay.cpp -o replay -I ONNXRUNTIME/include -L ONNXRUNTIME/lib -lonnxruntime
//   ./replay FOLDER
//
// FOLDER is what `ambulo export` wrote. What an engine does is in `Controller`: make the tensors once, over memory of
// your own, and run the graph once a tick; nothing is allocated in a step. Exit code 0 where all outputs agree.
#if __has_include(<onnxruntime_c_api.h>)
#include <onnxruntime_c_api.h>
#else
#include "onnxruntime_few.h"
#endif

#include <algorithm>
#include <chrono>
#include <cctype>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

using Floats = std::vector<float>;

// --- What golden.json says: numbers, texts, lists and tables -----------------------------------------------------

struct Json {
  double number = 0;
  std::string text;
  std::vector<Json> list;
  std::map<std::string, Json> table;

  const Json& operator[](const std::string& name) const {
    auto found = table.find(name);
    if (found == table.end()) throw std::runtime_error("golden.json: " + name + " is missing");
    return found->second;
  }
};

class JsonReader {
 public:
  explicit JsonReader(const std::string& text) : at_(text.c_str()), end_(at_ + text.size()) {}

  Json value() {
    Json json;
    switch (next()) {
      case '{':
        ++at_;
        while (next() != '}') {
          std::string name = value().text;
          expect(':');
          json.table[name] = value();
          if (next() == ',') ++at_;
        }
        ++at_;
        break;
      case '[':
        ++at_;
        while (next() != ']') {
          json.list.push_back(value());
          if (next() == ',') ++at_;
        }
        ++at_;
        break;
      case '"':
        for (++at_; *at_ != '"'; ++at_) {
          if (*at_ == '\\') ++at_;
          if (at_ >= end_) throw std::runtime_error("golden.json ends within a text");
          json.text += *at_;
        }
        ++at_;
        break;
      default: {
        char* after = nullptr;
        json.number = std::strtod(at_, &after);
        if (after == at_) {  // true, false, null
          while (std::isalpha(static_cast<unsigned char>(*at_))) json.text += *at_++;
          if (json.text.empty()) throw std::runtime_error("golden.json is not JSON");
        } else {
          at_ = after;
        }
      }
    }
    return json;
  }

 private:
  char next() {
    while (at_ < end_ && std::isspace(static_cast<unsigned char>(*at_))) ++at_;
    if (at_ >= end_) throw std::runtime_error("golden.json ends too soon");
    return *at_;
  }
  void expect(char wanted) {
    if (next() != wanted) throw std::runtime_error("golden.json is not JSON");
    ++at_;
  }
  const char* at_;
  const char* end_;
};

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error(path + " cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// --- The recording: golden.bin holds all arrays of golden.json end to end, float32, little-endian ------------------

struct Array {
  std::vector<int64_t> shape;
  const float* values;
  // Of a recorded array, the frame first: where a frame begins, how many numbers it has, and their shape.
  size_t width() const {
    size_t size = 1;
    for (size_t axis = 1; axis < shape.size(); ++axis) size *= static_cast<size_t>(shape[axis]);
    return size;
  }
  const float* frame(size_t step) const { return values + step * width(); }
  std::vector<int64_t> frame_shape() const { return {shape.begin() + 1, shape.end()}; }
};

struct Recording {
  Json told;
  Floats numbers;
  std::map<std::string, Array> arrays;

  explicit Recording(const std::string& folder) : told(JsonReader(read_file(folder + "/golden.json")).value()) {
    std::string bytes = read_file(folder + "/golden.bin");
    numbers.resize(bytes.size() / sizeof(float));
    std::copy_n(bytes.data(), numbers.size() * sizeof(float), reinterpret_cast<char*>(numbers.data()));
    for (const auto& [name, entry] : told["arrays"].table) {
      Array array{{}, numbers.data() + static_cast<size_t>(entry["offset"].number)};
      size_t size = 1;
      for (const Json& length : entry["shape"].list) {
        array.shape.push_back(static_cast<int64_t>(length.number));
        size *= static_cast<size_t>(length.number);
      }
      if (array.values + size > numbers.data() + numbers.size()) throw std::runtime_error("golden.bin ends within " + name);
      arrays[name] = array;
    }
  }
};

// --- The controller: this is what goes into an engine ---------------------------------------------------------------

class Controller {
 public:
  Controller(const std::string& path, int threads = 1) {
    const OrtApiBase* base = OrtGetApiBase();
    api_ = base->GetApi(ORT_API_VERSION);
    if (!api_) throw std::runtime_error(std::string("onnxruntime ") + base->GetVersionString() + " is too old");
    check(api_->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "ambulo", &env_));
    OrtSessionOptions* options = nullptr;
    check(api_->CreateSessionOptions(&options));
    check(api_->SetIntraOpNumThreads(options, threads));  // many small operators: more threads only cost
    check(api_->CreateSession(env_, std::filesystem::path(path).c_str(), options, &session_));  // wide on Windows
    check(api_->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &memory_));
  }

  // Memory of a tensor, bound to a name once; write inputs into it, read outputs from it.
  float* input(const std::string& name, const std::vector<int64_t>& shape) { return bind(inputs_, name, shape); }
  float* output(const std::string& name, const std::vector<int64_t>& shape) { return bind(outputs_, name, shape); }

  void step() {
    check(api_->Run(session_, nullptr, inputs_.names.data(), inputs_.values.data(), inputs_.values.size(),
                    outputs_.names.data(), outputs_.values.size(), outputs_.values.data()));
  }

 private:
  struct Bound {
    std::vector<const char*> names;
    std::vector<OrtValue*> values;
  };

  float* bind(Bound& bound, const std::string& name, const std::vector<int64_t>& shape) {
    size_t size = 1;
    for (int64_t length : shape) size *= static_cast<size_t>(length);
    names_.push_back(std::make_unique<std::string>(name));
    memory_of_.push_back(std::make_unique<Floats>(size));
    float* data = memory_of_.back()->data();
    OrtValue* value = nullptr;
    check(api_->CreateTensorWithDataAsOrtValue(memory_, data, size * sizeof(float), shape.data(), shape.size(),
                                               ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT, &value));
    bound.names.push_back(names_.back()->c_str());
    bound.values.push_back(value);
    return data;
  }

  void check(OrtStatus* status) const {
    if (status) throw std::runtime_error(api_->GetErrorMessage(status));
  }

  const OrtApi* api_ = nullptr;
  OrtEnv* env_ = nullptr;
  OrtSession* session_ = nullptr;
  OrtMemoryInfo* memory_ = nullptr;
  Bound inputs_, outputs_;
  std::vector<std::unique_ptr<std::string>> names_;
  std::vector<std::unique_ptr<Floats>> memory_of_;
};

// --- The replay -------------------------------------------------------------------------------------------------------

// The largest difference; rotations are compared without their sign.
double distance(const std::string& name, const float* found, const float* wanted, size_t size) {
  double worst = 0;
  bool rotations = name.find("rotation") != std::string::npos;
  size_t group = rotations ? 4 : 1;
  for (size_t k = 0; k < size; k += group) {
    double same = 0, turned = 0;
    for (size_t i = k; i < k + group; ++i) {
      if (!std::isfinite(found[i])) return INFINITY;
      same = std::max(same, std::abs(double(found[i]) - wanted[i]));
      turned = std::max(turned, std::abs(double(found[i]) + wanted[i]));
    }
    worst = std::max(worst, rotations ? std::min(same, turned) : same);
  }
  return worst;
}

int replay(const std::string& folder) {
  Recording golden(folder);
  size_t frames = static_cast<size_t>(golden.told["frames"].number);
  Controller controller(folder + "/controller.onnx");

  const Array& first = golden.arrays.at("state");
  size_t width = first.width() * static_cast<size_t>(first.shape[0]);
  float* state = controller.input("state", first.shape);
  float* next = controller.output("state_next", first.shape);
  std::copy_n(first.values, width, state);
  std::map<std::string, float*> inputs, outputs;
  for (const auto& [name, array] : golden.arrays) {
    if (name.rfind("in_", 0) == 0) inputs[name] = controller.input(name.substr(3), array.frame_shape());
    if (name.rfind("out_", 0) == 0) outputs[name] = controller.output(name.substr(4), array.frame_shape());
  }
  std::map<std::string, double> worst;
  std::vector<double> microseconds;
  for (size_t step = 0; step < frames; ++step) {
    for (auto& [name, data] : inputs) {
      const Array& array = golden.arrays.at(name);
      std::copy_n(array.frame(step), array.width(), data);
    }
    auto began = std::chrono::steady_clock::now();
    controller.step();
    microseconds.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - began).count());
    std::copy_n(next, width, state);
    for (auto& [name, data] : outputs) {
      const Array& array = golden.arrays.at(name);
      std::string output = name.substr(4);
      double off = distance(output, data, array.frame(step), array.width());
      worst[output] = std::max(worst[output], off);
      double limit = golden.told["tolerances"][output].number;
      if (!(off <= limit)) {
        std::fprintf(stderr, "%s differs by %g in frame %zu, more than %g\n", output.c_str(), off, step, limit);
        return 2;
      }
    }
  }
  for (const auto& [name, off] : worst) std::printf("%s: at most %.2g off\n", name.c_str(), off);
  std::nth_element(microseconds.begin(), microseconds.begin() + frames / 2, microseconds.end());
  std::printf("agrees over %zu frames; a step takes %.0f us\n", frames, microseconds[frames / 2]);
  return 0;
}

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: replay FOLDER\n");
    return 1;
  }
  try {
    return replay(arguments[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "replay: %s\n", error.what());
    return 1;
  }
}
