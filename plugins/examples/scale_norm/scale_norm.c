/* ScaleNorm (Nguyen and Salazar, arXiv:1910.05895) in C on libc alone: the norm layers are
 * replaced, gains of every channel give way to one number.
 *
 *   y = g x / n,  n = max(|x|, eps)          x [.., dim], g [1], starts at sqrt(dim)
 *   dx = g / n (dy - x (x . dy) / n^2),  dg = sum over rows of (x . dy) / n
 *
 * With gains of 1 RMSNorm is sqrt(dim) x / |x|, so a fresh run starts where RMSNorm's does. */
#include <math.h>
#include <titan/titan_sdk.h>

#include "titan_note.h" /* made from scale_norm.json */

static const titan_host *host;

#define TRY(call)                            \
  do {                                       \
    const titan_status status_ = (call);     \
    if (status_ != TITAN_OK) return status_; \
  } while (0)

/* float32 [rows, dim] in CPU memory; the host gives contiguous tensors to a backward of one's own.
 */
typedef struct rows {
  titan_tensor *tensor;
  float *data;
  int64_t count, dim;
} rows;

static titan_status view(titan_tensor *tensor, rows *out) {
  const titan_dl_tensor *dl = NULL;
  TRY(host->tensor_dl(tensor, &dl));
  if (dl->device.type != TITAN_CPU || dl->dtype.code != TITAN_DTYPE_FLOAT || dl->dtype.bits != 32)
    return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("scale_norm handles float32 in CPU memory"),
                           TITAN_STR("set training.device: cpu and training.dtype: float32"));
  out->tensor = tensor;
  out->data = (float *)((char *)dl->data + dl->byte_offset);
  out->dim = dl->ndim > 0 ? dl->shape[dl->ndim - 1] : 1;
  out->count = 1;
  for (int32_t i = 0; i + 1 < dl->ndim; ++i) out->count *= dl->shape[i];
  return TITAN_OK;
}

static titan_status argument(titan_call *call, titan_string name, rows *out) {
  titan_tensor *tensor = NULL;
  TRY(host->call_get(call, name, &tensor));
  return view(tensor, out);
}

static titan_status empty_like(const rows *like, rows *out) {
  titan_tensor_info info = TITAN_SIZED(titan_tensor_info);
  titan_tensor *made = NULL;
  TRY(host->tensor_info(like->tensor, &info));
  TRY(host->tensor_empty(info.device, info.dtype, info.ndim, info.shape, &made));
  return view(made, out);
}

static double dot(const float *a, const float *b, int64_t dim) {
  double sum = 0;
  for (int64_t i = 0; i < dim; ++i) sum += (double)a[i] * b[i];
  return sum;
}

static double length_of(const float *x, int64_t dim) { return fmax(sqrt(dot(x, x, dim)), 1e-5); }

static titan_status forward(void *self, titan_call *call) {
  rows x, g, y;
  (void)self;
  TRY(argument(call, TITAN_STR("x"), &x));
  TRY(argument(call, TITAN_STR("g"), &g));
  TRY(empty_like(&x, &y));
  for (int64_t r = 0; r < x.count; ++r) {
    const float *from = x.data + r * x.dim;
    const double factor = g.data[0] / length_of(from, x.dim);
    for (int64_t i = 0; i < x.dim; ++i) y.data[r * x.dim + i] = (float)(factor * from[i]);
  }
  TRY(host->call_save(call, x.tensor));
  return host->call_set(call, TITAN_STR("y"), y.tensor);
}

static titan_status backward(void *self, titan_call *call) {
  titan_tensor *handle = NULL;
  int32_t wants_x = 0, wants_g = 0;
  double sum = 0;
  rows x, g, dy, dx, dg;
  (void)self;
  TRY(host->call_saved(call, 0, &handle));
  TRY(view(handle, &x));
  TRY(host->call_grad_output(call, &handle));
  TRY(view(handle, &dy));
  TRY(argument(call, TITAN_STR("g"), &g));
  TRY(host->call_needs_grad(call, TITAN_STR("x"), &wants_x));
  TRY(host->call_needs_grad(call, TITAN_STR("g"), &wants_g));
  TRY(empty_like(&x, &dx));
  for (int64_t r = 0; r < x.count; ++r) {
    const float *xr = x.data + r * x.dim, *dyr = dy.data + r * x.dim;
    const double n = length_of(xr, x.dim), along = dot(xr, dyr, x.dim) / n;
    sum += along;
    for (int64_t i = 0; i < x.dim; ++i)
      dx.data[r * x.dim + i] = (float)(g.data[0] / n * (dyr[i] - xr[i] * along / n));
  }
  if (wants_x)
    TRY(host->call_set_grad(call, TITAN_STR("x"), dx.tensor));
  else
    host->tensor_release(dx.tensor);
  if (!wants_g) return TITAN_OK;
  TRY(empty_like(&g, &dg));
  dg.data[0] = (float)sum;
  return host->call_set_grad(call, TITAN_STR("g"), dg.tensor);
}

/* What it cannot do is said before any weight exists. */
static titan_status create(titan_create *context, void **instance) {
  titan_create_info info = TITAN_SIZED(titan_create_info);
  *instance = NULL;
  TRY(host->create_info(context, &info));
  if (info.device->type == TITAN_CPU) return TITAN_OK;
  return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("scale_norm works in CPU memory only"),
                         TITAN_STR("set training.device: cpu"));
}

static titan_status convert(void *self, titan_model *model) {
  static const titan_module_impl impl = {sizeof impl, 0, forward, backward, NULL, NULL};
  static const int64_t one[1] = {1};
  uint64_t count = 0;
  TRY(host->model_module_count(model, &count));
  for (uint64_t i = 0; i < count; ++i) {
    titan_module_info info = TITAN_SIZED(titan_module_info);
    titan_init_rule start = TITAN_SIZED(titan_init_rule);
    titan_tensor_spec g = TITAN_SIZED(titan_tensor_spec);
    titan_parameter_info weight = TITAN_SIZED(titan_parameter_info);
    double dim = 0;
    TRY(host->model_module(model, i, &info));
    if (!(info.flags & TITAN_MODULE_SELECTED) || !titan_equal(info.kind, TITAN_KIND_RMS_NORM))
      continue;
    TRY(host->model_parameter(model, i, 0, &weight));
    if (weight.dtype.code != TITAN_DTYPE_FLOAT || weight.dtype.bits != 32)
      return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("scale_norm handles float32 only"),
                             TITAN_STR("set training.dtype: float32"));
    TRY(host->model_attribute(model, i, TITAN_STR("dim"), &dim));
    start.rule = TITAN_INIT_CONSTANT;
    start.a = sqrt(dim);
    g.name = TITAN_STR("g");
    g.shape = one;
    g.ndim = 1;
    g.dtype.code = TITAN_DTYPE_OF_MODEL;
    g.init = &start;
    TRY(host->record_parameter(model, i, &g));
    TRY(host->record_freeze(model, i, TITAN_STR("weight"))); /* nothing reads the gains any more */
    TRY(host->record_replace(model, i, &impl, self));
  }
  return TITAN_OK;
}

titan_status register_converters(const titan_host *table, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  host = table;
  TRY(host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE));
  converter.name = TITAN_STR("scale_norm");
  converter.create = create;
  converter.convert = convert;
  return host->registrar_converter(registrar, &converter);
}
