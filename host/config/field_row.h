/// One row of the table of keys: what binds a member of Config to its name, type, limits and help.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "config/fields.h"

namespace titan::config {

template <typename T>
struct OptionTypeOf;
template <>
struct OptionTypeOf<bool> {
  static constexpr OptionType value = OptionType::kBool;
};
template <>
struct OptionTypeOf<int64_t> {
  static constexpr OptionType value = OptionType::kInt;
};
template <>
struct OptionTypeOf<double> {
  static constexpr OptionType value = OptionType::kFloat;
};
template <>
struct OptionTypeOf<std::string> {
  static constexpr OptionType value = OptionType::kString;
};

template <typename T>
void bind_member(Field& field, T& (*at)(Config&)) {
  field.option.type = OptionTypeOf<T>::value;
  // get() only reads; one accessor serves both directions.
  field.get = [at](const Config& config) -> std::optional<OptionValue> {
    return OptionValue{false, {at(const_cast<Config&>(config))}};
  };
  field.set = [at](Config& config, const std::optional<OptionValue>& value) {
    at(config) = std::get<T>(value->items.front());
  };
}

template <typename T>
void bind_member(Field& field, std::optional<T>& (*at)(Config&)) {
  field.option.type = OptionTypeOf<T>::value;
  field.nullable = true;
  field.get = [at](const Config& config) -> std::optional<OptionValue> {
    const std::optional<T>& member = at(const_cast<Config&>(config));
    if (!member) return std::nullopt;
    return OptionValue{false, {*member}};
  };
  field.set = [at](Config& config, const std::optional<OptionValue>& value) {
    if (value)
      at(config) = std::get<T>(value->items.front());
    else
      at(config).reset();
  };
}

inline void bind_member(Field& field, std::vector<std::string>& (*at)(Config&)) {
  field.option.is_list = true;
  field.get = [at](const Config& config) -> std::optional<OptionValue> {
    OptionValue value{true, {}};
    for (const std::string& item : at(const_cast<Config&>(config))) value.items.push_back(item);
    return value;
  };
  field.set = [at](Config& config, const std::optional<OptionValue>& value) {
    at(config).clear();
    for (const Scalar& item : value->items) at(config).push_back(std::get<std::string>(item));
  };
}

inline void bind_member(Field& field, std::vector<ConverterItem>& (*at)(Config&)) {
  field.option.is_list = true;
  field.is_converters = true;
  field.get = [at](const Config& config) -> std::optional<OptionValue> {
    OptionValue value{true, {}};
    for (const ConverterItem& item : at(const_cast<Config&>(config)))
      value.items.push_back(item.use);
    return value;
  };
}

/// Builds one row; the calls behind it read like the sentence in the documentation.
class Row {
 public:
  template <typename T>
  Row(std::string section, std::string key, T& (*at)(Config&), std::string help) {
    field_.section = std::move(section);
    field_.option.name = std::move(key);
    field_.option.help = std::move(help);
    bind_member(field_, at);
    field_.option.default_value = field_.get(Config{});
  }
  Row at_least(double limit) && {
    field_.option.min = limit;
    return std::move(*this);
  }
  Row at_most(double limit) && {
    field_.option.max = limit;
    return std::move(*this);
  }
  Row above(double limit) && {
    field_.option.min = limit;
    field_.option.above_min = true;
    return std::move(*this);
  }
  Row below(double limit) && {
    field_.option.max = limit;
    field_.option.below_max = true;
    return std::move(*this);
  }
  Row one_of(std::vector<std::string> values) && {
    field_.option.type = OptionType::kEnum;
    field_.option.values = std::move(values);
    return std::move(*this);
  }
  Row path() && {
    field_.option.type = OptionType::kPath;
    return std::move(*this);
  }
  Field take() && { return std::move(field_); }

 private:
  Field field_;
};

}  // namespace titan::config
