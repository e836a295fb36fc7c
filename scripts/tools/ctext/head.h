/* Written by scripts/tools/kernels.py from the kernel text; do not edit. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif

/* With CHECKED, an index outside its list and a number too large for its field end the
   process; without, nothing is checked. */
#ifdef CHECKED
#include <stdio.h>
#include <stdlib.h>
static inline int64_t within(int64_t index, int64_t length, int line) {
  if (index < 0 || index >= length) {
    fprintf(stderr, "line %d: index %lld of %lld\n", line, (long long)index,
            (long long)length);
    abort();
  }
  return index;
}
static inline int64_t fitting(int64_t value, int64_t most, int line) {
  if (value > most || value < -most - 1) {
    fprintf(stderr, "line %d: %lld in a narrow field\n", line, (long long)value);
    abort();
  }
  return value;
}
#define AT(list, index) ((list).at[within((index), (list).length, __LINE__)])
#define FIT32(value) ((int32_t)fitting((value), INT32_MAX, __LINE__))
#define FIT8(value) ((int8_t)fitting((value), INT8_MAX, __LINE__))
#else
#define AT(list, index) ((list).at[index])
#define FIT32(value) ((int32_t)(value))
#define FIT8(value) ((int8_t)(value))
#endif

/* Python's floor division and remainder, and its min, max and abs. */
static inline int64_t floor_int(int64_t a, int64_t b) {
  int64_t q = a / b;
  return q - (a % b != 0 && (a < 0) != (b < 0));
}
static inline int64_t mod_int(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r != 0 && (r < 0) != (b < 0) ? r + b : r;
}
static inline double mod_float(double a, double b) {
  double r = fmod(a, b);
  if (r == 0) return copysign(0.0, b);
  return (r < 0) != (b < 0) ? r + b : r;
}
static inline double floor_float(double a, double b) {
  double r = fmod(a, b);
  double q = (a - r) / b;
  double whole;
  if (r != 0 && (r < 0) != (b < 0)) q -= 1.0;
  if (q == 0) return copysign(0.0, a / b);
  whole = floor(q);
  return q - whole > 0.5 ? whole + 1.0 : whole;
}
static inline int64_t min_int(int64_t a, int64_t b) { return b < a ? b : a; }
static inline int64_t max_int(int64_t a, int64_t b) { return b > a ? b : a; }
static inline double min_float(double a, double b) { return b < a ? b : a; }
static inline double max_float(double a, double b) { return b > a ? b : a; }
static inline int64_t abs_int(int64_t a) { return a < 0 ? -a : a; }
/* The distance from |a| to the next larger double, as math.ulp has it. */
static inline double ulp(double a) {
  uint64_t bits;
  double next;
  a = fabs(a);
  if (!(a < INFINITY)) return a;
  /* The bits of doubles from 0 up are whole numbers in the same order. */
  memcpy(&bits, &a, sizeof bits);
  bits += 1;
  memcpy(&next, &bits, sizeof next);
  return next < INFINITY ? next - a : a - nextafter(a, 0.0);
}
/* The bits that are set in the absolute value, as Python counts them. */
static inline int64_t bit_count(int64_t a) {
  uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a;
  x -= x >> 1 & UINT64_C(0x5555555555555555);
  x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (int64_t)(x * UINT64_C(0x0101010101010101) >> 56);
}
