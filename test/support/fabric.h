/* fabric.h: a network that demands more of Tern than the providers of this machine do.
 *
 * In test programs a layer between Tern and libfabric imposes the restrictions of providers for other hardware. A
 * program that runs as a job takes the restrictions from the environment variable JOB_FABRIC. A link test calls
 * test_fabric_impose() before it forks its ranks. The restrictions are a comma-separated list of these words:
 *
 *   inject=N     the provider injects (copies during the call) messages of up to N bytes
 *   rma=N        it injects writes of up to N bytes, where that is less (FI_OPT_INJECT_RMA_SIZE)
 *   local        local buffers need descriptors of registrations that are open, enabled and cover them (FI_MR_LOCAL)
 *   endpoint     registrations are bound to the endpoint and enabled, and closed before the endpoint (FI_MR_ENDPOINT)
 *   locks        registrations of more memory than RLIMIT_MEMLOCK permits fail (FI_MR_ALLOCATED)
 *   nowait       the completion queue has no descriptor to sleep on
 *   mute         the completion queue has a descriptor that never becomes ready: data progress is manual
 *   again=SEED   every fourth operation, chosen by chance, is refused with FI_EAGAIN
 *   raw=0        no completion confirms delivery, and reads overtake writes of any length
 *   lose=N       the first N buffers for messages come back with an error that does not say whether they are released
 *   late=N       every Nth message arrives after messages that lie behind it in the buffer, which may then be reported
 *                as full before; a buffer must not be posted again while it waits for a message
 *   broken=N     from the Nth read on the completion queue fails
 *
 * A call that breaks a rule of the provider ends the program with a line that names the rule.
 */
#ifndef TERN_TEST_FABRIC_H
#define TERN_TEST_FABRIC_H

/* Impose the restrictions in the text; NULL imposes none. The caller must keep the text valid. */
void test_fabric_impose(const char *text);

#endif
