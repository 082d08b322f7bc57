/* arrival.h: the messages that have arrived over the network, whether or not they were delivered.
 *
 * A message that its receiver cannot accept yet stays in the link, where no Tern call shows it. A test that kills a
 * sender must know that the message has left the sender first, because a message that is still in the sender's process
 * is lost with the process.
 */
#ifndef TERN_TEST_ARRIVAL_H
#define TERN_TEST_ARRIVAL_H

#include <stdint.h>

/* Returns the number of messages on a channel (enum tern_channel) that this rank has received from a rank of the job
 * through a link between nodes, in order and with their data. Returns 0 if no such link is open. Any thread may call
 * it. */
uint64_t test_arrived(int rank, unsigned channel);

#endif
