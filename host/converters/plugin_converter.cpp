#include "converters/plugin_converter.h"

#include "converters/c_contexts.h"
#include "converters/plugin_status.h"

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
    call_plugin(origin_, "create", true, [&] { return table_.create(&create, &instance_); });
    created_ = true;
  }
  ~PluginConverter() override {
    if (table_.destroy && (created_ || !table_.create)) table_.destroy(instance_);
  }
  PluginConverter(const PluginConverter&) = delete;
  PluginConverter& operator=(const PluginConverter&) = delete;

  void convert(Recorder& recorder) override {
    titan_model model;
    model.recorder = &recorder;
    model.origin = origin_;
    const ContextScope scope(model);
    call_plugin(origin_, "convert", true, [&] { return table_.convert(instance_, &model); });
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
    call_plugin(origin_, name, false, [&] { return function(instance_, &hook); });
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

}  // namespace titan::converters
