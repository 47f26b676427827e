/// The kernels beside the cast: largest magnitudes, the state of recipe delayed, sums and
/// epilogues.
#pragma once

#include <cfloat>

#include "tile.h"

namespace float8::device {

struct NoState {};

/// A strided loop over vectors of 8, each block with its own maximum.
template <class T>
struct AmaxKernel {
  using Arguments = AmaxArguments;
  /// Enough blocks to fill any GPU of today; each thread then strides over the rest.
  static constexpr int64_t kMaxBlocks = 2048;
  static constexpr int kPhases = 2;
  struct Shared {
    int32_t warps[kWarps];
  };
  using Thread = NoState;
  static int64_t blocks(int64_t n) {
    const int64_t wanted = divide_up(n, int64_t{kThreads} * kVector);
    return wanted < kMaxBlocks ? wanted : kMaxBlocks;
  }
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread&) {
    int32_t largest = 0;
    if (!a.unless || *a.unless == 0.0F) {
      const int64_t wanted =
          (a.n + int64_t{kThreads} * kVector - 1) / (int64_t{kThreads} * kVector);
      const int64_t stride = (wanted < kMaxBlocks ? wanted : kMaxBlocks) * kThreads * kVector;
      for (int64_t i = (block * kThreads + thread) * kVector; i < a.n; i += stride) {
        const auto values = *reinterpret_cast<const Elements<T>*>(static_cast<const T*>(a.x) + i);
        for (int j = 0; j < kVector; ++j) largest = greater(largest, magnitude_bits(values.of[j]));
      }
    }
    warp_max_into(shared.warps, thread, largest);
  }
  TITAN_HD static void phase(std::integral_constant<int, 1>, const Arguments& a, int64_t,
                             int thread, Shared& shared, Thread&) {
    if (thread == 0) atomic_max(a.amax_bits, max_of_warps(shared.warps));
  }
};

template <class T>
struct VectorAmaxKernel {
  using Arguments = VectorAmaxArguments;
  static constexpr int kPhases = 2;
  using Shared = TileMaxima;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread&) {
    const Place place(block, thread, a.columns);
    Part<T> part;
    load_part<T>(a.x, a.rows, a.columns, place, part);
    shared.leave(part, place);
  }
  TITAN_HD static void phase(std::integral_constant<int, 1>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread&) {
    const Place place(block, thread, a.columns);
    if (thread < kTile) {
      const int64_t row = place.tile_row * kTile + thread;
      if (a.row_amax && row < a.rows)
        atomic_max(a.row_amax + row, shared.of_row(thread, 0, kThreadsAcross));
    } else {
      const int slot = thread - kTile;
      const int64_t column = place.tile_column * kTile + TileMaxima::column_of(slot);
      if (a.column_amax && column < a.columns)
        atomic_max(a.column_amax + column, shared.of_slot(slot, 0, kThreadsAcross));
    }
  }
};

struct FillKernel {
  using Arguments = FillArguments;
  static constexpr int kPhases = 1;
  using Shared = NoState;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared&, Thread&) {
    const int64_t at = block * kThreads + thread;
    if (at < a.n) a.out[at] = a.value ? *a.value : 0;
  }
};

struct FinishKernel {
  using Arguments = FinishArguments;
  static constexpr int kPhases = 1;
  using Shared = NoState;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t,
                             int thread, Shared&, Thread&) {
    if (thread != 0) return;
    *a.amax = float_of(static_cast<uint32_t>(a.seen[0]));
    if (a.seen[1] >= 0x7f800000) *a.inverse_scale = float_of(0x7fc00000U);
  }
};

struct StageKernel {
  using Arguments = StageArguments;
  static constexpr int kPhases = 1;
  using Shared = NoState;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t,
                             int thread, Shared&, Thread&) {
    if (thread != 0) return;
    for (int i = 0; i < a.count; ++i)
      if (*a.amax[i] > *a.slots[i]) *a.slots[i] = *a.amax[i];
  }
};

