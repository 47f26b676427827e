/* A CUDA driver with one device, for a machine without any. */
#include <stdio.h>

int cuInit(unsigned flags) { return (int)flags; }
int cuDriverGetVersion(int *version) { return *version = 13000, 0; }
int cuDeviceGetCount(int *count) { return *count = 1, 0; }
int cuDeviceGet(int *device, int number) { return *device = number, 0; }
int cuDeviceGetName(char *name, int size, int device) {
  snprintf(name, (size_t)size, "NVIDIA Test %d", device);
  return 0;
}
int cuDeviceGetAttribute(int *value, int attribute, int device) {
  *value = attribute == 75 ? 9 : 0;
  return device;
}
int cuDeviceTotalMem_v2(size_t *bytes, int device) { return *bytes = (size_t)1 << 37, device; }
