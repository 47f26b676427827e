/* The titan SDK in C (C99 and later). Headers only, links nothing.
 *
 * A whole plugin that doubles the output of every linear layer, on libc alone:
 *
 * [example]
 * #include <titan/titan_sdk.h>
 *
 * TITAN_NOTE("{\"name\": \"twice\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1,"
 *            "\"tier\": \"none\", \"converters\": [{\"name\": \"twice\", \"options\": []}]}");
 *
 * static const titan_host *host;
 *
 * static titan_status twice(titan_tensor *in, titan_tensor **out) {
 *   const titan_dl_tensor *from, *to;
 *   int64_t i, n = 1;
 *   titan_status s = host->tensor_dl(in, &from);
 *   if (s == TITAN_OK)
 *     s = host->tensor_empty(from->device, from->dtype, from->ndim, from->shape, out);
 *   if (s == TITAN_OK) s = host->tensor_dl(*out, &to);
 *   if (s != TITAN_OK) return s;
 *   for (i = 0; i < from->ndim; ++i) n *= from->shape[i];
 *   for (i = 0; i < n; ++i) ((float *)to->data)[i] = 2 * ((const float *)from->data)[i];
 *   return TITAN_OK;
 * }
 * static titan_status forward(void *self, titan_call *call) {
 *   titan_tensor *y, *out;
 *   titan_status s = host->call_get(call, TITAN_STR("y"), &y);
 *   if (s == TITAN_OK) s = twice(y, &out);
 *   return (void)self, s != TITAN_OK ? s : host->call_set(call, TITAN_STR("y"), out);
 * }
 * static titan_status backward(void *self, titan_call *call) {
 *   titan_tensor *dy, *out;
 *   titan_status s = host->call_grad_output(call, &dy);
 *   if (s == TITAN_OK) s = twice(dy, &out);
 *   return (void)self, s != TITAN_OK ? s : host->call_set_grad(call, TITAN_STR("y"), out);
 * }
 * static const titan_module_impl impl = {sizeof impl, 0, forward, backward, NULL, NULL};
 *
 * static titan_status convert(void *self, titan_model *model) {
 *   uint64_t i, n;
 *   titan_status s = host->model_module_count(model, &n);
 *   for (i = 0; s == TITAN_OK && i < n; ++i) {
 *     titan_module_info m = TITAN_SIZED(titan_module_info);
 *     s = host->model_module(model, i, &m);
 *     if (s == TITAN_OK && (m.flags & TITAN_MODULE_SELECTED) && titan_equal(m.kind, TITAN_KIND_LINEAR))
 *       s = host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, self);
 *   }
 *   return s;
 * }
 * titan_status register_converters(const titan_host *h, titan_registrar *registrar) {
 *   titan_converter c = TITAN_SIZED(titan_converter);
 *   titan_status s = (host = h)->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE);
 *   c.name = TITAN_STR("twice");
 *   c.convert = convert;
 *   return s != TITAN_OK ? s : h->registrar_converter(registrar, &c);
 * }
 * [/example]
 */
#ifndef TITAN_SDK_H
#define TITAN_SDK_H

#include "call.h"
#include "converter.h"
#include "host.h"
#include "model.h"
#include "plugin.h"
#include "status.h"
#include "tensor.h"
#include "version.h"

#endif /* TITAN_SDK_H */
