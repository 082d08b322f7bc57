/* ring.c: a program outside the project, built against an installed copy. Each rank puts its number to the next one and
 * sees the number of the one before. It compiles as C99 and, through ring.cc, as C++.
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <tern.h>

static int failed(const char *call, tern_status status)
{
    fprintf(stderr, "%s: %s (%s)\n", call, tern_strerror(status), tern_error_detail());
    return 1;
}

static int exchange(tern_region *region)
{
    const uint64_t mine = 1000u + (uint64_t)tern_rank();
    uint64_t       seen = 0;
    int            size = tern_size();
    int            next = (tern_rank() + 1) % size;
    int            before = (tern_rank() + size - 1) % size;
    tern_event     event = TERN_EVENT_INIT;
    tern_status    status;

    if ((status = tern_put_nb(TERN_WORLD, region, next, 8, &mine, sizeof(mine), &event)) != TERN_OK)
        return failed("tern_put_nb", status);
    if ((status = tern_event_wait(&event, tern_deadline_in(30))) != TERN_OK)
        return failed("tern_event_wait", status);
    if ((status = tern_barrier(TERN_WORLD)) != TERN_OK)
        return failed("tern_barrier", status);
    if ((status = tern_get_u64(TERN_WORLD, region, tern_rank(), 8, &seen)) != TERN_OK)
        return failed("tern_get_u64", status);
    if (seen != 1000u + (uint64_t)before) {
        fprintf(stderr, "rank %d sees %d\n", tern_rank(), (int)seen);
        return 1;
    }
    return 0;
}

int main(void)
{
    tern_region *region = NULL;
    tern_status  status;

    if (strcmp(tern_version(), TERN_VERSION) != 0)
        return 1;
    if ((status = tern_init()) != TERN_OK)
        return failed("tern_init", status);
    if ((status = tern_region_create(TERN_WORLD, 4096, NULL, &region)) != TERN_OK)
        return failed("tern_region_create", status);
    if (exchange(region) != 0)
        return 1;
    if (tern_rank() == 0)
        printf("a ring of %d\n", tern_size());
    if ((status = tern_region_free(region)) != TERN_OK)
        return failed("tern_region_free", status);
    if ((status = tern_finalize()) != TERN_OK)
        return failed("tern_finalize", status);
    return 0;
}
