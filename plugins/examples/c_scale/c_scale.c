/* A converter in C that needs only libc (tier none): y = factor * W x, with its own backward.
 *
 * It wraps linear layers: the layer itself runs as before (also if another converter replaced it),
 * and its output is multiplied. d(factor y)/dy = factor, so backward is the same function. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <titan/titan_sdk.h>

#include "titan_note.h" /* made from c_scale.json */

static const titan_host *host;

typedef struct scale {
  double factor;
} scale;

/* bfloat16 is the upper half of a float32. */
static float from_bfloat16(uint16_t half) {
  const uint32_t bits = (uint32_t)half << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

/* Rounds to nearest, ties to even; what is not a number stays so. */
static uint16_t to_bfloat16(float value) {
  uint32_t bits;
  memcpy(&bits, &value, sizeof bits);
  if (value != value) return 0x7fc0;
  return (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
}

static int is_type(titan_dl_dtype dtype, int code, int bits) {
  return dtype.code == code && dtype.bits == bits && dtype.lanes == 1;
}

/* A new tensor with factor * in. Contiguous float32 or bfloat16 (what mixed precision makes of the
 * layers' outputs and gradients) in CPU memory only, and it says so. */
static titan_status multiply(double factor, titan_tensor *in, titan_tensor **out) {
  const titan_dl_tensor *from = NULL, *to = NULL;
  int64_t count = 1, expected = 1;
  titan_status status = host->tensor_dl(in, &from);
  if (status != TITAN_OK) return status;
  const int wide = is_type(from->dtype, TITAN_DTYPE_FLOAT, 32);
  if (from->device.type != TITAN_CPU || !(wide || is_type(from->dtype, TITAN_DTYPE_BFLOAT, 16)))
    return host->set_error(TITAN_UNSUPPORTED,
                           TITAN_STR("c_scale handles float32 and bfloat16 in CPU memory"),
                           TITAN_STR("set training.device: cpu"));
  for (int32_t i = from->ndim - 1; i >= 0; --i) {
    if (from->shape[i] != 1 && from->strides[i] != expected)
      return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("c_scale handles contiguous tensors"),
                             TITAN_STR("exclude this layer"));
    expected *= from->shape[i];
    count *= from->shape[i];
  }
  status = host->tensor_empty(from->device, from->dtype, from->ndim, from->shape, out);
  if (status != TITAN_OK) return status;
  status = host->tensor_dl(*out, &to);
  if (status != TITAN_OK) {
    host->tensor_release(*out);
    return status;
  }
  const char *source = (const char *)from->data + from->byte_offset;
  for (int64_t i = 0; i < count; ++i) {
    if (wide)
      ((float *)to->data)[i] = (float)factor * ((const float *)source)[i];
    else
      ((uint16_t *)to->data)[i] =
          to_bfloat16((float)factor * from_bfloat16(((const uint16_t *)source)[i]));
  }
  return TITAN_OK;
}

static titan_status forward(void *self, titan_call *call) {
  titan_tensor *y = NULL, *scaled = NULL;
  titan_status status = host->call_get(call, TITAN_STR("y"), &y);
  if (status == TITAN_OK) status = multiply(((scale *)self)->factor, y, &scaled);
  return status != TITAN_OK ? status : host->call_set(call, TITAN_STR("y"), scaled);
}

static titan_status backward(void *self, titan_call *call) {
  titan_tensor *grad = NULL, *scaled = NULL;
  titan_status status = host->call_grad_output(call, &grad);
  if (status == TITAN_OK) status = multiply(((scale *)self)->factor, grad, &scaled);
  return status != TITAN_OK ? status : host->call_set_grad(call, TITAN_STR("y"), scaled);
}

/* The instance outlives the modules' code, so every module can share it as `self`. */
static const titan_module_impl impl = {sizeof(titan_module_impl), 0, forward, backward, NULL, NULL};

static titan_status create(titan_create *context, void **instance) {
  titan_create_info info = TITAN_SIZED(titan_create_info);
  if (host->create_info(context, &info) == TITAN_OK && info.device->type != TITAN_CPU)
    return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("c_scale works in CPU memory only"),
                           TITAN_STR("set training.device: cpu"));
  scale *made = malloc(sizeof *made);
  if (!made) return host->set_error(TITAN_FAILED, TITAN_STR("out of memory"), TITAN_STR(""));
  const titan_status status = host->option_float(context, TITAN_STR("factor"), 0, &made->factor);
  if (status != TITAN_OK) {
    free(made);
    return status;
  }
  *instance = made;
  return TITAN_OK;
}

static titan_status convert(void *instance, titan_model *model) {
  uint64_t count = 0;
  titan_status status = host->model_module_count(model, &count);
  for (uint64_t i = 0; status == TITAN_OK && i < count; ++i) {
    titan_module_info info = TITAN_SIZED(titan_module_info);
    status = host->model_module(model, i, &info);
    if (status == TITAN_OK && (info.flags & TITAN_MODULE_SELECTED) &&
        titan_equal(info.kind, TITAN_KIND_LINEAR))
      status = host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, instance);
  }
  return status;
}

static void destroy(void *instance) { free(instance); }

titan_status register_converters(const titan_host *table, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  host = table;
  const titan_status status = host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE);
  converter.name = TITAN_STR("c_scale");
  converter.create = create;
  converter.convert = convert;
  converter.destroy = destroy;
  return status != TITAN_OK ? status : host->registrar_converter(registrar, &converter);
}
