/* arrival.h: what has come over the network, whether or not it was delivered.
 *
 * A message that its receiver cannot take yet stays with the link, where no call of Tern shows it. A test that lets the
 * sender die has to know that the message has left the sender, because a message that is still in the process of its
 * sender is lost with it.
 */
#ifndef TERN_TEST_ARRIVAL_H
#define TERN_TEST_ARRIVAL_H

#include <stdint.h>

/* Messages (enum tern_link_channel) of a rank of the job that have come to this rank through the link ofi, in order and
 * with their data. 0 where the link is not open. NULL where the build has no such link. Any thread. */
uint64_t test_arrived(int rank, unsigned channel) __attribute__((weak));

#endif
