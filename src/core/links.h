/* links.h: the links that a job opens. */
#pragma once

#include "link/link.h"

/* Open the links that the job needs, and choose for each rank the link that serves it. Undone by close. */
tern_status tern_core_links_open(void);
void        tern_core_links_close(void);

/* attach: make a part reachable by a link. expose: open one of this rank's own parts to the peers of a link. Any thread
 * may call them: the links see one such call at a time. */
tern_status tern_core_links_attach(unsigned link, const struct tern_mem_handle *handle, const char *path_name,
                                   struct tern_link_part *part);
tern_status tern_core_links_expose(unsigned link, struct tern_mem_handle *handle);

/* Return the first link that reaches the rank and whose network has atomics; -1: there is none. */
int tern_core_links_atomic(int rank);

/* Return for how many nanoseconds a thread that has announced its sleep may sleep on the rank's bell; INT64_MAX: until
 * the bell rings. The links ring the bell when a message or completion arrives. */
int64_t tern_core_links_may_sleep(bool memory);

/* Drop the registrations that the links have cached for memory that the program is about to free. */
void tern_core_links_invalidate(const void *addr, size_t len);

/* Return whether all inline payload of notifications is in its destination; help: copy it there on behalf of targets
 * that have not polled. */
bool tern_core_links_notify_flushed(bool help);

/* Return whether all messages that this rank has sent have arrived at their targets. */
bool tern_core_links_msg_flushed(void);
