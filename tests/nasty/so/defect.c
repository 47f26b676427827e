/* A plugin with one defect, chosen by -DDEFECT_...; without any it is a good one. */
#include <titan/titan_sdk.h>

#define HEAD(api)                                                                          \
  "{\"name\": \"nasty\", \"version\": \"1.0.0\", \"homepage\": \"https://nasty.example\"," \
  "\"api_min\": " api ", \"api_built\": " api ", \"tier\": \"none\", \"converters\": "
#define LIST "[{\"name\": \"nasty\"}]}"

#if defined(DEFECT_NOTE_TOO_NEW)
TITAN_NOTE(HEAD("4294967295") LIST);
#elif defined(DEFECT_NOTE_KEYS)
TITAN_NOTE(HEAD("1") "[], \"converters\": " LIST);
#elif defined(DEFECT_NOTE_DEEP)
TITAN_NOTE("[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[");
#elif defined(DEFECT_NOTE_JSON)
TITAN_NOTE("{\"name\": \"nasty\", oops}");
#elif defined(DEFECT_NOTE_EXACT)
TITAN_NOTE(
    "{\"name\": \"nasty\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1,"
    "\"tier\": \"exact\", \"torch_build\": \"9.9.9 cuda99.0 0123456789ab\", \"converters\": " LIST);
#elif defined(DEFECT_NOT_LISTED)
TITAN_NOTE(HEAD("1") "[{\"name\": \"other\"}]}");
#elif defined(DEFECT_NOT_REGISTERED)
TITAN_NOTE(HEAD("1") "[{\"name\": \"nasty\"}, {\"name\": \"promised\"}]}");
#else
TITAN_NOTE(HEAD("1") LIST);
#endif

static const titan_host *host;
static titan_registrar *kept;

/* Uses the registrar when it is long dead, and says how that went. */
static titan_status convert(void *instance, titan_model *model) {
  titan_converter late = TITAN_SIZED(titan_converter);
  (void)instance, (void)model;
  late.name = TITAN_STR("late");
  late.convert = convert;
  return host->registrar_converter(kept, &late);
}

#if defined(DEFECT_UNDEFINED)
titan_status nobody_defines_this(void);
#endif
#if defined(DEFECT_SHIM)
int aoti_torch_get_dim(void *tensor, int64_t *out);
#endif
#if defined(DEFECT_MALLOC)
TITAN_EXPORT void *cblas_malloc(uint64_t size);
void *cblas_malloc(uint64_t size) { return (void *)(uintptr_t)(size & 0); }
#endif
#if defined(DEFECT_NEEDS_LIBRARY)
int library_answer(void);
#endif

#if defined(DEFECT_ENTRY_NAME)
#define register_converters register_convertors
TITAN_EXPORT titan_status register_converters(const titan_host *, titan_registrar *);
#endif

titan_status register_converters(const titan_host *given, titan_registrar *registrar) {
  titan_converter converter = TITAN_SIZED(titan_converter);
  titan_status status = TITAN_OK;
  host = given;
  kept = registrar;
  converter.name = TITAN_STR("nasty");
  converter.convert = convert;
#if defined(DEFECT_RETURNS_ERROR)
  return host->set_error(TITAN_UNSUPPORTED, TITAN_STR("needs a better moon"),
                         TITAN_STR("wait a week"));
#elif defined(DEFECT_SILENT_ERROR)
  return 4242;
#elif defined(DEFECT_OTHER_NOTE)
  status = host->registrar_note(registrar, "{}", 2);
#elif !defined(DEFECT_NO_NOTE_HANDED)
  status = host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE);
#endif
  if (status != TITAN_OK) return status;
#if defined(DEFECT_NOTHING)
  return TITAN_OK;
#elif defined(DEFECT_STRUCT_SIZE)
  converter.struct_size = DEFECT_STRUCT_SIZE;
#elif defined(DEFECT_NULL_CONVERT)
  converter.convert = NULL;
#elif defined(DEFECT_NULL_NAME)
  converter.name.data = NULL;
#elif defined(DEFECT_BAD_NAME)
  converter.name = TITAN_STR("Nasty\x1b[31m name");
#elif defined(DEFECT_HUGE_NAME)
  converter.name.size = UINT64_MAX;
#elif defined(DEFECT_FLAGS)
  converter.flags = 1;
#elif defined(DEFECT_NULL_CONVERTER)
  return host->registrar_converter(registrar, NULL);
#elif defined(DEFECT_MISALIGNED)
  return host->registrar_converter(registrar,
                                   (const titan_converter *)((const char *)&converter + 1));
#elif defined(DEFECT_UNDEFINED)
  if (status == TITAN_OK) status = nobody_defines_this();
#elif defined(DEFECT_SHIM)
  if (registrar == NULL) return aoti_torch_get_dim(NULL, NULL);
#elif defined(DEFECT_NEEDS_LIBRARY)
  if (library_answer() != 42) return TITAN_FAILED;
#elif defined(DEFECT_TWICE) || defined(DEFECT_IGNORED)
  status = host->registrar_converter(registrar, &converter);
  if (status != TITAN_OK) return status;
#endif
#if defined(DEFECT_IGNORED)
  (void)!host->registrar_converter(registrar, &converter);
  return TITAN_OK;
#else
  return host->registrar_converter(registrar, &converter);
#endif
}
