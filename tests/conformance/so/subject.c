/* A plugin with one defect, chosen by -DDEFECT_...; without any it passes every test of the
 * validator.
 *
 * It wraps linear layers: y -> gain * y with a gain that learns and starts at 1, and counts the
 * calls of training in a buffer. */
#define _POSIX_C_SOURCE 200809L
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <titan/ext/torch_tensor.h>
#include <titan/titan_sdk.h>

#if defined(DEFECT_NO_LICENSE)
#define LICENSE ""
#else
#define LICENSE "\"license\": \"MIT\", "
#endif
#if defined(DEFECT_BACKWARD) || defined(DEFECT_CLOCK)
#define CLAIM ""
#elif defined(DEFECT_RATIO)
#define CLAIM "\"numerics\": {\"sqnr_db\": 60}, "
#else
#define CLAIM "\"numerics\": \"exact\", "
#endif
#if defined(DEFECT_REQUIRED)
#define WIDTH "null"
#else
#define WIDTH "4"
#endif
#if defined(DEFECT_NOT_REGISTERED)
#define MORE ", {\"name\": \"promised\", \"summary\": \"never registered\"}"
#else
#define MORE ""
#endif
TITAN_NOTE("{\"name\": \"subject\", \"version\": \"1.0.0\", " LICENSE
           "\"homepage\": \"https://subject.example\", "
           "\"api_min\": 1, \"api_built\": 1, \"tier\": \"none\", \"converters\": [{\"name\": "
           "\"subject\", "
           "\"summary\": \"a gain for linear layers\", " CLAIM
           "\"options\": [{\"name\": \"width\", \"type\": \"int\", \"default\": " WIDTH
           ", \"min\": 1, \"max\": 64, "
           "\"help\": \"for the test of options\"}]}" MORE "]}");

static const titan_host *host;

#define TRY(call)                            \
  do {                                       \
    const titan_status status_ = (call);     \
    if (status_ != TITAN_OK) return status_; \
  } while (0)

typedef struct subject {
  int64_t width;
  int64_t steps;     /* hooks after a step */
  int64_t last_step; /* that a hook was called for */
  titan_tensor *kept;
} subject;

/* Elements of a contiguous tensor in CPU memory, whatever its type. */
typedef struct view {
  titan_tensor *tensor;
  const titan_dl_tensor *dl;
  int64_t count;
} view;

static titan_status view_of(titan_tensor *tensor, view *out) {
  out->tensor = tensor;
  TRY(host->tensor_dl(tensor, &out->dl));
  out->count = 1;
  for (int32_t i = 0; i < out->dl->ndim; ++i) out->count *= out->dl->shape[i];
  const titan_dl_dtype type = out->dl->dtype;
  if (type.code == TITAN_DTYPE_FLOAT && (type.bits == 32 || type.bits == 64)) return TITAN_OK;
  if (type.code == TITAN_DTYPE_BFLOAT) return TITAN_OK;
  return host->set_error(TITAN_UNSUPPORTED,
                         TITAN_STR("subject handles float32, float64 and bfloat16"),
                         TITAN_STR("use one of them"));
}

static double get(const view *v, int64_t i) {
  const titan_dl_dtype type = v->dl->dtype;
  if (type.bits == 64) return ((const double *)v->dl->data)[i];
  if (type.bits == 32) return ((const float *)v->dl->data)[i];
  const uint32_t bits = (uint32_t)((const uint16_t *)v->dl->data)[i] << 16;
  float value;
  memcpy(&value, &bits, sizeof value);
  return value;
}

static void put(const view *v, int64_t i, double value) {
  const titan_dl_dtype type = v->dl->dtype;
  if (type.bits == 64) {
    ((double *)v->dl->data)[i] = value;
  } else if (type.bits == 32) {
    ((float *)v->dl->data)[i] = (float)value;
  } else {
    const float narrow = (float)value;
    uint32_t bits;
    memcpy(&bits, &narrow, sizeof bits);
    ((uint16_t *)v->dl->data)[i] = (uint16_t)((bits + 0x7fff + ((bits >> 16) & 1)) >> 16);
  }
}

