/* Replaces linear layers in C on libc alone (tier none), with a backward of its own, a saved
 * tensor, an added parameter, and state that counts the calls that may change state:
 *
 *   y = (x W^T) * gain     gain [1], starts at 1
 *   dx = gain dy W,  dW = gain dy^T x,  dgain = sum(dy * x W^T)
 */
#include <titan/titan_sdk.h>

#include "titan_note.h"

static const titan_host *host;
static int drops;

#define TRY(call)                            \
  do {                                       \
    const titan_status status_ = (call);     \
    if (status_ != TITAN_OK) return status_; \
  } while (0)

typedef struct matrix {
  float *data;
  int64_t rows, columns;
} matrix;

/* All dimensions but the last are rows. The host gives contiguous tensors to a backward of one's
 * own. */
static titan_status view(titan_tensor *tensor, matrix *out) {
  const titan_dl_tensor *dl = NULL;
  TRY(host->tensor_dl(tensor, &dl));
  int64_t expected = 1;
  for (int32_t i = dl->ndim - 1; i >= 0; --i) {
    if (dl->shape[i] != 1 && dl->strides[i] != expected)
      return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("a tensor is not contiguous"),
                             TITAN_STR(""));
    expected *= dl->shape[i];
  }
  out->data = (float *)((char *)dl->data + dl->byte_offset);
  out->columns = dl->ndim > 0 ? dl->shape[dl->ndim - 1] : 1;
  out->rows = out->columns ? expected / out->columns : 0;
  return TITAN_OK;
}

static titan_status get(titan_call *call, titan_string name, matrix *out, titan_tensor **handle) {
  titan_tensor *tensor = NULL;
  TRY(host->call_get(call, name, &tensor));
  if (handle) *handle = tensor;
  return view(tensor, out);
}

static titan_status empty_like(titan_tensor *like, int64_t last, titan_tensor **made, matrix *out) {
  titan_tensor_info info = TITAN_SIZED(titan_tensor_info);
  int64_t shape[8];
  TRY(host->tensor_info(like, &info));
  for (int32_t i = 0; i < info.ndim; ++i) shape[i] = info.shape[i];
  if (last > 0) shape[info.ndim - 1] = last;
  TRY(host->tensor_empty(info.device, info.dtype, info.ndim, shape, made));
  return view(*made, out);
}

static titan_status count_call(titan_call *call) {
  titan_call_info info = TITAN_SIZED(titan_call_info);
  matrix calls;
  TRY(host->call_info(call, &info));
  TRY(get(call, TITAN_STR("calls"), &calls, NULL));
  if ((info.flags & TITAN_CALL_TRAINING) && !(info.flags & TITAN_CALL_RECOMPUTE))
    calls.data[0] += 1;
  TRY(host->call_metric(call, TITAN_STR("drops"), (double)drops));
  return host->call_metric(call, TITAN_STR("calls"), (double)calls.data[0]);
}

/* Told when parameters were exchanged under it: here only counted. */
static void drop(void *self) {
  (void)self;
  ++drops;
}

static titan_status report_version(titan_call *call, titan_tensor *weight) {
  titan_tensor_info info = TITAN_SIZED(titan_tensor_info);
  TRY(host->tensor_info(weight, &info));
  return host->call_metric(call, TITAN_STR("version"), (double)info.version);
}

static titan_status forward(void *self, titan_call *call) {
  titan_tensor *x_handle = NULL, *w_handle = NULL, *y_handle = NULL;
  matrix x, w, gain, y;
  (void)self;
  TRY(count_call(call));
  TRY(get(call, TITAN_STR("x"), &x, &x_handle));
  TRY(get(call, TITAN_STR("weight"), &w, &w_handle));
  TRY(get(call, TITAN_STR("gain"), &gain, NULL));
  TRY(report_version(call, w_handle));
  TRY(empty_like(x_handle, w.rows, &y_handle, &y));
  for (int64_t r = 0; r < x.rows; ++r)
    for (int64_t o = 0; o < w.rows; ++o) {
      float sum = 0;
      for (int64_t i = 0; i < w.columns; ++i)
        sum += x.data[r * x.columns + i] * w.data[o * w.columns + i];
      y.data[r * w.rows + o] = sum * gain.data[0];
    }
  TRY(host->call_save(call, x_handle));
  return host->call_set(call, TITAN_STR("y"), y_handle);
}

