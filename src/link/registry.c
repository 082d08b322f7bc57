/* registry.c: the transports of this build, best first. The build chooses the files; this list names them. */
#include "link/link.h"

extern const struct tern_link_ops tern_self_ops, tern_shm_ops;

const struct tern_link_ops *const tern_links[] = { &tern_self_ops, &tern_shm_ops };
const unsigned                    tern_links_count = sizeof(tern_links) / sizeof(tern_links[0]);

_Static_assert(sizeof(tern_links) / sizeof(tern_links[0]) <= TERN_LINKS_MAX, "room for a lane per link");
