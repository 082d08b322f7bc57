/* audit.h: a consistency check that recounts all flits and credits. */
#ifndef SIM_AUDIT_H
#define SIM_AUDIT_H

#include "sim.h"

/* Check that no flit and no credit was lost or duplicated. On every VC of every link, the credits at one end, the flits
 * and credits in flight, and the flits in the buffer at the other end must add up to the size of that buffer. The total
 * number of flits must equal the number injected minus the number ejected. Returns TERN_ERR_STATE if a check fails; the
 * detail names the place. The caller must not be inside sim_advance. */
tern_status sim_audit(const struct sim *sim);

#endif
