/* tagged.c: tagged messages of every length, by every call.
 *
 * Promise: a message is received as it was sent, whatever its length and whether the send or the receive comes first;
 * the info gives source, tag and true length; a buffer that is too short gets the beginning of the message and an error
 * that gives both sizes, while the send succeeds; a synchronous send does not complete before the message is matched;
 * receives match as MPI's do (the RDRP paper, table 1); tag masks match the bits that they select; a probe consumes
 * nothing, a matched probe takes one message; a cancelled receive takes nothing; persistent requests can be restarted;
 * wait_any, wait_all, wait_some and events find completed requests; invalid calls are refused and change nothing.
 *
 * Each rank sends to its right neighbour and receives from its left one, which may be itself.
 *
 * ranks: 1 2 4
 * env: TERN_CMA=off TERN_MSG_CHUNKED=64K TERN_MSG_CHUNK=4K
 * env: TERN_MSG_EAGER=0 TERN_MSG_FIRST=0
 */
#include "job_test.h"

static int left, right, me;

#define MOST (3u << 20)
static unsigned char *out, *in;

static void fill(size_t len, uint64_t salt)
{
    for (size_t i = 0; i < len; i++)
        out[i] = (unsigned char)(salt + i * 7 + i / 251 + (unsigned)me);
}

/* Check the bytes that the left neighbour filled in. */
static void same_bytes(const unsigned char *bytes, size_t len, uint64_t salt)
{
    for (size_t i = 0; i < len; i++)
        if (bytes[i] != (unsigned char)(salt + i * 7 + i / 251 + (unsigned)left))
            job_fail(__FILE__, __LINE__, "bytes", "are others than were sent");
}

static void same_info(const tern_request_info *info, int64_t tag, uint64_t len)
{
    SAME(info->source, left);
    SAME(info->tag, tag);
    SAME(info->len, len);
}

static tern_request *post(int64_t tag, void *buf, size_t size)
{
    tern_request *request;

    OK(tern_irecv(TERN_WORLD, left, tag, buf, size, &request));
    return request;
}

/* Returns the address of a number that stays valid. */
static const uint64_t *number(uint64_t n)
{
    static uint64_t numbers[128];

    numbers[n] = n;
    return &numbers[n];
}

static tern_request *sending(int64_t tag, const void *buf, size_t len)
{
    tern_request *request;

    OK(tern_isend(TERN_WORLD, right, tag, buf, len, &request));
    return request;
}

static void done(tern_request **request, int64_t tag, uint64_t len)
{
    tern_request_info info;

    OK(tern_request_wait(request, TERN_FOREVER, &info));
    CHECK(*request == NULL);
    same_info(&info, tag, len);
}

static void sent(tern_request **request)
{
    OK(tern_request_wait(request, TERN_FOREVER, NULL));
}

/* All messages sent so far have arrived, as far as they can. */
static void all_have_sent(void)
{
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 200; i++)
        OK(tern_progress(TERN_WORLD));
}

/* ---- lengths ---- */

static void one_length(size_t len, bool first)
{
    tern_request *recv = NULL, *send;
    int64_t       tag = (int64_t)len + 5;

    memset(in, 0xee, len + 1);
    fill(len, len);
    if (first)
        recv = post(tag, in, len + 1);
    OK(tern_barrier(TERN_WORLD));
    send = sending(tag, out, len);
    if (!first) {
        tern_request_info info;

        all_have_sent();
        OK(tern_probe(TERN_WORLD, left, tag, TERN_FOREVER, &info));
        same_info(&info, tag, len);
        recv = post(tag, in, len);
    }
    done(&recv, tag, len);
    sent(&send);
    same_bytes(in, len, len);
    CHECK(in[len] == 0xee || !first);
}

static void lengths(void)
{
    static const size_t around[] = { 0, 8, 24, 32, 48, 4096, 8192, 32768, 131072, 1 << 19, 1 << 20 };
    static const size_t large[] = { (1 << 20) + 4096, (2 << 20) + 77, MOST - 1 };

    for (unsigned first = 0; first < 2; first++) {
        for (unsigned i = 0; i < sizeof(around) / sizeof(around[0]); i++)
            for (size_t len = around[i] > 1 ? around[i] - 1 : 0; len <= around[i] + 1; len++)
                one_length(len, first);
        for (unsigned i = 0; i < sizeof(large) / sizeof(large[0]); i++)
            one_length(large[i], first);
    }
}

