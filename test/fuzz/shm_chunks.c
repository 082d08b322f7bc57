/* shm_chunks.c: chunks of the bounce buffer whose header the peer changes while it is read, on both sides: requests of
 * the peer that this rank serves, and gets and RPCs of this rank that the peer answers. The input selects one of these,
 * and gives two versions of the header and the number of accesses after which the second version replaces the first.
 *
 * Promise: nothing is accessed but the exposed memory, the destination of the get and the chunks themselves. The pages
 * around them are not mapped. Every request and every transfer completes. */
#include "fuzz/fuzz.h"

#include "base/options.h"
#include "boot/space.h"
#include "fuzz/two_step.h"
#include "link/shm/shm.h"

#define REGION 5u
#define PAGE 4096u
#define EXPECT 16u

static struct {
    struct tern_boot  boot[2];
    struct tern_link *link[2]; /* this rank, and the peer, whose mapping of the control memory is another */
    struct tern_lane *lane;
    unsigned char    *memory; /* exposed, and the destination of gets: a page between two that are not accessible */
    struct tern_space data;   /* of the peer's chunks */
    struct shm_chunk  second; /* the second version of the header */
    struct shm_chunk *head;   /* its address in the mapping of the peer */
    unsigned          ended;
} job;

static void up_done(struct tern_link_op *op, tern_status status)
{
    (void)op;
    MUST(status == TERN_OK || status == TERN_ERR_LINK);
    job.ended++;
}

static tern_status up_watch(struct tern_link_watch *watch)
{
    (void)watch;
    return TERN_OK;
}

static tern_status up_serve(const struct tern_target_mem *ground, const unsigned char *request, size_t len,
                            unsigned char *answer, size_t space, size_t *answered)
{
    MUST(ground->base == job.memory && ground->size == PAGE);
    fuzz_touch(request, len);
    memset(answer, 0, space);
    *answered = space;
    return TERN_OK;
}
static const struct tern_link_up up = { .done = up_done, .watch = up_watch, .serve = up_serve };

static void take_answer(struct tern_link_op *op, const unsigned char *bytes, size_t len)
{
    MUST(len <= EXPECT && len <= op->response_max);
    memcpy(job.memory, bytes, len);
}

