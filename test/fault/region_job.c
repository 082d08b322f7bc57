/* region_job.c: a rank is killed while regions grow, while memory is adopted, and while others access attached memory.
 * The survivors get TERN_ERR_PEER, and what they have keeps its addresses and contents. The arguments are the mode
 * (grow, adopt or attach) and the microseconds after which the last rank is killed. */
#include "fault_job.h"

#define MOST (64ull << 20)
#define STEP 65536ull

static unsigned us;

/* Let a child kill the last rank after some time, wherever it is then. */
static void begin(void)
{
    pid_t self = getpid();

    EXPECT(TERN_OK, tern_barrier(TERN_WORLD));
    if (tern_rank() != tern_size() - 1 || fork() != 0)
        return;
    usleep(us);
    kill(self, SIGKILL);
    _exit(0);
}

static void run_grow(void)
{
    int              me = tern_rank(), right = me == 0 ? 1 : 0; /* ranks 0 and 1 survive */
    tern_region_opts opts = TERN_REGION_OPTS(.reserve = MOST);
    tern_region     *region;
    unsigned char   *mine;
    uint64_t         size = STEP;
    tern_status      st;

    EXPECT(TERN_OK, tern_region_create(TERN_WORLD, size, &opts, &region));
    mine = tern_region_ptr(region, me);
    memset(mine, me + 1, size);
    begin();
    while ((st = tern_region_grow(region, size + STEP)) == TERN_OK && size + 2 * STEP <= MOST)
        size += STEP;
    REQUIRE(st == TERN_ERR_PEER);
    REQUIRE(tern_region_ptr(region, me) == mine);
    REQUIRE(tern_region_size(region, me) == size); /* unchanged by the call that failed */
    for (uint64_t i = 0; i < STEP - 1; i++)        /* the last byte may be the one that the other rank puts below */
        REQUIRE(mine[i] == me + 1);
    EXPECT(TERN_OK, tern_put_u8(TERN_WORLD, region, right, size - 1, 7));
    EXPECT(TERN_ERR_PEER, tern_put_u8(TERN_WORLD, region, tern_size() - 1, 0, 7));
    EXPECT(TERN_ERR_PEER, tern_region_grow(region, size + STEP));
    EXPECT(TERN_OK, tern_region_free(region));
}

static void run_adopt(void)
{
    static unsigned char memory[3 * STEP];
    tern_region         *region;
    tern_status          st;

    memset(memory, 5, sizeof(memory));
    begin();
    while ((st = tern_region_adopt(TERN_WORLD, memory + 100, sizeof(memory) - 200, &region)) == TERN_OK)
        if ((st = tern_region_free(region)) < 0)
            break;
    REQUIRE(st == TERN_ERR_PEER);
    for (size_t i = 0; i < sizeof(memory); i++)
        REQUIRE(memory[i] == 5);
    memory[0] = 6; /* it is still the program's */
}

static void run_attach(void)
{
    static uint64_t memory[100], all[64];
    uint64_t        mine = (uint64_t)(uintptr_t)memory;
    int             last = tern_size() - 1;
    tern_region    *region;
    tern_status     st = TERN_OK;

    EXPECT(TERN_OK, tern_region_open(TERN_WORLD, &region));
    EXPECT(TERN_OK, tern_allgather(TERN_WORLD, &mine, sizeof(mine), all));
    begin();
    while (tern_rank() == last) { /* until it is killed */
        EXPECT(TERN_OK, tern_region_attach(region, memory, sizeof(memory)));
        EXPECT(TERN_OK, tern_region_detach(region, memory));
    }
    while (st == TERN_OK || st == TERN_ERR_RANGE || st == TERN_ERR_LINK) /* attached, not, or just detached */
        st = tern_put_u64(TERN_WORLD, region, last, all[last] + 8, 1);
    REQUIRE(st == TERN_ERR_PEER);
    EXPECT(TERN_OK, tern_region_attach(region, memory, sizeof(memory)));
    EXPECT(TERN_OK, tern_put_u64(TERN_WORLD, region, tern_rank(), mine, 3));
    REQUIRE(memory[0] == 3);
    EXPECT(TERN_OK, tern_region_free(region));
}

int main(int argc, char **argv)
{
    const char *how = argc > 2 ? argv[1] : "";
    bool        first;

    us = argc > 2 ? (unsigned)atoi(argv[2]) : 0;
    EXPECT(TERN_OK, tern_init());
    first = tern_rank() == 0;
    if (strcmp(how, "grow") == 0)
        run_grow();
    else if (strcmp(how, "adopt") == 0)
        run_adopt();
    else
        run_attach();
    tern_finalize();
    if (first && !job_broken)
        puts("held");
    return job_broken;
}