/* From and into the memory of regions, which needs no further exposure. */
static void regions(void)
{
    static const size_t sizes[] = { 5000, 20000, 2 << 20 };

    for (unsigned kind = 0; kind < 2; kind++) {
        struct job_region r;

        job_region_make(&r, kind ? JOB_REGISTERED : JOB_HOST, MOST);
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
            unsigned char *mine = r.mine;
            tern_request  *recv, *send;

            fill(sizes[i], i);
            memcpy(mine + 77, out, sizes[i]);
            OK(tern_barrier(TERN_WORLD));
            send = sending(6, mine + 77, sizes[i]);
            recv = post(6, in, sizes[i]);
            done(&recv, 6, sizes[i]);
            sent(&send);
            same_bytes(in, sizes[i], i);
            OK(tern_barrier(TERN_WORLD));
            recv = post(6, mine + 5, sizes[i]);
            send = sending(6, out, sizes[i]);
            done(&recv, 6, sizes[i]);
            sent(&send);
            same_bytes(mine + 5, sizes[i], i);
        }
        job_region_drop(&r);
    }
}

/* Blocking calls, one rank after the other, so that no circular wait arises. */
static void blocking(void)
{
    static const size_t sizes[] = { 8, 500, 20000, 2 << 20 };

    for (unsigned i = 0; i < 4 && tern_size() > 1; i++) {
        tern_request_info info;

        fill(sizes[i], i);
        if (me % 2 == 0) {
            OK(i % 2 ? tern_ssend(TERN_WORLD, right, i, out, sizes[i])
                     : tern_send(TERN_WORLD, right, i, out, sizes[i]));
            OK(tern_recv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, in, MOST, &info));
        } else {
            OK(tern_recv(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, in, MOST, &info));
            OK(i % 2 ? tern_ssend(TERN_WORLD, right, i, out, sizes[i])
                     : tern_send(TERN_WORLD, right, i, out, sizes[i]));
        }
        same_info(&info, i, sizes[i]);
        same_bytes(in, sizes[i], i);
    }
    OK(tern_barrier(TERN_WORLD));
}

/* ---- truncation ---- */

static void truncated(void)
{
    static const size_t sizes[] = { 30, 3000, 200000, 2 << 20 };
    static const size_t rooms[] = { 0, 10, 2999, 5000, 100000, 1500000 };

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
        for (unsigned k = 0; k < sizeof(rooms) / sizeof(rooms[0]) && rooms[k] < sizes[i]; k++) {
            tern_request     *recv, *send;
            tern_request_info info;
            char              size[32], room[32];

            memset(in, 0xee, sizes[i]);
            fill(sizes[i], k);
            recv = post(9, k == 0 ? NULL : in, rooms[k]);
            send = sending(9, out, sizes[i]);
            REFUSES(TERN_ERR_TRUNCATED, tern_request_wait(&recv, TERN_FOREVER, &info));
            snprintf(size, sizeof(size), "%zu", sizes[i]);
            snprintf(room, sizeof(room), "%zu", rooms[k]);
            SAYS(size);
            SAYS(room);
            CHECK(recv == NULL);
            same_info(&info, 9, sizes[i]);
            same_bytes(in, rooms[k], k);
            CHECK(in[rooms[k]] == 0xee);
            sent(&send);
        }
}

/* ---- synchronous sends ---- */

static void synchronous(void)
{
    static const size_t sizes[] = { 0, 24, 32, 1000, 100000 };

    for (unsigned i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
        tern_request *send, *recv;

        fill(sizes[i], i);
        OK(tern_issend(TERN_WORLD, right, 3, out, sizes[i], &send));
        all_have_sent();
        RETURNS(TERN_PENDING, tern_request_test(&send, NULL));
        RETURNS(TERN_PENDING, tern_request_wait(&send, TERN_NOW, NULL));
        CHECK(send != NULL);
        OK(tern_barrier(TERN_WORLD));
        recv = post(3, in, sizes[i]);
        done(&recv, 3, sizes[i]);
        sent(&send);
        same_bytes(in, sizes[i], i);
    }
}

/* ---- matching ---- */