/* What the gain is multiplied by: 1 in a good plugin. */
static double constant_of(const subject *self) {
  (void)self;
#if defined(DEFECT_CONSTANT) || defined(DEFECT_RATIO)
  return 1.01;
#elif defined(DEFECT_HIDDEN_STATE)
  return 1 + 0.01 * (double)self->steps; /* no checkpoint knows of the steps */
#elif defined(DEFECT_CLOCK)
  static double drawn;
  struct timespec now;
  if (drawn == 0 && clock_gettime(CLOCK_MONOTONIC, &now) == 0)
    drawn = 1 + 1e-3 * (double)(now.tv_nsec % 1009) / 1009;
  return drawn;
#else
  return 1;
#endif
}

/* out = factor * in, element by element, in a new tensor of the type of `in`. */
static titan_status multiply(const view *in, double factor, view *out) {
  titan_tensor *made = NULL;
  titan_dl_dtype type = in->dl->dtype;
#if defined(DEFECT_TYPE)
  if (type.bits == 16) type = (titan_dl_dtype){TITAN_DTYPE_FLOAT, 32, 1};
#endif
#if defined(DEFECT_UNCHECKED)
  out->dl = NULL;
  (void)!host->tensor_empty(in->dl->device, type, in->dl->ndim, in->dl->shape, &made);
  (void)!host->tensor_dl(made, &out->dl);
  out->tensor = made;
  out->count = in->count;
#else
  TRY(host->tensor_empty(in->dl->device, type, in->dl->ndim, in->dl->shape, &made));
  const titan_status status = view_of(made, out);
  if (status != TITAN_OK) {
    host->tensor_release(made);
    return status;
  }
#endif
#if defined(DEFECT_STATIC_SCRATCH)
  static double scratch[1 << 16];
  for (int64_t i = 0; i < in->count; ++i) scratch[i] = factor * get(in, i);
  const struct timespec moment = {0, 20000};
  nanosleep(&moment, NULL); /* another thread comes in between */
  for (int64_t i = 0; i < in->count; ++i) put(out, i, scratch[i]);
#else
  for (int64_t i = 0; i < in->count; ++i) put(out, i, factor * get(in, i));
#endif
  return TITAN_OK;
}

static titan_status named(titan_call *call, titan_string name, view *out) {
  titan_tensor *tensor = NULL;
  TRY(host->call_get(call, name, &tensor));
  return view_of(tensor, out);
}

static titan_status forward(void *instance, titan_call *call) {
  subject *self = instance;
  titan_call_info info = TITAN_SIZED(titan_call_info);
  view y, gain, calls, out;
  TRY(host->call_info(call, &info));
  TRY(named(call, TITAN_STR("y"), &y));
  TRY(named(call, TITAN_STR("gain"), &gain));
  TRY(named(call, TITAN_STR("calls"), &calls));
#if defined(DEFECT_STALE_HANDLE)
  titan_tensor_info stale = TITAN_SIZED(titan_tensor_info);
  if (self->kept) (void)!host->tensor_info(self->kept, &stale);
  self->kept = y.tensor;
#elif defined(DEFECT_UMASK)
  umask(0); /* in a call of a module: what create and convert change the trainer itself puts back */
#elif defined(DEFECT_EXIT)
  exit(0);
#elif defined(DEFECT_NO_OUTPUT)
  return TITAN_OK;
#endif
#if defined(DEFECT_COUNTS_TWICE)
  const int counts = (info.flags & TITAN_CALL_TRAINING) != 0;
#else
  const int counts =
      (info.flags & TITAN_CALL_TRAINING) != 0 && !(info.flags & TITAN_CALL_RECOMPUTE);
#endif
  TRY(multiply(&y, get(&gain, 0) * constant_of(self), &out));
#if defined(DEFECT_SILENT_SAVE)
  (void)!host->call_save(call, y.tensor);
#else
  const titan_status status = host->call_save(call, y.tensor);
  if (status != TITAN_OK) {
    host->tensor_release(out.tensor);
    return status;
  }
#endif
  if (counts) put(&calls, 0, get(&calls, 0) + 1);
#if defined(DEFECT_TENSOR_LEAK)
  titan_tensor *lost = NULL;
  TRY(host->tensor_empty(y.dl->device, y.dl->dtype, y.dl->ndim, y.dl->shape, &lost));
#endif
  return host->call_set(call, TITAN_STR("y"), out.tensor);
}

