/* shm_bounce.c: requests for bounced transfers that a hostile rank has written into the memory that it shares with its
 * target. The input gives the number of the newest request and the contents of each chunk.
 *
 * Promise: the target terminates, answers every request that it finds, and accesses only memory that it has exposed.
 * The pages around that memory are not mapped. */
#include "fuzz/fuzz.h"

#include <sys/mman.h>

#include "base/options.h"
#include "boot/space.h"
#include "link/shm/shm.h"

#define REGION 5u
#define PAGE 4096u
#define DATA (8u * PAGE) /* of the peer's chunks */
#define SAID 8           /* chunks that the input speaks of */

static struct {
    struct tern_boot  boot;
    struct tern_link *link;
    unsigned char    *memory; /* exposed: a page between two that are not accessible */
    struct tern_space data;
} job;

static void up_done(struct tern_link_op *op, tern_status status)
{
    (void)op, (void)status;
}

static tern_status up_watch(struct tern_link_watch *watch)
{
    (void)watch;
    return TERN_OK;
}

/* Read every byte that the request and the reply may have. */
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

static void make_job(void)
{
    struct tern_mem_handle handle = { .region = REGION, .size = PAGE, .mem_kind = TERN_MEM_PRIVATE };
    unsigned char         *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST((void *)pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    MUST(tern_base_options_load(NULL) == TERN_OK);
    MUST(tern_boot_arena_make(2, 2, &job.boot.arena, &job.boot.huge, &job.boot.segment) == TERN_OK);
    tern_boot_place(&job.boot, 0);
    MUST(tern_shm_ops.open(&job.boot, &up, &job.link) == TERN_OK);
    job.memory = pages + PAGE;
    handle.addr = (uint64_t)(uintptr_t)job.memory;
    MUST(tern_shm_ops.expose(job.link, &handle) == TERN_OK);
    MUST(tern_boot_space_take(&job.boot, job.boot.arena, DATA, &job.data) == TERN_OK);
}

/* Make one request. Numbers that random input would hardly ever hit become likely. */
static void write_chunk(struct shm_chunk *chunk, const uint8_t **data, size_t *size)
{
    struct {
        uint8_t  state, near, verb, region;
        uint32_t next;
        uint64_t offset, len, data;
    } said;

    fuzz_take(data, size, &said, sizeof(said));
    chunk->next = said.near & 1 ? SHM_CHUNKS + 1 + said.next % SAID : said.next;
    chunk->verb = said.verb % 4;
    chunk->region = said.region % 8;
    chunk->offset = said.near & 2 ? said.offset % (PAGE + 2) : said.offset;
    chunk->len = said.near & 4 ? said.len % (PAGE + 2) : said.len;
    chunk->data = said.near & 8 ? job.data.offset + said.data % (DATA + 2) : said.data;
    atomic_store(&chunk->state, said.state % 3);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct shm_bounce_ctl *ctl;
    uint32_t               newest;

    if (!job.link)
        make_job();
    ctl = ((struct shm_link *)job.link)->bounce_ctl;
    fuzz_take(&data, &size, &newest, sizeof(newest));
    atomic_store(&ctl[1].data_bytes, DATA);
    atomic_store(&ctl[1].data, job.data.offset);
    for (int i = 0; i < SAID; i++)
        write_chunk(&ctl[1].chunk[i], &data, &size);
    atomic_store(&ctl[0].inbox, newest & 1 ? SHM_CHUNKS + 1 + newest / 2 % SAID : newest);
    tern_shm_ops.serve(job.link);
    MUST(!tern_shm_ops.serve(job.link)); /* no request is left */
    return 0;
}
