#include "converters/plugin_converter.h"

#include "converters/c_contexts.h"
#include "converters/plugin_status.h"
#include "plugins/current_call.h"
#include "plugins/process_state.h"

namespace titan::converters {
namespace {

class PluginConverter final : public ModelConverter {
 public:
  PluginConverter(PluginOrigin origin, const titan_converter& table, const CreateContext& context)
      : origin_(std::move(origin)), table_(table) {
    if (!table_.create) return;
    titan_create create;
    create.context = &context;
    const ContextScope scope(create);
    call_guarded("create", true, [&] { return table_.create(&create, &instance_); });
    created_ = true;
  }
  ~PluginConverter() override {
    if (!table_.destroy || (!created_ && table_.create)) return;
    const plugins::CurrentCall running(origin_.plugin.c_str(), origin_.path.c_str(), "destroy", "");
    table_.destroy(instance_);
  }
  PluginConverter(const PluginConverter&) = delete;
  PluginConverter& operator=(const PluginConverter&) = delete;

  void convert(Recorder& recorder) override {
    titan_model model;
    model.recorder = &recorder;
    model.origin = origin_;
    const ContextScope scope(model);
    call_guarded("convert", true, [&] { return table_.convert(instance_, &model); });
  }
  bool wants_after_init() const override { return table_.after_init != nullptr; }
  void after_init(HookContext& context) override { run("after_init", table_.after_init, context); }
  bool wants_post_optimizer_hook() const override { return table_.post_optimizer_hook != nullptr; }
  void post_optimizer_hook(HookContext& context) override {
    run("post_optimizer_hook", table_.post_optimizer_hook, context);
  }

 private:
  void run(const char* name, titan_status (*function)(void*, titan_hook*), HookContext& context) {
    titan_hook hook;
    hook.context = &context;
    const ContextScope scope(hook);
    call_guarded(name, false, [&] { return function(instance_, &hook); });
  }
  /// These calls are rare enough to look after everything that a plugin must leave as it was.
  void call_guarded(const char* name, bool refusal, const std::function<titan_status()>& function) {
    const plugins::ProcessState before;
    call_plugin(origin_, {name}, refusal, function);
    const std::string changed = before.restore();
    if (!changed.empty())
      throw plugin_error("the plugin changed " + changed + " in " + name + " [T-28]",
                         origin_.text(), "it must put back what it changes before it returns");
  }

  PluginOrigin origin_;
  titan_converter table_;
  void* instance_ = nullptr;
  bool created_ = false;
};

}  // namespace

ConverterFactory plugin_converter_factory(const std::string& plugin, const std::string& path,
                                          const titan_converter& table) {
  return [plugin, path, table](const CreateContext& context) -> std::unique_ptr<ModelConverter> {
    PluginOrigin origin{plugin, path, context.request.converter, context.request.instance};
    return std::make_unique<PluginConverter>(std::move(origin), table, context);
  };
}

void register_plugin(Registry& registry, const plugins::LoadedPlugin& plugin) {
  for (const titan_converter& table : plugin.converters) {
    const std::string name(table.name.data, table.name.size);
    config::ConverterSchema schema;
    for (const auto& known : plugin.description.converters)
      if (known.name == name) schema = known;
    schema.name = name;
    schema.origin = plugin.path.string();
    registry.register_model_converter(
        schema, plugin_converter_factory(plugin.description.name, plugin.path.string(), table));
  }
}

}  // namespace titan::converters