/* Two messages with tags 1 and 2, and two receives: which receive takes which message; 0: none. */
static void table_row(int64_t first, int64_t second, int takes_first, int takes_second, bool posted)
{
    tern_request *recv[2], *send[2];
    int           got[2] = { 0, 0 };
    const int64_t tags[2] = { first, second };
    const int     takes[2] = { takes_first, takes_second };

    for (int i = 0; i < 2 && posted; i++)
        recv[i] = post(tags[i], &got[i], sizeof(int));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 2; i++)
        send[i] = sending(i + 1, number((uint64_t)i + 1), sizeof(int));
    for (int i = 0; i < 2; i++)
        sent(&send[i]);
    all_have_sent();
    for (int i = 0; i < 2 && !posted; i++)
        recv[i] = post(tags[i], &got[i], sizeof(int));
    for (int i = 0; i < 2; i++) {
        if (takes[i] > 0) {
            done(&recv[i], takes[i], sizeof(int));
            SAME(got[i], takes[i]);
            continue;
        }
        OK(tern_request_cancel(&recv[i], NULL)); /* no message arrived for it, */
        recv[i] = post(2, &got[i], sizeof(int));
        done(&recv[i], 2, sizeof(int)); /* and the second message is still there */
    }
    OK(tern_barrier(TERN_WORLD));
}

static void table_of_paper(void)
{
    for (unsigned posted = 0; posted < 2; posted++) {
        table_row(1, 2, 1, 2, posted);
        table_row(2, 1, 2, 1, posted);
        table_row(TERN_ANY_TAG, TERN_ANY_TAG, 1, 2, posted);
        table_row(TERN_ANY_TAG, 2, 1, 2, posted);
        table_row(TERN_ANY_TAG, 1, 1, 0, posted);
        table_row(1, TERN_ANY_TAG, 1, 2, posted);
        table_row(2, TERN_ANY_TAG, 2, 1, posted);
    }
}

/* Long messages do not overtake short ones, nor short ones long ones. */
static void no_overtaking(void)
{
    static const size_t sizes[] = { 200000, 8, 3000, 1500000, 0, 33, 90000, 8 };
    enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
    tern_request *send[COUNT];

    for (unsigned posted = 0; posted < 2; posted++) {
        fill(MOST, 0);
        OK(tern_barrier(TERN_WORLD));
        for (unsigned i = 0; i < COUNT; i++)
            send[i] = sending(4, out, sizes[i]);
        if (posted)
            all_have_sent();
        for (unsigned i = 0; i < COUNT; i++) {
            tern_request *recv = post(4, in, MOST);

            done(&recv, 4, sizes[i]);
            same_bytes(in, sizes[i], 0);
        }
        OK(tern_request_wait_all(send, COUNT, TERN_FOREVER, NULL, NULL));
    }
}

static void masks(void)
{
    uint64_t      got[4] = { 0 };
    tern_request *recv[4], *send[4];
    const int64_t tags[4] = { 0x1234567812345678, 0x22, 0x33, 0x21 };

    OK(tern_irecv_masked(TERN_WORLD, TERN_ANY_SOURCE, 0x30, 0xf0, &got[0], 8, &recv[0]));
    OK(tern_irecv_masked(TERN_WORLD, left, 0x01, 0x0f, &got[1], 8, &recv[1]));
    OK(tern_irecv_masked(TERN_WORLD, left, 77, 0, &got[2], 8, &recv[2]));
    OK(tern_irecv_masked(TERN_WORLD, left, 0x22, TERN_TAG_MAX, &got[3], 8, &recv[3]));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 4; i++)
        send[i] = sending(tags[i], number(100 + (uint64_t)i), 8);
    done(&recv[0], 0x33, 8);
    done(&recv[1], 0x21, 8);
    done(&recv[2], tags[0], 8);
    done(&recv[3], 0x22, 8);
    CHECK(got[0] == 102 && got[1] == 103 && got[2] == 100 && got[3] == 101);
    OK(tern_request_wait_all(send, 4, TERN_FOREVER, NULL, NULL));
    OK(tern_barrier(TERN_WORLD));
    for (int i = 0; i < 4; i++)
        send[i] = sending(tags[i], number(100 + (uint64_t)i), 8);
    OK(tern_request_wait_all(send, 4, TERN_FOREVER, NULL, NULL));
    all_have_sent();
    {
        tern_request_info info;

        OK(tern_probe_masked(TERN_WORLD, left, 0x20, 0xf0, TERN_FOREVER, &info));
        same_info(&info, 0x22, 8);
    }
    for (int i = 0; i < 4; i++)
        OK(tern_irecv_masked(TERN_WORLD, left,
                             i == 2   ? 0x20
                             : i == 1 ? 0x30
                                      : 0,
                             i == 1 || i == 2 ? 0xf0 : 0, &got[i], 8, &recv[i]));
    done(&recv[0], tags[0], 8);
    done(&recv[1], 0x33, 8);
    done(&recv[2], 0x22, 8);
    done(&recv[3], 0x21, 8);
}

