/* parmci.h: the PARMCI_ names, which armci.h declares. Tools for the original ARMCI include this header. */
#ifndef TERN_PARMCI_H
#define TERN_PARMCI_H

#include <armci.h>

#endif
