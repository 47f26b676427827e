/* A converter in C that needs only libc (tier none): linear layers get one learned gain per output
 * channel, y = gain * (W x), with a backward of its own. In CPU memory. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <titan/titan_sdk.h>

#include "titan_note.h" /* made from @NAME@.json */

static const titan_host *host;

/* A failed function of the host has left its message already. */
#define TRY(call)                            \
  do {                                       \
    const titan_status status_ = (call);     \
    if (status_ != TITAN_OK) return status_; \
  } while (0)

/* Rows of numbers: the host gives contiguous tensors to a backward of one's own. */
typedef struct numbers {
  char *data;
  int64_t count;
  int bits; /* 64 and 32: floating point; 16: bfloat16, the upper half of a float32 */
} numbers;

static titan_status view(titan_tensor *tensor, numbers *out) {
  const titan_dl_tensor *dl = NULL;
  TRY(host->tensor_dl(tensor, &dl));
  out->bits = dl->dtype.bits;
  const int known = dl->dtype.code == TITAN_DTYPE_FLOAT ? out->bits == 32 || out->bits == 64
                                                        : dl->dtype.code == TITAN_DTYPE_BFLOAT;
  if (dl->device.type != TITAN_CPU || !known || dl->dtype.lanes != 1)
    return host->set_error(TITAN_UNSUPPORTED,
                           TITAN_STR("@NAME@ handles float64, float32 and bfloat16 in CPU memory"),
                           TITAN_STR("set training.device: cpu and training.dtype: float32"));
  out->data = (char *)dl->data + dl->byte_offset;
  out->count = 1;
  for (int32_t i = 0; i < dl->ndim; ++i) out->count *= dl->shape[i];
  return TITAN_OK;
}

