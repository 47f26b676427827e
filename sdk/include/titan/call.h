/* Calls: what the host runs in place of, around or beside a module. */
#ifndef TITAN_CALL_H
#define TITAN_CALL_H

#include "model.h"

TITAN_BEGIN_C

/* One forward or backward call of one module. Dies when the function it was passed to returns.
 * Arguments are named. forward has the inputs of the kind, the parameters and buffers of the module
 * (also those the instance added) and, in a wrap after it and an observer, its output "y". backward
 * has parameters and buffers, the gradient of the output, and what forward saved with call_save:
 * inputs and "y" only if they were saved. Nothing else of the host's may be kept between calls.
 * Why so: what autograd does not know of would stay in memory, or be freed under the plugin. What a
 * plugin makes of a parameter (a quantised copy) it may keep in memory of its own, by version
 * (titan_tensor_info.version), and forgets in `drop`.
 *
 * Arguments are READ-ONLY but for buffers (and what call_grad_accumulator gives): the memory of x
 * is shared with other modules, that of a parameter with the optimizer. In the first step the host
 * checks and names who wrote. To an impl with a `backward` of its own, tensors come contiguous; to
 * torch's autograd as they are. */
typedef struct titan_call titan_call;

typedef struct titan_call_info {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_CALL_... */
  titan_string fqn;
  int64_t step;        /* 1-based optimizer step that this call contributes to */
  int64_t micro_batch; /* 0-based within the step */
  titan_dl_device device;
  /* Inputs and parameters are in this type already, and the output must be. Under mixed precision
   * it is the narrower type for linear, attention and feed_forward, though the parameters are kept
   * (and hooks see them) in float32: gradients that backward sets in the compute type are added up
   * in float32 by the host. From level 2 on (titan_host.api_level) backward may set the gradient of
   * a parameter in the parameter's own type instead, and nothing of it is rounded. The other kinds
   * sit on the residual stream and stay in float32. */
  titan_dl_dtype compute_dtype;
  void *stream; /* CUDA: the cudaStream_t to launch on; NULL on the CPU */
} titan_call_info;

/* State (an amax, a statistic) may change only if TRAINING is set and RECOMPUTE is not. */
#define TITAN_CALL_TRAINING 1u
#define TITAN_CALL_GRAD_ENABLED 2u
/* Activation checkpointing runs this forward a second time; its result must equal the first one's.
 * Never set in backward, which runs once. */
#define TITAN_CALL_RECOMPUTE 4u
#define TITAN_CALL_BACKWARD 8u

/* Code for one module.
 *
 * Gradients come in one of two ways:
 *  - your own: give `backward`. forward runs with gradients off; what backward needs goes through
 *    call_save. backward sets a gradient for each argument for which call_needs_grad says yes, or
 *    adds that of a parameter to the sum itself (call_grad_accumulator); a wrap may leave out those
 *    of arguments that its result does not depend on.
 *  - torch's: set TITAN_IMPL_TORCH_AUTOGRAD and leave `backward` NULL. forward runs with gradients
 *    on and must use operators that record them (tier "stable" or "exact").
 * Why the choice is declared: an output without a graph where one is due loses gradients in
 * silence; the host checks and stops with the module's name. */
/* The host copies the struct when it is recorded; `self` must stay valid until destroy is called.
 */
typedef struct titan_module_impl {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_IMPL_... */
  /* [compute-thread] Sets output "y" (a wrap before the module: its first input). */
  titan_status (*forward)(void *self, titan_call *call);
  /* [compute-thread] Optional, see above. May run on another thread than forward. */
  titan_status (*backward)(void *self, titan_call *call);
  /* [main-thread] Optional. The host freed or moved the parameters: forget caches keyed by them. */
  void (*drop)(void *self);
  /* [any-thread] Optional. Called once, when the module is no longer used. `self` may be NULL. */
  void (*destroy)(void *self);
} titan_module_impl;

#define TITAN_WRAP_BEFORE 0
#define TITAN_WRAP_AFTER 1

#define TITAN_IMPL_TORCH_AUTOGRAD 1u
/* The optional inputs that `forward` understands; without them a model that passes one is refused.
 */
#define TITAN_IMPL_POSITIONS 2u
#define TITAN_IMPL_DOCUMENT_IDS 4u

/* Looks on; changes nothing. Called after the module's forward with arguments and output "y",
 * always with gradients off, in every mode including recompute (see the flags of call_info). */
typedef struct titan_observer {
  uint32_t struct_size;
  uint32_t flags; /* 0 */
  /* [compute-thread] */
  titan_status (*observe)(void *self, titan_call *call);
  /* [any-thread] Optional. */
  void (*destroy)(void *self);
} titan_observer;

TITAN_END_C

#endif /* TITAN_CALL_H */
