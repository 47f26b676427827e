/* Status codes, strings and the attributes that every function of the contract uses. */
#ifndef TITAN_STATUS_H
#define TITAN_STATUS_H

#include <stddef.h>
#include <stdint.h>

#include "version.h"

#ifdef __cplusplus
#define TITAN_BEGIN_C extern "C" {
#define TITAN_END_C }
#else
#define TITAN_BEGIN_C
#define TITAN_END_C
#endif

#if defined(__GNUC__) || defined(__clang__)
#define TITAN_MUST_USE __attribute__((warn_unused_result))
#define TITAN_EXPORT __attribute__((visibility("default")))
#else
#define TITAN_MUST_USE
#define TITAN_EXPORT
#endif

TITAN_BEGIN_C

/* Every fallible function returns one of these. On failure outputs are left untouched.
 * A number that the reader does not know means TITAN_INTERNAL.
 * Why not an enum: the width of an enum is the compiler's choice, the width of int32_t is not. */
typedef int32_t titan_status;

#define TITAN_OK 0               /* done */
#define TITAN_INVALID_ARGUMENT 1 /* an option or an argument has a value that cannot be used */
#define TITAN_UNSUPPORTED 2      /* this device, model or layout cannot do what was asked */
#define TITAN_NOT_FOUND 3        /* no module, option, tensor or extension of that name */
#define TITAN_WRONG_STATE 4      /* the call is not allowed at this moment or for this handle */
#define TITAN_FAILED 5           /* it was allowed and went wrong while running */
#define TITAN_INTERNAL 6         /* a defect of whoever returns it */
#define TITAN_REMOVED 7          /* the function existed in an older API level and is gone */

/* UTF-8 text of `size` bytes; need not end in NUL. Borrowed: valid until the call returns, unless
 * the function says otherwise. {NULL, 0} is the empty string. Paths are raw bytes, not UTF-8. */
typedef struct titan_string {
  const char *data;
  uint64_t size;
} titan_string;

TITAN_END_C

/* Whether a titan_string equals a NUL-terminated text. */
static inline int titan_equal(titan_string a, const char *b) {
  uint64_t i;
  for (i = 0; i < a.size; ++i)
    if (b[i] == 0 || a.data[i] != b[i]) return 0;
  return b[a.size] == 0;
}

/* TITAN_STR("literal"): a titan_string over a string literal, without a call to strlen. */
#ifdef __cplusplus
#define TITAN_STR(literal) (titan_string{"" literal, sizeof(literal) - 1})
#else
#define TITAN_STR(literal) ((titan_string){"" literal, sizeof(literal) - 1})
#endif

/* Every struct that crosses begins with its size, so that each side knows which fields the other
 * one has. TITAN_SIZED(type) is an all-zero value with that field set. */
#ifdef __cplusplus
namespace titan {
template <class T>
inline T sized() noexcept {
  T value{};
  value.struct_size = static_cast<uint32_t>(sizeof(T));
  return value;
}
}  // namespace titan
#define TITAN_SIZED(type) (::titan::sized<type>())
#else
#define TITAN_SIZED(type) ((type){.struct_size = (uint32_t)sizeof(type)})
#endif

#endif /* TITAN_STATUS_H */
