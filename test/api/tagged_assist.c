/* tagged_assist.c: long messages that sender and receiver copy together.
 *
 * Promise: the receiver gets the message as it was sent, whatever the sender does meanwhile: it waits for this message
 * and copies some of it, it waits for something else, or it is in no call at all, and then the receiver copies
 * everything. Nothing is written beyond the receive buffer, and nothing of a message is written into the buffer of the
 * next one. The same holds where the buffer is memory of a region, into which the sender stores; and the sender does
 * store, also while it receives long messages itself.
 *
 * In each pair of ranks the first sends and the second receives, except in both_ways(); a rank without a partner does
 * nothing.
 *
 * ranks: 2 4
 * env: TERN_SPIN=1000 TERN_MSG_PIECE=4K
 * env: TERN_SPIN=1000 TERN_MSG_PIECE=4K TERN_MSG_CHUNK=16K TERN_MSG_WINDOW=2
 * env: TERN_SPIN=1000 TERN_MSG_EAGER=0 TERN_MSG_FIRST=0
 * env: TERN_MSG_PIECE=0
 */
#include <sched.h>
#include <stdatomic.h>
#include <unistd.h>

#include "job_test.h"

#include "base/options.h"
#include "base/work_split.h"
#include "core/job.h"

#define MOST (4u << 20)
#define GUARD 4096u
#define AT_ONCE 40 /* more than a rank can share at a time */
#define EACH_WAY 6
#define ROUNDS 2000 /* a sender may be away */

static unsigned char *buffer;
static int            me, other;
static tern_region   *region; /* a word that counts how often this rank was told to continue */
static tern_region   *ground; /* memory to receive into */

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

/* One after the other, through one buffer: bytes that arrive late would show in the next message. */
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

/* Bytes that do not fit are not written. */
static void truncated(void)
{
    size_t            room = MOST / 2 + 100;
    tern_request_info info;

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

/* More messages at a time than can be shared. */
static void many(void)
{
    tern_request *request[AT_ONCE];
    size_t        n = 100000;

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

/* Returns whether one of the two ranks says so; both ranks have arrived here when it returns. */
static bool either(char mine)
{
    tern_request *request;
    char          theirs = 0;

    OK(tern_isend(TERN_WORLD, other, 7, &mine, 1, &request));
    OK(tern_recv(TERN_WORLD, other, 7, &theirs, 1, NULL));
    OK(tern_request_wait(&request, TERN_FOREVER, NULL));
    return mine || theirs;
}

/* The sender is in no call from the RTS until all data has arrived. A send that found no space would leave in a later
 * call only, and eager messages that the receiver has not taken yet may fill the queue: so the receiver takes them
 * first. */
static void without_the_sender(void)
{
    _Atomic uint64_t *word = tern_region_ptr(region, me);
    tern_request     *request;

    either(false);
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

/* Whether a sender has copied chunks of a message to this rank. */
static bool was_helped(void)
{
    unsigned                link = tern_job.peer_link[other];
    struct tern_work_split *share = tern_job.ops[link]->inject->work_splits(tern_job.link[link], me);

    for (int i = 0; i < TERN_LINK_SPLITS; i++)
        if (tern_base_split_completed(&share[i]) > 0)
            return true;
    return false;
}

/* Under one tag: every other message is eager, and none overtakes another. */
static void exchange(uint64_t round)
{
    tern_request  *request[2 * EACH_WAY];
    size_t         n = MOST / EACH_WAY;
    unsigned char *to = tern_region_ptr(ground, me);

    for (uint64_t i = 0; i < EACH_WAY; i++)
        fill(buffer + i * n, n, (uint64_t)me + round + i);
    either(false); /* from here on neither computes */
    for (uint64_t i = 0; i < EACH_WAY; i++)
        OK(tern_irecv(TERN_WORLD, other, 6, to + i * n, n, &request[i]));
    for (uint64_t i = 0; i < EACH_WAY; i++)
        OK(tern_isend(TERN_WORLD, other, 6, buffer + i * n, i % 2 == 0 ? n : 5000, &request[EACH_WAY + i]));
    OK(tern_request_wait_all(request, 2 * EACH_WAY, TERN_FOREVER, NULL, NULL));
    for (uint64_t i = 0; i < EACH_WAY; i++)
        same(to + i * n, i % 2 == 0 ? n : 5000, (uint64_t)other + round + i);
}

/* Whether ranks reach each other's regions by stores, may copy for each other, and have a core each. Otherwise the
 * sender of a message may be away whenever it should copy. */
static bool may_store(void)
{
    tern_region *own;
    char         byte[8] = { 0 };
    bool         cma;

    OK(tern_region_register(TERN_WORLD, byte, sizeof(byte), &own));
    cma = strcmp(tern_region_path(own, other < tern_size() ? other : me), "cma") == 0;
    OK(tern_region_free(own));
    return cma && other < tern_size() && tern_size() <= sysconf(_SC_NPROCESSORS_ONLN) &&
           tern_region_ptr(ground, other) && tern_job.spin_ns > 0 && tern_opt.msg_piece > 0;
}

/* A rank that waits for another long message copies for others only by stores. */
static void both_ways(bool stores)
{
    unsigned char *spare = job_new(MOST);
    tern_request  *never;
    bool           mine = false, done = false;

    OK(tern_irecv(TERN_WORLD, other, 8, spare, MOST, &never));
    for (uint64_t i = 0; i < 10 || (stores && !done && i < ROUNDS); i++) {
        exchange(i);
        mine |= stores && was_helped();
        done = either(mine);
    }
    CHECK(done || !stores);
    OK(tern_request_cancel(&never, NULL));
    free(spare);
}

static void all_of_a_pair(void)
{
    lengths();
    truncated();
    many();
    if (!job_chaos() && !job_network()) /* where an RTS leaves at once */
        without_the_sender();
    while_it_waits_for_another();
}

int main(void)
{
    unsigned char *private;
    bool stores;

    OK(tern_init());
    me = tern_rank();
    other = me ^ 1;
    OK(tern_region_create(TERN_WORLD, sizeof(uint64_t), NULL, &region));
    OK(tern_region_create(TERN_WORLD, MOST + GUARD, NULL, &ground));
    buffer = private = job_new(MOST + GUARD);
    stores = may_store();
    if (other < tern_size()) {
        both_ways(stores); /* first: no rank has copied for another so far */
        all_of_a_pair();
        buffer = sends() ? private : tern_region_ptr(ground, me);
        OK(tern_put_u64(TERN_WORLD, region, me, 0, 0));
        all_of_a_pair();
    }
    OK(tern_region_free(ground));
    OK(tern_region_free(region));
    OK(tern_finalize());
    free(private);
    return 0;
}