/* ---- probes ---- */

static void probes(void)
{
    static const size_t sizes[] = { 5, 5000, 100000 };

    for (unsigned i = 0; i < 3; i++) {
        tern_request     *send, *recv;
        tern_message     *message = NULL, *other = NULL;
        tern_request_info info;

        RETURNS(TERN_PENDING, tern_probe(TERN_WORLD, left, 6, TERN_NOW, NULL));
        RETURNS(TERN_PENDING, tern_mprobe(TERN_WORLD, left, 6, TERN_NOW, &message, NULL));
        CHECK(message == NULL);
        OK(tern_barrier(TERN_WORLD));
        fill(sizes[i], i);
        OK(tern_issend(TERN_WORLD, right, 6, out, sizes[i], &send));
        OK(tern_probe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, TERN_FOREVER, &info));
        same_info(&info, 6, sizes[i]);
        OK(tern_mprobe(TERN_WORLD, left, 6, TERN_FOREVER, &message, &info));
        same_info(&info, 6, sizes[i]);
        RETURNS(TERN_PENDING, tern_probe(TERN_WORLD, left, 6, TERN_NOW, NULL));
        RETURNS(TERN_PENDING, tern_mprobe(TERN_WORLD, left, 6, TERN_NOW, &other, NULL));
        recv = post(6, in, MOST);
        RETURNS(TERN_PENDING, tern_request_test(&recv, NULL));
        OK(tern_request_cancel(&recv, NULL));
        RETURNS(TERN_PENDING, tern_request_test(&send, NULL));
        OK(tern_barrier(TERN_WORLD));
        if (i == 1) {
            OK(tern_mrecv(&message, in, MOST, &info));
            same_info(&info, 6, sizes[i]);
        } else {
            OK(tern_imrecv(&message, in, MOST, &recv));
            done(&recv, 6, sizes[i]);
        }
        CHECK(message == NULL);
        same_bytes(in, sizes[i], i);
        sent(&send);
    }
}

/* ---- requests ---- */

static void persistent(void)
{
    static const size_t sizes[] = { 8, 4000, 100000 };

    for (unsigned i = 0; i < 3; i++) {
        tern_request *send, *recv;
        tern_event    event;

        OK(i == 0 ? tern_ssend_create(TERN_WORLD, right, 1, out, sizes[i], &send)
                  : tern_send_create(TERN_WORLD, right, 1, out, sizes[i], &send));
        OK(tern_recv_create(TERN_WORLD, left, i == 1 ? TERN_ANY_TAG : 1, in, sizes[i], &recv));
        REFUSES(TERN_ERR_STATE, tern_request_test(&recv, NULL));
        for (uint64_t round = 0; round < 5; round++) {
            tern_request_info info;

            fill(sizes[i], round);
            if (round % 2)
                OK(tern_barrier(TERN_WORLD));
            OK(tern_request_start(recv));
            REFUSES(TERN_ERR_STATE, tern_request_start(recv));
            REFUSES(TERN_ERR_STATE, tern_request_free(&recv));
            OK(tern_request_start(send));
            OK(tern_request_wait(&recv, TERN_FOREVER, &info));
            same_info(&info, 1, sizes[i]);
            same_bytes(in, sizes[i], round);
            OK(tern_request_wait(&send, TERN_FOREVER, NULL));
            CHECK(recv != NULL && send != NULL);
        }
        OK(tern_request_start(recv));
        OK(tern_request_event(recv, &event));
        OK(tern_request_cancel(&recv, NULL));
        CHECK(recv != NULL);
        RETURNS(TERN_ERR_CANCELLED, tern_event_test(&event));
        OK(tern_request_free(&recv));
        OK(tern_request_free(&send));
        CHECK(recv == NULL && send == NULL);
        OK(tern_barrier(TERN_WORLD));
    }
}

