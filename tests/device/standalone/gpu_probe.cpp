/// Prints the compute capability of CUDA device 0 ("9.0"), so that code is compiled for that one
/// alone; exit status 77 and the reason where there is none. Needs the driver and nothing of the
/// toolkit.
#include <dlfcn.h>

#include <cstdio>

namespace {

template <class... Arguments>
bool call(void* library, const char* name, Arguments... arguments) {
  using Function = int (*)(Arguments...);
  auto* function = reinterpret_cast<Function>(dlsym(library, name));
  return function && function(arguments...) == 0;
}

int none(const char* why) {
  std::printf("%s\n", why);
  return 77;
}

}  // namespace

int main() {
  void* library = dlopen("libcuda.so.1", RTLD_NOW);
  if (!library) return none("there is no NVIDIA driver: libcuda.so.1 cannot be opened");
  if (!call(library, "cuInit", 0U))
    return none("the NVIDIA driver does not start: cuInit failed, or no device is visible");
  int count = 0, device = 0, major = 0, minor = 0;
  constexpr int kMajor = 75,
                kMinor = 76;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR
  if (!call(library, "cuDeviceGetCount", &count) || count < 1 ||
      !call(library, "cuDeviceGet", &device, 0) ||
      !call(library, "cuDeviceGetAttribute", &major, kMajor, device) ||
      !call(library, "cuDeviceGetAttribute", &minor, kMinor, device))
    return none("the NVIDIA driver lists no device");
  std::printf("%d.%d\n", major, minor);
  return 0;
}
