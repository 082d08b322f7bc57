/* region.c: a rank's own part of a region is already mapped, at the address in the memory handle. */
#include "link/none.h"
#include "link/self/self.h"

static const struct tern_link_path self_path = { .name = "self",
                                                 .instant = true,
                                                 .start = tern_link_mapped_start,
                                                 .keeps_order = tern_link_no_order,
                                                 .can_notify = tern_link_no_notify,
                                                 .start_iov = tern_link_no_iov };

tern_status tern_self_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                             struct tern_link_part *part)
{
    (void)link, (void)path_name;
    part->path = &self_path;
    part->base = tern_link_kind_loads(handle->mem_kind) ? (unsigned char *)(uintptr_t)handle->addr : NULL;
    return TERN_OK;
}