static titan_status backward(void *instance, titan_call *call) {
  titan_tensor *tensor = NULL;
  int32_t wants_gain = 0;
  view dy, gain, y, dx, dgain;
  double sum = 0;
  TRY(host->call_grad_output(call, &tensor));
  TRY(view_of(tensor, &dy));
  TRY(named(call, TITAN_STR("gain"), &gain));
  TRY(host->call_saved(call, 0, &tensor));
  TRY(view_of(tensor, &y));
  double factor = get(&gain, 0) * constant_of(instance);
#if defined(DEFECT_BACKWARD)
  factor *= 1.05;
#endif
  TRY(multiply(&dy, factor, &dx));
  TRY(host->call_set_grad(call, TITAN_STR("y"), dx.tensor));
  TRY(host->call_needs_grad(call, TITAN_STR("gain"), &wants_gain));
  if (!wants_gain) return TITAN_OK;
  for (int64_t i = 0; i < y.count; ++i) sum += get(&y, i) * get(&dy, i) * constant_of(instance);
  TRY(multiply(&gain, 0, &dgain));
  put(&dgain, 0, sum);
  return host->call_set_grad(call, TITAN_STR("gain"), dgain.tensor);
}

static const titan_module_impl impl = {sizeof(titan_module_impl), 0, forward, backward, NULL, NULL};

#if defined(DEFECT_THREAD)
static void *sleep_for_long(void *nothing) {
  sleep(1000);
  return nothing;
}
#endif

static titan_status create(titan_create *context, void **instance) {
  titan_create_info info = TITAN_SIZED(titan_create_info);
  int64_t width = 0;
  TRY(host->create_info(context, &info));
  TRY(host->option_int(context, TITAN_STR("width"), 0, &width));
#if defined(DEFECT_ONE_NAME)
  if (!titan_equal(info.instance, "subject"))
    return host->set_error(TITAN_FAILED, TITAN_STR("there is no instance of that name"),
                           TITAN_STR(""));
#elif defined(DEFECT_WIDTH)
  const char *nothing = NULL;
  if (width == 64) return *(const volatile char *)nothing;
#elif defined(DEFECT_EXTENSION)
  const titan_torch_tensor *torch = host->get_extension(TITAN_STR(TITAN_EXT_TORCH_TENSOR));
  if (torch->to_handle == NULL) return TITAN_FAILED;
#elif defined(DEFECT_ENVIRONMENT)
  setenv("SUBJECT_WAS_HERE", "1", 1);
#elif defined(DEFECT_THREAD)
  pthread_t thread;
  if (pthread_create(&thread, NULL, sleep_for_long, NULL) == 0) pthread_detach(thread);
#elif defined(DEFECT_HANG)
  for (;;) sleep(1);
#elif defined(DEFECT_DEVICE)
  if (info.device->type != TITAN_CPU) abort();
#elif defined(DEFECT_NO_DEVICE)
  return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("subject needs a device that nobody has"),
                         TITAN_STR("build one"));
#endif
  subject *made = calloc(1, sizeof *made);
  if (!made)
    return host->set_error(TITAN_FAILED, TITAN_STR("out of memory"), TITAN_STR("free memory"));
  made->width = width;
  made->last_step = -1;
#if defined(DEFECT_EARLY_TENSOR)
  const int64_t shape[1] = {width};
  TRY(host->tensor_empty((titan_dl_device){TITAN_CPU, 0},
                         (titan_dl_dtype){TITAN_DTYPE_FLOAT, 32, 1}, 1, shape, &made->kept));
#endif
  *instance = made;
  return TITAN_OK;
}

