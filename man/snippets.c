/* snippets.c: the examples in the manual pages of section 3. scripts/man-pages.awk shows the body of each function on
 * the pages of the calls that its comment names, or that it uses. scripts/check-headers compiles this file; nothing
 * calls the functions.
 */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <tern.h>

#pragma GCC diagnostic ignored "-Wunused-function"

#define CHECK(call)                             \
    do {                                        \
        if ((call) != TERN_OK)                  \
            tern_abort(1, tern_error_detail()); \
    } while (0)

void compute(void);
void use(const void *data, size_t len);

/* ---- the job, teams and contexts ---- */

/* tern_version: Compare the version of the library with that of the headers. */
static void version(void)
{
    if (strcmp(tern_version(), TERN_VERSION) != 0)
        printf("compiled with Tern %s, running with Tern %s\n", TERN_VERSION, tern_version());
}

/* tern_clock, tern_deadline_in, tern_deadline, TERN_FOREVER: Wait for an event for half a second, and then give up. */
static tern_status deadline(tern_event *event)
{
    int64_t       start = tern_clock();
    tern_deadline end = tern_deadline_in(0.5);
    tern_status   st = tern_event_wait(event, end);

    if (st == TERN_ERR_TIMEOUT)
        printf("not complete after %lld ns\n", (long long)(tern_clock() - start));
    return st;
}

/* tern_peer_check: Go on without a rank that has died (option TERN_ON_FAILURE=return). */
static void survive(tern_region *region, int rank, const void *data, size_t len)
{
    if (tern_put(TERN_WORLD, region, rank, 0, data, len) == TERN_ERR_PEER && tern_peer_check(rank) == TERN_ERR_PEER)
        printf("rank %d has died: %s\n", rank, tern_error_detail());
}

/* tern_node_count, tern_node_of, tern_node_index, tern_node_size, tern_node_rank: Print which ranks each node has. */
static void print_nodes(void)
{
    for (int node = 0; node < tern_node_count(); node++)
        for (int i = 0; i < tern_node_size(node); i++)
            printf("rank %d is number %d on node %d\n", tern_node_rank(node, i), i, node);
    printf("this is number %d on node %d\n", tern_node_index(tern_rank()), tern_node_of(tern_rank()));
}

/* tern_init, tern_finalize: Use Tern in a library. The program and other libraries may do the same. */
static void library(void)
{
    CHECK(tern_init()); /* joins the job, unless another part of the program has done so */
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_finalize()); /* leaves the job, unless another part of the program uses it */
}

/* tern_exit: End the job when the first rank has found what all ranks search for. */
static void found(int64_t result)
{
    printf("rank %d has found %lld\n", tern_rank(), (long long)result);
    tern_exit(EXIT_SUCCESS);
}

/* tern_on_idle, tern_on_idle_remove: Let another library move while Tern waits. With MPI, the function move calls
 * MPI_Iprobe on a communicator of its own. */
static void with_another_library(void (*move)(void *arg), void *library)
{
    CHECK(tern_on_idle(move, library));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_on_idle_remove(move, library));
}

/* tern_team, tern_team_node, tern_team_rank, tern_team_size, tern_team_translate: Find the first rank of this node, and
 * its rank in the job. */
static int first_of_node(void)
{
    tern_team *node = tern_team_node();
    int        leader;

    CHECK(tern_team_translate(node, 0, tern_team_world(), &leader));
    if (tern_team_rank(node) == 0)
        printf("rank %d leads %d ranks\n", leader, tern_team_size(node));
    return leader;
}

/* tern_order, tern_ctx_create, tern_ctx_set_timeout, tern_ctx_team, tern_ctx_order: Create an ordered context for a
 * thread, whose blocking calls give up after ten seconds. */
static void own_context(void)
{
    tern_ctx *ctx;

    CHECK(tern_ctx_create(tern_team_world(), TERN_STRICT, &ctx));
    CHECK(tern_ctx_set_timeout(ctx, 10.0));
    if (tern_ctx_team(ctx) == tern_team_world() && tern_ctx_order(ctx) == TERN_STRICT)
        printf("operations to one rank stay in order\n");
    CHECK(tern_ctx_free(ctx));
}

