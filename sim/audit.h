/* audit.h: counting everything again. */
#ifndef SIM_AUDIT_H
#define SIM_AUDIT_H

#include "sim.h"

/* See that no flit and no credit was lost or doubled: on every VC of every link the credits at one end, the flits and
 * credits under way and the flits in the buffer at the other end make up that buffer; and all flits together are those
 * that were injected and not ejected. Returns TERN_ERR_STATE where that is not so; the detail names the place. To be
 * called between two advances. */
tern_status sim_audit(const struct sim *sim);

#endif
