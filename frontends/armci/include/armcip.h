/* armcip.h: in the original ARMCI, this is the header of the library itself. Test programs include it for armci_die and
 * armci_die2, which armci.h declares. */
#ifndef TERN_ARMCIP_H
#define TERN_ARMCIP_H

#include <armci.h>
#include <stdio.h>
#include <string.h>

#endif
