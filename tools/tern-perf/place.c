/* place.c: the memory that a test works on, and whether each rank has a core of its own.
 *
 * Every rank has a part of the region under test, with an area for streams and one for a ping-pong, and private
 * memory with an area for streams and three for a ping-pong: its two contents, and the data that it fetches. Parts
 * begin on a page boundary; private memory begins MEASURE_SKEW after a page boundary (bench/measure.h explains why).
 * All memory is touched before the measurement. In addition, the limits use one page of plain shared memory per
 * rank, or a TCP connection between ranks 0 and 1 if these share no memory.
 */
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/memory.h"
#include "perf.h"

#define WORST_AREA (1ull << 40)

/* Allocate page-aligned private memory. The caller stores the address in p for perf_place_close. */
static unsigned char *private_memory(const struct perf *p, size_t bytes)
{
    struct tern_memory_limits room = tern_base_memory_limits("");
    void                     *memory = MAP_FAILED;

    if (bytes <= room.available / (uint64_t)p->ranks) /* every other rank needs the same amount */
        memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (memory == MAP_FAILED)
        tern_abort(1, "tern-perf: not enough memory for these sizes and windows; choose smaller ones");
    if (p->opt->memory == PERF_HUGE)
        madvise(memory, bytes, MADV_HUGEPAGE); /* if this fails, the pages are small */
    memset(memory, 1, bytes);
    return memory;
}

/* Open the region under test and find out how its parts are reached. */
static void open_region(struct perf *p, size_t bytes)
{
    struct perf_place place = { getpid(), 0 };
    tern_region_opts  opts =
        TERN_REGION_OPTS(.memory = p->opt->memory == PERF_HUGE ? TERN_MEMORY_HUGE : TERN_MEMORY_HOST);
    struct perf_place *all = (struct perf_place *)(void *)p->gather;

    if (p->opt->memory == PERF_REGISTERED) {
        p->mine = private_memory(p, bytes);
        perf_must(tern_region_register(p->ctx, p->mine, bytes, &p->region), "registering memory");
    } else {
        perf_must(tern_region_create(p->ctx, bytes, &opts, &p->region), "allocating the region");
        p->mine = tern_region_ptr(p->region, p->rank);
        memset(p->mine, 0, bytes);
        p->theirs = tern_region_ptr(p->region, p->peer);
    }
    place.address = (uint64_t)(uintptr_t)p->mine;
    perf_must(tern_allgather(p->ctx, &place, sizeof(place), all), "all-gather");
    p->peer_place = all[p->peer];
    p->link = tern_region_path(p->region, p->peer);
}

/* Return bytes rounded up to pages, plus one page, so that loops over a few lines never leave the area. */
static uint64_t whole_pages(uint64_t bytes)
{
    return ((bytes + MEASURE_PAGE - 1) / MEASURE_PAGE + 1) * MEASURE_PAGE;
}

/* Collective. Return whether ranks 0 and 1 share no memory. All ranks get the same answer. */
static bool are_apart(struct perf *p)
{
    unsigned char apart = p->their_line == NULL, *all = p->gather;

    perf_must(tern_allgather(p->ctx, &apart, sizeof(apart), all), "all-gather");
    return all[0] != 0 || all[1] != 0;
}

void perf_place_open(struct perf *p, uint64_t max_size, uint64_t max_window)
{
    uint64_t windows = max_window > 1 ? max_window : 1;

    if (max_size > WORST_AREA / windows)
        tern_abort(1, "tern-perf: messages of that size and number do not fit into memory; choose smaller ones");
    p->ping = whole_pages(p->test->pingpong ? max_size : 0);
    p->area = whole_pages(max_size * windows);
    open_region(p, p->area + p->ping);
    p->local_bytes = p->area + 3 * p->ping + MEASURE_PAGE;
    p->local_map = private_memory(p, p->local_bytes);
    p->local = p->local_map + MEASURE_SKEW;
    perf_must(tern_region_create(p->ctx, MEASURE_PAGE, NULL, &p->lines), "allocating the region for the limits");
    p->my_line = tern_region_ptr(p->lines, p->rank);
    p->their_line = tern_region_ptr(p->lines, p->peer);
    p->tcp = -1;
    p->network = p->ranks > 1 && are_apart(p);
    if (p->network)
        perf_tcp_open(p);
}