/* tern_world, TERN_WORLD: Use the context of all ranks. */
static void world(void)
{
    CHECK(tern_barrier(TERN_WORLD)); /* TERN_WORLD is tern_world */
}

/* tern_progress: Let messages arrive while the program computes. */
static void long_loop(void)
{
    for (int i = 0; i < 1000; i++) {
        compute();
        CHECK(tern_progress(TERN_WORLD));
    }
}

static bool is_ten(void *arg)
{
    return *(int *)arg >= 10;
}

/* tern_wait_until: Wait until handlers of active messages have counted to ten. is_ten returns *(int *)arg >= 10. */
static void wait_for_ten(int *counted)
{
    tern_status st = tern_wait_until(TERN_WORLD, is_ten, counted, tern_deadline_in(5));

    if (st == TERN_ERR_TIMEOUT)
        printf("only %d arrived\n", *counted);
}

/* tern_word, TERN_WORD, tern_word_wait: Wait until another rank has put a flag behind its data. */
static void wait_for_flag(const uint32_t *flag)
{
    tern_word word = TERN_WORD(flag, TERN_EQ, 1);

    CHECK(tern_word_wait(TERN_WORLD, &word, TERN_FOREVER));
}

/* tern_word_wait_any, tern_word_wait_all: Wait for the first of two counters to reach 10, and then for both. */
static size_t wait_for_counters(const int64_t *first, const int64_t *second)
{
    tern_word words[] = { TERN_WORD(first, TERN_GE, 10), TERN_WORD(second, TERN_GE, 10) };
    size_t    index;

    CHECK(tern_word_wait_any(TERN_WORLD, words, 2, TERN_FOREVER, &index));
    CHECK(tern_word_wait_all(TERN_WORLD, words, 2, TERN_FOREVER));
    return index;
}

/* tern_word_wait_some: Wait until at least one of 16 flags is set, and list all that are set. */
static void list_flags(const uint8_t flags[16])
{
    tern_word words[16];
    size_t    count, indices[16];

    for (int i = 0; i < 16; i++)
        words[i] = TERN_WORD(&flags[i], TERN_NE, 0);
    CHECK(tern_word_wait_some(TERN_WORLD, words, 16, TERN_FOREVER, &count, indices));
    for (size_t i = 0; i < count; i++)
        printf("flag %zu is set\n", indices[i]);
}

/* tern_idle, TERN_IDLE, TERN_IDLE_INIT, tern_idle_step: Wait until two words of memory are equal. */
static void wait_until_equal(const volatile uint64_t *a, const volatile uint64_t *b)
{
    tern_idle idle = TERN_IDLE(.name = "equal words");

    while (*a != *b)
        CHECK(tern_idle_step(TERN_WORLD, &idle));
}

/* tern_progress_wait: Serve requests of other ranks, by handlers, until one of them says stop. */
static void serve(const volatile bool *stop)
{
    while (!*stop)
        CHECK(tern_progress_wait(TERN_WORLD, TERN_FOREVER));
}

/* tern_wake: Store a value through an address, and wake the rank that waits for it. */
static void store_and_wake(tern_region *region, int rank)
{
    uint64_t *word = (uint64_t *)(void *)tern_direct(TERN_WORLD, region, rank, 0, sizeof(*word));

    if (word != NULL) {
        __atomic_store_n(word, 1, __ATOMIC_RELEASE);
        CHECK(tern_wake(TERN_WORLD, rank));
    }
}

/* ---- regions ---- */

/* tern_memory, tern_region_opts, TERN_REGION_OPTS: Keep the parts of a region in the files /tmp/parts.0, /tmp/parts.1
 * and so on. */
static tern_region *in_files(void)
{
    tern_region_opts opts = TERN_REGION_OPTS(.memory = TERN_MEMORY_FILE, .path = "/tmp/parts");
    tern_region     *region;

    CHECK(tern_region_create(TERN_WORLD, 1 << 20, &opts, &region));
    return region;
}

