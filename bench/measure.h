/* measure.h: the arithmetic of measuring that tern-perf and the peer programs share, so that all of them time, repeat,
 * summarise and print in the same way.
 *
 * A figure is measured in slices. A slice is a batch of operations between two readings of the clock, long enough that
 * the cost of the clock does not matter. The median of the slices is the figure, and the quartiles are its spread. This
 * header contains only local arithmetic; the programs decide which ranks run a slice, and when.
 */
#ifndef BENCH_MEASURE_H
#define BENCH_MEASURE_H

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* A figure is one line of CSV: the median, then its spread. The columns of the spread are empty if there is none. */
#define MEASURE_CSV_HEADER "test,link,ranks,size,metric,value,unit,p25,p75,min,max"
#define MEASURE_MAX_SIZES 128
#define MEASURE_PAGE 4096u

/* The distance of a private buffer from a page boundary, where the other buffer of a copy lies on a page boundary. A
 * load that follows a store whose address has the same low 12 bits waits for the store although the addresses differ
 * (4K aliasing), and a copy between buffers a few bytes apart modulo 4096 can be ten times slower. Half a page is the
 * largest possible distance in both directions. Tests, limits and peers all use this distance. */
#define MEASURE_SKEW 2048u

struct measure_summary {
    double median, p25, p75, min, max;
};

static inline int64_t measure_now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
}

static inline int measure_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Return the q-quantile of n sorted values, interpolated between neighbours. */
static inline double measure_quantile(const double *sorted, size_t n, double q)
{
    double at = q * (double)(n - 1);
    size_t low = (size_t)at;

    if (low + 1 >= n)
        return sorted[n - 1];
    return sorted[low] + (at - (double)low) * (sorted[low + 1] - sorted[low]);
}

/* Summarise n values and sort them in place. n must be at least 1. */
static inline struct measure_summary measure_summarise(double *values, size_t n)
{
    qsort(values, n, sizeof(*values), measure_order);
    return (struct measure_summary){ measure_quantile(values, n, 0.5), measure_quantile(values, n, 0.25),
                                     measure_quantile(values, n, 0.75), values[0], values[n - 1] };
}

/* Return how many operations the next trial should have, on the way to slices of want nanoseconds, after a trial of
 * iters operations took spent nanoseconds. The number grows at most 16-fold, so that one lucky trial does not cause an
 * endless slice. */
static inline uint64_t measure_next_batch(uint64_t iters, int64_t spent, int64_t want)
{
    double factor = spent > 0 ? (double)want / (double)spent : 16.0;

    if (factor > 16.0)
        factor = 16.0;
    factor *= (double)iters;
    return factor < 1.0 ? 1 : (uint64_t)factor;
}

/* Return whether a trial was long enough to trust the result of measure_next_batch. */
static inline bool measure_batch_settled(int64_t spent, int64_t want)
{
    return spent >= want / 8;
}

/* Parse one size: digits with an optional K, M or G (powers of 1024). *end is set to the character after the size. If
 * there is no size, or the size is too large, returns 0 and sets *end to text. */
static inline uint64_t measure_size(const char *text, char **end)
{
    uint64_t value, unit;

    *end = (char *)(uintptr_t)text;
    if (*text < '0' || *text > '9')
        return 0;
    errno = 0;
    value = strtoull(text, end, 10);
    switch (**end) {
    case 'k':
    case 'K': unit = 10; break;
    case 'm':
    case 'M': unit = 20; break;
    case 'g':
    case 'G': unit = 30; break;
    default: unit = 0; break;
    }
    if (unit != 0)
        (*end)++;
    if (errno != 0 || value > (UINT64_MAX >> 24 >> unit)) {
        *end = (char *)(uintptr_t)text;
        return 0;
    }
    return value << unit;
}

/* Parse sizes from "a:b" (a, 2a, 4a ... up to b; 1 follows 0) or "a,b,c". Each size must be at least least. Returns the
 * number of sizes, or 0 if the text is not such a list. */
static inline size_t measure_sizes_from(uint64_t least, const char *text, uint64_t *sizes, size_t max)
{
    size_t   n = 0;
    uint64_t first, last;
    char    *at, *end;

    first = measure_size(text, &at);
    if (at == text || first < least)
        return 0;
    if (*at == ':') {
        last = measure_size(at + 1, &end);
        if (end == at + 1 || *end != '\0' || last < first)
            return 0;
        for (; first <= last && n < max; first = first == 0 ? 1 : first * 2)
            sizes[n++] = first;
        return n;
    }
    sizes[n++] = first;
    for (; *at == ',' && n < max; at = end) {
        sizes[n] = measure_size(at + 1, &end);
        if (end == at + 1 || sizes[n++] < least)
            return 0;
    }
    return *at == '\0' ? n : 0;
}

static inline size_t measure_sizes(const char *text, uint64_t *sizes, size_t max)
{
    return measure_sizes_from(1, text, sizes, max);
}

/* Parse a positive number of seconds, or a count. Returns 0 if the text is not a positive number. */
static inline double measure_number(const char *text)
{
    char  *end;
    double value = strtod(text, &end);

    return end != text && *end == '\0' && value > 0 && value < 1e9 ? value : 0;
}

#endif
