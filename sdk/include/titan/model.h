/* The stock model as a converter sees it before any weight exists, and what it may record. */
#ifndef TITAN_MODEL_H
#define TITAN_MODEL_H

#include "tensor.h"

TITAN_BEGIN_C

/* The stock model during convert(): kinds, names, shapes and attributes, no tensors.
 * Modules are numbered 0 .. model_module_count-1 in registration order, parents before children. */
typedef struct titan_model titan_model;

/* Kinds are part of the contract: their inputs, output, parameters and attributes never change
 * meaning. T is the product of the leading dimensions; [..] is any number of them.
 *
 *   kind          inputs                      output  parameters        attributes
 *   linear        x[.., in]                   y       weight[out, in]   in_features, out_features
 *   rms_norm      x[.., dim]                  y       weight[dim]       dim, eps
 *   embedding     ids[.., int64]              y       weight[num, dim]  num_embeddings, dim
 *   attention     x[B, S, dim], rope, positions?, document_ids?  y  (its linears)  dim, n_heads,
 *                                                     n_kv_heads, head_dim, layer
 *   qk_norm_attention  as attention, but each head of q and k goes through an rms_norm of head_dim
 *                 (q_norm, k_norm) before it is rotated; parameters of these two besides
 *   feed_forward  x[.., dim]                  y       (its linears)     dim, hidden_dim, layer
 *   block         x[B, S, dim], rope, positions?, document_ids?  y  (all below)    dim, layer
 *   decoder       tokens[B, S, int64]         logits  (all below)       dim, n_layers, vocab_size,
 *                                                     max_seq_len
 *
 * rope is float32 [S, head_dim / 2, 2]: cosine and sine of each position and frequency, applied to
 * interleaved pairs (2i, 2i+1). A parameter of a module below has its path: "wq.weight". Optional
 * inputs (?) are passed only when given; a replacement that did not declare them is refused. */
#define TITAN_KIND_LINEAR "linear"
#define TITAN_KIND_RMS_NORM "rms_norm"
#define TITAN_KIND_EMBEDDING "embedding"
#define TITAN_KIND_ATTENTION "attention"
#define TITAN_KIND_QK_NORM_ATTENTION "qk_norm_attention" /* hosts before it have no such models */
#define TITAN_KIND_FEED_FORWARD "feed_forward"
#define TITAN_KIND_BLOCK "block"
#define TITAN_KIND_DECODER "decoder"

/* One module. All strings live until convert() returns. */
typedef struct titan_module_info {
  uint32_t struct_size;
  uint32_t flags;           /* TITAN_MODULE_... */
  titan_string fqn;         /* "layers.0.attention.wq"; empty for the root */
  titan_string kind;        /* TITAN_KIND_... ; unknown kinds may appear: leave them alone */
  uint64_t parameter_count; /* own and below */
} titan_module_info;

/* Set when the user's include / exclude globs choose this module for this instance. Recording
 * anything on a module without it is an error. */
#define TITAN_MODULE_SELECTED 1u

/* One parameter of a module or of a module below it. `shape` lives until convert() returns. */
typedef struct titan_parameter_info {
  uint32_t struct_size;
  uint32_t flags;    /* TITAN_PARAMETER_... */
  titan_string name; /* relative to the module: "weight", "wq.weight" */
  const int64_t *shape;
  int32_t ndim;
  titan_dl_dtype dtype; /* as stored; calls may see it narrower: titan_call_info.compute_dtype */
} titan_parameter_info;

#define TITAN_PARAMETER_FROZEN 1u /* takes no gradient */

/* How the host fills a tensor that a converter adds. Why a rule and not values: the host draws
 * each from its own generator keyed by (seed, name) over the whole tensor, so sharding and other
 * converters change nothing. */
typedef struct titan_init_rule {
  uint32_t struct_size;
  int32_t rule;        /* TITAN_INIT_... */
  double a;            /* constant: value; normal: mean; uniform: lower bound */
  double b;            /* normal: standard deviation; uniform: upper bound */
  titan_string source; /* copy: a stock parameter of this module, relative name, same shape */
} titan_init_rule;

