/* notify_inline.c: notifications that a hostile peer has written into its cells and changes while they are read, on the
 * whole path from the cell to the request. The input is a list of notifications. For each, it gives two versions of its
 * words and of the fields of its cell, and the number of accesses after which the second version replaces the first.
 * The test consumes a notification like a wait does: through the fast path for the last sender, or by delivery.
 *
 * Promise: whatever a notification contains, and whenever it changes, nothing but the region is written. The page
 * behind the region is not mapped, and the memory before it stays unchanged. */
#include "fuzz/fuzz.h"

#include <setjmp.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/biased_lock.h"
#include "base/log.h"
#include "base/options.h"
#include "boot/space.h"
#include "core/message.h"
#include "fuzz/two_step.h"
#include "link/shm/shm.h"
#include "op/notify/expected.h"
#include "op/upcalls.h"
#include "op/wire.h"
#include "serve_world.h"

#define NAME 5u
#define PAGE 4096u
#define SIZE 128u /* of the region: less than the length of a note can say */
#define TAG 7u
#define NOTES 64 /* of an input */

/* The contents of a notification. */
struct note {
    uint64_t word[TERN_NQ_WORDS];
    unsigned kind; /* of its cell */
};

static struct tern_link_part       parts[SERVE_RANKS];
static struct tern_region          region = { .part = parts, .name = NAME };
static struct tern_ctx             ctx;
static unsigned char              *around; /* the page that ends with the region */
static struct tern_boot            boot[2];
static struct tern_link           *link_of[2]; /* the target, and the peer */
static struct tern_inject_notify  *port;       /* of the peer */
static struct tern_link_watch     *notes, *news;
static struct tern_notify_request *request;
static struct tern_nq_claim        place;
static struct note                 second;
static jmp_buf                     refused;
static volatile bool               delivering;

/* A notification that is refused ends the job. Here it ends its delivery. */
void _Exit(int status)
{
    if (delivering)
        longjmp(refused, 1);
    _exit(status);
}

static tern_status up_watch(struct tern_link_watch *watch)
{
    if (watch->channel == TERN_CHANNEL_NOTIFY)
        notes = watch;
    else if (watch->channel == TERN_CHANNEL_DIRECTORY && !news)
        news = watch;
    return TERN_OK;
}

static void write_note(const struct note *note)
{
    memcpy(place.cell->head, note->word, sizeof(note->word));
    memset(place.cell->head + sizeof(note->word), 0x33, TERN_LINK_INLINE);
    tern_base_nq_publish(&place, note->kind);
}

static void second_step(void)
{
    write_note(&second);
}

static void make_link(void)
{
    static struct tern_link_up up;
    const struct note          none = { .kind = TERN_NQ_SKIP };

    up = tern_op_upcalls;
    up.watch = up_watch;
    MUST(tern_boot_arena_make(2, 2, &boot[0].arena, &boot[0].huge, &boot[0].segment) == TERN_OK);
    boot[1] = boot[0];
    for (int i = 0; i < 2; i++) {
        tern_boot_place(&boot[i], i);
        MUST(tern_shm_ops.open(&boot[i], &up, &link_of[i]) == TERN_OK);
    }
    MUST(tern_shm_ops.inject->notify(link_of[1], 0, &port) == TERN_OK);
    MUST(tern_base_nq_reserve(&port->queue, &place));
    write_note(&none);
    MUST(news->deliver(news) == TERN_OK && notes && notes->deliver(notes) == TERN_OK);
    atomic_store(&tern_core_message_notify_last, notes); /* where the wait polls first */
}

static void make_job(void)
{
    unsigned char *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST((void *)pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    MUST(tern_base_options_load(NULL) == TERN_OK);
    tern_base_log_set_level((enum tern_log_level) - 1); /* refusals are expected: print nothing */
    tern_base_bias_claim();                             /* only a single-threaded process uses the fast path */
    serve_world_open();
    around = pages + PAGE;
    parts[0].base = pages + 2 * PAGE - SIZE;
    parts[0].addr = (uint64_t)(uintptr_t)parts[0].base;
    parts[0].size = SIZE;
    region.team = &tern_job.world;
    parts[0].region = region.name;
    tern_base_list_push(&tern_job.regions, &region.node);
    tern_op_notify_open();
    make_link();
}

/* Make one version. Numbers that random input would hardly ever hit become likely. */
static struct note take_note(const uint8_t **data, size_t *size)
{
    struct {
        uint8_t  near, kind, note_kind, len;
        uint32_t tag;
        uint64_t scope, third;
    } said;

    fuzz_take(data, size, &said, sizeof(said));
    if (said.near & 1)
        said.note_kind %= WIRE_NOTIFY_KINDS + 1;
    if (said.near & 2)
        said.len %= TERN_LINK_INLINE + 2;
    return (struct note){
        .word = { wire_notify_first(said.near & 4 ? TAG : said.tag, (enum wire_notify_kind)said.note_kind, said.len),
                  said.near & 8 ? NAME : said.scope, said.near & 16 ? said.third % (SIZE + 2) : said.third },
        .kind = said.kind % 8 == 0 ? TERN_NQ_SKIP : said.kind & TERN_NQ_INLINE
    };
}

/* Consume notifications like a wait does. */
static void take_it(void)
{
    if (tern_op_expected_wait(request, 64))
        return;
    if (notes->deliver(notes) < 0)
        longjmp(refused, 1); /* the cell is damaged, which ends the job too */
}

static void one_note(const uint8_t **data, size_t *size)
{
    struct shm_notify_rx *rx = (struct shm_notify_rx *)notes;
    volatile uint64_t     number = rx->queue.number;
    struct note           first;
    uint8_t               after;

    fuzz_take(data, size, &after, sizeof(after));
    first = take_note(data, size);
    second = take_note(data, size);
    tern_op_notify_request_start(request);
    MUST(tern_base_nq_reserve(&port->queue, &place));
    place.stamp &= ~((uint64_t)0xff << TERN_NQ_KIND_SHIFT); /* only primary cells: notify_queue.c tests the others */
    write_note(&first);
    if (setjmp(refused) == 0) {
        delivering = true;
        meddle_begin(rx->map[TERN_NQ_PRIMARY], tern_base_round_up(rx->bytes[TERN_NQ_PRIMARY], PAGE), after % 32,
                     second_step);
        take_it();
    }
    meddle_end();
    delivering = false;
    if (rx->queue.number == number) /* it was refused or left in the queue: skip it */
        tern_base_nq_consume(&rx->queue, 0);
    MUST(rx->queue.number == number + 1);
    if (tern_op_notify_request_state(request) == TERN_NOTIFY_REQUEST_DONE)
        tern_op_notify_request_seen(request);
    for (unsigned i = 0; i < PAGE - SIZE; i++)
        MUST(around[i] == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const struct tern_match_name asks[] = {
        { .scope = NAME, .source = 1, .tag = TAG },
        { .scope = NAME, .source = 1, .class = TERN_MATCH_ANY_TAG },
    };
    uint8_t which;

    if (!notes)
        make_job();
    fuzz_take(&data, &size, &which, sizeof(which));
    MUST(tern_op_notify_request_new(&ctx, &region, asks[which % 2], 1, &request) == TERN_OK);
    for (int i = 0; i < NOTES && size > 0; i++)
        one_note(&data, &size);
    tern_op_notify_request_free(request);
    tern_op_notify_forget(NAME);
    return 0;
}
