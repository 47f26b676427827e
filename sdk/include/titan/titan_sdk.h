/* The titan SDK in C (C99 and later). Headers only, links nothing.
 *
 * A whole plugin that doubles the logits, on libc alone:
 *
 * [example]
 * #include <titan/titan_sdk.h>
 * TITAN_NOTE("{\"name\": \"twice\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1,"
 *            "\"tier\": \"none\", \"converters\": [{\"name\": \"twice\", \"options\": []}]}");
 * static const titan_host *host;
 *
 * // y to 2 y in forward, dy to 2 dy in backward: the same function serves both.
 * static titan_status twice(void *self, titan_call *call) {
 *   titan_call_info info = TITAN_SIZED(titan_call_info);
 *   const titan_dl_tensor *from, *to;
 *   titan_tensor *in, *out;
 *   int64_t i, n = 1;
 *   titan_status s = host->call_info(call, &info);
 *   const int back = (info.flags & TITAN_CALL_BACKWARD) != 0;
 *   if (s == TITAN_OK)
 *     s = back ? host->call_grad_output(call, &in) : host->call_get(call, TITAN_STR("y"), &in);
 *   if (s == TITAN_OK) s = host->tensor_dl(in, &from);
 *   if (s == TITAN_OK)
 *     s = host->tensor_empty(from->device, from->dtype, from->ndim, from->shape, &out);
 *   if (s == TITAN_OK) s = host->tensor_dl(out, &to);
 *   if (s != TITAN_OK) return s;
 *   for (i = 0; i < from->ndim; ++i) n *= from->shape[i];
 *   for (i = 0; i < n; ++i) ((float *)to->data)[i] = 2 * ((const float *)from->data)[i];
 *   return (void)self, back ? host->call_set_grad(call, TITAN_STR("y"), out)
 *                           : host->call_set(call, TITAN_STR("y"), out);
 * }
 * static titan_status convert(void *self, titan_model *model) {
 *   static const titan_module_impl impl = {sizeof impl, 0, twice, twice, NULL, NULL};
 *   uint64_t i = 0;
 *   titan_status s = host->model_find(model, TITAN_STR("output"), &i);
 *   return s != TITAN_OK ? s : host->record_wrap(model, i, TITAN_WRAP_AFTER, &impl, self);
 * }
 * titan_status register_converters(const titan_host *h, titan_registrar *registrar) {
 *   titan_converter c = TITAN_SIZED(titan_converter);
 *   c.name = TITAN_STR("twice");
 *   c.convert = convert;
 *   if ((host = h)->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE)) return 1;
 *   return h->registrar_converter(registrar, &c);
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