static double get(const numbers *from, int64_t i) {
  if (from->bits == 64) return ((const double *)from->data)[i];
  if (from->bits == 32) return ((const float *)from->data)[i];
  const uint32_t bits = (uint32_t)((const uint16_t *)from->data)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void set(const numbers *to, int64_t i, double number) {
  const float value = (float)number;
  uint32_t bits;
  if (to->bits == 64) {
    ((double *)to->data)[i] = number;
  } else if (to->bits == 32) {
    ((float *)to->data)[i] = value;
  } else { /* rounds to nearest, ties to even; what is not a number stays so */
    memcpy(&bits, &value, sizeof bits);
    bits = value != value ? 0x7fc0 : (bits + 0x7fff + ((bits >> 16) & 1)) >> 16;
    ((uint16_t *)to->data)[i] = (uint16_t)bits;
  }
}

/* A new tensor of the shape and type of `like`. */
static titan_status empty_like(titan_tensor *like, titan_tensor **out) {
  titan_tensor_info info = TITAN_SIZED(titan_tensor_info);
  TRY(host->tensor_info(like, &info));
  return host->tensor_empty(info.device, info.dtype, info.ndim, info.shape, out);
}

/* A new tensor with rows [.., channels] each multiplied by gain [channels]. */
static titan_status multiply(titan_tensor *rows, titan_tensor *gain, titan_tensor **out) {
  numbers from, by, to;
  TRY(view(rows, &from));
  TRY(view(gain, &by));
  TRY(empty_like(rows, out));
  const titan_status status = view(*out, &to);
  if (status != TITAN_OK) {
    host->tensor_release(*out);
    return status;
  }
  for (int64_t i = 0; i < from.count; ++i) set(&to, i, get(&from, i) * get(&by, i % by.count));
  return TITAN_OK;
}

/* The sum over rows of a * b, both [.., channels]; shaped like `gain`. */
static titan_status sum_of_products(titan_tensor *a, titan_tensor *b, titan_tensor *gain,
                                    titan_tensor **out) {
  numbers left, right, to;
  TRY(view(a, &left));
  TRY(view(b, &right));
  TRY(empty_like(gain, out));
  const titan_status status = view(*out, &to);
  if (status != TITAN_OK) {
    host->tensor_release(*out);
    return status;
  }
  for (int64_t c = 0; c < to.count; ++c) {
    double sum = 0;
    for (int64_t i = c; i < left.count; i += to.count) sum += get(&left, i) * get(&right, i);
    set(&to, c, sum);
  }
  return TITAN_OK;
}

/* Runs after a linear layer, whatever computed that. */
static titan_status forward(void *self, titan_call *call) {
  titan_tensor *y = NULL, *gain = NULL, *z = NULL;
  (void)self;
  TRY(host->call_get(call, TITAN_STR("y"), &y));
  TRY(host->call_get(call, TITAN_STR("gain"), &gain));
  TRY(host->call_save(call, y)); /* the one thing that backward needs and is not given */
  TRY(multiply(y, gain, &z));
  return host->call_set(call, TITAN_STR("y"), z);
}

/* With z = gain * y: dy = gain * dz, and dgain is the sum of y * dz over all rows. */
static titan_status backward(void *self, titan_call *call) {
  titan_tensor *y = NULL, *gain = NULL, *dz = NULL, *grad = NULL;
  int32_t wanted = 0;
  (void)self;
  TRY(host->call_saved(call, 0, &y));
  TRY(host->call_get(call, TITAN_STR("gain"), &gain));
  TRY(host->call_grad_output(call, &dz));
  TRY(host->call_needs_grad(call, TITAN_STR("y"), &wanted));
  if (wanted) {
    TRY(multiply(dz, gain, &grad));
    TRY(host->call_set_grad(call, TITAN_STR("y"), grad));
  }
  TRY(host->call_needs_grad(call, TITAN_STR("gain"), &wanted));
  if (!wanted) return TITAN_OK;
  TRY(sum_of_products(y, dz, gain, &grad));
  return host->call_set_grad(call, TITAN_STR("gain"), grad);
}

typedef struct gains {
  double start;
} gains;

/* What it cannot do is said before any weight exists. */
static titan_status create(titan_create *context, void **instance) {
  titan_create_info info = TITAN_SIZED(titan_create_info);
  double start = 1;
  TRY(host->create_info(context, &info));
  if (info.device->type != TITAN_CPU)
    return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("@NAME@ works in CPU memory only"),
                           TITAN_STR("set training.device: cpu"));
  TRY(host->option_float(context, TITAN_STR("start"), 0, &start));
  gains *made = malloc(sizeof *made);
  if (!made) return host->set_error(TITAN_FAILED, TITAN_STR("out of memory"), TITAN_STR(""));
  made->start = start;
  *instance = made;
  return TITAN_OK;
}

/* Only records; titan checks the records of all converters and then applies them. */
static titan_status convert(void *instance, titan_model *model) {
  static const titan_module_impl impl = {sizeof impl, 0, forward, backward, NULL, NULL};
  uint64_t count = 0;
  TRY(host->model_module_count(model, &count));
  for (uint64_t i = 0; i < count; ++i) {
    titan_module_info info = TITAN_SIZED(titan_module_info);
    titan_init_rule start = TITAN_SIZED(titan_init_rule);
    titan_tensor_spec gain = TITAN_SIZED(titan_tensor_spec);
    double out = 0;
    TRY(host->model_module(model, i, &info));
    if (!(info.flags & TITAN_MODULE_SELECTED) || !titan_equal(info.kind, TITAN_KIND_LINEAR))
      continue;
    TRY(host->model_attribute(model, i, TITAN_STR("out_features"), &out));
    const int64_t shape[1] = {(int64_t)out};
    start.rule = TITAN_INIT_CONSTANT;
    start.a = ((const gains *)instance)->start;
    gain.name = TITAN_STR("gain");
    gain.shape = shape;
    gain.ndim = 1;
    gain.dtype.code = TITAN_DTYPE_OF_MODEL;
    gain.init = &start;
    TRY(host->record_parameter(model, i, &gain));
    TRY(host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, instance));
  }
  return TITAN_OK;
}

static void destroy(void *instance) { free(instance); }

titan_status register_converters(const titan_host *table, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  host = table;
  TRY(host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE));
  converter.name = TITAN_STR("@NAME@");
  converter.create = create;
  converter.convert = convert;
  converter.destroy = destroy;
  return host->registrar_converter(registrar, &converter);
}
