/* signal.c: the order of the head node that tells another node to send a signal to its ranks.
 *
 * Promise: only the signals that ternrun passes on are accepted, and only with the body that belongs to them. */
#include "fuzz/fuzz.h"

#include "hosts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint8_t          *bytes = fuzz_copy(data, size);
    struct tern_frame frame;
    struct winsize    window = { 0 };
    int               signal = 0;

    if (tern_boot_frame_decode(bytes, size, false, &frame) - 1 < size && frame.kind == TERN_FRAME_SIGNAL &&
        run_order_read_signal(&frame, &signal, &window)) {
        MUST(signal == SIGTSTP || signal == SIGCONT || signal == SIGUSR1 || signal == SIGUSR2 || signal == SIGWINCH);
        MUST((uint32_t)signal == frame.value && frame.len == (signal == SIGWINCH ? 4 : 0));
    }
    free(bytes);
    return 0;
}
