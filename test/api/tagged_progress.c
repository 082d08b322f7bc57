/* tagged_progress.c: long messages arrive while their receiver computes.
 *
 * Promise: a posted receive of a long message makes progress although its rank does not call Tern: the message is
 * matched, fetched in chunks, and its sender gets the FIN. It makes no difference whether the message arrives before or
 * after the receive is posted, or whether unexpected messages arrive. A program that returns and waits for a message
 * which the helper thread is fetching is woken when the data is there.
 *
 * Rank 0 receives. When its sender is done it writes a word into rank 0's memory, which is all that rank 0 reads.
 *
 * ranks: 2
 * env: TERN_CMA=off
 * env: TERN_SPIN=0 TERN_YIELDS=0 TERN_MSG_CHUNKED=1G TERN_MSG_PIECE=0
 */
#include <sched.h>
#include <stdatomic.h>

#include "job_test.h"

#define LEN (3u << 20)
#define ROUNDS 4u
#define GREAT (48u << 20) /* its copy takes so long that a wait for it sleeps */
#define WAKES 4u

static tern_region      *words;
static _Atomic uint64_t *mine; /* [0]: the message of this round may be sent; [rank]: that rank has sent it */
static unsigned char    *data; /* rank 0: the messages, one behind the other */

static unsigned char byte_of(int rank, unsigned round, size_t at)
{
    return (unsigned char)((unsigned)rank * 31 + round * 5 + at * 7 + at / 253);
}

static void write_word(int rank, int word, uint64_t value)
{
    OK(tern_put(TERN_WORLD, words, rank, (uint64_t)word * sizeof(uint64_t), &value, sizeof(value)));
}

/* Compute: watch memory change, without a call that makes progress. */
static void look_at(int word, uint64_t value)
{
    tern_deadline deadline = tern_deadline_in(60);

    while (atomic_load_explicit(&mine[word], memory_order_acquire) < value) {
        CHECK(tern_clock() < deadline);
        sched_yield();
    }
}

static void start(int rank, unsigned round, tern_request **recv)
{
    unsigned char *to = data + (size_t)(rank - 1) * LEN;

    if (round == 0) {
        OK(tern_recv_create(TERN_WORLD, rank, 7, to, LEN, recv));
        OK(tern_request_start(*recv));
    } else if (round == 1) {
        tern_message *message;

        OK(tern_mprobe(TERN_WORLD, rank, 7, TERN_FOREVER, &message, NULL));
        OK(tern_imrecv(&message, to, LEN, recv));
    } else {
        if (round == 2)
            OK(tern_probe(TERN_WORLD, rank, 7, TERN_FOREVER, NULL));
        OK(tern_irecv(TERN_WORLD, rank == 1 ? TERN_ANY_SOURCE : rank, 7, to, LEN, recv));
    }
}

/* In rounds 1 and 2 the message arrives first. */
static void receive(unsigned round, bool first)
{
    tern_request *recv[8];
    int           others = tern_size() - 1;

    for (int rank = 1; first && rank <= others; rank++)
        write_word(rank, 0, round + 1);
    for (int rank = others; rank >= 1; rank--) /* the wildcard receive last */
        start(rank, round, &recv[rank - 1]);
    for (int rank = 1; !first && rank <= others; rank++)
        write_word(rank, 0, round + 1);
    for (int rank = 1; rank <= others; rank++)
        look_at(rank, round + 1);
    for (int rank = 1; rank <= others; rank++) {
        tern_request_info info;

        OK(tern_request_wait(&recv[rank - 1], TERN_FOREVER, &info));
        CHECK(info.source == rank && info.tag == 7 && info.len == LEN);
        for (size_t i = 0; i < LEN; i++)
            CHECK(data[(size_t)(rank - 1) * LEN + i] == byte_of(rank, round, i));
        if (recv[rank - 1])
            OK(tern_request_free(&recv[rank - 1]));
    }
}

static void send(unsigned round)
{
    for (size_t i = 0; i < LEN; i++)
        data[i] = byte_of(tern_rank(), round, i);
    look_at(0, round + 1);
    OK(tern_send(TERN_WORLD, 0, 8, &round, sizeof(round))); /* unexpected so far */
    OK(tern_send(TERN_WORLD, 0, 7, data, LEN));
    write_word(0, tern_rank(), round + 1);
}

/* The message arrives before its receive, and the helper thread fetches it when the wait begins. Afterwards the sender
 * makes no call that would wake a rank. */
static void wait_for_great(unsigned round)
{
    tern_ctx     *ctx;
    tern_request *recv;

    OK(tern_ctx_create(tern_team_world(), TERN_RELAXED, &ctx));
    OK(tern_probe(TERN_WORLD, 1, 9, TERN_FOREVER, NULL));
    OK(tern_irecv(ctx, 1, 9, data, GREAT, &recv));
    usleep(3000);
    OK(tern_request_wait(&recv, TERN_FOREVER, NULL)); /* a sleep that nothing ends lasts until the stall report */
    CHECK(data[0] == round + 1 && data[GREAT - 1] == round + 2);
    OK(tern_ctx_free(ctx));
    write_word(1, 0, ROUNDS + round + 1);
}

static void send_great(unsigned round)
{
    data[0] = (unsigned char)(round + 1);
    data[GREAT - 1] = (unsigned char)(round + 2);
    OK(tern_send(TERN_WORLD, 0, 9, data, GREAT));
    look_at(0, ROUNDS + round + 1);
}

int main(void)
{
    OK(tern_init());
    data = job_new(GREAT);
    OK(tern_region_create(TERN_WORLD, 8 * sizeof(uint64_t), NULL, &words));
    mine = tern_region_ptr(words, tern_rank());
    OK(tern_barrier(TERN_WORLD));
    for (unsigned round = 0; round < ROUNDS; round++) {
        if (tern_rank() == 0)
            receive(round, round == 1 || round == 2);
        else
            send(round);
    }
    for (unsigned round = 0; tern_rank() == 0 && round < ROUNDS * (unsigned)(tern_size() - 1); round++) {
        unsigned said;

        OK(tern_recv(TERN_WORLD, TERN_ANY_SOURCE, 8, &said, sizeof(said), NULL));
    }
    OK(tern_barrier(TERN_WORLD));
    for (unsigned round = 0; tern_rank() < 2 && round < WAKES; round++)
        (tern_rank() == 0 ? wait_for_great : send_great)(round);
    OK(tern_region_free(words));
    OK(tern_finalize());
    free(data);
    return 0;
}