void perf_place_close(struct perf *p)
{
    perf_tcp_close(p);
    perf_must(tern_region_free(p->lines), "freeing a region");
    perf_must(tern_region_free(p->region), "freeing a region");
    if (p->opt->memory == PERF_REGISTERED)
        munmap(p->mine, p->area + p->ping);
    munmap(p->local_map, p->local_bytes);
}

/* Return whether all cpus of the set are hardware threads of one core. */
static bool is_one_core(const cpu_set_t *set, size_t bytes)
{
    char   path[96], list[256] = "";
    size_t first = 0;
    int    inside = 0;
    FILE  *file;

    while (first < 8 * bytes && !CPU_ISSET_S(first, bytes, set))
        first++;
    snprintf(path, sizeof(path), "/sys/devices/system/cpu/cpu%zu/topology/thread_siblings_list", first);
    file = fopen(path, "r");
    if (file == NULL || fgets(list, sizeof(list), file) == NULL)
        snprintf(list, sizeof(list), "%zu", first);
    if (file != NULL)
        fclose(file);
    for (char *at = list; *at >= '0' && *at <= '9'; at += *at == ',') {
        unsigned long from = strtoul(at, &at, 10), to = *at == '-' ? strtoul(at + 1, &at, 10) : from;

        for (; from <= to && from < 8 * bytes; from++)
            inside += CPU_ISSET_S(from, bytes, set) != 0;
    }
    return CPU_COUNT_S(bytes, set) == inside;
}

/* Collective. Return whether each rank is bound to one core. */
static bool are_bound(struct perf *p, const cpu_set_t *set, size_t bytes)
{
    unsigned char bound = is_one_core(set, bytes), *all = p->gather;

    perf_must(tern_allgather(p->ctx, &bound, sizeof(bound), all), "all-gather");
    return memchr(all, 0, (size_t)p->ranks) == NULL;
}

/* Collective. Check on which cores the ranks may run. Rank 0 prints a warning if the placement makes figures
 * unsteady. Returns whether there is a core for each rank. The cpu mask has a fixed size of 256 bytes: 2048 cores. */
bool perf_place_check(struct perf *p)
{
    unsigned char mask[256] = { 0 }, *all = p->gather;
    int           cores = 0;
    cpu_set_t    *set = (cpu_set_t *)(void *)mask;
    bool          bound;

    if (sched_getaffinity(0, sizeof(mask), set) < 0)
        mask[0] = 1;
    bound = are_bound(p, set, sizeof(mask));
    perf_must(tern_allgather(p->ctx, mask, sizeof(mask), all), "all-gather");
    memset(mask, 0, sizeof(mask));
    for (int r = 0; r < p->ranks; r++)
        for (size_t i = 0; i < sizeof(mask); i++)
            mask[i] |= all[(size_t)r * sizeof(mask) + i];
    for (size_t i = 0; i < sizeof(mask); i++)
        cores += __builtin_popcount(mask[i]);
    if (p->rank == 0 && !p->opt->quiet && p->ranks > cores)
        fprintf(stderr,
                "tern-perf: warning: %d ranks share %d core%s; figures of tests in which several ranks work "
                "at a time show the scheduler\n",
                p->ranks, cores, cores == 1 ? "" : "s");
    else if (p->rank == 0 && !p->opt->quiet && !bound)
        fprintf(stderr, "tern-perf: warning: the ranks are not bound to cores; use ternrun --bind core for steady "
                        "figures\n");
    return p->ranks <= cores;
}
