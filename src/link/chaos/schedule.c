/* schedule.c: all decisions of chaos.
 *
 * The n-th number of a stream is a hash of the stream's key and n. So streams need no lock and are independent of
 * each other: one more message does not change the decisions for transfers.
 */
#include "link/chaos/chaos.h"

#define AT_ONCE 4 /* one item in this many is not delayed */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9ull; /* the finalizer of splitmix64 */
    x = (x ^ x >> 27) * 0x94d049bb133111ebull;
    return x ^ x >> 31;
}

void tern_chaos_stream_begin(struct chaos_stream *stream, const struct tern_chaos *chaos, int rank, enum chaos_use use,
                             uint64_t number)
{
    uint64_t key = mix((uint64_t)chaos->seed + 1);

    key = mix(key ^ (uint64_t)rank);
    key = mix(key ^ (uint64_t)use << 48 ^ number);
    stream->chaos = chaos;
    stream->key = key;
    atomic_init(&stream->drawn, 0);
    stream->now = stream->still_until = 0;
}

static uint64_t draw(struct chaos_stream *stream)
{
    /* relaxed: only a unique index. */
    uint64_t n = atomic_fetch_add_explicit(&stream->drawn, 1, memory_order_relaxed);

    return mix(stream->key + (n + 1) * 0x9e3779b97f4a7c15ull);
}

static bool of_hundred(struct chaos_stream *stream, int64_t percent)
{
    return (int64_t)(draw(stream) % 100) < percent;
}

bool tern_chaos_look(struct chaos_stream *stream)
{
    uint64_t number;

    if (++stream->now < stream->still_until)
        return false;
    if (stream->chaos->stall == 0)
        return true;
    number = draw(stream);
    if (number % CHAOS_STALLS != 0)
        return true;
    stream->still_until = stream->now + 1 + number / CHAOS_STALLS % (uint64_t)stream->chaos->stall;
    return false;
}

bool tern_chaos_refuses(struct chaos_stream *stream)
{
    return of_hundred(stream, stream->chaos->again);
}

/* Return the earliest poll at which an item can follow a delayed item that is due at `due`: a delayed item is released
 * in a future poll, even if it is overdue. Returns 0 if due is 0. */
static uint64_t after(const struct chaos_stream *stream, uint64_t due)
{
    return due == 0 || due > stream->now ? due : stream->now + 1;
}

uint64_t tern_chaos_due(struct chaos_stream *stream, uint64_t must, uint64_t may)
{
    uint64_t number = draw(stream), due = stream->now;
    bool     overtakes = of_hundred(stream, stream->chaos->reorder);
    uint64_t least = after(stream, must);

    if (!overtakes && least < after(stream, may))
        least = after(stream, may);
    if (number % AT_ONCE != 0 && stream->chaos->delay > 0)
        due += 1 + number / AT_ONCE % (uint64_t)stream->chaos->delay;
    return due > least ? due : least;
}
