/* cmocka wants these headers before its own, in this order. */
#ifndef TESTS_UNIT_CMOCKA_PRELUDE_H
#define TESTS_UNIT_CMOCKA_PRELUDE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#endif