static titan_status add(titan_model *model, uint64_t module, titan_string name, double value,
                        int buffer) {
  static const int64_t one[1] = {1};
  titan_init_rule start = TITAN_SIZED(titan_init_rule);
  titan_tensor_spec spec = TITAN_SIZED(titan_tensor_spec);
  start.rule = TITAN_INIT_CONSTANT;
  start.a = value;
  spec.name = name;
  spec.shape = one;
  spec.ndim = 1;
  spec.dtype.code = TITAN_DTYPE_OF_MODEL;
  spec.init = &start;
  return buffer ? host->record_buffer(model, module, &spec)
                : host->record_parameter(model, module, &spec);
}

static titan_status convert(void *instance, titan_model *model) {
  uint64_t count = 0;
  TRY(host->model_module_count(model, &count));
  for (uint64_t i = 0; i < count; ++i) {
    titan_module_info info = TITAN_SIZED(titan_module_info);
    TRY(host->model_module(model, i, &info));
    if (!(info.flags & TITAN_MODULE_SELECTED)) continue;
#if defined(DEFECT_UNUSED)
    if (titan_equal(info.kind, TITAN_KIND_RMS_NORM)) TRY(add(model, i, TITAN_STR("unused"), 1, 0));
#endif
    if (!titan_equal(info.kind, TITAN_KIND_LINEAR)) continue;
    TRY(add(model, i, TITAN_STR("gain"), 1, 0));
    TRY(add(model, i, TITAN_STR("calls"), 0, 1));
#if defined(DEFECT_SILENT_RECORD)
    (void)!host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, instance);
#else
    TRY(host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, instance));
#endif
  }
  return TITAN_OK;
}

static titan_status hook(void *instance, titan_hook *context) {
  subject *self = instance;
  titan_hook_info info = TITAN_SIZED(titan_hook_info);
  TRY(host->hook_info(context, &info));
  if (info.reason == TITAN_HOOK_STEP) ++self->steps;
#if defined(DEFECT_HOOK_TWICE)
  uint64_t count = 0;
  TRY(host->hook_count(context, &count));
  for (uint64_t i = 0; i < count; ++i) {
    titan_hook_tensor tensor = TITAN_SIZED(titan_hook_tensor);
    view values;
    TRY(host->hook_tensor(context, i, &tensor));
    TRY(view_of(tensor.tensor, &values));
    /* 1 / 0 where the hook comes a second time for one step. */
    if (!(tensor.flags & TITAN_HOOK_TENSOR_BUFFER) && values.count == 1 &&
        info.step == self->last_step)
      put(&values, 0, get(&values, 0) / (double)(info.step - self->last_step));
  }
#endif
  self->last_step = info.step;
  return host->hook_metric(context, TITAN_STR("steps"), (double)self->steps);
}

static void destroy(void *instance) {
#if defined(DEFECT_EARLY_TENSOR)
  host->tensor_release(((subject *)instance)->kept);
#endif
#if defined(DEFECT_LEAK)
  (void)instance;
#else
  free(instance);
#endif
}

#if defined(DEFECT_DESTRUCTOR)
__attribute__((destructor)) static void at_the_end(void) { abort(); }
#endif
#if defined(DEFECT_EXPORTS)
TITAN_EXPORT int helper_that_others_bind_to(void);
int helper_that_others_bind_to(void) { return 42; }
#endif

titan_status register_converters(const titan_host *table, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  host = table;
#if defined(DEFECT_ONE_LEVEL)
  if (table->api_level != TITAN_API_LEVEL)
    return table->set_error(TITAN_UNSUPPORTED, TITAN_STR("another level"),
                            TITAN_STR("use another titan"));
#elif defined(DEFECT_SILENT_REGISTRATION)
  if (table->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE) != TITAN_OK)
    return TITAN_OK;
#elif defined(DEFECT_READS_PAST)
  if (((void *const *)(table + 1))[0] == (void *)1) return TITAN_FAILED;
#endif
#if !defined(DEFECT_SILENT_REGISTRATION)
  TRY(host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE));
#endif
  converter.name = TITAN_STR("subject");
  converter.create = create;
  converter.convert = convert;
  converter.post_optimizer_hook = hook;
  converter.destroy = destroy;
  return host->registrar_converter(registrar, &converter);
}