static void several(void)
{
    tern_request     *recv[5] = { NULL }, *send[4];
    tern_request_info info, infos[5];
    tern_status       statuses[5];
    size_t            index = 7, count = 7, indices[5];
    uint64_t          got[5];
    tern_event        event;

    REFUSES(TERN_ERR_STATE, tern_request_wait_any(recv, 5, TERN_FOREVER, &index, NULL));
    SAME(index, 5);
    OK(tern_request_wait_all(recv, 5, TERN_FOREVER, NULL, NULL));
    for (int i = 1; i < 5; i++)
        recv[i] = post(i, &got[i], i == 4 ? 4 : 8);
    RETURNS(TERN_PENDING, tern_request_test_any(recv, 5, &index, NULL));
    RETURNS(TERN_PENDING, tern_request_wait_any(recv, 5, TERN_NOW, &index, NULL));
    RETURNS(TERN_PENDING, tern_request_wait_some(recv, 5, TERN_NOW, &count, indices, NULL, NULL));
    SAME(count, 0);
    RETURNS(TERN_PENDING, tern_request_test_all(recv, 5, NULL, NULL));
    RETURNS(TERN_PENDING, tern_request_wait_all(recv, 5, TERN_NOW, NULL, NULL));
    OK(tern_request_event(recv[3], &event));
    RETURNS(TERN_PENDING, tern_event_test(&event));
    OK(tern_barrier(TERN_WORLD));
    send[0] = sending(3, number(33), 8);
    OK(tern_event_wait(&event, TERN_FOREVER));
    OK(tern_request_wait_any(recv, 5, TERN_FOREVER, &index, &info));
    SAME(index, 3);
    same_info(&info, 3, 8);
    CHECK(recv[3] == NULL && got[3] == 33);
    OK(tern_barrier(TERN_WORLD));
    send[1] = sending(2, number(22), 8);
    OK(tern_request_wait_some(recv, 5, TERN_FOREVER, &count, indices, infos, statuses));
    CHECK(count == 1 && indices[0] == 2 && statuses[0] == TERN_OK && recv[2] == NULL);
    same_info(&infos[0], 2, 8);
    OK(tern_barrier(TERN_WORLD));
    send[2] = sending(4, number(44), 8);
    send[3] = sending(1, number(11), 8);
    REFUSES(TERN_ERR_TRUNCATED, tern_request_wait_all(recv, 5, TERN_FOREVER, infos, statuses));
    CHECK(statuses[0] == TERN_OK && statuses[1] == TERN_OK && statuses[4] == TERN_ERR_TRUNCATED);
    same_info(&infos[1], 1, 8);
    same_info(&infos[4], 4, 8);
    CHECK(recv[1] == NULL && recv[4] == NULL && got[1] == 11);
    OK(tern_request_wait_all(send, 4, TERN_FOREVER, NULL, NULL));
}

/* ---- errors ---- */

