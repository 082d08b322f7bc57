/* reach.c: see reach.h. */
#include "op/coll/reach.h"

#include <stdlib.h>
#include <string.h>

#include "core/job.h"
#include "core/links.h"
#include "core/region.h"
#include "op/coll/meeting.h"

struct tern_reach *tern_op_reach_open(const struct tern_station *station)
{
    struct tern_reach *reach = calloc(1, sizeof(*reach));

    if (reach) {
        reach->station = station;
        reach->attaches = true;
    }
    if (reach && (reach->member = calloc((size_t)station->team->size, sizeof(*reach->member))) &&
        (reach->scratch = aligned_alloc(4096, 2 * (size_t)TERN_REACH_CHUNK)))
        return reach;
    tern_op_reach_close(reach);
    tern_base_fail(TERN_ERR_NOMEM, "no memory for the collective calls of a team of %d ranks", station->team->size);
    return NULL;
}

void tern_op_reach_close(struct tern_reach *reach)
{
    if (!reach)
        return;
    free(reach->scratch);
    free(reach->member);
    free(reach);
}

struct tern_reach_probe tern_op_reach_probe(void)
{
    return (struct tern_reach_probe){ .probe = (uint64_t)(uintptr_t)&tern_link_probe,
                                      .pid = atomic_load(&tern_core_job_slot(tern_job.boot.rank)->pid) };
}

bool tern_op_reach_try(struct tern_reach *reach, int member, const struct tern_reach_probe *probe)
{
    int                    world = tern_core_team_world(reach->station->team, member);
    struct tern_link_part *part = &reach->member[member].part;
    struct tern_mem_handle handle = { .addr = probe->probe,
                                      .size = sizeof(struct tern_link_probe),
                                      .probe = probe->probe,
                                      .mem_kind = TERN_MEM_PRIVATE,
                                      .pid = probe->pid };

    *part = (struct tern_link_part){ .rank = world,
                                     .link = tern_job.peer_link[world],
                                     .size = handle.size,
                                     .addr = handle.addr,
                                     .mem_kind = handle.mem_kind,
                                     .pid = handle.pid };
    if (tern_core_links_attach(part->link, &handle, "", part) < 0)
        return false;
    part->addr = 0; /* offsets are addresses */
    part->size = part->reserve = UINT64_MAX;
    return part->path->instant && !tern_link_loads(part) && part->mapped == 0;
}

/* Return whether all members of the team have parts of the region that this rank can load from and store to. Then the
 * others can do so with its own part, because all ranks of a node use the same links. */
static bool is_common(const struct tern_station *station, const struct tern_region *region)
{
    const struct tern_team *team = station->team;

    if (region->team != team && region->team->id != 0)
        return false;
    for (int i = 0; i < team->size; i++)
        if (!tern_link_loads(&region->part[tern_core_team_world(team, i)]))
            return false;
    return true;
}

struct tern_coll_place tern_op_reach_place(struct tern_reach *reach, const void *array, size_t bytes)
{
    uint64_t                  addr = (uint64_t)(uintptr_t)array;
    int                       me = tern_job.boot.rank;
    const struct tern_region *region = tern_core_region_find_cached(&reach->found, me, addr);

    if (region && is_common(reach->station, region) &&
        tern_base_covers(tern_link_part_size(&region->part[me]), addr - region->part[me].addr, bytes) &&
        (region->part[me].mem_kind == TERN_MEM_ARENA || region->part[me].mem_kind == TERN_MEM_HUGE))
        return (struct tern_coll_place){ .name = region->part[me].region, .at = addr - region->part[me].addr };
    return (struct tern_coll_place){ .name = reach->attaches ? TERN_PLACE_ADDRESS : TERN_PLACE_FAR, .at = addr };
}

bool tern_op_reach_find(struct tern_reach *reach, int member, const struct tern_coll_place *place,
                        struct tern_coll_array *array)
{
    struct tern_reach_member *of = &reach->member[member];
    int                       world = tern_core_team_world(reach->station->team, member);
    uint64_t                  changes = atomic_load_explicit(&tern_job.region_changes, memory_order_relaxed) + 1;
    struct tern_link_part     part;

    *array = (struct tern_coll_array){ .addr = place->at, .member = member };
    if (place->name == TERN_PLACE_ADDRESS)
        return true;
    if (place->name == TERN_PLACE_PAGES) {
        array->base = tern_pages_of(reach->station, member) + place->at;
        return true;
    }
    if (of->name != place->name || of->changes != changes) {
        if (!tern_core_region_named(place->name, world, &part) || !tern_link_loads(&part)) {
            tern_base_fail(TERN_ERR_LINK, "rank %d passed an array in a region that this rank cannot access", world);
            return false;
        }
        of->name = place->name;
        of->changes = changes;
        of->base = part.base;
    }
    array->base = of->base + place->at;
    return true;
}

static tern_status transfer(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at, void *local,
                            size_t bytes, bool get)
{
    const struct tern_link_part *part = &reach->member[array->member].part;
    struct tern_xfer xfer = { .part = part, .offset = array->addr + at, .local = local, .len = bytes, .get = get };

    if (bytes == 0)
        return TERN_OK;
    return part->path->start(reach->station->ctx->lane[part->link], &xfer, NULL);
}

tern_status tern_op_reach_get(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at, void *to,
                              size_t bytes)
{
    if (!array->base)
        return transfer(reach, array, at, to, bytes, true);
    memcpy(to, array->base + at, bytes);
    return TERN_OK;
}

tern_status tern_op_reach_put(const struct tern_reach *reach, const struct tern_coll_array *array, size_t at,
                              const void *from, size_t bytes)
{
    void *local;

    if (!array->base) {
        memcpy(&local, &from, sizeof(local)); /* a put does not write to it */
        return transfer(reach, array, at, local, bytes, false);
    }
    memcpy(array->base + at, from, bytes);
    return TERN_OK;
}
