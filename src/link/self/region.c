/* region.c: a rank's own part of a region is already mapped, at the address in the memory handle. */
#include "link/self/self.h"

tern_status tern_self_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                             struct tern_link_part *part)
{
    (void)link, (void)path_name;
    part->path = &tern_self_path;
    part->base = (unsigned char *)(uintptr_t)handle->addr;
    return TERN_OK;
}

void tern_self_detach(struct tern_link *link, struct tern_link_part *part)
{
    (void)link, (void)part; /* the core allocated the memory and releases it */
}