static void refused(void)
{
    tern_request *request = NULL, *recv;
    char          byte = 0;

    REFUSES(TERN_ERR_RANGE, tern_send(TERN_WORLD, tern_size(), 0, &byte, 1));
    REFUSES(TERN_ERR_RANGE, tern_send(TERN_WORLD, -1, 0, &byte, 1));
    REFUSES(TERN_ERR_RANGE, tern_isend(TERN_WORLD, right, -1, &byte, 1, &request));
    SAYS("-1");
    REFUSES(TERN_ERR_RANGE, tern_issend(TERN_WORLD, right, TERN_TAG_MAX + 1, &byte, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_irecv(TERN_WORLD, -2, 0, &byte, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_irecv(TERN_WORLD, left, -2, &byte, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_irecv_masked(TERN_WORLD, left, 0, -1, &byte, 1, &request));
    REFUSES(TERN_ERR_RANGE, tern_recv(TERN_WORLD, left, TERN_TAG_MAX + 1, &byte, 1, NULL));
    REFUSES(TERN_ERR_RANGE, tern_probe(TERN_WORLD, tern_size(), 0, TERN_NOW, NULL));
    REFUSES(TERN_ERR_ARG, tern_send(NULL, right, 0, &byte, 1));
    REFUSES(TERN_ERR_ARG, tern_send(TERN_WORLD, right, 0, NULL, 1));
    REFUSES(TERN_ERR_ARG, tern_isend(TERN_WORLD, right, 0, &byte, 1, NULL));
    REFUSES(TERN_ERR_ARG, tern_irecv(TERN_WORLD, left, 0, NULL, 1, &request));
    REFUSES(TERN_ERR_ARG, tern_irecv(TERN_WORLD, left, 0, &byte, 1, NULL));
    REFUSES(TERN_ERR_ARG, tern_mrecv(NULL, &byte, 1, NULL));
    REFUSES(TERN_ERR_ARG, tern_request_test(NULL, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_test(&request, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_wait(&request, TERN_FOREVER, NULL));
    REFUSES(TERN_ERR_STATE, tern_request_cancel(&request, NULL));
    REFUSES(TERN_ERR_ARG, tern_request_free(&request));
    REFUSES(TERN_ERR_ARG, tern_request_start(NULL));
    CHECK(request == NULL);
    recv = post(1, &byte, 1);
    REFUSES(TERN_ERR_STATE, tern_request_free(&recv));
    REFUSES(TERN_ERR_ARG, tern_request_start(recv));
    OK(tern_request_cancel(&recv, NULL));
    CHECK(recv == NULL);
    RETURNS(TERN_PENDING, tern_probe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, TERN_NOW, NULL));
}

/* The message for a receive that gave up is still there for the next receive. */
static void given_up(void)
{
    uint64_t      got = 0;
    tern_request *send;

    OK(tern_ctx_set_timeout(TERN_WORLD, 1e-4));
    REFUSES(TERN_ERR_TIMEOUT, tern_recv(TERN_WORLD, left, 8, &got, 8, NULL));
    SAYS("with tag 8, which has not arrived");
    REFUSES(TERN_ERR_TIMEOUT, tern_probe(TERN_WORLD, left, 8, tern_deadline_in(1e-4), NULL));
    SAYS(" of the job with tag 8");
    REFUSES(TERN_ERR_TIMEOUT, tern_probe(TERN_WORLD, TERN_ANY_SOURCE, TERN_ANY_TAG, tern_deadline_in(1e-4), NULL));
    SAYS("from any rank of the job with any tag");
    OK(tern_ctx_set_timeout(TERN_WORLD, 0));
    OK(tern_barrier(TERN_WORLD));
    send = sending(8, number(88), 8);
    OK(tern_recv(TERN_WORLD, left, 8, &got, 8, NULL));
    SAME(got, 88);
    sent(&send);
}

/* Messages of the node's team do not match receives of the world, and vice versa. */
static void teams(void)
{
    tern_ctx     *node;
    tern_request *recv[2], *send[2];
    uint64_t      got[2] = { 0, 0 };
    int           self = tern_team_rank(tern_team_node());

    OK(tern_ctx_create(tern_team_node(), TERN_RELAXED, &node));
    OK(tern_irecv(node, self, 1, &got[0], 8, &recv[0]));
    OK(tern_irecv(TERN_WORLD, me, 1, &got[1], 8, &recv[1]));
    OK(tern_isend(TERN_WORLD, me, 1, number(5), 8, &send[1]));
    OK(tern_isend(node, self, 1, number(6), 8, &send[0]));
    OK(tern_request_wait_all(recv, 2, TERN_FOREVER, NULL, NULL));
    OK(tern_request_wait_all(send, 2, TERN_FOREVER, NULL, NULL));
    CHECK(got[0] == 6 && got[1] == 5);
    OK(tern_irecv(node, self, 1, &got[0], 8, &recv[0])); /* freed with its context */
    OK(tern_ctx_free(node));
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    left = (me + tern_size() - 1) % tern_size();
    right = (me + 1) % tern_size();
    out = job_new(MOST + 1);
    in = job_new(MOST + 1);
    lengths();
    regions();
    blocking();
    truncated();
    synchronous();
    table_of_paper();
    no_overtaking();
    masks();
    probes();
    persistent();
    several();
    refused();
    given_up();
    teams();
    OK(tern_send(TERN_WORLD, right, 99, out, 8)); /* a message that no rank receives */
    OK(tern_finalize());
    free(out);
    free(in);
    return 0;
}
