/* Code that runs while a plugin is loaded, in its constructor or in its entry, and does what it
 * must not. Chosen by -DDEFECT_...; with -DWITHOUT_NOTE the file has no note, so only loading
 * tells. */
#define _GNU_SOURCE
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <titan/titan_sdk.h>
#include <unistd.h>

#ifndef WITHOUT_NOTE
TITAN_NOTE(
    "{\"name\": \"nasty\", \"version\": \"1.0.0\", \"api_min\": 1, \"api_built\": 1, \"tier\": "
    "\"none\","
    "\"converters\": [{\"name\": \"nasty\"}]}");
#endif

#if defined(DEFECT_AT_ENTRY)
#define WHERE
#else
#define WHERE __attribute__((constructor))
#endif

WHERE static void misbehave(void) {
#if defined(DEFECT_CRASH)
  raise(SIGSEGV);
#elif defined(DEFECT_ABORT)
  fprintf(stderr, "no suitable moon\n");
  abort();
#elif defined(DEFECT_HANG)
  for (;;) pause();
#elif defined(DEFECT_SPIN)
  for (volatile int i = 0;; i = 1 - i) {
  }
#elif defined(DEFECT_SLOW)
  sleep(2);
#elif defined(DEFECT_EXIT)
  exit(0);
#elif defined(DEFECT_QUICK_EXIT)
  _exit(0);
#elif defined(DEFECT_FORK)
  /* A process that stays behind with every descriptor open. */
  if (fork() == 0)
    for (;;) pause();
#elif defined(DEFECT_CHATTER)
  for (int i = 0; i < 100000; ++i) puts("a constructor that likes to talk");
#endif
}

static titan_status convert(void *instance, titan_model *model) {
  (void)instance, (void)model;
  return TITAN_OK;
}

struct registration {
  const titan_host *host;
  titan_registrar *registrar;
  titan_converter converter;
  titan_status status;
};

static void *register_it(void *argument) {
  struct registration *it = argument;
  it->status = it->host->registrar_converter(it->registrar, &it->converter);
  return NULL;
}

TITAN_EXPORT titan_status register_converters(const titan_host *host, titan_registrar *registrar) {
  struct registration storage;
  struct registration *it = &storage;
  memset(it, 0, sizeof *it);
  it->host = host;
  it->registrar = registrar;
  it->converter.struct_size = sizeof it->converter;
  it->converter.name = TITAN_STR("nasty");
  it->converter.convert = convert;
#ifndef WITHOUT_NOTE
  it->status = host->registrar_note(registrar, TITAN_NOTE_JSON, TITAN_NOTE_SIZE);
  if (it->status != TITAN_OK) return it->status;
#endif
#if defined(DEFECT_AT_ENTRY)
  misbehave();
#endif
#if defined(DEFECT_OTHER_THREAD)
  pthread_t thread;
  if (pthread_create(&thread, NULL, register_it, it) != 0) return TITAN_FAILED;
  pthread_join(thread, NULL);
#elif defined(DEFECT_SIZE_TAIL)
  struct {
    titan_converter converter;
    uint64_t newer; /* a field that this host does not know, and that is not zero */
  } newer_struct = {it->converter, 1};
  newer_struct.converter.struct_size = sizeof newer_struct;
  it->status = host->registrar_converter(registrar, &newer_struct.converter);
#else
  register_it(it);
#endif
  return it->status;
}
