/* tagged_help.c: long messages that sender and receiver copy together.
 *
 * Promise: what is received is what was sent, whatever the sender does meanwhile: it waits for this message and copies
 * some of it, it waits for something else, or it is in no call at all, and then the receiver copies everything. Nothing
 * is written beyond what the receive asked for, and nothing of a message is written into the buffer of the next.
 *
 * Of each two ranks the first sends and the second receives; one that is left over does nothing.
 *
 * ranks: 2 4
 * env: TERN_SPIN=1000 TERN_MSG_PIECE=4K
 * env: TERN_SPIN=1000 TERN_MSG_PIECE=4K TERN_MSG_CHUNK=16K TERN_MSG_WINDOW=2
 * env: TERN_SPIN=1000 TERN_MSG_EAGER=0 TERN_MSG_FIRST=0
 * env: TERN_MSG_PIECE=0
 */
#include <sched.h>
#include <stdatomic.h>

#include "job_test.h"

#define MOST (4u << 20)
#define GUARD 4096u
#define AT_ONCE 12 /* more than a rank can share at a time */

static unsigned char *buffer;
static int            me, other;
static tern_region   *region; /* a word: how often this rank was told to go on */

static unsigned char byte_of(size_t at, uint64_t salt)
{
    return (unsigned char)(at * 7 + at / 4096 * 3 + salt * 31);
}

static void fill(unsigned char *at, size_t len, uint64_t salt)
{
    for (size_t i = 0; i < len; i++)
        at[i] = byte_of(i, salt);
}

static void same(const unsigned char *at, size_t len, uint64_t salt)
{
    for (size_t i = 0; i < len; i++)
        if (at[i] != byte_of(i, salt))
            job_fail(__FILE__, __LINE__, "bytes", "are others than were sent");
}

static bool sends(void)
{
    return me % 2 == 0;
}

/* One after the other, through one buffer: bytes that come late would be found in the next. */
static void lengths(void)
{
    static const size_t len[] = { 600000, MOST, 700001, 1u << 20, (1u << 20) + 4097, 2 * 65536, 40000, 3000000 };

    for (uint64_t i = 0; i < 40; i++) {
        size_t n = len[i % (sizeof(len) / sizeof(len[0]))];

        if (sends()) {
            fill(buffer, n, i);
            OK(tern_send(TERN_WORLD, other, 1, buffer, n));
        } else {
            memset(buffer, 0xa5, n + GUARD);
            OK(tern_recv(TERN_WORLD, other, 1, buffer, n, NULL));
            same(buffer, n, i);
            for (size_t k = n; k < n + GUARD; k++)
                SAME(buffer[k], 0xa5);
        }
    }
}

/* What does not fit stays out. */
static void truncated(void)
{
    size_t            room = MOST / 2 + 100;
    tern_message_info info;

    if (sends()) {
        fill(buffer, MOST, 3);
        OK(tern_send(TERN_WORLD, other, 2, buffer, MOST));
        return;
    }
    memset(buffer, 0xa5, MOST);
    RETURNS(TERN_ERR_TRUNCATED, tern_recv(TERN_WORLD, other, 2, buffer, room, &info));
    SAME(info.len, MOST);
    same(buffer, room, 3);
    for (size_t k = room; k < room + GUARD; k++)
        SAME(buffer[k], 0xa5);
}

/* More at a time than can be shared. */
static void many(void)
{
    tern_request *request[AT_ONCE];
    size_t        n = 300000;

    for (uint64_t i = 0; i < AT_ONCE; i++) {
        unsigned char *at = buffer + i * n;

        if (sends()) {
            fill(at, n, i);
            OK(tern_isend(TERN_WORLD, other, (int64_t)i, at, n, &request[i]));
        } else {
            OK(tern_irecv(TERN_WORLD, other, (int64_t)i, at, n, &request[i]));
        }
    }
    OK(tern_request_wait_all(request, AT_ONCE, TERN_FOREVER, NULL, NULL));
    for (uint64_t i = 0; i < AT_ONCE && !sends(); i++)
        same(buffer + i * n, n, i);
}

/* The sender is in no call from the offer on until all of it has come. */
static void without_the_sender(void)
{
    _Atomic uint64_t *word = tern_region_ptr(region, me);
    tern_request     *request;

    if (sends()) {
        fill(buffer, MOST, 8);
        OK(tern_isend(TERN_WORLD, other, 3, buffer, MOST, &request));
        while (atomic_load(word) == 0)
            sched_yield();
        OK(tern_request_wait(&request, TERN_FOREVER, NULL));
        return;
    }
    OK(tern_recv(TERN_WORLD, other, 3, buffer, MOST, NULL));
    same(buffer, MOST, 8);
    OK(tern_put_u64(TERN_WORLD, region, other, 0, 1));
}

/* The sender makes progress because it waits for another message. */
static void while_it_waits_for_another(void)
{
    tern_request *request;
    char          byte = 0;

    if (sends()) {
        fill(buffer, MOST, 9);
        OK(tern_isend(TERN_WORLD, other, 4, buffer, MOST, &request));
        OK(tern_recv(TERN_WORLD, other, 5, &byte, 1, NULL));
        OK(tern_request_wait(&request, TERN_FOREVER, NULL));
        return;
    }
    OK(tern_recv(TERN_WORLD, other, 4, buffer, MOST, NULL));
    same(buffer, MOST, 9);
    OK(tern_send(TERN_WORLD, other, 5, &byte, 1));
}

static void all_of_a_pair(void)
{
    lengths();
    truncated();
    many();
    if (!job_chaos() && !job_network()) /* where an offer leaves at once */
        without_the_sender();
    while_it_waits_for_another();
}

int main(void)
{
    OK(tern_init());
    me = tern_rank();
    other = me ^ 1;
    OK(tern_region_alloc(TERN_WORLD, sizeof(uint64_t), NULL, &region));
    buffer = job_new(MOST + GUARD);
    if (other < tern_size())
        all_of_a_pair();
    OK(tern_region_free(region));
    OK(tern_finalize());
    free(buffer);
    return 0;
}
