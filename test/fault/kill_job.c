/* kill_job.c: a program for kill.sh that makes a random mix of all calls until it is killed; and programs that end
 * themselves in the ways in which programs do. Each rank writes its process id to $FAULT_DIR/pid.RANK, and to
 * $FAULT_DIR/in.RANK when it has joined the job.
 *
 *   kill_job mix SEED         allocate, register, put, get, barrier, allgather; a wrong byte or an error ends it
 *   kill_job cycle SEED       as mix for a few steps, then finalize and exit 0
 *   kill_job join RANK        the rank sleeps before tern_init while the others are in tern_init
 *   kill_job leave RANK       the rank sleeps before tern_finalize while the others are in tern_finalize
 *   kill_job end HOW RANK     the rank ends by HOW: segv abort exit3 exit0 fpe term; the others wait in a barrier
 *   kill_job heavy RANK       the rank has much memory to give back when it dies; the others put to it and exit when
 *                             that fails, which must not be taken for the first failure
 */
#include <sys/mman.h>

#include "fault/fault_job.h"

#define REGIONS 4
#define PART 65536u /* bytes that one rank may write in a part */

static int me = -1, size;

static uint32_t draw(uint64_t *state)
{
    *state = *state * 6364136223846793005ull + 1442695040888963407ull;
    return (uint32_t)(*state >> 33);
}

struct slot {
    tern_region   *region;
    unsigned char *memory; /* of a registered region */
};

static void slot_make(struct slot *slot, uint64_t *common)
{
    uint64_t bytes = (uint64_t)size * PART + draw(common) % (4u << 20);

    if (draw(common) % 2) {
        OK(tern_region_create(TERN_WORLD, bytes, NULL, &slot->region));
        return;
    }
    slot->memory = malloc(bytes);
    OK(tern_region_register(TERN_WORLD, slot->memory, bytes, &slot->region));
}

static void slot_free(struct slot *slot)
{
    OK(tern_region_free(slot->region));
    free(slot->memory);
    *slot = (struct slot){ 0 };
}

/* Put into this rank's slice of another rank's part, get it back, and compare. */
static void transfer(struct slot *slot, uint64_t *own)
{
    static unsigned char out[PART], back[PART];
    int                  to = (int)(draw(own) % (uint32_t)size);
    size_t               len = 1 + draw(own) % PART;
    uint64_t             at = (uint64_t)me * PART;
    tern_event           event;

    memset(out, (int)draw(own), len);
    switch (draw(own) % 3) {
    case 0: OK(tern_put(TERN_WORLD, slot->region, to, at, out, len)); break;
    case 1:
        OK(tern_put_nb(TERN_WORLD, slot->region, to, at, out, len, &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
        break;
    default: OK(tern_put_nbi(TERN_WORLD, slot->region, to, at, out, len)); OK(tern_quiet(TERN_WORLD));
    }
    OK(tern_get(TERN_WORLD, slot->region, to, at, back, len));
    CHECK(memcmp(out, back, len) == 0);
}

static void meet(uint64_t *common)
{
    int32_t *all = malloc((size_t)size * sizeof(*all));

    if (draw(common) % 2) {
        OK(tern_barrier(TERN_WORLD));
    } else {
        OK(tern_allgather(TERN_WORLD, &me, sizeof(me), all));
        for (int i = 0; i < size; i++)
            SAME(all[i], i);
    }
    free(all);
}

static void mix(uint64_t seed, long steps)
{
    struct slot slot[REGIONS] = { { 0 } };
    uint64_t    common = seed, own = seed * 31 + (uint64_t)me; /* all ranks draw the same collective calls */

    for (long i = 0; i != steps; i++) {
        struct slot *s = &slot[draw(&common) % REGIONS];

        if (!s->region)
            slot_make(s, &common);
        else if (draw(&common) % 3 == 0)
            slot_free(s);
        for (int k = 0; k < 8; k++)
            if (slot[k % REGIONS].region)
                transfer(&slot[k % REGIONS], &own);
        meet(&common);
    }
}

static void end_by(const char *how)
{
    signal(SIGSEGV, SIG_DFL); /* a sanitizer has its own handlers */
    signal(SIGFPE, SIG_DFL);
    signal(SIGABRT, SIG_DFL);
    if (strcmp(how, "segv") == 0)
        raise(SIGSEGV);
    else if (strcmp(how, "abort") == 0)
        abort();
    else if (strcmp(how, "fpe") == 0)
        raise(SIGFPE);
    else if (strcmp(how, "term") == 0)
        raise(SIGTERM);
    exit(strcmp(how, "exit3") == 0 ? 3 : 0);
}

static void end(const char *how, int rank)
{
    tern_region *region;

    OK(tern_region_create(TERN_WORLD, 1 << 20, NULL, &region));
    if (me == rank)
        end_by(how);
    OK(tern_barrier(TERN_WORLD));
}

static void heavy(int rank)
{
    size_t       bytes = (size_t)768 << 20;
    int          flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_POPULATE;
    char        *mine = me == rank ? mmap(NULL, bytes, PROT_READ | PROT_WRITE, flags, -1, 0) : NULL;
    char         word[64] = "word";
    tern_region *region;

    OK(tern_region_register(TERN_WORLD, mine, mine ? bytes : 0, &region));
    OK(tern_barrier(TERN_WORLD));
    if (me == rank)
        fault_die();
    for (tern_event event; me == 0;) {
        OK(tern_put_nb(TERN_WORLD, region, rank, 0, word, sizeof(word), &event));
        OK(tern_event_wait(&event, TERN_FOREVER));
    }
    for (;;)
        OK(tern_put(TERN_WORLD, region, rank, 0, word, sizeof(word)));
}

static void start(int tarries)
{
    if (me == tarries)
        pause();
    OK(tern_init());
    me = tern_rank();
    size = tern_size();
    fault_tell("in");
}

int main(int argc, char **argv)
{
    const char *mode = argc > 2 ? argv[1] : "";

    me = fault_rank();
    fault_tell("pid");
    start(strcmp(mode, "join") == 0 ? atoi(argv[2]) : -2);
    if (strcmp(mode, "mix") == 0)
        mix(strtoull(argv[2], NULL, 10), -1);
    else if (strcmp(mode, "cycle") == 0)
        mix(strtoull(argv[2], NULL, 10), 12);
    else if (strcmp(mode, "end") == 0 && argc > 3)
        end(argv[2], atoi(argv[3]));
    else if (strcmp(mode, "heavy") == 0)
        heavy(atoi(argv[2]));
    else if (strcmp(mode, "leave") == 0 && me == atoi(argv[2]))
        pause();
    OK(tern_finalize());
    return 0;
}