/* tern_region_opts, tern_region_grow: A heap with parts of different sizes, which grows up to 1 GiB at each rank. */
static tern_region *growing_heap(uint64_t mine, uint64_t more)
{
    tern_region_opts opts = TERN_REGION_OPTS(.each = 1, .reserve = 1 << 30);
    tern_region     *heap;

    CHECK(tern_region_create(TERN_WORLD, mine, &opts, &heap)); /* mine may be 0 */
    CHECK(tern_region_grow(heap, mine + more));                /* addresses and contents stay */
    return heap;
}

/* tern_region_adopt: Let other ranks put to a static variable, as fast as to allocated memory. */
static double field[4096];

static tern_region *share_field(void)
{
    tern_region *region;

    CHECK(tern_region_adopt(TERN_WORLD, field, sizeof(field), &region)); /* before threads are started */
    CHECK(tern_put(TERN_WORLD, region, (tern_rank() + 1) % tern_size(), 0, &field[1], sizeof(field[1])));
    return region;
}

/* tern_region_open, tern_region_attach, tern_region_detach: Let others put to a buffer that only this rank knows, and
 * that they address by its address. */
static void receive_into(tern_region *dynamic, double *buffer, size_t n, int source)
{
    uint64_t address = (uint64_t)(uintptr_t)buffer;

    CHECK(tern_region_attach(dynamic, buffer, n * sizeof(*buffer))); /* dynamic: of tern_region_open(TERN_WORLD, ...) */
    CHECK(tern_send(TERN_WORLD, source, 1, &address, sizeof(address)));
    CHECK(tern_recv(TERN_WORLD, source, 2, NULL, 0, NULL)); /* the source has put to (dynamic, address) */
    CHECK(tern_region_detach(dynamic, buffer));
}

/* tern_region_find, tern_region_size, tern_region_path: Put to an address in the address space of another rank. */
static void put_to_address(int rank, const void *address, const void *data, size_t len)
{
    tern_region *region;
    uint64_t     offset;

    CHECK(tern_region_find(TERN_WORLD, rank, address, &region, &offset));
    printf("%llu bytes, reached through %s\n", (unsigned long long)tern_region_size(region, rank),
           tern_region_path(region, rank));
    CHECK(tern_put(TERN_WORLD, region, rank, offset, data, len));
}

/* tern_cache_invalidate: Free a buffer while the option TERN_OFI_CACHE is set. */
static void release(void *buffer, size_t len)
{
    CHECK(tern_cache_invalidate(buffer, len));
    free(buffer);
}

/* ---- put and get ---- */

