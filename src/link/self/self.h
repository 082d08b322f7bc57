/* self.h: the link of a rank with itself. */
#ifndef TERN_LINK_SELF_H
#define TERN_LINK_SELF_H

#include "link/link.h"

extern const struct tern_link_ops  tern_self_ops;
extern const struct tern_link_path tern_self_path;

tern_status tern_self_attach(struct tern_link *link, const struct tern_link_card *card, const char *path_name,
                             struct tern_link_part *part);
void        tern_self_detach(struct tern_link *link, struct tern_link_part *part);

tern_status tern_self_group_open(struct tern_link *link, const struct tern_link_group *as,
                                 struct tern_link_group **out);
void        tern_self_group_close(struct tern_link_group *group);
void        tern_self_arrive(struct tern_link_group *group);
bool        tern_self_arrived(struct tern_link_group *group);
int         tern_self_awaited(const struct tern_link_group *group);
void        tern_self_depart(struct tern_link_group *group, uint64_t object);
bool        tern_self_departed(const struct tern_link_group *group, uint32_t member, uint64_t *object);
void        tern_self_post(struct tern_link_group *group, const void *note, size_t len);
const void *tern_self_peek(const struct tern_link_group *group, uint32_t member);

#endif