/// One block a state; each thread has a stretch of the history.
struct UpdateKernel {
  using Arguments = UpdateArguments;
  static constexpr int kPhases = 3;
  struct Shared {
    int32_t warps[kWarps];
  };
  struct Thread {
    float after;  ///< the first element of the next thread's stretch, as it was
    float staged;
  };
  TITAN_HD static bool moves(float staged) { return staged > 0.0F && staged <= FLT_MAX; }
  TITAN_HD static int64_t stretch(const Arguments& a) {
    return (a.length + kThreads - 1) / kThreads;
  }

  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread& state) {
    const float* history = a.states[block].history;
    const int64_t first = thread * stretch(a), next = first + stretch(a);
    int32_t largest = 0;
    for (int64_t i = first; i < next && i < a.length; ++i)
      if (i > 0) largest = greater(largest, magnitude_bits(history[i]));
    state.after = next < a.length ? history[next] : 0.0F;
    state.staged = history[0];
    warp_max_into(shared.warps, thread, largest);
  }
  TITAN_HD static void phase(std::integral_constant<int, 1>, const Arguments& a, int64_t block,
                             int thread, Shared& shared, Thread& state) {
    if (thread != 0 || !moves(state.staged)) return;
    const float older = float_of(static_cast<uint32_t>(max_of_warps(shared.warps)));
    const float amax = a.most_recent || state.staged > older ? state.staged : older;
#if defined(__CUDA_ARCH__)
    const float exact = __fdiv_rn(a.states[block].largest, amax);
#else
    const float exact = a.states[block].largest / amax;
#endif
    *a.states[block].scale = exact > FLT_MAX ? FLT_MAX : exact;
  }
  /// Slot 0 is emptied, the others move down by one, and the last takes what was staged.
  TITAN_HD static void phase(std::integral_constant<int, 2>, const Arguments& a, int64_t block,
                             int thread, Shared&, Thread& state) {
    float* history = a.states[block].history;
    const int64_t first = thread * stretch(a), next = first + stretch(a);
    if (moves(state.staged))
      for (int64_t i = first; i < next && i < a.length; ++i)
        if (i > 0)
          history[i] = i + 1 == a.length ? state.staged
                       : i + 1 == next   ? state.after
                                         : history[i + 1];
    if (thread == 0) history[0] = 0.0F;
  }
};

template <class T>
struct EpilogueKernel {
  using Arguments = EpilogueArguments;
  static constexpr int kPhases = 1;
  using Shared = NoState;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared&, Thread&) {
    const int64_t at = (block * kThreads + thread) * kVector;
    if (at >= a.rows * a.columns) return;
    const int64_t row = at / a.columns, column = at % a.columns;
    auto* y = reinterpret_cast<Elements<T>*>(static_cast<T*>(a.y) + at);
    Elements<T> values = *y;
    for (int j = 0; j < kVector; ++j) {
      float value = load_float(values.of[j]);
      if (a.row_scales)
        value = multiply(value, multiply(a.row_scales[row], a.column_scales[column + j]));
      if (a.bias) value = value + load_float(static_cast<const T*>(a.bias)[column + j]);
      store_float(value, &values.of[j]);
    }
    *y = values;
  }
};

template <class T>
struct SumKernel {
  using Arguments = SumArguments;
  static constexpr int kPhases = 1;
  using Shared = NoState;
  using Thread = NoState;
  TITAN_HD static void phase(std::integral_constant<int, 0>, const Arguments& a, int64_t block,
                             int thread, Shared&, Thread&) {
    const int64_t column = block * kThreads + thread;
    if (column >= a.columns) return;
    float sum = 0;
    for (int64_t tile = 0; tile < a.tiles; ++tile) sum += a.column_sums[tile * a.columns + column];
    store_float(sum, static_cast<T*>(a.out) + column);
  }
};

}  // namespace float8::device
