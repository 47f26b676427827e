#include "converters/layout_check.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "base/error.h"

namespace titan::converters {
namespace {

std::string layout_place(const StockModel& model, const Record& record,
                         const std::string& instance) {
  return "converter '" + instance + "', module '" + model[record.module].fqn + "', layout '" +
         record.layout.name + "'";
}

const StockParameter& source_of(const StockModel& model, const Record& record,
                                const LayoutSpec::Part& part) {
  const auto& list = model[record.module].parameters;
  return *std::find_if(list.begin(), list.end(), [&](const StockParameter& parameter) {
    return parameter.name == part.source;
  });
}

/// The shape of one part as it lies in the new parameter.
std::vector<int64_t> part_shape(const StockModel& model, const Record& record,
                                const LayoutSpec::Part& part, const std::string& where) {
  const StockParameter& source = source_of(model, record, part);
  const auto ndim = static_cast<int64_t>(source.shape.size());
  std::vector<int64_t> shape = source.shape;
  if (part.slice_dim >= ndim || part.slice_dim < -1)
    throw usage_error("'" + part.source + "' is cut along dimension " +
                          std::to_string(part.slice_dim) + ", it has " + std::to_string(ndim),
                      where, "correct slice_dim in the converter");
  if (part.slice_dim >= 0) {
    const int64_t size = shape[static_cast<size_t>(part.slice_dim)];
    if (part.slice_start < 0 || part.slice_length < 1 ||
        part.slice_start > size - part.slice_length)
      throw usage_error("the slice " + std::to_string(part.slice_start) + " + " +
                            std::to_string(part.slice_length) + " is not inside '" + part.source +
                            "', whose dimension " + std::to_string(part.slice_dim) + " has " +
                            std::to_string(size),
                        where, "correct slice_start or slice_length in the converter");
    shape[static_cast<size_t>(part.slice_dim)] = part.slice_length;
  }
  if (part.permutation.empty()) return shape;
  std::vector<int64_t> sorted = part.permutation;
  std::sort(sorted.begin(), sorted.end());
  bool each_once = sorted.size() == shape.size();
  for (size_t i = 0; each_once && i < sorted.size(); ++i)
    each_once = sorted[i] == static_cast<int64_t>(i);
  if (!each_once)
    throw usage_error("the permutation of '" + part.source + "' does not name each of its " +
                          std::to_string(ndim) + " dimensions once",
                      where, "correct permutation in the converter");
  std::vector<int64_t> permuted;
  for (const int64_t dim : part.permutation) permuted.push_back(shape[static_cast<size_t>(dim)]);
  return permuted;
}

/// Slices of one source, from all layouts.
using Slices = std::vector<std::pair<const Record*, const LayoutSpec::Part*>>;

void check_covered(const StockModel& model, const std::string& name, Slices slices,
                   const std::vector<std::string>& instances) {
  const auto& [first_record, first] = slices.front();
  const std::string where = layout_place(model, *first_record, instances[first_record->instance]);
  const StockParameter& source = source_of(model, *first_record, *first);
  const bool whole = std::any_of(slices.begin(), slices.end(),
                                 [](const auto& s) { return s.second->slice_dim < 0; });
  if (whole && slices.size() > 1)
    throw usage_error(
        "parameter '" + name + "' is used " + std::to_string(slices.size()) + " times in layouts",
        where, "use every stock parameter once, or slices of it that do not overlap");
  if (whole) return;
  std::sort(slices.begin(), slices.end(), [](const auto& a, const auto& b) {
    return a.second->slice_start < b.second->slice_start;
  });
  int64_t next = 0;
  bool covered = true;
  for (const auto& [record, part] : slices) {
    covered = covered && part->slice_dim == first->slice_dim && part->slice_start == next;
    next = part->slice_start + part->slice_length;
  }
  if (!covered || next != source.shape[static_cast<size_t>(first->slice_dim)])
    throw usage_error("the slices of parameter '" + name + "' leave a gap or overlap", where,
                      "cut it along one dimension, so that every value lies in exactly one layout");
}

}  // namespace

std::vector<int64_t> layout_shape(const StockModel& model, const Record& record,
                                  const std::string& instance) {
  const LayoutSpec& layout = record.layout;
  const std::string where = layout_place(model, record, instance);
  std::vector<int64_t> shape;
  for (const LayoutSpec::Part& part : layout.parts) {
    const std::vector<int64_t> piece = part_shape(model, record, part, where);
    if (layout.concat_dim < 0 || layout.concat_dim >= static_cast<int64_t>(piece.size()))
      throw usage_error("concat_dim is " + std::to_string(layout.concat_dim) + ", '" + part.source +
                            "' has " + std::to_string(piece.size()) + " dimensions",
                        where, "correct concat_dim in the converter");
    if (shape.empty()) {
      shape = piece;
      continue;
    }
    std::vector<int64_t> joined = piece;
    const auto dim = static_cast<size_t>(layout.concat_dim);
    bool fits = piece.size() == shape.size();
    for (size_t i = 0; fits && i < piece.size(); ++i) fits = i == dim || piece[i] == shape[i];
    if (!fits)
      throw usage_error(
          "'" + part.source + "' does not fit beside '" + layout.parts.front().source + "'", where,
          "parts have equal sizes but along concat_dim; permute or leave one out");
    shape[dim] += joined[dim];
  }
  return shape;
}

void check_layouts(const StockModel& model, const std::vector<Record>& records,
                   const std::vector<std::string>& instances) {
  std::map<std::string, Slices> uses;
  std::map<std::string, const Record*> frozen, tied;
  std::map<size_t, size_t> replaced_by;  // module, instance
  for (const Record& record : records) {
    if (record.kind == Record::Kind::kReplace) replaced_by[record.module] = record.instance;
    if (record.kind == Record::Kind::kFreeze)
      frozen[model.name_of(record.module, record.parameter)] = &record;
    if (record.kind == Record::Kind::kTie) {
      tied[model.name_of(record.module, record.parameter)] = &record;
      tied[model.name_of(record.other_module, record.other_parameter)] = &record;
    }
  }
  for (const Record& record : records) {
    if (record.kind != Record::Kind::kLayout) continue;
    const std::string& instance = instances[record.instance];
    const std::string where = layout_place(model, record, instance);
    layout_shape(model, record, instance);
    const auto replaced = replaced_by.find(record.module);
    if (replaced == replaced_by.end() || replaced->second != record.instance)
      throw usage_error(
          "the layout moves parameters of a module that '" + instance + "' does not replace", where,
          "replace the module too: its own code would not find them");
    const StockParameter& first = source_of(model, record, record.layout.parts.front());
    int64_t frozen_parts = 0;
    for (const LayoutSpec::Part& part : record.layout.parts) {
      const std::string name = model.name_of(record.module, part.source);
      uses[name].emplace_back(&record, &part);
      const StockParameter& source = source_of(model, record, part);
      if (source.dtype != first.dtype)
        throw usage_error(
            "'" + part.source + "' and '" + record.layout.parts.front().source + "' differ in type",
            where, "lay out parameters of one type");
      if (source.tied)
        throw usage_error(
            "parameter '" + name + "' is tied in the stock model, so no layout can move it", where,
            "leave it out, or untie the model: model.args.enable_weight_tying: false");
      if (const auto tie = tied.find(name); tie != tied.end())
        throw usage_error("parameter '" + name + "' is tied by '" +
                              instances[tie->second->instance] + "' and moved by '" + instance +
                              "'",
                          where, "leave it out of one of them");
      if (source.frozen || frozen.count(name)) ++frozen_parts;
    }
    if (frozen_parts != 0 && frozen_parts != static_cast<int64_t>(record.layout.parts.size()))
      throw usage_error("some of the parts are frozen and some are not", where,
                        "freeze all of them or none: one parameter takes a gradient or takes none");
  }
  for (const auto& [name, slices] : uses) check_covered(model, name, slices, instances);
}

}  // namespace titan::converters
