/* region.c: a chaos path in front of each path that the wrapped link assigns to a part. There is one for each path
 * of the wrapped link. It is created at the first use and lives as long as the link. */
#include <stdlib.h>

#include "link/chaos/chaos.h"
#include "link/none.h"

static const struct tern_link_path *path_in_front(struct chaos_link *link, const struct tern_link_path *behind)
{
    struct chaos_path *path = link->paths;

    while (path && path->behind != behind)
        path = path->next;
    if (path)
        return &path->base;
    if (!(path = malloc(sizeof(*path))))
        return NULL;
    *path = (struct chaos_path){ .base = { .name = behind->name,
                                           .instant = false,
                                           .self_progress = behind->instant || behind->self_progress,
                                           .rpc = behind->rpc,
                                           .prefers_packing = behind->prefers_packing,
                                           .start = tern_chaos_start,
                                           .keeps_order = tern_link_no_order,
                                           .can_notify = tern_chaos_can_notify,
                                           .start_iov = tern_link_no_iov },
                                 .behind = behind,
                                 .next = link->paths };
    link->paths = path;
    return &path->base;
}

void tern_chaos_paths_free(struct chaos_link *link)
{
    while (link->paths) {
        struct chaos_path *path = link->paths;
        link->paths = path->next;
        free(path);
    }
}

tern_status tern_chaos_attach(struct tern_link *behind, const struct tern_mem_handle *handle, const char *path_name,
                              struct tern_link_part *part)
{
    struct chaos_link           *link = tern_chaos_link(behind);
    const struct tern_link_path *path;
    tern_status                  st = link->ops->attach(behind, handle, path_name, part);

    if (st != TERN_OK || !part->path)
        return st;
    if ((path = path_in_front(link, part->path))) {
        part->path = path;
        part->inline_notify = false; /* delayed data travels separately from the notification */
        return TERN_OK;
    }
    link->ops->detach(behind, part);
    part->path = NULL;
    return tern_base_fail(TERN_ERR_NOMEM, "chaos: no memory for a path");
}

void tern_chaos_detach(struct tern_link *behind, struct tern_link_part *part)
{
    struct chaos_link *link = tern_chaos_link(behind);

    if (part->path)
        part->path = ((const struct chaos_path *)part->path)->behind;
    link->ops->detach(behind, part);
}
