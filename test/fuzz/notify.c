/* notify.c: notifications that a hostile peer has written into the cells of its queue. For each notification, the input
 * gives its sender, whether its inline payload must be stored, and the 48 bytes of its header. Between notifications,
 * requests are started and cancelled.
 *
 * Promise: an invalid notification ends the job. Any other notification is accepted, or stays in the queue because no
 * more can be stored. Its inline payload is stored at its target address, and nothing else is accessed: the pages
 * around the region are not mapped. Only a matching notification completes a request. */
#include "fuzz/fuzz.h"

#include <setjmp.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bits.h"
#include "base/log.h"
#include "base/options.h"
#include "op/notify/notify.h"
#include "serve_world.h"

#define NAME 5u
#define PAGE 4096u
#define KEPT 4u
#define REQUESTS 3

static unsigned char              *memory; /* the region: a page between two that are not accessible */
static struct tern_notify_request *request[REQUESTS];
static struct tern_ctx             ctx;
static jmp_buf                     refused;
static volatile bool               delivering;
static const unsigned char        *head;

static const struct tern_match_name asks[REQUESTS] = {
    { .scope = NAME, .source = 1, .tag = 2 },
    { .scope = NAME, .source = 2, .class = TERN_MATCH_ANY_TAG },
    { .scope = NAME, .class = TERN_MATCH_ANY_SOURCE | TERN_MATCH_ANY_TAG },
};

/* A notification that is refused ends the job. Here it ends its delivery. */
void _Exit(int status)
{
    if (delivering)
        longjmp(refused, 1);
    _exit(status);
}

static void make_job(void)
{
    static struct tern_link_part parts[SERVE_RANKS];
    static struct tern_region    region = { .part = parts, .name = NAME };
    static char                  keep[] = "TERN_NOTIFY_KEEP=4";
    char                        *environment[] = { keep, NULL };
    unsigned char               *pages = mmap(NULL, 3 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    MUST((void *)pages != MAP_FAILED && mprotect(pages + PAGE, PAGE, PROT_READ | PROT_WRITE) == 0);
    MUST(tern_base_options_load(environment) == TERN_OK && (uint64_t)tern_opt.notify_keep == KEPT);
    tern_base_log_set_level((enum tern_log_level) - 1); /* refusals are expected: print nothing */
    serve_world_open();
    memory = pages + PAGE;
    parts[0].addr = (uint64_t)(uintptr_t)memory;
    parts[0].base = memory;
    parts[0].size = PAGE;
    region.team = &tern_job.world;
    parts[0].region = region.name;
    tern_base_list_push(&tern_job.regions, &region.node);
    tern_op_notify_open();
    for (unsigned i = 0; i < REQUESTS; i++)
        MUST(tern_op_notify_request_new(&ctx, &region, asks[i], 1 + i, &request[i]) == TERN_OK);
}

/* Make numbers that random input would hardly ever hit likely. */
static void write_head(struct wire_notify *note, const uint8_t **data, size_t *size)
{
    uint8_t near;

    fuzz_take(data, size, &near, sizeof(near));
    fuzz_take(data, size, note, sizeof(*note));
    note->kind = near & 1 ? note->kind % (WIRE_NOTIFY_KINDS + 1) : note->kind;
    note->len = near & 2 ? note->len % (sizeof(note->data) + 2) : note->len;
    note->scope = near & 4 ? NAME : note->scope;
    note->bytes = near & 8 ? note->bytes % (PAGE + 2) : note->bytes;
    note->tag = near & 16 ? note->tag % 4 : note->tag;
}

static bool is_refused(const struct wire_notify *note)
{
    if (note->scope != NAME)
        return false;
    if (note->kind == WIRE_NOTIFY)
        return note->len > 0;
    return note->kind != WIRE_NOTIFY_INLINE || note->len > sizeof(note->data) ||
           !tern_base_covers(PAGE, note->bytes, note->len);
}

/* Returns whether the notification was accepted. */
static bool deliver_one(int from, bool copy, const struct wire_notify *note)
{
    bool taken;

    if (setjmp(refused) != 0) {
        delivering = false;
        MUST(is_refused(note));
        return false;
    }
    delivering = true;
    taken = tern_op_notify_receive(from, head, copy);
    delivering = false;
    MUST(!is_refused(note));
    MUST(taken || note->scope == NAME);
    if (taken && copy && note->scope == NAME && note->kind == WIRE_NOTIFY_INLINE)
        MUST(memcmp(memory + note->bytes, note->data, note->len) == 0);
    return taken;
}

static void check_done(unsigned i)
{
    struct tern_notify_request *it = request[i];

    if (tern_op_notify_request_state(it) != TERN_NOTIFY_REQUEST_DONE)
        return;
    MUST(it->left == 0 && it->source >= 0 && it->source < SERVE_RANKS);
    MUST(asks[i].class & TERN_MATCH_ANY_SOURCE || it->source == asks[i].source);
    MUST(asks[i].class & TERN_MATCH_ANY_TAG || it->tag == asks[i].tag);
    tern_op_notify_request_seen(it);
}

static void one_step(const uint8_t **data, size_t *size)
{
    struct {
        uint8_t what, who;
    } said;
    struct wire_notify note;

    fuzz_take(data, size, &said, sizeof(said));
    if (said.what % 8 == 0)
        tern_op_notify_request_start(request[said.who % REQUESTS]);
    else if (said.what % 8 == 1)
        tern_op_notify_request_cancel(request[said.who % REQUESTS]);
    else {
        write_head(&note, data, size);
        head = fuzz_copy((const uint8_t *)&note, sizeof(note));
        deliver_one(said.who % SERVE_RANKS, said.what & 8, &note);
        free((void *)(uintptr_t)head);
    }
    for (unsigned i = 0; i < REQUESTS; i++)
        check_done(i);
}

/* Stored notifications disappear with the region. Reset the requests. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!memory)
        make_job();
    while (size > 0)
        one_step(&data, &size);
    for (unsigned i = 0; i < REQUESTS; i++)
        tern_op_notify_request_cancel(request[i]);
    tern_op_notify_forget(NAME);
    return 0;
}