/* tern_get_nb, tern_put_nb, tern_event_wait, tern_event: Compute while a get is outstanding. */
static void overlap(tern_region *region, int rank, double *block, size_t n)
{
    tern_event event;

    CHECK(tern_get_nb(TERN_WORLD, region, rank, 0, block, n * sizeof(*block), &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    use(block, n * sizeof(*block));
}

/* tern_get_nbi, tern_put_nbi, tern_quiet: Fetch a block from every rank, and wait for all of them together. */
static void fetch_all(tern_region *region, char *blocks, size_t len)
{
    for (int rank = 0; rank < tern_size(); rank++)
        CHECK(tern_get_nbi(TERN_WORLD, region, rank, 0, blocks + (size_t)rank * len, len));
    CHECK(tern_quiet(TERN_WORLD));
}

/* TERN_SHARED: Create a context that all threads of the program use. */
static tern_ctx *shared_context(void)
{
    tern_ctx *ctx;

    CHECK(tern_ctx_create(tern_team_world(), TERN_RELAXED | TERN_SHARED, &ctx));
    return ctx; /* every thread may put, get, send and wait on it at any time */
}

/* tern_quiet_rank: Make sure that a rank has its data before it is told, while puts to other ranks go on. */
static void tell_one(tern_ctx *ctx, tern_region *region, const char *blocks, size_t len, int first)
{
    for (int rank = 0; rank < tern_size(); rank++)
        CHECK(tern_put_nbi(ctx, region, rank, 0, blocks + (size_t)rank * len, len));
    CHECK(tern_quiet_rank(ctx, first));
    CHECK(tern_send(ctx, first, 1, "ready", 5));
}

/* tern_quiet_nb, tern_event_peek: Send the puts of one phase, and begin the next phase before they are complete. */
static void next_phase(tern_ctx *ctx, tern_region *region, int rank, const double *old, const double *new, size_t len)
{
    tern_event phase;

    CHECK(tern_put_nbi(ctx, region, rank, 0, old, len));
    CHECK(tern_quiet_nb(ctx, &phase));
    CHECK(tern_put_nbi(ctx, region, rank, len, new, len)); /* not part of the phase */
    while (tern_event_peek(&phase) == TERN_PENDING) {      /* runs no handlers */
        compute();
        CHECK(tern_progress(ctx));
    }
}

/* tern_quiet_local: Fill a buffer again as soon as its contents have left. */
static void stream(tern_ctx *ctx, tern_region *region, int rank, double *buffer, size_t n)
{
    for (uint64_t block = 0; block < 100; block++) {
        for (size_t i = 0; i < n; i++)
            buffer[i] = (double)block;
        CHECK(tern_put_nbi(ctx, region, rank, block * n * sizeof(*buffer), buffer, n * sizeof(*buffer)));
        CHECK(tern_quiet_local(ctx));
    }
    CHECK(tern_quiet(ctx));
}

/* tern_put_with, tern_opts, TERN_OPTS, TERN_IMMEDIATE: Put only if there is room now, and learn when the source may be
 * reused. */
static bool try_put(tern_region *region, int rank, const void *src, size_t len, tern_event *local, tern_event *done)
{
    tern_opts   opts = TERN_OPTS(.flags = TERN_IMMEDIATE, .local = local, .event = done);
    tern_status st = tern_put_with(TERN_WORLD, region, rank, 0, src, len, &opts);

    if (st == TERN_AGAIN)
        return false; /* nothing was started */
    CHECK(st);
    return true;
}

/* tern_put_value, tern_get_value: Exchange a double without a buffer. */
static double exchange_value(tern_region *region, int rank, double mine)
{
    double theirs;

    CHECK(tern_put_value(TERN_WORLD, region, rank, 8 * (uint64_t)tern_rank(), mine));
    CHECK(tern_barrier(TERN_WORLD));
    CHECK(tern_get_value(TERN_WORLD, region, tern_rank(), 8 * (uint64_t)rank, &theirs));
    return theirs;
}

/* tern_put_u8, tern_get_u8, tern_put_u16, tern_get_u16, tern_put_u32, tern_get_u32, tern_put_u64, tern_get_u64: Store
 * values of several widths at a rank, and read one of them back. */
static uint32_t widths(tern_region *region, int rank)
{
    uint8_t  flag = 0;
    uint16_t half = 0;
    uint32_t count = 0;
    uint64_t sum = 0;

    CHECK(tern_put_u8(TERN_WORLD, region, rank, 0, 1));
    CHECK(tern_put_u16(TERN_WORLD, region, rank, 2, 500));
    CHECK(tern_put_u32(TERN_WORLD, region, rank, 4, 70000));
    CHECK(tern_put_u64(TERN_WORLD, region, rank, 8, 1ull << 40));
    CHECK(tern_get_u8(TERN_WORLD, region, rank, 0, &flag));
    CHECK(tern_get_u16(TERN_WORLD, region, rank, 2, &half));
    CHECK(tern_get_u32(TERN_WORLD, region, rank, 4, &count));
    CHECK(tern_get_u64(TERN_WORLD, region, rank, 8, &sum));
    return flag + half + count + (uint32_t)(sum >> 32);
}

/* ---- shapes ---- */

/* tern_vector, TERN_VECTOR, tern_piece, tern_extent, tern_put_vector, tern_get_vector, tern_put_vector_with,
 * tern_get_vector_with: Put a header and a body, which are apart in local memory, to two places of a rank. */
static void vectors(tern_region *region, int rank, void *header, void *body, const tern_opts *opts)
{
    const tern_piece  local[] = { { header, 64 }, { body, 4000 } };
    const tern_extent remote[] = { { 0, 64 }, { 8192, 4000 } };
    const tern_vector vector = TERN_VECTOR(.local_count = 2, .local = local, .remote_count = 2, .remote = remote);

    CHECK(tern_put_vector(TERN_WORLD, region, rank, &vector));
    CHECK(tern_get_vector(TERN_WORLD, region, rank, &vector));            /* and back */
    CHECK(tern_put_vector_with(TERN_WORLD, region, rank, &vector, opts)); /* with options */
    CHECK(tern_get_vector_with(TERN_WORLD, region, rank, &vector, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_vector_nb, tern_get_vector_nb, tern_put_vector_nbi, tern_get_vector_nbi: Start transfers of two pieces, with
 * an event and without. */
static void vectors_nb(tern_region *region, int rank, void *header, void *body)
{
    const tern_piece  local[] = { { header, 64 }, { body, 4000 } };
    const tern_extent remote[] = { { 0, 4064 } };
    const tern_vector vector = TERN_VECTOR(.local_count = 2, .local = local, .remote_count = 1, .remote = remote);
    tern_event        event;

    CHECK(tern_put_vector_nb(TERN_WORLD, region, rank, &vector, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_vector_nb(TERN_WORLD, region, rank, &vector, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_vector_nbi(TERN_WORLD, region, rank, &vector));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_vector_nbi(TERN_WORLD, region, rank, &vector));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_indexed, TERN_INDEXED, tern_put_indexed, tern_get_indexed, tern_put_indexed_with, tern_get_indexed_with: Gather
 * three doubles from a rank's part, and scatter them again. */
static void indexed(tern_region *region, int rank, double *a, double *b, double *c, const tern_opts *opts)
{
    void *const        local[] = { a, b, c };
    const uint64_t     remote[] = { 0, 800, 1600 };
    const tern_indexed list = TERN_INDEXED(.local_count = 3, .local_len = sizeof(double), .local = local,
                                           .remote_count = 3, .remote_len = sizeof(double), .remote = remote);

    CHECK(tern_get_indexed(TERN_WORLD, region, rank, &list));
    CHECK(tern_put_indexed(TERN_WORLD, region, rank, &list));
    CHECK(tern_put_indexed_with(TERN_WORLD, region, rank, &list, opts)); /* with options */
    CHECK(tern_get_indexed_with(TERN_WORLD, region, rank, &list, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_indexed_nb, tern_get_indexed_nb, tern_put_indexed_nbi, tern_get_indexed_nbi: Start transfers of pieces of
 * equal length, with an event and without. */
static void indexed_nb(tern_region *region, int rank, const tern_indexed *list)
{
    tern_event event;

    CHECK(tern_get_indexed_nb(TERN_WORLD, region, rank, list, &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_indexed_nb(TERN_WORLD, region, rank, list, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_indexed_nbi(TERN_WORLD, region, rank, list));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_put_indexed_nbi(TERN_WORLD, region, rank, list));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_strided, TERN_STRIDED, tern_put_strided, tern_get_strided, tern_put_strided_with, tern_get_strided_with: Put a
 * block of 10 by 20 doubles of a local array with 100 columns into a matrix with 1000 columns. */
static void strided(tern_region *region, int rank, double local[][100], const tern_opts *opts)
{
    const size_t       count[] = { 10, 20 };
    const ptrdiff_t    near_stride[] = { 100 * sizeof(double), sizeof(double) };
    const int64_t      far_stride[] = { 1000 * sizeof(double), sizeof(double) };
    const tern_strided block = TERN_STRIDED(.dims = 2, .element = sizeof(double), .count = count, .local = local,
                                            .local_stride = near_stride, .remote = 0, .remote_stride = far_stride);

    CHECK(tern_put_strided(TERN_WORLD, region, rank, &block));
    CHECK(tern_get_strided(TERN_WORLD, region, rank, &block));            /* and back */
    CHECK(tern_put_strided_with(TERN_WORLD, region, rank, &block, opts)); /* with options */
    CHECK(tern_get_strided_with(TERN_WORLD, region, rank, &block, opts));
    CHECK(tern_quiet(TERN_WORLD));
}

/* tern_put_strided_nb, tern_get_strided_nb, tern_put_strided_nbi, tern_get_strided_nbi: Start transfers of an array
 * section, with an event and without. */
static void strided_nb(tern_region *region, int rank, const tern_strided *block)
{
    tern_event event;

    CHECK(tern_put_strided_nb(TERN_WORLD, region, rank, block, &event));
    compute();
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_get_strided_nb(TERN_WORLD, region, rank, block, &event));
    CHECK(tern_event_wait(&event, TERN_FOREVER));
    CHECK(tern_put_strided_nbi(TERN_WORLD, region, rank, block));
    CHECK(tern_quiet(TERN_WORLD));
    CHECK(tern_get_strided_nbi(TERN_WORLD, region, rank, block));
    CHECK(tern_quiet(TERN_WORLD));
}

/* ---- events and requests ---- */

/* tern_event_wait_any, tern_event_wait_all: Handle the first of several gets that completes, then wait for the rest. */
static void any_then_all(tern_event *events, size_t n)
{
    size_t first;

    CHECK(tern_event_wait_any(events, n, TERN_FOREVER, &first));
    printf("event %zu is complete\n", first);
    CHECK(tern_event_wait_all(events, n, TERN_FOREVER));
}

/* tern_event_wait_some: Handle operations in the order in which they complete. */
static void as_they_complete(tern_event *events, size_t n)
{
    size_t done[16], count;

    while (n > 0) {
        CHECK(tern_event_wait_some(events, n, TERN_FOREVER, &count, done, NULL));
        for (size_t i = count; i-- > 0;) /* indices are in ascending order: remove the last first */
            events[done[i]] = events[--n];
    }
}

/* tern_event_wait_all, tern_request_event: Wait for a receive and a put together. */
static void together(tern_region *region, int rank, const void *src, size_t len, tern_request *receive)
{
    tern_event events[2];

    CHECK(tern_put_nb(TERN_WORLD, region, rank, 0, src, len, &events[0]));
    CHECK(tern_request_event(receive, &events[1]));
    CHECK(tern_event_wait_all(events, 2, TERN_FOREVER));
    CHECK(tern_request_test(&receive, NULL)); /* the result, and the end of the request */
}

/* tern_request_test, tern_request_cancel: Give up a receive if no message has arrived. */
static bool receive_or_cancel(tern_request *receive)
{
    tern_status st = tern_request_test(&receive, NULL);

    if (st == TERN_PENDING && tern_request_cancel(&receive, NULL) == TERN_OK)
        return false;
    if (st == TERN_PENDING) /* too late: a message has matched */
        st = tern_request_wait(&receive, TERN_FOREVER, NULL);
    CHECK(st);
    return true;
}

/* tern_request_wait_any, tern_request_info: Handle messages in the order in which they arrive. */
static void first_message(tern_request **receives, size_t n)
{
    tern_request_info info;
    size_t            index;

    CHECK(tern_request_wait_any(receives, n, TERN_FOREVER, &index, &info));
    printf("request %zu: %llu bytes with tag %lld from rank %d\n", index, (unsigned long long)info.len,
           (long long)info.tag, info.source);
}

/* tern_request_test_any, tern_request_test_all: Compute until one request is complete, then until all are. */
static void poll_requests(tern_request **requests, size_t n)
{
    size_t index;

    while (tern_request_test_any(requests, n, &index, NULL) == TERN_PENDING)
        compute();
    while (tern_request_test_all(requests, n, NULL, NULL) == TERN_PENDING)
        compute();
}

/* tern_request_wait_all, tern_request_wait_some: Report every message once; NULL entries are skipped. */
static void some_messages(tern_request **requests, size_t n)
{
    tern_request_info infos[16];
    size_t            indices[16], count, missing = n;

    while (missing > 0) {
        CHECK(tern_request_wait_some(requests, n, TERN_FOREVER, &count, indices, infos, NULL));
        for (size_t i = 0; i < count; i++)
            printf("request %zu received %llu bytes\n", indices[i], (unsigned long long)infos[i].len);
        missing -= count;
    }
}

/* ---- layers above Tern ---- */

/* tern_direct, tern_copy: Write 64 bytes with this process's own stores where these reach the memory of rank 1, and
 * with a put elsewhere. */
static void layer(tern_region *region, const void *data)
{
    void *there = tern_direct(TERN_WORLD, region, 1, 128, 64);

    if (there != NULL)
        tern_copy(there, data, 64);
    else
        CHECK(tern_put(TERN_WORLD, region, 1, 128, data, 64));
}
