/* op_staged.c: the buffers of staged transfers.
 *
 * Promise: the buffer of a transfer is freed once, when the transfer has completed. If the link reports that the
 * network may still use the buffer (buffer_in_use in struct tern_link_op), the buffer belongs to the link, and is
 * neither freed nor read. The transfer tells the link that the buffer is on the heap (heap in struct tern_xfer). The
 * file under test is included, so that its calls of free() can be counted.
 */
#include <stdlib.h>

static void count_free(void *memory);

/* clang-format off: the file under test is read with another free() */
#define free count_free
#include "op/shape/packed.c"
#undef free

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>
/* clang-format on */

#define RUNS 8u
#define RUN 16u /* bytes, 32 bytes apart, that are contiguous on the remote side */
#define TOTAL (RUNS * RUN)

static struct scene {
    struct tern_ctx        ctx;
    struct tern_link_part  part;
    struct tern_multi      multi;
    struct tern_op         transfer;
    struct tern_layout_dim dim;
    unsigned char          memory[2 * TOTAL], other[2 * TOTAL];
    tern_status            answer; /* the result of the path */
    struct tern_xfer       xfer;   /* the transfer that the path got */
    unsigned               starts, frees;
    void                  *freed;
} s;

static void count_free(void *memory)
{
    s.frees++;
    s.freed = memory;
    free(memory);
}

static tern_status start(struct tern_lane *lane, const struct tern_xfer *xfer, struct tern_link_op *op)
{
    (void)lane;
    assert_ptr_equal(op, &s.transfer.link);
    s.xfer = *xfer;
    s.starts++;
    return s.answer;
}

static const struct tern_link_path path = { .name = "none", .start = start };

static void begin(bool get, tern_status answer)
{
    struct tern_shape_cursors marks = { .local = { .at = 0 } };

    memset((void *)&s, 0, sizeof(s));
    memset(s.memory, 0x5a, sizeof(s.memory));
    memcpy(s.other, s.memory, sizeof(s.memory));
    s.answer = answer;
    s.part = (struct tern_link_part){ .path = &path, .size = TOTAL };
    s.dim = (struct tern_layout_dim){ RUNS, 2 * (int64_t)RUN };
    s.multi.op.ctx = &s.ctx;
    s.multi.shape = (struct tern_shape){
        .part = &s.part,
        .get = get,
        .total = TOTAL,
        .local = { .kind = TERN_LAYOUT_STRIDED,
                   .dims = 1,
                   .run = RUN,
                   .first = (uint64_t)(uintptr_t)s.memory,
                   .total = TOTAL,
                   .dim = &s.dim },
        .remote = { .kind = TERN_LAYOUT_STRIDED, .run = TOTAL, .total = TOTAL },
    };
    s.transfer.link.buffer_in_use = true; /* left by the previous transfer in this record */
    assert_int_equal(tern_op_method_staged.start(&s.multi, &s.transfer, &marks), answer);
    assert_int_equal(s.starts, 1);
    assert_true(s.xfer.heap && s.xfer.len == TOTAL && s.xfer.get == get && s.xfer.offset == 0);
}

static void end(tern_status status)
{
    tern_op_method_staged.ended(&s.multi, &s.transfer, status);
}

static void expect_freed(void)
{
    assert_int_equal(s.frees, 1);
    assert_ptr_equal(s.freed, s.xfer.local);
}

static void ended_transfers(void **state)
{
    (void)state;
    begin(true, TERN_PENDING);
    assert_int_equal(s.frees, 0);
    memset(s.xfer.local, 0x77, TOTAL);
    end(TERN_OK);
    expect_freed();
    for (unsigned i = 0; i < 2 * TOTAL; i++)
        assert_int_equal(s.memory[i], i % (2 * RUN) < RUN ? 0x77 : 0x5a);
    begin(false, TERN_PENDING);
    assert_int_equal(s.frees, 0);
    end(TERN_OK);
    expect_freed();
    begin(true, TERN_PENDING);
    end(TERN_ERR_LINK);
    expect_freed();
    assert_memory_equal(s.memory, s.other, sizeof(s.memory));
}

/* The path completes the transfer at once, has no space, or fails. */
static void transfers_that_do_not_pend(void **state)
{
    static const tern_status answers[] = { TERN_OK, TERN_AGAIN, TERN_ERR_PEER };

    (void)state;
    for (unsigned i = 0; i < 2 * sizeof(answers) / sizeof(answers[0]); i++) {
        begin(i % 2, answers[i / 2]);
        expect_freed();
    }
}

/* The peer is given up, and the network may still write the data of a get, or read the data of a put. */
static void buffers_that_the_link_keeps(void **state)
{
    (void)state;
    for (unsigned get = 0; get < 2; get++) {
        begin(get, TERN_PENDING);
        s.transfer.link.buffer_in_use = true;
        end(TERN_ERR_PEER);
        assert_int_equal(s.frees, 0);
        assert_memory_equal(s.memory, s.other, sizeof(s.memory));
        memset(s.xfer.local, 0x77, TOTAL); /* as the network does */
        free(s.xfer.local);                /* as the link does */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ended_transfers),
        cmocka_unit_test(transfers_that_do_not_pend),
        cmocka_unit_test(buffers_that_the_link_keeps),
    };

    return cmocka_run_group_tests_name("staged transfers", tests, NULL, NULL);
}