#define TITAN_INIT_CONSTANT 0
#define TITAN_INIT_NORMAL 1
#define TITAN_INIT_UNIFORM 2
#define TITAN_INIT_KAIMING_UNIFORM 3 /* bound 1/sqrt(shape[1]), as torch.nn.Linear */
#define TITAN_INIT_COPY 4

/* A parameter or buffer to add to a module. On disk it is `<instance>/<module fqn>.<name>`. */
typedef struct titan_tensor_spec {
  uint32_t struct_size;
  uint32_t flags;    /* TITAN_SPEC_... */
  titan_string name; /* [a-z0-9_.]+; must not collide with a stock name of the module */
  const int64_t *shape;
  int32_t ndim;
  titan_dl_dtype dtype; /* parameters: code 255 means "as the model's parameters" */
  const titan_init_rule *init;
} titan_tensor_spec;

/* A stock parameter (or a slice of it) inside a parameter of another layout. */
typedef struct titan_layout_part {
  uint32_t struct_size;
  int32_t slice_dim;   /* of the source; -1: all of it */
  titan_string source; /* stock parameter of the module or below, relative: "wq.weight" */
  int64_t slice_start;
  int64_t slice_length;
  /* NULL, or one entry per dimension: dimension i here is dimension permutation[i] of the source.
   */
  const int32_t *permutation;
} titan_layout_part;

/* A parameter that takes the place of stock parameters: its parts, one after the other along
 * concat_dim. The stock ones leave the module; calls get `name` instead. Why data and not code: the
 * host initialises, loads, saves and shows them, and Adam's moments, under their stock names and in
 * their stock shapes, so no plugin is needed to read a file. */
typedef struct titan_layout {
  uint32_t struct_size;
  int32_t concat_dim;
  titan_string name; /* [a-z0-9_.]+, relative to the module */
  const titan_layout_part *parts;
  uint64_t part_count;
} titan_layout;

#if TITAN_API_VERSION >= 2
/* How fast a converter expects a module to be once it is changed, and what memory it will take. For
 * users to read; nothing is decided by it. */
typedef struct titan_prediction {
  uint32_t struct_size;
  uint32_t flags; /* TITAN_PREDICTION_... */
  /* Time of the stock module's forward and backward over that of the changed one: finite, above 0;
   * 0 with TITAN_PREDICTION_MEMORY: nothing is said of it. */
  double speedup;
  int64_t tokens;     /* in a call, for which it was computed: above 0 */
  titan_string basis; /* what it rests on, one line: "modelled: H200, 790 TFLOP/s bf16"; copied */
  /* With TITAN_PREDICTION_MEMORY, else 0. Bytes of one call on `tokens` tokens, none negative. The
   * host counts arguments, the output and gradients by itself. */
  int64_t saved_bytes;   /* made in forward and kept for backward, beside arguments and output */
  int64_t working_bytes; /* held at most at once inside forward or backward, gone when it returns */
  int64_t cache_bytes;   /* kept from call to call (a quantised weight), whatever the tokens */
} titan_prediction;

#define TITAN_PREDICTION_MEMORY 1u /* the three sizes are given */
#define TITAN_PREDICTION_KEEPS_INPUTS \
  2u /* with MEMORY: the inputs are kept for backward as they are */
#define TITAN_PREDICTION_KEEPS_OUTPUT                              \
  4u /* with MEMORY: so is the output; of a wrap after the module, \
      * the y that it is given */
#endif

#define TITAN_SPEC_NON_PERSISTENT 1u /* buffers: not written to checkpoints */
#define TITAN_SPEC_REDUCE_MAX 2u     /* buffers: the host takes the maximum over all ranks */
#define TITAN_DTYPE_OF_MODEL 255

TITAN_END_C

#endif /* TITAN_MODEL_H */
