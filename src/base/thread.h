/* thread.h: starting the library's own threads. */
#pragma once

#include <pthread.h>

#include "base/status.h"

/* Start a thread that runs run(arg) with all signals blocked, so that the program's handlers never run on it. name
 * appears in debuggers and has at most 15 characters. Returns TERN_ERR_SYSTEM, with a detail, if no thread can be
 * started. */
tern_status tern_base_thread_start(pthread_t *thread, const char *name, void *(*run)(void *arg), void *arg);

/* Return the number of the library's threads that are running. */
int tern_base_threads(void);

/* Wait until the thread, which was started with this name, has returned. */
void tern_base_thread_join(pthread_t thread, const char *name);