static void make_job(void)
{
    struct tern_mem_handle handle = { .region = REGION, .size = PAGE, .mem_kind = TERN_MEM_PRIVATE };
    unsigned char         *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    static char            chunk[] = "TERN_BOUNCE_CHUNK=4K";
    char                  *environment[] = { chunk, NULL };

    MUST((void *)pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    MUST(tern_base_options_load(environment) == TERN_OK);
    MUST(tern_boot_arena_make(2, 2, &job.boot[0].arena, &job.boot[0].huge, &job.boot[0].segment) == TERN_OK);
    job.boot[1] = job.boot[0];
    for (int i = 0; i < 2; i++) {
        tern_boot_place(&job.boot[i], i);
        MUST(tern_shm_ops.open(&job.boot[i], &up, &job.link[i]) == TERN_OK);
    }
    job.memory = pages + PAGE;
    handle.addr = (uint64_t)(uintptr_t)job.memory;
    MUST(tern_shm_ops.expose(job.link[0], &handle) == TERN_OK);
    MUST(tern_shm_ops.lane_open(job.link[0], &job.lane) == TERN_OK);
    MUST(tern_shm_bounce_open((struct shm_link *)job.link[0]) == TERN_OK);
    MUST(tern_boot_space_take(&job.boot[0], job.boot[0].arena, 2 * PAGE, &job.data) == TERN_OK);
}

/* Make a header of the peer. Numbers that random input would hardly ever hit become likely. */
static struct shm_chunk take_head(const uint8_t **data, size_t *size)
{
    struct {
        uint8_t  near, verb, region, status;
        uint32_t next;
        uint64_t offset, len, data;
    } said;

    fuzz_take(data, size, &said, sizeof(said));
    return (struct shm_chunk){ .next = said.near & 1 ? 0 : said.next,
                               .verb = said.verb % 4,
                               .status = said.near & 2 ? TERN_OK : said.status,
                               .region = said.near & 4 ? REGION : said.region,
                               .offset = said.near & 8 ? said.offset % (PAGE + 2) : said.offset,
                               .len = said.near & 16 ? said.len % (PAGE + 2) : said.len,
                               .data = said.near & 32 ? job.data.offset + said.data % (2 * PAGE + 2) : said.data };
}

/* Write everything except the state, which belongs to the protocol. */
static void write_head(const struct shm_chunk *says)
{
    job.head->next = says->next;
    job.head->verb = says->verb;
    job.head->status = says->status;
    job.head->region = says->region;
    job.head->offset = says->offset;
    job.head->len = says->len;
    job.head->data = says->data;
}

static void second_step(void)
{
    write_head(&job.second);
}

/* Serve a request of the peer. No chunk is linked to another one, whatever the inputs before this one have left. */
static void serve_it(const struct shm_chunk *first, unsigned after)
{
    struct shm_link *mine = (struct shm_link *)job.link[0], *theirs = (struct shm_link *)job.link[1];

    for (int i = 0; i < 2 * SHM_CHUNKS; i++)
        theirs->bounce_ctl[i / SHM_CHUNKS].chunk[i % SHM_CHUNKS].next = 0;
    job.head = &theirs->bounce_ctl[1].chunk[0];
    write_head(first);
    atomic_store(&theirs->bounce_ctl[1].data_bytes, 2 * PAGE);
    atomic_store(&theirs->bounce_ctl[1].data, job.data.offset);
    atomic_store(&job.head->state, SHM_CHUNK_POSTED);
    atomic_store(&theirs->bounce_ctl[0].inbox, SHM_CHUNKS + 1);
    meddle_begin(mine->control, mine->control_bytes, after, second_step);
    tern_shm_ops.serve(job.link[0]);
    meddle_end();
    MUST(atomic_load(&job.head->state) == SHM_CHUNK_DONE);
}

/* Start a get or an RPC of one chunk, which the peer reports as completed. */
static void collect_it(const struct shm_chunk *first, unsigned after, bool by_rpc)
{
    struct shm_link      *mine = (struct shm_link *)job.link[0], *theirs = (struct shm_link *)job.link[1];
    struct tern_link_part part = { .path = &tern_shm_bounce_path, .size = PAGE, .region = REGION, .rank = 1 };
    struct tern_xfer      xfer = { .part = &part, .offset = 8, .local = job.memory, .len = PAGE, .get = true };
    struct tern_link_op   op;

    if (by_rpc) {
        MUST(tern_shm_ops.rpc->open(job.lane, &xfer, &op) == TERN_OK);
        op.on_response = take_answer;
        tern_shm_ops.rpc->send(job.lane, &op, 32, EXPECT);
    } else {
        MUST(tern_shm_bounce_path.start(job.lane, &xfer, &op) == TERN_PENDING);
    }
    job.head = &theirs->bounce_ctl[0].chunk[__builtin_ctzll(op.chunks)];
    write_head(first);
    atomic_store(&job.head->state, SHM_CHUNK_DONE);
    job.ended = 0;
    meddle_begin(mine->control, mine->control_bytes, after, second_step);
    tern_shm_ops.progress(job.lane);
    meddle_end();
    MUST(job.ended == 1 && op.chunks == 0);
    atomic_store(&theirs->bounce_ctl[1].inbox, 0); /* no thread serves this inbox */
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct {
        uint8_t what, after;
    } said;
    struct shm_chunk first;

    if (!job.link[0])
        make_job();
    fuzz_take(&data, &size, &said, sizeof(said));
    first = take_head(&data, &size);
    job.second = take_head(&data, &size);
    if (said.what % 4 < 2)
        serve_it(&first, said.after % 64);
    else
        collect_it(&first, said.after % 64, said.what % 4 == 3);
    return 0;
}
