/* links.h: the links that a job opens. */
#ifndef TERN_CORE_LINKS_H
#define TERN_CORE_LINKS_H

#include "link/link.h"

/* Open the links that the job needs, and find for each rank the one that serves it. Undone by close. */
tern_status tern_core_links_open(void);
void        tern_core_links_close(void);

/* Bring a part into reach by a link, and open one of this rank's own to the peers of a link, for any thread: links
 * see one such call at a time. */
tern_status tern_core_links_attach(unsigned link, const struct tern_mem_handle *card, const char *path_name,
                                   struct tern_link_part *part);
tern_status tern_core_links_expose(unsigned link, struct tern_mem_handle *card);

/* How long a thread that has announced itself may sleep on the rank's bell, in nanoseconds; the links ring it when they
 * have news. INT64_MAX: until it rings. */
int64_t tern_core_links_may_sleep(void);

/* The program gives back memory that the links may have kept registered. */
void tern_core_links_invalidate(const void *addr, size_t len);

/* Whether everything that notes carried is in its place; help: put it there where targets do not. */
bool tern_core_links_notify_flushed(bool help);

/* Whether all messages that this rank sent have come to their targets. */
bool tern_core_links_msg_flushed(void);

#endif
