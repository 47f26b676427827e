/// Results of expensive operators, kept in a first forward and handed out again in the second.
#pragma once

#include <ATen/core/ivalue.h>
#include <c10/core/impl/LocalDispatchKeySet.h>

#include <cstdint>
#include <deque>
#include <string>
#include <vector>

namespace titan::model {

/// What is kept is torchtitan's choice: every second matrix product, beginning with the first, the
/// attention kernels and largest elements of tensors. Operators are seen below autograd, so in the
/// second forward the graph is recorded as if they had run, and what a plugin calls by name is seen
/// too.
class OpTape {
 public:
  enum class Mode { kRecord, kReplay };

  /// While it lives, operators that this thread calls go through the tape.
  class Scope {
   public:
    Scope(OpTape& tape, Mode mode);
    ~Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;

   private:
    friend class OpTape;
    OpTape& tape_;
    const Mode mode_;
    int64_t products_ = 0;
    Scope* outer_;
    c10::impl::IncludeDispatchKeyGuard seen_;
  };

  /// While it lives, operators of this thread pass by the tape: who looks on may do so in one of
  /// the two forwards only.
  class Pause {
   public:
    Pause();
    ~Pause();
    Pause(const Pause&) = delete;
    Pause& operator=(const Pause&) = delete;

   private:
    Scope* paused_;
  };

  /// Results that were recorded and not yet handed out.
  size_t size() const { return entries_.size(); }

  /// Runs (or replays) one operator of the scope that is innermost on this thread. Called by the
  /// dispatcher.
  static void dispatch(const c10::OperatorHandle& op, c10::DispatchKeySet keys,
                       std::vector<c10::IValue>* stack);

 private:
  using Shapes = std::vector<std::vector<int64_t>>;
  struct Entry {
    std::string op;
    Shapes operands;
    std::vector<c10::IValue> results;
    std::vector<int64_t> changes_in_place;  ///< torch's counter of each tensor; -1: not a tensor
  };
  static Shapes operands_of(const c10::OperatorHandle& op, const std::vector<c10::IValue>& stack);
  void record(const c10::OperatorHandle& op, Shapes operands,
              const std::vector<c10::IValue>& stack);
  void replay(const c10::OperatorHandle& op, const Shapes& operands,
              std::vector<c10::IValue>& stack);

  std::deque<Entry> entries_;
};

}  // namespace titan::model
