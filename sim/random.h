/* random.h: streams of random numbers. Each node, each router and each purpose has its own stream, so that a run
 * depends only on its seed and not on the order in which threads execute.
 *
 * A stream has 64 bits of state (splitmix64): a counter that grows by an odd constant, and a function that mixes its
 * bits.
 */
#ifndef SIM_RANDOM_H
#define SIM_RANDOM_H

#include <stdint.h>

/* The purpose of a stream. */
enum sim_stream { SIM_STREAM_NODE, SIM_STREAM_ROUTER, SIM_STREAM_TRAFFIC, SIM_STREAM_SLOW };

static inline uint64_t sim_random_mix(uint64_t z)
{
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ull;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebull;
    return z ^ (z >> 31);
}

/* Return the initial state of a stream. */
static inline uint64_t sim_random_begin(uint64_t seed, enum sim_stream purpose, uint64_t index)
{
    return sim_random_mix(sim_random_mix(seed * 4 + (uint64_t)purpose + 0x9e3779b97f4a7c15ull) + index);
}

static inline uint64_t sim_random_next(uint64_t *state)
{
    *state += 0x9e3779b97f4a7c15ull;
    return sim_random_mix(*state);
}

/* Return a number from 0 to n-1; n must be at least 1. The bias is below n / 2^32. */
static inline uint32_t sim_random_below(uint64_t *state, uint32_t n)
{
    return (uint32_t)(((sim_random_next(state) >> 32) * n) >> 32);
}

/* Return a number in [0, 1). */
static inline double sim_random_unit(uint64_t *state)
{
    return (double)(sim_random_next(state) >> 11) * 0x1p-53;
}

#endif