static titan_status backward(void *self, titan_call *call) {
  titan_tensor *dy_handle = NULL, *x_handle = NULL, *w_handle = NULL, *gain_handle = NULL;
  titan_tensor *dx_handle = NULL, *dw_handle = NULL, *dgain_handle = NULL;
  matrix dy, x, w, gain, dx, dw, dgain;
  int32_t wants_x = 0, wants_w = 0, wants_gain = 0;
  (void)self;
  TRY(host->call_grad_output(call, &dy_handle));
  TRY(view(dy_handle, &dy));
  TRY(host->call_saved(call, 0, &x_handle));
  TRY(view(x_handle, &x));
  TRY(get(call, TITAN_STR("weight"), &w, &w_handle));
  TRY(get(call, TITAN_STR("gain"), &gain, &gain_handle));
  TRY(host->call_needs_grad(call, TITAN_STR("x"), &wants_x));
  TRY(host->call_needs_grad(call, TITAN_STR("weight"), &wants_w));
  TRY(host->call_needs_grad(call, TITAN_STR("gain"), &wants_gain));
  if (wants_x) {
    TRY(empty_like(x_handle, 0, &dx_handle, &dx));
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t i = 0; i < x.columns; ++i) {
        float sum = 0;
        for (int64_t o = 0; o < w.rows; ++o)
          sum += dy.data[r * w.rows + o] * w.data[o * w.columns + i];
        dx.data[r * x.columns + i] = sum * gain.data[0];
      }
    TRY(host->call_set_grad(call, TITAN_STR("x"), dx_handle));
  }
  if (wants_w) {
    TRY(empty_like(w_handle, 0, &dw_handle, &dw));
    for (int64_t o = 0; o < w.rows; ++o)
      for (int64_t i = 0; i < w.columns; ++i) {
        float sum = 0;
        for (int64_t r = 0; r < x.rows; ++r)
          sum += dy.data[r * w.rows + o] * x.data[r * x.columns + i];
        dw.data[o * w.columns + i] = sum * gain.data[0];
      }
    TRY(host->call_set_grad(call, TITAN_STR("weight"), dw_handle));
  }
  if (wants_gain) {
    double sum = 0;
    TRY(empty_like(gain_handle, 0, &dgain_handle, &dgain));
    for (int64_t r = 0; r < x.rows; ++r)
      for (int64_t o = 0; o < w.rows; ++o) {
        double product = 0;
        for (int64_t i = 0; i < w.columns; ++i)
          product += (double)x.data[r * x.columns + i] * w.data[o * w.columns + i];
        sum += dy.data[r * w.rows + o] * product;
      }
    dgain.data[0] = (float)sum;
    TRY(host->call_set_grad(call, TITAN_STR("gain"), dgain_handle));
  }
  return TITAN_OK;
}

static const titan_module_impl impl = {sizeof(titan_module_impl), 0, forward, backward, drop, NULL};

static titan_status convert(void *self, titan_model *model) {
  static const int64_t one[1] = {1};
  titan_init_rule start = TITAN_SIZED(titan_init_rule), zero = TITAN_SIZED(titan_init_rule);
  titan_tensor_spec gain = TITAN_SIZED(titan_tensor_spec), calls = TITAN_SIZED(titan_tensor_spec);
  uint64_t count = 0;
  start.rule = zero.rule = TITAN_INIT_CONSTANT;
  start.a = 1;
  gain.name = TITAN_STR("gain");
  calls.name = TITAN_STR("calls");
  gain.shape = calls.shape = one;
  gain.ndim = calls.ndim = 1;
  gain.dtype.code = TITAN_DTYPE_OF_MODEL;
  calls.dtype.code = TITAN_DTYPE_FLOAT;
  calls.dtype.bits = 32;
  calls.dtype.lanes = 1;
  calls.flags = TITAN_SPEC_REDUCE_MAX;
  gain.init = &start;
  calls.init = &zero;
  TRY(host->model_module_count(model, &count));
  for (uint64_t i = 0; i < count; ++i) {
    titan_module_info info = TITAN_SIZED(titan_module_info);
    TRY(host->model_module(model, i, &info));
    if (!(info.flags & TITAN_MODULE_SELECTED) || !titan_equal(info.kind, TITAN_KIND_LINEAR))
      continue;
    TRY(host->record_replace(model, i, &impl, self));
    TRY(host->record_parameter(model, i, &gain));
    TRY(host->record_buffer(model, i, &calls));
  }
  return TITAN_OK;
}

titan_status register_converters(const titan_host *table, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  host = table;
  TRY(host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE));
  converter.name = TITAN_STR("own_linear");
  converter.convert = convert;
  return host->registrar_converter(registrar, &converter);
}
