/* order.c: the orders of the head node that tell another node what to start, and which hosts to call.
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
    MUST(sum <= TERN_MAX_RANKS && order->programs >= 1);
    for (int i = 0; i < order->programs; i++) {
        const struct run_program *program = &order->program[i];

        MUST(program->ranks >= 1 && program->words[0] != NULL);
        fuzz_touch(program->directory, strlen(program->directory));
        check_texts(program->words);
        check_texts(program->variables);
        for (char **text = program->variables; *text != NULL; text++)
            MUST(**text != '=' && strchr(*text, '=') != NULL);
        sum -= program->ranks;
    }
    MUST(sum == 0);
    fuzz_touch(order->cpu_list, strlen(order->cpu_list));
    fuzz_touch(order->directory, strlen(order->directory));
    fuzz_touch(order->prefix, strlen(order->prefix));
    fuzz_touch(order->tool, strlen(order->tool));
    fuzz_touch(order->tool_ranks, strlen(order->tool_ranks));
    check_texts(order->environment);
}

/* The same promise for the order to call other hosts. */
static void check_branch(const uint8_t *bytes, size_t size)
{
    struct run_branch_order order, same;
    unsigned char          *again;
    size_t                  len;

    if (!run_branch_decode(bytes, size, &order))
        return;
    MUST(order.end > order.node + 1 && order.fanout > 0 && order.name[order.end - order.node - 1] == NULL);
    check_texts(order.name);
    fuzz_touch(order.agent, strlen(order.agent));
    fuzz_touch(order.ternrun, strlen(order.ternrun));
    MUST((again = run_branch_encode(&order, &len)) != NULL);
    MUST(len == size && run_branch_decode(again, len, &same) && same.node == order.node && same.end == order.end);
    run_branch_order_free(&same);
    run_branch_order_free(&order);
    free(again);
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
    check_branch(bytes, size);
    free(bytes);
    return 0;
}
