/* order.c: the order of the head node that tells another node what to start.
 *
 * Promise: an accepted order can be encoded again to bytes with the same meaning. Its texts and lists are terminated,
 * and its numbers are within their ranges. */
#include "fuzz/fuzz.h"

#include "hosts.h"

static void check_texts(char **text)
{
    for (; *text != NULL; text++)
        fuzz_touch(*text, strlen(*text));
}

static void check_order(const struct run_order *order)
{
    int sum = 0;

    MUST(order->job != 0 && order->hosts >= 1 && order->grace >= 0);
    for (int i = 0; i < order->hosts; i++) {
        MUST(order->count[i] >= 1 && order->count[i] <= TERN_MAX_NODE_RANKS);
        sum += order->count[i];
    }
    MUST(sum <= TERN_MAX_RANKS && order->program[0] != NULL);
    fuzz_touch(order->cpu_list, strlen(order->cpu_list));
    fuzz_touch(order->directory, strlen(order->directory));
    check_texts(order->program);
    check_texts(order->environment);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t         *bytes = fuzz_copy(data, size);
    unsigned char   *again;
    struct run_order order = { 0 }, same = { 0 };
    size_t           len;

    if (run_order_decode(bytes, size, &order)) {
        check_order(&order);
        MUST((again = run_order_encode(&order, &len)) != NULL);
        MUST(run_order_decode(again, len, &same));
        MUST(same.job == order.job && same.hosts == order.hosts && strcmp(same.directory, order.directory) == 0);
        check_order(&same);
        run_order_free(&same);
        run_order_free(&order);
        free(again);
    }
    free(bytes);
    return 0;
}
