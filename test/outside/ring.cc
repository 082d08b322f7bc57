/* ring.cc: the same program as C++. */
#include "ring.c"
