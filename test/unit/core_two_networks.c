/* core_two_networks.c: two networks serve one job.
 *
 * Promise: two links publish addresses and write keys into memory handles side by side. Each finds its own, whatever
 * the other wrote, and serves the ranks that it reaches. A key or an address that is damaged is refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "core/job.h"
#include "core/links.h"
#include "link/none.h"

#define RANKS 4
#define SIZE 64

enum { NARROW = 40, WIDE = 41 }; /* the numbers of the networks */

/* A network. The narrow one reaches the ranks 0 and 1, the wide one all ranks. */
struct network {
    const struct tern_boot *boot;
    uint16_t                number;
    int                     reach;
    unsigned                puts;
};

/* The keys of the networks have different lengths. The key holds the address of the memory in another form. */
struct key {
    uint64_t addr;
    char     text[16];
};

static size_t key_len(const struct network *net)
{
    return net->number == NARROW ? sizeof(uint64_t) : sizeof(struct key);
}

static void address_of(const struct network *net, int rank, char *text, size_t size)
{
    snprintf(text, size, "network %u, rank %d%s", net->number, rank,
             net->number == WIDE ? ", at a longer address" : "");
}

static tern_status net_open(const struct tern_boot *boot, uint16_t number, int reach, struct tern_link **out)
{
    struct network *net = calloc(1, sizeof(*net));
    char            text[64];

    *net = (struct network){ .boot = boot, .number = number, .reach = reach };
    address_of(net, boot->rank, text, sizeof(text));
    *out = (struct tern_link *)net;
    return tern_boot_publish_address(boot, number, text, strlen(text));
}

static tern_status narrow_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    (void)up;
    return net_open(boot, NARROW, 2, out);
}

static tern_status wide_open(const struct tern_boot *boot, const struct tern_link_up *up, struct tern_link **out)
{
    (void)up;
    return net_open(boot, WIDE, RANKS, out);
}

static void net_close(struct tern_link *link)
{
    free(link);
}

static bool net_reaches(const struct tern_link *link, int peer)
{
    return peer >= 0 && peer < ((const struct network *)link)->reach;
}

static tern_status net_start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    (void)op;
    ((struct network *)lane)->puts++;
    memcpy((unsigned char *)(uintptr_t)xfer->part->remote + xfer->offset, xfer->local, xfer->len);
    return TERN_OK;
}

static const struct tern_link_path net_path = { .name = "net",
                                                .start = net_start,
                                                .keeps_order = tern_link_no_order,
                                                .can_notify = tern_link_no_notify,
                                                .start_iov = tern_link_no_iov };

static tern_status net_expose(struct tern_link *link, struct tern_mem_handle *handle)
{
    const struct network *net = (const struct network *)link;
    struct key            key = { .addr = handle->addr ^ net->number, .text = "fifteen letters" };

    return tern_link_key_add(handle, net->number, &key, key_len(net));
}

static tern_status net_attach(struct tern_link *link, const struct tern_mem_handle *handle, const char *path_name,
                              struct tern_link_part *part)
{
    const struct network *net = (const struct network *)link;
    struct key            key;
    char                  text[64];
    size_t                len = 0;
    const void           *address = tern_boot_net_address(net->boot, net->number, part->rank, &len);
    tern_status           st = tern_link_key_get(handle, part->rank, net->number, &key, key_len(net));

    (void)path_name;
    if (st < 0)
        return st;
    address_of(net, part->rank, text, sizeof(text));
    if (!address || len != strlen(text) || memcmp(address, text, len) != 0)
        return TERN_ERR_LINK;
    part->path = &net_path;
    part->remote = key.addr ^ net->number;
    return TERN_OK;
}

static const struct tern_atomic_ops net_atomic;

static const struct tern_link_ops narrow_ops = {
    .name = "narrow",
    .open = narrow_open,
    .close = net_close,
    .reaches = net_reaches,
    .expose = net_expose,
    .attach = net_attach,
    .atomic = &net_atomic,
};
static const struct tern_link_ops wide_ops = {
    .name = "wide",
    .open = wide_open,
    .close = net_close,
    .reaches = net_reaches,
    .expose = net_expose,
    .attach = net_attach,
    .atomic = &net_atomic,
};

/* The ranks of a job, all played by this process. */
static struct {
    struct tern_boot       boot[RANKS];
    struct tern_link      *link[RANKS][2];
    unsigned char          memory[RANKS][SIZE];
    struct tern_mem_handle handle[RANKS];
    uint8_t                peer_link[RANKS];
} job;

static void become(int rank)
{
    tern_job.boot = job.boot[rank];
    tern_job.links = 2;
    tern_job.ops[0] = &narrow_ops;
    tern_job.ops[1] = &wide_ops;
    tern_job.link[0] = job.link[rank][0];
    tern_job.link[1] = job.link[rank][1];
    tern_job.peer_link = job.peer_link;
}

static int job_make(void **state)
{
    (void)state;
    memset(&job, 0, sizeof(job));
    job.boot[0].relay_fd = -1;
    assert_int_equal(tern_boot_arena_make(RANKS, 1, &job.boot[0].arena, &job.boot[0].huge, &job.boot[0].segment),
                     TERN_OK);
    for (int rank = 0; rank < RANKS; rank++) {
        job.boot[rank] = job.boot[0];
        tern_boot_place(&job.boot[rank], rank);
        job.peer_link[rank] = rank < 2 ? 0 : 1;
        assert_int_equal(narrow_ops.open(&job.boot[rank], NULL, &job.link[rank][0]), TERN_OK);
        assert_int_equal(wide_ops.open(&job.boot[rank], NULL, &job.link[rank][1]), TERN_OK);
        assert_int_equal(tern_boot_publish_address(&job.boot[rank], WIDE, "once more", 9), TERN_ERR_STATE);
        become(rank);
        job.handle[rank] = (struct tern_mem_handle){ .region = 1 + (uint64_t)rank,
                                                     .addr = (uint64_t)(uintptr_t)job.memory[rank],
                                                     .size = SIZE };
        for (unsigned i = 0; i < tern_job.links; i++)
            assert_int_equal(tern_core_links_expose(i, &job.handle[rank]), TERN_OK);
        assert_int_equal(tern_core_links_expose(0, &job.handle[rank]), TERN_ERR_RANGE); /* a second key */
    }
    return 0;
}

static int job_remove(void **state)
{
    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        narrow_ops.close(job.link[rank][0]);
        wide_ops.close(job.link[rank][1]);
    }
    tern_boot_leave(&job.boot[0]);
    tern_job.links = 0;
    tern_job.peer_link = NULL;
    return 0;
}

static void each_finds_its_own(void **state)
{
    (void)state;
    for (int me = 0; me < RANKS; me++) {
        become(me);
        for (int peer = 0; peer < RANKS; peer++)
            for (unsigned i = 0; i < 2; i++) {
                struct network       *net = (struct network *)tern_job.link[i];
                struct tern_link_part part = { .rank = peer, .link = i };
                unsigned char         byte = (unsigned char)(16 * me + peer);
                struct tern_xfer      xfer = { .part = &part, .offset = (uint64_t)me, .local = &byte, .len = 1 };

                assert_int_equal(tern_core_links_attach(i, &job.handle[peer], "", &part), TERN_OK);
                assert_int_equal(part.path->start((struct tern_lane *)net, &xfer, NULL), TERN_OK);
                assert_int_equal(job.memory[peer][me], byte);
                job.memory[peer][me] = 0;
            }
        for (unsigned i = 0; i < 2; i++)
            assert_int_equal(((struct network *)tern_job.link[i])->puts, RANKS);
    }
}

/* Promise: an atomic operation goes to the first network with atomics that reaches the rank. */
static void atomics_go_where_the_rank_is(void **state)
{
    (void)state;
    become(3);
    for (int peer = 0; peer < RANKS; peer++)
        assert_int_equal(tern_core_links_atomic(peer), peer < 2 ? 0 : 1);
    assert_int_equal(tern_core_links_atomic(RANKS), -1);
}

static void damaged_handles_are_refused(void **state)
{
    struct tern_link_part part = { .rank = 1 };

    (void)state;
    become(0);
    for (uint32_t bytes = 0; bytes <= job.handle[1].key_bytes; bytes++) { /* cut off */
        struct tern_mem_handle handle = job.handle[1];
        bool                   whole = bytes == handle.key_bytes;

        handle.key_bytes = bytes;
        assert_int_equal(tern_core_links_attach(1, &handle, "", &part), whole ? TERN_OK : TERN_ERR_LINK);
    }
    for (uint32_t more = 1; more != 0; more *= 2) { /* longer than there is space */
        struct tern_mem_handle handle = job.handle[1];

        handle.key_bytes = TERN_MEM_KEYS + more;
        assert_int_equal(tern_core_links_attach(1, &handle, "", &part), TERN_ERR_LINK);
    }
    for (unsigned i = 0; i < job.handle[1].key_bytes; i++) {
        struct tern_mem_handle handle = job.handle[1];

        for (unsigned byte = 0; byte < 256; byte++) {
            handle.keys[i] = (unsigned char)byte;
            tern_core_links_attach(0, &handle, "", &part); /* whatever it returns, it reads no byte outside */
            tern_core_links_attach(1, &handle, "", &part);
        }
    }
}

/* Promise: a handle travels without the unused bytes of its keys, and what arrives is the handle. */
static void handles_travel(void **state)
{
    unsigned char          bytes[sizeof(struct tern_mem_handle) + 8];
    struct tern_mem_handle got;

    (void)state;
    for (int rank = 0; rank < RANKS; rank++) {
        const struct tern_mem_handle *handle = &job.handle[rank];
        size_t                        len = tern_link_handle_bytes(handle);

        assert_true(len < sizeof(*handle) && len % 8 == 0);
        memcpy(bytes, handle, len);
        for (size_t cut = 0; cut < len; cut++)
            assert_int_equal(tern_link_handle_read(&got, bytes, cut), 0);
        memset(&got, 0, sizeof(got));
        assert_int_equal(tern_link_handle_read(&got, bytes, sizeof(bytes)), len);
        assert_memory_equal(&got, handle, offsetof(struct tern_mem_handle, keys) + handle->key_bytes);
    }
    memset(bytes, 0xff, sizeof(bytes));
    assert_int_equal(tern_link_handle_read(&got, bytes, sizeof(bytes)), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(each_finds_its_own, job_make, job_remove),
        cmocka_unit_test_setup_teardown(atomics_go_where_the_rank_is, job_make, job_remove),
        cmocka_unit_test_setup_teardown(damaged_handles_are_refused, job_make, job_remove),
        cmocka_unit_test_setup_teardown(handles_travel, job_make, job_remove),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
