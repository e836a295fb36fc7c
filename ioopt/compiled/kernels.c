/* text c3b92d3005ebe5075a1608a4a7e7c011d729db1a643a7cf05a690a7f05dcec78 */
/* Written by scripts/tools/kernels.py from the kernel text; do not edit. */
#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef _WIN32
#define EXPORTED __declspec(dllexport)
#else
#define EXPORTED __attribute__((visibility("default")))
#endif
#ifdef __GNUC__
#define APART __attribute__((noinline))
#else
#define APART
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

#define batch_io_adaptive_PAYS 0.999999999
#define batch_io_boxes_OVERDUE_SECONDS 300LL
#define batch_io_state_COMPUTING 1LL
#define batch_io_state_ENDED 3LL
#define batch_io_state_NOBODY (-1LL)
#define batch_io_state_TRANSFERRING 2LL
#define batch_io_state_WAITING 0LL
#define batch_io_state_WORD 62LL
#define decisions_ordering_NEAR 1.000000011
#define decisions_ordering_TIME_TOLERANCE_SECONDS 1e-09
#define decisions_ordering_TIME_TOLERANCE_ULPS 4LL
#define exact_enumeration_kernel_DONE 0LL
#define exact_enumeration_kernel_FOUND 1LL
#define exact_enumeration_kernel_LIMIT 2LL
#define exact_enumeration_kernel_STUCK 3LL
#define measure_perturbation_kernel_ALL_TO_ALL 0LL
#define measure_perturbation_kernel_PAIRS 2LL
#define measure_perturbation_kernel_RING 1LL
#define search_anneal_kernel_LOG_TABLE 4096LL
#define search_anneal_kernel_MODULUS 2147483647LL
#define search_anneal_kernel_MULTIPLIER 16807LL
#define search_anneal_kernel_TEMPERATURES 512LL

typedef struct {
  int64_t arrived;
  int64_t ended;
  int64_t waiting;
  int64_t lined_up;
  int64_t num_running;
  int64_t free;
  uint8_t freed;
  uint8_t changed;
  uint8_t queue_changed;
  uint8_t more;
  int64_t outstanding;
  int64_t load;
  int64_t num_fresh;
  uint8_t crowded;
  int64_t nodes;
  int64_t steps;
  int64_t num_spans;
  int64_t events;
  int64_t decisions;
  double now;
  double until;
  double useful;
  double turned;
  double since;
  double rho;
  double weight;
} batch_io_state_Clock;

typedef struct {
  int64_t number;
  int64_t id;
  int64_t status;
  int64_t place;
  int64_t last_place;
  int64_t slot;
  int64_t block;
  int64_t units;
  int64_t nodes;
  int64_t asked_nodes;
  uint8_t granted;
  uint8_t killed;
  double peak;
  double volume;
  double base;
  double rate;
  double anchor;
  double due;
  double began;
  double submit;
  double start;
  double walltime;
  double end;
  double length;
  double box_start;
  double box_end;
} batch_io_state_Job;

typedef struct {
  int64_t total;
  uint8_t partition;
  uint8_t closed;
  uint8_t kill;
  uint8_t easy;
  uint8_t wfp;
  uint8_t short_first;
  uint8_t short_behind;
  uint8_t event;
  uint8_t boxed;
  uint8_t numbered;
  uint8_t overlaps;
  uint8_t conservative;
  uint8_t rebuild;
  uint8_t keeps;
  uint8_t ignores_limit;
  uint8_t full_when_fits;
  uint8_t shared;
  uint8_t record;
  double window_first;
  double window_last;
} batch_io_state_Rules;

typedef struct {
  double node_rate;
  double storage;
  int64_t unit_nodes;
  int64_t capacity_units;
  int64_t saturating_units;
  double eps;
  double slack;
  uint8_t exact;
  double interference;
  uint8_t own_peaks;
  double zero;
} decisions_batch_io_Limits;

typedef struct {
  int64_t id;
  int64_t nodes;
  int64_t units;
  double peak;
  double requested;
  double left;
  double moved;
  double start;
  double compute_so_far;
  double ideal_so_far;
  double iteration;
  double weight;
} decisions_batch_io_Request;

typedef struct {
  int64_t io;
  int64_t ready;
  int64_t completed;
} measure_io_kernel_Process;

typedef struct {
  int64_t start;
  int64_t length;
} measure_io_kernel_Window;

typedef struct {
  int64_t at;
  int64_t since;
  int64_t owed;
  int64_t done;
  int64_t sent;
} measure_perturbation_kernel_Process;

typedef struct {
  batch_io_state_Job *at;
  int64_t length;
} list_batch_io_state_Job;

typedef struct {
  decisions_batch_io_Request *at;
  int64_t length;
} list_decisions_batch_io_Request;

typedef struct {
  double *at;
  int64_t length;
} list_double;

typedef struct {
  int64_t *at;
  int64_t length;
} list_int64_t;

typedef struct {
  measure_io_kernel_Process *at;
  int64_t length;
} list_measure_io_kernel_Process;

typedef struct {
  measure_io_kernel_Window *at;
  int64_t length;
} list_measure_io_kernel_Window;

typedef struct {
  measure_perturbation_kernel_Process *at;
  int64_t length;
} list_measure_perturbation_kernel_Process;

typedef struct {
  uint8_t *at;
  int64_t length;
} list_uint8_t;

typedef struct batch_io_state_Agenda batch_io_state_Agenda;

typedef struct batch_io_state_Profile batch_io_state_Profile;

typedef struct batch_io_state_Spans batch_io_state_Spans;

typedef struct batch_io_state_System batch_io_state_System;

typedef struct batch_io_state_Units batch_io_state_Units;

typedef struct decisions_batch_io_KernelView decisions_batch_io_KernelView;

typedef struct exact_enumeration_kernel_Data exact_enumeration_kernel_Data;

typedef struct exact_enumeration_kernel_State exact_enumeration_kernel_State;

typedef struct measure_io_kernel_Server measure_io_kernel_Server;

typedef struct measure_perturbation_kernel_Pile measure_perturbation_kernel_Pile;

typedef struct measure_perturbation_kernel_Program measure_perturbation_kernel_Program;

typedef struct measure_perturbation_kernel_Table measure_perturbation_kernel_Table;

typedef struct search_anneal_kernel_Data search_anneal_kernel_Data;

typedef struct search_anneal_kernel_State search_anneal_kernel_State;

struct batch_io_state_Agenda {
  list_int64_t running;
  list_double times;
  list_double targets;
  list_int64_t due;
};

struct batch_io_state_Profile {
  list_int64_t marks;
  list_double mark_times;
  list_double step_times;
  list_int64_t step_free;
};

struct batch_io_state_Spans {
  int64_t room;
  list_int64_t place;
  list_double since;
  list_double until;
  list_double rate;
};

struct batch_io_state_System {
  decisions_batch_io_Limits * limits;
  batch_io_state_Rules * rules;
  list_batch_io_state_Job jobs;
  list_decisions_batch_io_Request requests;
  list_double compute;
  list_double volume;
  list_double asked;
  list_double grant;
  list_double finish;
  list_int64_t arrival_jobs;
  list_double arrivals;
  batch_io_state_Agenda * agenda;
  list_int64_t line;
  list_double keys;
  list_int64_t order;
  batch_io_state_Units * units;
  batch_io_state_Profile * profile;
  decisions_batch_io_KernelView * view;
  list_double rates;
  list_int64_t fresh;
  batch_io_state_Spans * spans;
};

struct batch_io_state_Units {
  int64_t words;
  list_int64_t busy;
  list_double free_from;
  list_int64_t in_use;
  list_int64_t taken;
  list_int64_t chosen;
};

struct decisions_batch_io_KernelView {
  decisions_batch_io_Limits * limits;
  list_decisions_batch_io_Request jobs;
  list_int64_t out;
  int64_t size;
  double now;
  int64_t top;
  int64_t power;
  list_double keys;
  list_int64_t order;
  list_double depths;
  list_double sizes;
  list_double finishes;
  list_int64_t bits;
  int64_t width;
  int64_t words;
  list_double loads;
  list_int64_t values;
  list_int64_t rows;
};

struct exact_enumeration_kernel_Data {
  int64_t num_nodes;
  int64_t num_tasks;
  int64_t num_files;
  int64_t num_kinds;
  list_int64_t ptr;
  list_int64_t files;
  list_int64_t work;
  list_int64_t alike;
  list_int64_t kind;
  list_int64_t far;
  list_int64_t size;
  list_int64_t base;
  list_int64_t divisor;
  list_int64_t opt_ptr;
  list_int64_t opt_load;
  list_int64_t opt_low;
  list_int64_t opt_excess;
  list_int64_t opt_has;
  int64_t room;
};

struct exact_enumeration_kernel_State {
  list_int64_t assign;
  list_int64_t mask;
  list_int64_t cost;
  list_int64_t top;
  list_int64_t load;
  list_int64_t used;
  list_int64_t count;
  list_int64_t low;
  list_int64_t group;
  list_int64_t end;
  list_int64_t fetch;
  list_int64_t must;
  list_int64_t chosen;
  list_int64_t spare;
  list_int64_t total;
  list_int64_t stored;
  int64_t depth;
  int64_t upper;
  int64_t visited;
};

struct measure_io_kernel_Server {
  int64_t cycle;
  int64_t horizon;
  int64_t per_process;
  list_measure_io_kernel_Window windows;
  list_measure_io_kernel_Process processes;
  list_int64_t bursts;
  list_int64_t process;
  list_int64_t asked;
  list_int64_t begin;
  list_int64_t burst;
  list_int64_t finish;
};

struct measure_perturbation_kernel_Pile {
  list_int64_t start;
};

struct measure_perturbation_kernel_Program {
  int64_t num_intervals;
  int64_t width;
  int64_t blocking;
  int64_t cost;
  list_int64_t ends;
  list_int64_t sends;
  list_int64_t targets;
  list_measure_perturbation_kernel_Process processes;
};

struct measure_perturbation_kernel_Table {
  int64_t processors;
  int64_t num_slots;
  int64_t quantum;
  int64_t end;
  int64_t noted_end;
  int64_t counted_slots;
  list_uint8_t runs;
  list_int64_t received;
  list_int64_t progress;
};

struct search_anneal_kernel_Data {
  int64_t num_nodes;
  int64_t num_tasks;
  int64_t num_files;
  list_int64_t ptr;
  list_int64_t files;
  list_int64_t work;
  list_int64_t far;
  list_int64_t near;
  list_int64_t sizes;
  list_int64_t held;
  list_int64_t fixed_root;
  list_int64_t room;
  int64_t copying;
  double scale;
  double disk_scale;
  list_double logs;
  list_double temperatures;
};

struct search_anneal_kernel_State {
  list_int64_t node;
  list_int64_t root;
  list_int64_t readers;
  list_int64_t others;
  list_int64_t load;
  list_int64_t used;
  list_int64_t best_node;
  list_int64_t best_root;
  list_int64_t trail;
  int64_t seed;
  int64_t step;
  int64_t best_load;
  int64_t best_over;
  int64_t trail_length;
};

typedef struct { double v0; double v1; } tuple_float_float;

typedef struct { double v0; int64_t v1; } tuple_float_int;

typedef void (*function_decisions_batch_io_KernelView_list_float_None)(decisions_batch_io_KernelView *, list_double);

EXPORTED void batch_io_adaptive_adaptive(decisions_batch_io_KernelView * view, list_double rates);
static void batch_io_adaptive_insert_at(list_double values, int64_t place, int64_t size, double value);
static int64_t batch_io_adaptive_members_to_wait_for(list_double sizes, int64_t size, double nodes, double room);
static tuple_float_float batch_io_adaptive_play(decisions_batch_io_KernelView * view, int64_t size, int64_t without, double peak, double slack);
EXPORTED void batch_io_adaptive_share_chosen(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_adaptive_share_played(decisions_batch_io_KernelView * view, list_double rates);
static double batch_io_adaptive_sum_of_finishes(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full);
static double batch_io_adaptive_sum_with(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full, int64_t own, double joining, int64_t place, double most);
static int64_t batch_io_agenda_collect(batch_io_state_System * run, batch_io_state_Clock * clock, double slack);
static int64_t batch_io_agenda_comes_before(batch_io_state_Job * one, batch_io_state_Job * other);
static void batch_io_agenda_leave_slot(batch_io_state_System * run, batch_io_state_Job * job, int64_t last);
static double batch_io_agenda_next_time(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_agenda_overdue(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_agenda_put_due(batch_io_state_System * run, int64_t count, int64_t j);
static void batch_io_agenda_take_slot(batch_io_state_System * run, int64_t slot, batch_io_state_Job * job);
EXPORTED void batch_io_base_line_even_split(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_base_line_per_application(decisions_batch_io_KernelView * view, list_double rates);
static int64_t batch_io_boxes_blocked_at(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at);
static int64_t batch_io_boxes_choose_units(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double start, double stop);
static void batch_io_boxes_drop(batch_io_state_Job * job);
static int64_t batch_io_boxes_first_fit(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_boxes_lay_out(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_boxes_lowest_block(batch_io_state_System * run, int64_t units);
static void batch_io_boxes_mark(batch_io_state_System * run, int64_t k, int64_t code, double time);
static void batch_io_boxes_note_taken(batch_io_state_System * run, batch_io_state_Job * job, double start, double stop);
static void batch_io_boxes_open_step(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t at, double time);
static double batch_io_boxes_passed(batch_io_state_System * run, batch_io_state_Clock * clock);
static double batch_io_boxes_predicted_end(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_boxes_put(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at, double length);
static void batch_io_boxes_shift(batch_io_state_System * run, batch_io_state_Job * job, int64_t first, int64_t last, int64_t sign);
static int64_t batch_io_boxes_step_from(batch_io_state_System * run, batch_io_state_Clock * clock, double time);
static void batch_io_boxes_take_out(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static double batch_io_boxes_tolerance(batch_io_state_System * run, double time);
static int64_t batch_io_boxes_units_free(batch_io_state_System * run, batch_io_state_Job * job);
static void batch_io_conservative_aggregate_slowdowns(decisions_batch_io_KernelView * view);
static void batch_io_conservative_by_key_down(decisions_batch_io_KernelView * view);
EXPORTED void batch_io_conservative_cons_fcfs(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_cons_min_aggr_sld(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_cons_min_inst_sld(decisions_batch_io_KernelView * view, list_double rates);
static void batch_io_conservative_instant_slowdowns(decisions_batch_io_KernelView * view);
EXPORTED void batch_io_conservative_kept_fcfs(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_most_aggr_sld(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_most_inst_sld(decisions_batch_io_KernelView * view, list_double rates);
static double batch_io_conservative_of_nothing(decisions_batch_io_KernelView * view, double waited);
EXPORTED int64_t batch_io_engine_advance(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide, int64_t instants);
static int64_t batch_io_engine_backfill(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn, int64_t least);
static int64_t batch_io_engine_batch_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_engine_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static void batch_io_engine_end_due(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_engine_kill_overdue(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_engine_look(batch_io_state_System * run, batch_io_state_Clock * clock);
EXPORTED void batch_io_engine_never_asked(decisions_batch_io_KernelView * view, list_double rates);
static void batch_io_engine_open_instant(batch_io_state_System * run, batch_io_state_Clock * clock, double instant);
static tuple_float_int batch_io_engine_reserve_block(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units);
static tuple_float_int batch_io_engine_reserve_flat(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units);
static void batch_io_engine_run_queue(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_engine_take_arrivals(batch_io_state_System * run, batch_io_state_Clock * clock);
EXPORTED void batch_io_fill_fill(decisions_batch_io_KernelView * view, list_double rates);
static void batch_io_jobs_begin_phase(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static void batch_io_jobs_end_job(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_jobs_finish(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_jobs_go_on(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_jobs_kill(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_jobs_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_max_util_add_states(decisions_batch_io_KernelView * view, int64_t j, double peak, int64_t units, double room);
EXPORTED void batch_io_max_util_cons_max_util(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_max_util_mark_best(decisions_batch_io_KernelView * view, list_double rates);
static void batch_io_max_util_mark_by_value(decisions_batch_io_KernelView * view, list_double rates, double room);
static void batch_io_max_util_mark_subset(decisions_batch_io_KernelView * view, list_double rates, int64_t total);
static int64_t batch_io_max_util_reaches(decisions_batch_io_KernelView * view, int64_t k, int64_t units);
static void batch_io_max_util_subset_sums(decisions_batch_io_KernelView * view);
static int64_t batch_io_plans_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double length);
static int64_t batch_io_plans_boxed_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_plans_can_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static int64_t batch_io_plans_conservative_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_plans_drop_boxes(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_plans_missed(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_plans_numbered_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_plans_startable(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t last);
EXPORTED void batch_io_set10_set_10(decisions_batch_io_KernelView * view, list_double rates);
static int64_t batch_io_storage_all_fit(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_storage_apply_decision(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide);
static void batch_io_storage_ask_and_set(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide);
static void batch_io_storage_change(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double rate);
static void batch_io_storage_enter(batch_io_state_System * run, int64_t count, batch_io_state_Job * job);
static void batch_io_storage_grant_peaks(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_storage_issue(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static void batch_io_storage_leave(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_storage_note_span(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, double since, double until, double rate);
static void batch_io_storage_remove(batch_io_state_System * run, int64_t count, batch_io_state_Job * job);
static void batch_io_storage_set_clock(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_storage_set_rho(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_storage_settle(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void batch_io_storage_update_progress(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_storage_use(batch_io_state_System * run, batch_io_state_Clock * clock, double since, double until, double nodes);
static void batch_io_waiting_arrive(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static double batch_io_waiting_block_free_from(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, int64_t units);
static void batch_io_waiting_close_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_waiting_find_place(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length);
static void batch_io_waiting_line_up(batch_io_state_System * run, batch_io_state_Clock * clock);
static int64_t batch_io_waiting_line_up_ends(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_waiting_line_up_rest(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn);
static void batch_io_waiting_line_up_scores(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_waiting_line_up_units(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_waiting_mend_close(list_int64_t jobs, list_double keys, int64_t count);
static tuple_float_int batch_io_waiting_next_end(batch_io_state_System * run, int64_t turn);
static void batch_io_waiting_occupy(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static int64_t batch_io_waiting_smallest(batch_io_state_System * run, batch_io_state_Clock * clock);
static void batch_io_waiting_vacate(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static void decisions_batch_io_as_they_came(decisions_batch_io_KernelView * view);
static void decisions_batch_io_by_key(decisions_batch_io_KernelView * view);
static void decisions_batch_io_first_fit(decisions_batch_io_KernelView * view, list_double rates);
static int64_t decisions_batch_io_place_by_level(decisions_batch_io_KernelView * view, int64_t size, int64_t k, double weight);
EXPORTED void decisions_batch_io_share_by_nodes(decisions_batch_io_KernelView * view, list_double rates);
static void decisions_batch_io_share_out(decisions_batch_io_KernelView * view, list_double rates, int64_t size, double left);
static void decisions_batch_io_slow_down(list_double rates, int64_t count, double storage, double interference);
static void decisions_batch_io_top_up(decisions_batch_io_KernelView * view, list_double rates, double left);
static int64_t decisions_ordering_below(double one, double other);
static int64_t decisions_ordering_close(double one, double other);
static void decisions_ordering_insert_by_digits(list_double keys, list_int64_t order, int64_t count, int64_t use_exact);
static double decisions_ordering_nine_digits(double value);
static double decisions_ordering_power_of_ten(int64_t exponent);
static int64_t decisions_ordering_precedes(list_double keys, int64_t one, int64_t other);
static double decisions_ordering_scan(list_double values, int64_t first, int64_t count);
static int64_t decisions_ordering_search(list_double values, double value, int64_t place, int64_t end);
static void decisions_ordering_shell_sort(list_double keys, list_int64_t items, int64_t first, int64_t last);
static double decisions_ordering_time_tolerance(double now);
static int64_t exact_enumeration_kernel_bits(int64_t mask);
static int64_t exact_enumeration_kernel_choose(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static void exact_enumeration_kernel_lay_out(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t spare);
static int64_t exact_enumeration_kernel_may_fit(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place);
static int64_t exact_enumeration_kernel_place(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t depth);
EXPORTED int64_t exact_enumeration_kernel_search(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t limit, int64_t leaf_limit);
static int64_t exact_enumeration_kernel_settle(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static int64_t exact_enumeration_kernel_take(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place, int64_t option);
static void exact_enumeration_kernel_unavoidable(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t group, int64_t spare);
EXPORTED int64_t measure_io_kernel_serve(measure_io_kernel_Server * server);
static int64_t measure_perturbation_kernel_advance(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t work);
EXPORTED int64_t measure_perturbation_kernel_barrier(measure_perturbation_kernel_Table * table, int64_t work, int64_t interval);
static void measure_perturbation_kernel_deliver(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t q, int64_t now);
static int64_t measure_perturbation_kernel_exchange(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t phase, int64_t pattern);
EXPORTED int64_t measure_perturbation_kernel_msg(measure_perturbation_kernel_Table * table, int64_t work, int64_t phase_work, int64_t rounds, int64_t pattern);
static int64_t measure_perturbation_kernel_next_running(measure_perturbation_kernel_Table * table, int64_t p, int64_t now);
static void measure_perturbation_kernel_note(measure_perturbation_kernel_Table * table, int64_t p, int64_t now);
static void measure_perturbation_kernel_note_progress(measure_perturbation_kernel_Table * table, int64_t p, int64_t since, int64_t until);
static int64_t measure_perturbation_kernel_partner(int64_t pattern, int64_t processors, int64_t p, int64_t phase, int64_t k);
static void measure_perturbation_kernel_plan_next(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t interval, int64_t q);
EXPORTED int64_t measure_perturbation_kernel_run_program(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program);
EXPORTED int64_t measure_perturbation_kernel_workpile(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Pile * pile, int64_t total, int64_t unit);
static int64_t search_anneal_kernel_draw(search_anneal_kernel_State * state, int64_t below);
static double search_anneal_kernel_energy(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static void search_anneal_kernel_keep_best(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static int64_t search_anneal_kernel_may_root(search_anneal_kernel_Data * data, int64_t file, int64_t node);
static void search_anneal_kernel_move(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static void search_anneal_kernel_note(search_anneal_kernel_State * state, int64_t file, int64_t root);
static int64_t search_anneal_kernel_other_node(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t node);
static void search_anneal_kernel_read(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node, int64_t step);
static void search_anneal_kernel_reroot(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node);
EXPORTED void search_anneal_kernel_run(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t steps, int64_t total);
static void search_anneal_kernel_shift(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static void search_anneal_kernel_undo_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);

EXPORTED void batch_io_adaptive_adaptive(decisions_batch_io_KernelView * view, list_double rates) {
  if (view->limits->own_peaks) {
    batch_io_adaptive_share_played(view, rates);
  } else {
    batch_io_adaptive_share_chosen(view, rates);
  }
}

static void batch_io_adaptive_insert_at(list_double values, int64_t place, int64_t size, double value) {
  int64_t k = 0;
  for (int64_t t_1 = size, end_t_1 = place; t_1 > end_t_1; t_1 += -1) {
    k = t_1;
    AT(values, k) = AT(values, (k - 1LL));
  }
  AT(values, place) = value;
}

static int64_t batch_io_adaptive_members_to_wait_for(list_double sizes, int64_t size, double nodes, double room) {
  int64_t k = 0;
  k = 0LL;
  while (((k < size)) && ((nodes > room))) {
    nodes = (nodes - AT(sizes, k));
    k = (k + 1LL);
  }
  return k;
}

static tuple_float_float batch_io_adaptive_play(decisions_batch_io_KernelView * view, int64_t size, int64_t without, double peak, double slack) {
  list_int64_t order = {0};
  list_double left = {0};
  list_double speeds = {0};
  double storage = 0;
  double zero = 0;
  double now = 0;
  double total = 0;
  double start = 0;
  int64_t known = 0;
  int64_t q = 0;
  int64_t k = 0;
  double busy = 0;
  decisions_batch_io_Request * request = 0;
  double step = 0;
  double seconds = 0;
  int64_t ends = 0;
  order = view->order;
  left = view->depths;
  speeds = view->finishes;
  storage = view->limits->storage;
  zero = view->limits->zero;
  now = zero;
  total = zero;
  start = zero;
  known = 0;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(order, q);
    AT(left, k) = (&AT(view->jobs, AT(view->out, k)))->left;
    if ((k == without)) {
      AT(left, k) = zero;
    }
  }
  while (1) {
    busy = zero;
    for (int64_t t_2 = 0, end_t_2 = size; t_2 < end_t_2; t_2 += 1) {
      q = t_2;
      k = AT(order, q);
      request = (&AT(view->jobs, AT(view->out, k)));
      AT(view->sizes, k) = (double)(0LL);
      if ((AT(left, k) > 0LL)) {
        AT(view->sizes, k) = (double)(request->nodes);
        busy = (busy + request->peak);
      }
    }
    if ((!(known)) && (((busy + peak) <= (storage * slack)))) {
      start = now;
      known = 1;
    }
    if ((busy == 0LL)) {
      break;
    }
    decisions_batch_io_share_out(view, speeds, size, storage);
    step = zero;
    for (int64_t t_3 = 0, end_t_3 = size; t_3 < end_t_3; t_3 += 1) {
      q = t_3;
      k = AT(order, q);
      if ((AT(left, k) > 0LL)) {
        seconds = ((double)AT(left, k) / (double)AT(speeds, k));
        if (((step == 0LL)) || ((seconds < step))) {
          step = seconds;
        }
      }
    }
    now = (now + step);
    for (int64_t t_4 = 0, end_t_4 = size; t_4 < end_t_4; t_4 += 1) {
      q = t_4;
      k = AT(order, q);
      if ((AT(left, k) > 0LL)) {
        ends = (((double)AT(left, k) / (double)AT(speeds, k)) <= step);
        AT(left, k) = (AT(left, k) - (AT(speeds, k) * step));
        if ((ends) || ((AT(left, k) <= ((&AT(view->jobs, AT(view->out, k)))->left * (slack - 1LL))))) {
          AT(left, k) = zero;
          total = (total + now);
        }
      }
    }
  }
  for (int64_t t_5 = 0, end_t_5 = size; t_5 < end_t_5; t_5 += 1) {
    q = t_5;
    AT(view->sizes, AT(order, q)) = (double)((&AT(view->jobs, AT(view->out, AT(order, q))))->nodes);
  }
  return (tuple_float_float){total, start};
}

EXPORTED void batch_io_adaptive_share_chosen(decisions_batch_io_KernelView * view, list_double rates) {
  list_decisions_batch_io_Request jobs = {0};
  list_int64_t out = {0};
  list_double depths = {0};
  list_double sizes = {0};
  list_double finishes = {0};
  double storage = 0;
  double node_rate = 0;
  double slack = 0;
  double zero = 0;
  double pays = 0;
  double full = 0;
  double room = 0;
  int64_t size = 0;
  int64_t nodes = 0;
  double waiting = 0;
  int64_t stale = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  int64_t own = 0;
  double peak = 0;
  double depth = 0;
  int64_t place = 0;
  double beside = 0;
  int64_t done = 0;
  double start = 0;
  double most = 0;
  double rho = 0;
  jobs = view->jobs;
  out = view->out;
  depths = view->depths;
  sizes = view->sizes;
  finishes = view->finishes;
  storage = view->limits->storage;
  node_rate = view->limits->node_rate;
  slack = view->limits->slack;
  zero = view->limits->zero;
  pays = (view->limits->exact ? (double)(1LL) : batch_io_adaptive_PAYS);
  full = ((double)storage / (double)node_rate);
  room = storage;
  size = 0LL;
  nodes = 0LL;
  waiting = zero;
  stale = 1;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(jobs, AT(out, k)));
    own = request->nodes;
    peak = request->peak;
    depth = ((double)request->left / (double)own);
    place = decisions_ordering_search(depths, depth, 0LL, size);
    if ((peak <= (room * slack))) {
      room = (room - peak);
    } else {
      if (stale) {
        waiting = batch_io_adaptive_sum_of_finishes(view, size, (double)(nodes), full);
        stale = 0;
      }
      beside = ((double)((storage * slack) - peak) / (double)node_rate);
      done = batch_io_adaptive_members_to_wait_for(sizes, size, (double)(nodes), beside);
      start = zero;
      if ((done > 0LL)) {
        start = AT(finishes, (done - 1LL));
      }
      most = (((waiting + start) + (((double)request->left / (double)peak) * storage)) * pays);
      if (!((batch_io_adaptive_sum_with(view, size, (double)(nodes), full, own, depth, place, most) < most))) {
        continue;
      }
      room = zero;
    }
    batch_io_adaptive_insert_at(depths, place, size, depth);
    batch_io_adaptive_insert_at(sizes, place, size, (double)(own));
    size = (size + 1LL);
    nodes = (nodes + own);
    stale = 1;
    AT(rates, k) = peak;
  }
  if (((node_rate * nodes) > storage)) {
    rho = ((double)storage / (double)nodes);
    for (int64_t t_2 = 0, end_t_2 = view->size; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      if ((AT(rates, k) > 0LL)) {
        AT(rates, k) = (rho * (&AT(view->jobs, AT(view->out, k)))->nodes);
      }
    }
  }
}

EXPORTED void batch_io_adaptive_share_played(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t size = 0;
  double room = 0;
  double slack = 0;
  double pays = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double peak = 0;
  int64_t place = 0;
  double together = 0;
  double _ = 0;
  double waiting = 0;
  double start = 0;
  int64_t q = 0;
  size = 0LL;
  room = view->limits->storage;
  slack = view->limits->slack;
  pays = (view->limits->exact ? (double)(1LL) : batch_io_adaptive_PAYS);
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    peak = request->peak;
    place = decisions_batch_io_place_by_level(view, size, k, (double)(request->nodes));
    if ((peak <= (room * slack))) {
      room = (room - peak);
    } else {
      tuple_float_float t_2 = batch_io_adaptive_play(view, (size + 1LL), view->size, peak, slack);
      together = t_2.v0;
      _ = t_2.v1;
      tuple_float_float t_3 = batch_io_adaptive_play(view, (size + 1LL), k, peak, slack);
      waiting = t_3.v0;
      start = t_3.v1;
      if (!((together < (((waiting + start) + ((double)request->left / (double)peak)) * pays)))) {
        for (int64_t t_4 = place, end_t_4 = size; t_4 < end_t_4; t_4 += 1) {
          q = t_4;
          AT(view->order, q) = AT(view->order, (q + 1LL));
        }
        continue;
      }
      room = view->limits->zero;
    }
    size = (size + 1LL);
  }
  decisions_batch_io_share_out(view, rates, size, view->limits->storage);
}

static double batch_io_adaptive_sum_of_finishes(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full) {
  list_double depths = {0};
  list_double sizes = {0};
  list_double finishes = {0};
  double before = 0;
  double now = 0;
  double total = 0;
  int64_t k = 0;
  double width = 0;
  depths = view->depths;
  sizes = view->sizes;
  finishes = view->finishes;
  before = view->limits->zero;
  now = view->limits->zero;
  total = view->limits->zero;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    width = full;
    if ((nodes > full)) {
      width = nodes;
    }
    now = (now + ((AT(depths, k) - before) * width));
    before = AT(depths, k);
    nodes = (nodes - AT(sizes, k));
    AT(finishes, k) = now;
    total = (total + now);
  }
  return total;
}

static double batch_io_adaptive_sum_with(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full, int64_t own, double joining, int64_t place, double most) {
  list_double depths = {0};
  list_double sizes = {0};
  double before = 0;
  double now = 0;
  double total = 0;
  int64_t k = 0;
  double depth = 0;
  double width = 0;
  depths = view->depths;
  sizes = view->sizes;
  before = view->limits->zero;
  now = view->limits->zero;
  total = view->limits->zero;
  nodes = (nodes + own);
  for (int64_t t_1 = 0, end_t_1 = place; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    depth = AT(depths, k);
    width = full;
    if ((nodes > full)) {
      width = nodes;
    }
    now = (now + ((depth - before) * width));
    before = depth;
    total = (total + now);
    nodes = (nodes - AT(sizes, k));
  }
  width = full;
  if ((nodes > full)) {
    width = nodes;
  }
  now = (now + ((joining - before) * width));
  before = joining;
  total = (total + now);
  nodes = (nodes - own);
  for (int64_t t_2 = place, end_t_2 = size; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    if ((total >= most)) {
      break;
    }
    depth = AT(depths, k);
    width = full;
    if ((nodes > full)) {
      width = nodes;
    }
    now = (now + ((depth - before) * width));
    before = depth;
    total = (total + now);
    nodes = (nodes - AT(sizes, k));
  }
  return total;
}

static int64_t batch_io_agenda_collect(batch_io_state_System * run, batch_io_state_Clock * clock, double slack) {
  list_double times = {0};
  list_double targets = {0};
  double until = 0;
  double turned = 0;
  int64_t shared = 0;
  int64_t found = 0;
  int64_t k = 0;
  times = run->agenda->times;
  targets = run->agenda->targets;
  until = clock->until;
  turned = clock->turned;
  shared = run->rules->shared;
  found = 0LL;
  for (int64_t t_1 = 0, end_t_1 = clock->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    if (((AT(times, k) <= until)) || ((shared) && (((AT(targets, k) - turned) <= slack)))) {
      batch_io_agenda_put_due(run, found, AT(run->agenda->running, k));
      AT(times, k) = INFINITY;
      AT(targets, k) = INFINITY;
      found = (found + 1LL);
    }
  }
  return found;
}

static int64_t batch_io_agenda_comes_before(batch_io_state_Job * one, batch_io_state_Job * other) {
  if ((one->status != other->status)) {
    return (one->status > other->status);
  }
  if (((one->status == batch_io_state_COMPUTING)) && ((one->due != other->due))) {
    return (one->due < other->due);
  }
  return (one->id < other->id);
}

static void batch_io_agenda_leave_slot(batch_io_state_System * run, batch_io_state_Job * job, int64_t last) {
  batch_io_state_Agenda * agenda = 0;
  int64_t slot = 0;
  int64_t moved = 0;
  agenda = run->agenda;
  slot = job->slot;
  moved = AT(agenda->running, last);
  AT(agenda->running, slot) = moved;
  (&AT(run->jobs, moved))->slot = slot;
  AT(agenda->times, slot) = AT(agenda->times, last);
  AT(agenda->targets, slot) = AT(agenda->targets, last);
  AT(agenda->times, last) = INFINITY;
  AT(agenda->targets, last) = INFINITY;
}

static double batch_io_agenda_next_time(batch_io_state_System * run, batch_io_state_Clock * clock) {
  batch_io_state_Agenda * agenda = 0;
  double time = 0;
  double target = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  agenda = run->agenda;
  time = decisions_ordering_scan(agenda->times, 0LL, clock->num_running);
  if ((clock->rho > 0LL)) {
    target = decisions_ordering_scan(agenda->targets, 0LL, clock->num_running);
    time = min_float(time, (clock->since + ((double)(target - clock->turned) / (double)clock->rho)));
  }
  if (run->rules->kill) {
    for (int64_t t_1 = 0, end_t_1 = clock->num_running; t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      job = (&AT(run->jobs, AT(agenda->running, k)));
      time = min_float(time, (job->start + job->walltime));
    }
  }
  return time;
}

static int64_t batch_io_agenda_overdue(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_int64_t due = {0};
  int64_t found = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  double end = 0;
  int64_t at = 0;
  batch_io_state_Job * other = 0;
  double time = 0;
  due = run->agenda->due;
  found = 0LL;
  for (int64_t t_1 = 0, end_t_1 = clock->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(run->jobs, AT(run->agenda->running, k)));
    end = (job->start + job->walltime);
    if ((end <= clock->until)) {
      at = found;
      while ((at > 0LL)) {
        other = (&AT(run->jobs, AT(due, (at - 1LL))));
        time = (other->start + other->walltime);
        if ((time < end)) {
          break;
        }
        if (((time == end)) && ((other->id < job->id))) {
          break;
        }
        AT(due, at) = AT(due, (at - 1LL));
        at = (at - 1LL);
      }
      AT(due, at) = job->number;
      found = (found + 1LL);
    }
  }
  return found;
}

static void batch_io_agenda_put_due(batch_io_state_System * run, int64_t count, int64_t j) {
  list_int64_t due = {0};
  due = run->agenda->due;
  while (((count > 0LL)) && (batch_io_agenda_comes_before((&AT(run->jobs, j)), (&AT(run->jobs, AT(due, (count - 1LL))))))) {
    AT(due, count) = AT(due, (count - 1LL));
    count = (count - 1LL);
  }
  AT(due, count) = j;
}

static void batch_io_agenda_take_slot(batch_io_state_System * run, int64_t slot, batch_io_state_Job * job) {
  job->slot = slot;
  AT(run->agenda->running, slot) = job->number;
}

EXPORTED void batch_io_base_line_even_split(decisions_batch_io_KernelView * view, list_double rates) {
  double part = 0;
  int64_t k = 0;
  part = ((double)view->limits->storage / (double)max_int(1LL, view->size));
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(rates, k) = min_float((&AT(view->jobs, AT(view->out, k)))->peak, part);
  }
}

EXPORTED void batch_io_base_line_per_application(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    decisions_batch_io_place_by_level(view, k, k, (double)(1LL));
  }
  decisions_batch_io_share_out(view, rates, view->size, view->limits->storage);
}

static int64_t batch_io_boxes_blocked_at(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at) {
  list_double times = {0};
  list_int64_t free = {0};
  int64_t units = 0;
  int64_t steps = 0;
  int64_t counted = 0;
  double start = 0;
  double stop = 0;
  int64_t k = 0;
  times = run->profile->step_times;
  free = run->profile->step_free;
  units = job->units;
  steps = clock->steps;
  counted = (!((run->rules->numbered) && (run->rules->overlaps)));
  start = AT(times, at);
  stop = (start + job->length);
  stop = (stop - batch_io_boxes_tolerance(run, stop));
  k = at;
  while (((k == at)) || (((k < steps)) && ((AT(times, k) < stop)))) {
    if ((counted) && ((AT(free, k) < units))) {
      return (k + 1LL);
    }
    k = (k + 1LL);
  }
  if ((run->rules->numbered) && (!(batch_io_boxes_choose_units(run, clock, job, start, stop)))) {
    return (at + 1LL);
  }
  return batch_io_state_NOBODY;
}

static int64_t batch_io_boxes_choose_units(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double start, double stop) {
  batch_io_state_Units * units = 0;
  int64_t word = 0;
  int64_t k = 0;
  int64_t missing = 0;
  int64_t own = 0;
  int64_t count = 0;
  int64_t free = 0;
  int64_t chosen = 0;
  int64_t lowest = 0;
  units = run->units;
  for (int64_t t_1 = 0, end_t_1 = units->words; t_1 < end_t_1; t_1 += 1) {
    word = t_1;
    AT(units->taken, word) = 0LL;
  }
  for (int64_t t_2 = 0, end_t_2 = clock->num_running; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    batch_io_boxes_note_taken(run, (&AT(run->jobs, AT(run->agenda->running, k))), start, stop);
  }
  for (int64_t t_3 = 0, end_t_3 = clock->lined_up; t_3 < end_t_3; t_3 += 1) {
    k = t_3;
    batch_io_boxes_note_taken(run, (&AT(run->jobs, AT(run->line, k))), start, stop);
  }
  if (run->rules->partition) {
    int64_t t_4 = batch_io_boxes_lowest_block(run, job->units);
    job->block = t_4;
    return (job->block >= 0LL);
  }
  missing = job->units;
  own = (job->number * units->words);
  for (int64_t t_5 = 0, end_t_5 = units->words; t_5 < end_t_5; t_5 += 1) {
    word = t_5;
    count = min_int(batch_io_state_WORD, (run->rules->total - (word * batch_io_state_WORD)));
    free = ((~AT(units->taken, word)) & ((1LL << count) - 1LL));
    chosen = 0LL;
    while ((free) && (missing)) {
      lowest = (free & (-free));
      chosen = (chosen | lowest);
      free = (free ^ lowest);
      missing = (missing - 1LL);
    }
    AT(units->chosen, (own + word)) = chosen;
  }
  return (missing == 0LL);
}

static void batch_io_boxes_drop(batch_io_state_Job * job) {
  job->box_start = (-INFINITY);
  job->box_end = (-INFINITY);
}

static int64_t batch_io_boxes_first_fit(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t at = 0;
  int64_t blocked = 0;
  at = 0LL;
  blocked = batch_io_boxes_blocked_at(run, clock, job, at);
  while ((blocked != batch_io_state_NOBODY)) {
    at = blocked;
    blocked = batch_io_boxes_blocked_at(run, clock, job, at);
  }
  return at;
}

static void batch_io_boxes_lay_out(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_batch_io_state_Job jobs = {0};
  batch_io_state_Profile * profile = 0;
  double now = 0;
  int64_t free = 0;
  int64_t count = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  int64_t code = 0;
  double time = 0;
  int64_t at = 0;
  double last = 0;
  jobs = run->jobs;
  profile = run->profile;
  now = clock->now;
  free = run->rules->total;
  count = 0LL;
  for (int64_t t_1 = 0, end_t_1 = clock->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(jobs, AT(run->agenda->running, k)));
    job->box_start = now;
    double t_2 = batch_io_boxes_predicted_end(run, clock, job);
    job->box_end = t_2;
    free = (free - job->units);
    batch_io_boxes_mark(run, count, ((2LL * job->number) + 1LL), job->box_end);
    count = (count + 1LL);
  }
  for (int64_t t_3 = 0, end_t_3 = clock->lined_up; t_3 < end_t_3; t_3 += 1) {
    k = t_3;
    job = (&AT(jobs, AT(run->line, k)));
    if ((job->box_start < job->box_end)) {
      batch_io_boxes_mark(run, count, (2LL * job->number), job->box_start);
      batch_io_boxes_mark(run, (count + 1LL), ((2LL * job->number) + 1LL), job->box_end);
      count = (count + 2LL);
    }
  }
  decisions_ordering_shell_sort(profile->mark_times, profile->marks, 0LL, count);
  AT(profile->step_times, 0LL) = now;
  AT(profile->step_free, 0LL) = free;
  clock->steps = 1LL;
  for (int64_t t_4 = 0, end_t_4 = count; t_4 < end_t_4; t_4 += 1) {
    k = t_4;
    code = AT(profile->marks, k);
    time = AT(profile->mark_times, code);
    at = (clock->steps - 1LL);
    last = AT(profile->step_times, at);
    if ((time > (last + batch_io_boxes_tolerance(run, last)))) {
      at = clock->steps;
      last = time;
      batch_io_boxes_open_step(run, clock, at, time);
    }
    job = (&AT(jobs, floor_int(code, 2LL)));
    if (mod_int(code, 2LL)) {
      job->box_end = last;
      batch_io_boxes_shift(run, job, at, (at + 1LL), 1LL);
    } else {
      job->box_start = last;
      batch_io_boxes_shift(run, job, at, (at + 1LL), (-1LL));
    }
  }
}

static int64_t batch_io_boxes_lowest_block(batch_io_state_System * run, int64_t units) {
  list_int64_t taken = {0};
  int64_t block = 0;
  int64_t place = 0;
  int64_t unit = 0;
  taken = run->units->taken;
  for (int64_t t_1 = 0, end_t_1 = floor_int(run->rules->total, units); t_1 < end_t_1; t_1 += 1) {
    block = t_1;
    place = (block * units);
    unit = place;
    while (((unit < (place + units))) && (!(((AT(taken, floor_int(unit, batch_io_state_WORD)) >> mod_int(unit, batch_io_state_WORD)) & 1LL)))) {
      unit = (unit + 1LL);
    }
    if ((unit == (place + units))) {
      return place;
    }
  }
  return (-1LL);
}

static void batch_io_boxes_mark(batch_io_state_System * run, int64_t k, int64_t code, double time) {
  AT(run->profile->marks, k) = code;
  AT(run->profile->mark_times, code) = time;
}

static void batch_io_boxes_note_taken(batch_io_state_System * run, batch_io_state_Job * job, double start, double stop) {
  double since = 0;
  batch_io_state_Units * units = 0;
  int64_t unit = 0;
  int64_t own = 0;
  int64_t word = 0;
  since = job->box_start;
  if (((since >= job->box_end)) || ((job->box_end <= start))) {
    return;
  }
  if (((since >= stop)) && ((since > start))) {
    return;
  }
  units = run->units;
  if (run->rules->partition) {
    for (int64_t t_1 = job->block, end_t_1 = (job->block + job->units); t_1 < end_t_1; t_1 += 1) {
      unit = t_1;
      AT(units->taken, floor_int(unit, batch_io_state_WORD)) = (AT(units->taken, floor_int(unit, batch_io_state_WORD)) | (1LL << mod_int(unit, batch_io_state_WORD)));
    }
  } else {
    own = (job->number * units->words);
    for (int64_t t_2 = 0, end_t_2 = units->words; t_2 < end_t_2; t_2 += 1) {
      word = t_2;
      AT(units->taken, word) = (AT(units->taken, word) | AT(units->chosen, (own + word)));
    }
  }
}

static void batch_io_boxes_open_step(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t at, double time) {
  list_double times = {0};
  list_int64_t free = {0};
  int64_t k = 0;
  times = run->profile->step_times;
  free = run->profile->step_free;
  for (int64_t t_1 = clock->steps, end_t_1 = at; t_1 > end_t_1; t_1 += -1) {
    k = t_1;
    AT(times, k) = AT(times, (k - 1LL));
    AT(free, k) = AT(free, (k - 1LL));
  }
  AT(times, at) = time;
  AT(free, at) = AT(free, (at - 1LL));
  clock->steps = (clock->steps + 1LL);
}

static double batch_io_boxes_passed(batch_io_state_System * run, batch_io_state_Clock * clock) {
  if (run->rules->event) {
    double t_1 = clock->now;
    return (t_1 - decisions_ordering_time_tolerance(clock->now));
  }
  double t_2 = clock->now;
  return (t_2 + batch_io_boxes_tolerance(run, clock->now));
}

static double batch_io_boxes_predicted_end(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  double end = 0;
  end = (job->start + job->walltime);
  if ((end > batch_io_boxes_passed(run, clock))) {
    return end;
  }
  return (clock->now + batch_io_boxes_OVERDUE_SECONDS);
}

static void batch_io_boxes_put(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at, double length) {
  double start = 0;
  double end = 0;
  double slack = 0;
  int64_t until = 0;
  start = AT(run->profile->step_times, at);
  end = (start + length);
  job->box_start = start;
  job->box_end = start;
  slack = batch_io_boxes_tolerance(run, end);
  until = batch_io_boxes_step_from(run, clock, (end - slack));
  if ((until <= at)) {
    return;
  }
  if (((until == clock->steps)) || ((AT(run->profile->step_times, until) > (end + slack)))) {
    batch_io_boxes_open_step(run, clock, until, end);
  }
  job->box_end = AT(run->profile->step_times, until);
  batch_io_boxes_shift(run, job, at, until, (-1LL));
}

static void batch_io_boxes_shift(batch_io_state_System * run, batch_io_state_Job * job, int64_t first, int64_t last, int64_t sign) {
  list_int64_t free = {0};
  int64_t units = 0;
  int64_t k = 0;
  free = run->profile->step_free;
  units = (sign * job->units);
  for (int64_t t_1 = first, end_t_1 = last; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(free, k) = (AT(free, k) + units);
  }
}

static int64_t batch_io_boxes_step_from(batch_io_state_System * run, batch_io_state_Clock * clock, double time) {
  list_double times = {0};
  int64_t low = 0;
  int64_t high = 0;
  int64_t middle = 0;
  times = run->profile->step_times;
  low = 0LL;
  high = clock->steps;
  while ((low < high)) {
    middle = floor_int((low + high), 2LL);
    if ((AT(times, middle) < time)) {
      low = (middle + 1LL);
    } else {
      high = middle;
    }
  }
  return low;
}

static void batch_io_boxes_take_out(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t first = 0;
  int64_t last = 0;
  if ((job->box_start < job->box_end)) {
    first = batch_io_boxes_step_from(run, clock, job->box_start);
    last = batch_io_boxes_step_from(run, clock, job->box_end);
    batch_io_boxes_shift(run, job, first, last, 1LL);
  }
  batch_io_boxes_drop(job);
}

static double batch_io_boxes_tolerance(batch_io_state_System * run, double time) {
  return (run->limits->exact ? (double)(0LL) : decisions_ordering_time_tolerance(time));
}

static int64_t batch_io_boxes_units_free(batch_io_state_System * run, batch_io_state_Job * job) {
  batch_io_state_Units * units = 0;
  int64_t taken = 0;
  int64_t unit = 0;
  int64_t own = 0;
  int64_t word = 0;
  units = run->units;
  taken = 0LL;
  if (run->rules->partition) {
    for (int64_t t_1 = job->block, end_t_1 = (job->block + job->units); t_1 < end_t_1; t_1 += 1) {
      unit = t_1;
      taken = (taken | AT(units->busy, unit));
    }
  } else {
    own = (job->number * units->words);
    for (int64_t t_2 = 0, end_t_2 = units->words; t_2 < end_t_2; t_2 += 1) {
      word = t_2;
      taken = (taken | (AT(units->chosen, (own + word)) & AT(units->in_use, word)));
    }
  }
  return (taken == 0LL);
}

static void batch_io_conservative_aggregate_slowdowns(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double passed = 0;
  double ideal = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    passed = (view->now - request->start);
    ideal = (request->compute_so_far + request->ideal_so_far);
    if ((ideal > 0LL)) {
      AT(view->keys, k) = ((double)passed / (double)ideal);
    } else {
      double t_2 = batch_io_conservative_of_nothing(view, passed);
      AT(view->keys, k) = t_2;
    }
  }
}

static void batch_io_conservative_by_key_down(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    if ((AT(view->keys, k) > 0LL)) {
      AT(view->keys, k) = ((double)1LL / (double)AT(view->keys, k));
    } else {
      AT(view->keys, k) = INFINITY;
    }
  }
  decisions_batch_io_by_key(view);
}

EXPORTED void batch_io_conservative_cons_fcfs(decisions_batch_io_KernelView * view, list_double rates) {
  decisions_batch_io_as_they_came(view);
  decisions_batch_io_first_fit(view, rates);
}

EXPORTED void batch_io_conservative_cons_min_aggr_sld(decisions_batch_io_KernelView * view, list_double rates) {
  batch_io_conservative_aggregate_slowdowns(view);
  decisions_batch_io_by_key(view);
  decisions_batch_io_first_fit(view, rates);
}

EXPORTED void batch_io_conservative_cons_min_inst_sld(decisions_batch_io_KernelView * view, list_double rates) {
  batch_io_conservative_instant_slowdowns(view);
  decisions_batch_io_by_key(view);
  decisions_batch_io_first_fit(view, rates);
}

static void batch_io_conservative_instant_slowdowns(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double waited = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    waited = (view->now - request->requested);
    if ((request->moved > 0LL)) {
      AT(view->keys, k) = ((double)(request->peak * waited) / (double)request->moved);
    } else {
      double t_2 = batch_io_conservative_of_nothing(view, waited);
      AT(view->keys, k) = t_2;
    }
  }
}

EXPORTED void batch_io_conservative_kept_fcfs(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(view->keys, k) = 1.0;
    if (((&AT(view->jobs, AT(view->out, k)))->moved > 0LL)) {
      AT(view->keys, k) = 0.0;
    }
  }
  decisions_batch_io_by_key(view);
  decisions_batch_io_first_fit(view, rates);
}

EXPORTED void batch_io_conservative_most_aggr_sld(decisions_batch_io_KernelView * view, list_double rates) {
  batch_io_conservative_aggregate_slowdowns(view);
  batch_io_conservative_by_key_down(view);
  decisions_batch_io_first_fit(view, rates);
}

EXPORTED void batch_io_conservative_most_inst_sld(decisions_batch_io_KernelView * view, list_double rates) {
  batch_io_conservative_instant_slowdowns(view);
  batch_io_conservative_by_key_down(view);
  decisions_batch_io_first_fit(view, rates);
}

static double batch_io_conservative_of_nothing(decisions_batch_io_KernelView * view, double waited) {
  double tolerance = 0;
  tolerance = 0.0;
  if (!(view->limits->exact)) {
    tolerance = decisions_ordering_time_tolerance(view->now);
  }
  if ((waited <= tolerance)) {
    return 1.0;
  }
  return INFINITY;
}

EXPORTED int64_t batch_io_engine_advance(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide, int64_t instants) {
  double arrival = 0;
  double instant = 0;
  for (int64_t t_1 = 0, end_t_1 = instants; t_1 < end_t_1; t_1 += 1) {
    if ((run->rules->record) && ((clock->num_spans > run->spans->room))) {
      return 1;
    }
    arrival = AT(run->arrivals, clock->arrived);
    instant = min_float(batch_io_agenda_next_time(run, clock), arrival);
    if ((instant == INFINITY)) {
      return 0;
    }
    batch_io_engine_open_instant(run, clock, instant);
    batch_io_engine_end_due(run, clock);
    if (run->rules->kill) {
      batch_io_engine_kill_overdue(run, clock);
    }
    if ((arrival <= clock->now)) {
      batch_io_engine_take_arrivals(run, clock);
    }
    if (clock->queue_changed) {
      batch_io_engine_look(run, clock);
    }
    if (clock->changed) {
      clock->changed = 0;
      clock->decisions = (clock->decisions + 1LL);
      batch_io_storage_apply_decision(run, clock, decide);
    }
  }
  return 1;
}

static int64_t batch_io_engine_backfill(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn, int64_t least) {
  batch_io_state_Job * head = 0;
  double now = 0;
  int64_t again = 0;
  int64_t reserved = 0;
  double until = 0;
  int64_t extra = 0;
  int64_t avoid = 0;
  int64_t length = 0;
  int64_t no_short = 0;
  int64_t no_long = 0;
  batch_io_state_Job * job = 0;
  int64_t units = 0;
  int64_t short_ = 0;
  int64_t place = 0;
  head = (&AT(run->jobs, AT(run->line, turn)));
  now = clock->now;
  again = 0;
  reserved = 0;
  until = now;
  extra = 0LL;
  avoid = 0LL;
  length = 0LL;
  no_short = (run->rules->total + 1LL);
  no_long = (run->rules->total + 1LL);
  if (run->rules->short_behind) {
    batch_io_waiting_line_up_rest(run, clock, (turn + 1LL));
  }
  while ((((turn + 1LL) < clock->lined_up)) && ((clock->free >= least))) {
    turn = (turn + 1LL);
    job = (&AT(run->jobs, AT(run->line, turn)));
    units = job->units;
    if ((units > clock->free)) {
      continue;
    }
    if (!(reserved)) {
      reserved = 1;
      if (run->rules->partition) {
        tuple_float_int t_1 = batch_io_engine_reserve_block(run, clock, head->units);
        until = t_1.v0;
        avoid = t_1.v1;
        length = head->units;
      } else {
        tuple_float_int t_2 = batch_io_engine_reserve_flat(run, clock, head->units);
        until = t_2.v0;
        extra = t_2.v1;
      }
      until = (until + batch_io_boxes_tolerance(run, until));
    }
    short_ = ((now + job->length) <= until);
    if ((units >= (short_ ? no_short : no_long))) {
      continue;
    }
    if (short_) {
      place = batch_io_waiting_find_place(run, clock, units, 0LL, 0LL);
    } else if (run->rules->partition) {
      place = batch_io_waiting_find_place(run, clock, units, avoid, length);
    } else if ((units <= extra)) {
      place = 0LL;
    } else {
      place = (-1LL);
    }
    if ((place < 0LL)) {
      if (short_) {
        no_short = units;
      } else {
        no_long = units;
      }
      continue;
    }
    again = ((batch_io_engine_begin(run, clock, job, place)) || (again));
    if (!(short_)) {
      extra = (extra - units);
    }
  }
  return again;
}

static int64_t batch_io_engine_batch_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t least = 0;
  int64_t again = 0;
  int64_t turn = 0;
  batch_io_state_Job * job = 0;
  int64_t place = 0;
  least = batch_io_waiting_smallest(run, clock);
  if ((batch_io_waiting_find_place(run, clock, least, 0LL, 0LL) < 0LL)) {
    return 0;
  }
  batch_io_waiting_line_up(run, clock);
  again = 0;
  turn = 0LL;
  while (((turn < clock->lined_up)) && ((clock->free >= least))) {
    job = (&AT(run->jobs, AT(run->line, turn)));
    place = batch_io_waiting_find_place(run, clock, job->units, 0LL, 0LL);
    if ((place < 0LL)) {
      if (run->rules->easy) {
        again = ((batch_io_engine_backfill(run, clock, turn, least)) || (again));
      }
      break;
    }
    again = ((batch_io_engine_begin(run, clock, job, place)) || (again));
    turn = (turn + 1LL);
  }
  batch_io_waiting_close_pass(run, clock);
  return again;
}

static int64_t batch_io_engine_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
  batch_io_waiting_occupy(run, clock, job, place);
  batch_io_jobs_start(run, clock, job);
  return (job->status == batch_io_state_ENDED);
}

static void batch_io_engine_end_due(batch_io_state_System * run, batch_io_state_Clock * clock) {
  double slack = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  slack = run->limits->zero;
  clock->more = 1;
  while (clock->more) {
    clock->more = 0;
    if (run->rules->shared) {
      batch_io_storage_set_clock(run, clock);
      slack = (clock->rho * (clock->until - clock->now));
    }
    for (int64_t t_1 = 0, end_t_1 = batch_io_agenda_collect(run, clock, slack); t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      job = (&AT(run->jobs, AT(run->agenda->due, k)));
      if ((job->status == batch_io_state_TRANSFERRING)) {
        batch_io_jobs_finish(run, clock, job);
      } else {
        batch_io_jobs_go_on(run, clock, job);
      }
      if ((run->rules->event) && (clock->queue_changed)) {
        batch_io_engine_look(run, clock);
      }
    }
  }
}

static void batch_io_engine_kill_overdue(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  for (int64_t t_1 = 0, end_t_1 = batch_io_agenda_overdue(run, clock); t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(run->jobs, AT(run->agenda->due, k)));
    if ((job->status != batch_io_state_ENDED)) {
      batch_io_jobs_kill(run, clock, job);
      if (run->rules->event) {
        batch_io_engine_look(run, clock);
      }
    }
  }
}

static void batch_io_engine_look(batch_io_state_System * run, batch_io_state_Clock * clock) {
  if (run->rules->closed) {
    batch_io_engine_run_queue(run, clock);
  }
  clock->queue_changed = 0;
}

EXPORTED void batch_io_engine_never_asked(decisions_batch_io_KernelView * view, list_double rates) {

}

static void batch_io_engine_open_instant(batch_io_state_System * run, batch_io_state_Clock * clock, double instant) {
  double until = 0;
  int64_t k = 0;
  until = (instant + batch_io_boxes_tolerance(run, instant));
  k = clock->arrived;
  while ((AT(run->arrivals, k) <= until)) {
    instant = max_float(instant, AT(run->arrivals, k));
    k = (k + 1LL);
  }
  clock->now = instant;
  double t_1 = (instant + batch_io_boxes_tolerance(run, instant));
  clock->until = t_1;
  clock->events = (clock->events + 1LL);
}

static tuple_float_int batch_io_engine_reserve_block(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units) {
  double best = 0;
  int64_t best_place = 0;
  double sooner = 0;
  int64_t block = 0;
  int64_t place = 0;
  double time = 0;
  batch_io_waiting_line_up_units(run, clock);
  best = clock->now;
  best_place = 0LL;
  sooner = INFINITY;
  for (int64_t t_1 = 0, end_t_1 = floor_int(run->rules->total, units); t_1 < end_t_1; t_1 += 1) {
    block = t_1;
    place = (block * units);
    double t_2 = clock->now;
    time = max_float(t_2, batch_io_waiting_block_free_from(run, clock, place, units));
    if ((time < sooner)) {
      best = time;
      best_place = place;
      sooner = (time - batch_io_boxes_tolerance(run, time));
    }
  }
  return (tuple_float_int){best, best_place};
}

static tuple_float_int batch_io_engine_reserve_flat(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units) {
  int64_t free = 0;
  double time = 0;
  int64_t turn = 0;
  double end = 0;
  int64_t j = 0;
  free = clock->free;
  time = clock->now;
  for (int64_t t_1 = 0, end_t_1 = batch_io_waiting_line_up_ends(run, clock); t_1 < end_t_1; t_1 += 1) {
    turn = t_1;
    tuple_float_int t_2 = batch_io_waiting_next_end(run, turn);
    end = t_2.v0;
    j = t_2.v1;
    if (((free >= units)) && ((end > (time + batch_io_boxes_tolerance(run, time))))) {
      break;
    }
    if (((free < units)) && ((end > time))) {
      time = end;
    }
    free = (free + (&AT(run->jobs, j))->units);
  }
  return (tuple_float_int){time, (free - units)};
}

static void batch_io_engine_run_queue(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t again = 0;
  again = 1;
  while ((again) && (clock->waiting) && ((clock->free) || (run->rules->keeps))) {
    if (run->rules->boxed) {
      again = batch_io_plans_boxed_pass(run, clock);
    } else {
      again = batch_io_engine_batch_pass(run, clock);
    }
  }
}

static void batch_io_engine_take_arrivals(batch_io_state_System * run, batch_io_state_Clock * clock) {
  batch_io_state_Job * job = 0;
  while ((AT(run->arrivals, clock->arrived) <= clock->now)) {
    job = (&AT(run->jobs, AT(run->arrival_jobs, clock->arrived)));
    clock->arrived = (clock->arrived + 1LL);
    clock->queue_changed = 1;
    if (run->rules->closed) {
      batch_io_waiting_arrive(run, clock, job);
      if (run->rules->event) {
        batch_io_engine_look(run, clock);
      }
    } else {
      batch_io_jobs_start(run, clock, job);
    }
  }
}

EXPORTED void batch_io_fill_fill(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double key = 0;
  double left = 0;
  int64_t q = 0;
  double peak = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    key = request->left;
    for (int64_t t_2 = 0, end_t_2 = (view->power - 1LL); t_2 < end_t_2; t_2 += 1) {
      key = (key * request->left);
    }
    AT(view->keys, k) = ((double)key / (double)request->weight);
  }
  decisions_batch_io_by_key(view);
  left = view->limits->storage;
  for (int64_t t_3 = 0, end_t_3 = view->size; t_3 < end_t_3; t_3 += 1) {
    q = t_3;
    k = AT(view->order, q);
    peak = (&AT(view->jobs, AT(view->out, k)))->peak;
    if ((peak > (left * view->limits->slack))) {
      AT(rates, k) = left;
      return;
    }
    AT(rates, k) = peak;
    left = (left - peak);
    if ((left <= (view->limits->storage * view->limits->eps))) {
      return;
    }
  }
}

static void batch_io_jobs_begin_phase(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
  int64_t last = 0;
  double seconds = 0;
  double end = 0;
  last = job->last_place;
  while ((place < last)) {
    seconds = AT(run->compute, place);
    if ((seconds > 0LL)) {
      (&AT(run->requests, job->number))->compute_so_far = ((&AT(run->requests, job->number))->compute_so_far + seconds);
      job->began = clock->now;
      job->place = place;
      job->status = batch_io_state_COMPUTING;
      end = (clock->now + seconds);
      if ((end <= clock->until)) {
        clock->more = 1;
      }
      job->due = end;
      AT(run->agenda->times, job->slot) = end;
      return;
    }
    if ((AT(run->volume, place) > 0LL)) {
      batch_io_storage_issue(run, clock, job, place);
      return;
    }
    place = (place + 1LL);
  }
  batch_io_jobs_end_job(run, clock, job);
}

static void batch_io_jobs_end_job(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  job->end = clock->now;
  job->status = batch_io_state_ENDED;
  clock->ended = (clock->ended + 1LL);
  clock->queue_changed = 1;
  clock->freed = 1;
  clock->num_running = (clock->num_running - 1LL);
  batch_io_agenda_leave_slot(run, job, clock->num_running);
  if (run->rules->closed) {
    batch_io_waiting_vacate(run, clock, job);
  }
}

static void batch_io_jobs_finish(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  batch_io_storage_leave(run, clock, job);
  AT(run->finish, job->place) = clock->now;
  (&AT(run->requests, job->number))->ideal_so_far = ((&AT(run->requests, job->number))->ideal_so_far + ((double)job->volume / (double)job->peak));
  batch_io_jobs_begin_phase(run, clock, job, (job->place + 1LL));
}

static void batch_io_jobs_go_on(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t place = 0;
  place = job->place;
  batch_io_storage_use(run, clock, job->began, clock->now, (double)(job->nodes));
  if ((AT(run->volume, place) > 0LL)) {
    batch_io_storage_issue(run, clock, job, place);
  } else {
    batch_io_jobs_begin_phase(run, clock, job, (place + 1LL));
  }
}

static void batch_io_jobs_kill(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  if ((job->status == batch_io_state_TRANSFERRING)) {
    batch_io_storage_leave(run, clock, job);
  } else {
    batch_io_storage_use(run, clock, job->began, clock->now, (double)(job->nodes));
  }
  job->killed = 1;
  batch_io_jobs_end_job(run, clock, job);
}

static void batch_io_jobs_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  job->start = clock->now;
  (&AT(run->requests, job->number))->start = clock->now;
  batch_io_agenda_take_slot(run, clock->num_running, job);
  clock->num_running = (clock->num_running + 1LL);
  batch_io_jobs_begin_phase(run, clock, job, job->place);
}

static void batch_io_max_util_add_states(decisions_batch_io_KernelView * view, int64_t j, double peak, int64_t units, double room) {
  list_double loads = {0};
  list_int64_t values = {0};
  list_int64_t rows = {0};
  int64_t end = 0;
  int64_t at = 0;
  int64_t one = 0;
  int64_t other = 0;
  int64_t best = 0;
  int64_t fits = 0;
  double load = 0;
  int64_t value = 0;
  loads = view->loads;
  values = view->values;
  rows = view->rows;
  end = AT(rows, (j + 1LL));
  at = AT(rows, (j + 1LL));
  one = AT(rows, j);
  other = AT(rows, j);
  best = (-1LL);
  while (1) {
    fits = (((other < end)) && (((AT(loads, other) + peak) <= room)));
    if (((one == end)) && (!(fits))) {
      break;
    }
    if (((one == end)) || ((fits) && (((AT(loads, other) + peak) < AT(loads, one))))) {
      load = (AT(loads, other) + peak);
      value = (AT(values, other) + units);
      other = (other + 1LL);
    } else {
      load = AT(loads, one);
      value = AT(values, one);
      one = (one + 1LL);
    }
    if ((value > best)) {
      AT(loads, at) = load;
      AT(values, at) = value;
      best = value;
      at = (at + 1LL);
    }
  }
  AT(rows, (j + 2LL)) = at;
}

EXPORTED void batch_io_max_util_cons_max_util(decisions_batch_io_KernelView * view, list_double rates) {
  double left = 0;
  int64_t k = 0;
  if (view->limits->own_peaks) {
    batch_io_max_util_mark_by_value(view, rates, (view->limits->storage * view->limits->slack));
  } else {
    batch_io_max_util_mark_best(view, rates);
  }
  if (view->top) {
    left = view->limits->storage;
    for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      left = (left - AT(rates, k));
    }
    decisions_batch_io_as_they_came(view);
    decisions_batch_io_top_up(view, rates, left);
  }
}

EXPORTED void batch_io_max_util_mark_best(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t total = 0;
  int64_t alone = 0;
  int64_t most = 0;
  int64_t k = 0;
  int64_t units = 0;
  int64_t value = 0;
  int64_t first = 0;
  total = 0LL;
  alone = (-1LL);
  most = 0LL;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    units = (&AT(view->jobs, AT(view->out, k)))->units;
    if ((units < view->limits->saturating_units)) {
      total = (total + units);
    } else if ((units > most)) {
      alone = k;
      most = units;
    }
  }
  batch_io_max_util_mark_subset(view, rates, total);
  value = 0LL;
  first = view->size;
  for (int64_t t_2 = 0, end_t_2 = view->size; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    if ((AT(rates, k) > 0LL)) {
      value = (value + (&AT(view->jobs, AT(view->out, k)))->units);
      first = min_int(first, k);
    }
  }
  if (((most > value)) || (((most == value)) && ((((-1LL) < alone) && (alone < first))))) {
    for (int64_t t_3 = 0, end_t_3 = view->size; t_3 < end_t_3; t_3 += 1) {
      k = t_3;
      AT(rates, k) = view->limits->zero;
    }
    AT(rates, alone) = (&AT(view->jobs, AT(view->out, alone)))->peak;
  }
}

static void batch_io_max_util_mark_by_value(decisions_batch_io_KernelView * view, list_double rates, double room) {
  list_double loads = {0};
  list_int64_t values = {0};
  list_int64_t rows = {0};
  int64_t size = 0;
  int64_t j = 0;
  decisions_batch_io_Request * request = 0;
  int64_t missing = 0;
  double used = 0;
  int64_t k = 0;
  int64_t rest = 0;
  int64_t low = 0;
  int64_t high = 0;
  int64_t last = 0;
  int64_t middle = 0;
  int64_t found = 0;
  loads = view->loads;
  values = view->values;
  rows = view->rows;
  size = view->size;
  AT(loads, 0LL) = view->limits->zero;
  AT(values, 0LL) = 0LL;
  AT(rows, 0LL) = 0LL;
  AT(rows, 1LL) = 1LL;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    j = t_1;
    request = (&AT(view->jobs, AT(view->out, ((size - 1LL) - j))));
    batch_io_max_util_add_states(view, j, request->peak, request->units, room);
  }
  missing = AT(values, (AT(rows, (size + 1LL)) - 1LL));
  used = view->limits->zero;
  for (int64_t t_2 = 0, end_t_2 = size; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    request = (&AT(view->jobs, AT(view->out, k)));
    rest = (missing - request->units);
    low = AT(rows, ((size - k) - 1LL));
    high = AT(rows, (size - k));
    last = high;
    while ((low < high)) {
      middle = floor_int((low + high), 2LL);
      if ((AT(values, middle) < rest)) {
        low = (middle + 1LL);
      } else {
        high = middle;
      }
    }
    found = (((low < last)) && ((AT(values, low) == rest)));
    if ((found) && ((((used + request->peak) + AT(loads, low)) <= room))) {
      AT(rates, k) = request->peak;
      used = (used + request->peak);
      missing = rest;
    }
  }
}

static void batch_io_max_util_mark_subset(decisions_batch_io_KernelView * view, list_double rates, int64_t total) {
  int64_t rest = 0;
  int64_t whole = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  int64_t units = 0;
  rest = view->limits->capacity_units;
  whole = (total <= rest);
  if (!(whole)) {
    batch_io_max_util_subset_sums(view);
    while (!(batch_io_max_util_reaches(view, 0LL, rest))) {
      rest = (rest - 1LL);
    }
  }
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    units = request->units;
    if ((units >= view->limits->saturating_units)) {
      continue;
    }
    if (whole) {
      AT(rates, k) = request->peak;
    } else if (((units <= rest)) && (batch_io_max_util_reaches(view, (k + 1LL), (rest - units)))) {
      AT(rates, k) = request->peak;
      rest = (rest - units);
    }
  }
}

static int64_t batch_io_max_util_reaches(decisions_batch_io_KernelView * view, int64_t k, int64_t units) {
  int64_t word = 0;
  word = AT(view->bits, ((k * view->words) + floor_int(units, view->width)));
  return (((word >> mod_int(units, view->width)) & 1LL) == 1LL);
}

static void batch_io_max_util_subset_sums(decisions_batch_io_KernelView * view) {
  list_int64_t bits = {0};
  int64_t width = 0;
  int64_t mask = 0;
  int64_t before = 0;
  int64_t word = 0;
  int64_t k = 0;
  int64_t units = 0;
  int64_t row = 0;
  int64_t jump = 0;
  int64_t shift = 0;
  int64_t sums = 0;
  bits = view->bits;
  width = view->width;
  mask = ((1LL << width) - 1LL);
  before = (view->size * view->words);
  for (int64_t t_1 = 0, end_t_1 = view->words; t_1 < end_t_1; t_1 += 1) {
    word = t_1;
    AT(bits, (before + word)) = 0LL;
  }
  AT(bits, before) = 1LL;
  for (int64_t t_2 = (view->size - 1LL), end_t_2 = (-1LL); t_2 > end_t_2; t_2 += -1) {
    k = t_2;
    units = (&AT(view->jobs, AT(view->out, k)))->units;
    before = ((k + 1LL) * view->words);
    row = (k * view->words);
    jump = floor_int(units, width);
    shift = mod_int(units, width);
    for (int64_t t_3 = 0, end_t_3 = view->words; t_3 < end_t_3; t_3 += 1) {
      word = t_3;
      sums = AT(bits, (before + word));
      if (((units < view->limits->saturating_units)) && ((word >= jump))) {
        sums = (sums | ((AT(bits, ((before + word) - jump)) << shift) & mask));
        if (((shift > 0LL)) && ((word > jump))) {
          sums = (sums | (AT(bits, (((before + word) - jump) - 1LL)) >> (width - shift)));
        }
      }
      AT(bits, (row + word)) = sums;
    }
  }
}

static int64_t batch_io_plans_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double length) {
  batch_io_boxes_take_out(run, clock, job);
  batch_io_waiting_occupy(run, clock, job, job->block);
  batch_io_jobs_start(run, clock, job);
  if ((job->status == batch_io_state_ENDED)) {
    return 1;
  }
  batch_io_boxes_put(run, clock, job, 0LL, length);
  return 0;
}

static int64_t batch_io_plans_boxed_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t again = 0;
  batch_io_waiting_line_up(run, clock);
  if (run->rules->conservative) {
    again = batch_io_plans_conservative_pass(run, clock);
  } else {
    again = batch_io_plans_numbered_pass(run, clock);
  }
  batch_io_waiting_close_pass(run, clock);
  return again;
}

static int64_t batch_io_plans_can_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  if ((job->units > clock->free)) {
    return 0;
  }
  return ((!(run->rules->numbered)) || (batch_io_boxes_units_free(run, job)));
}

static int64_t batch_io_plans_conservative_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_batch_io_state_Job jobs = {0};
  int64_t again = 0;
  int64_t every = 0;
  int64_t last = 0;
  int64_t turn = 0;
  int64_t behind = 0;
  batch_io_state_Job * job = 0;
  double length = 0;
  jobs = run->jobs;
  again = 0;
  every = clock->freed;
  clock->freed = 0;
  if ((run->rules->rebuild) || (batch_io_plans_missed(run, clock))) {
    batch_io_plans_drop_boxes(run, clock);
  }
  last = batch_io_plans_startable(run, clock, clock->lined_up);
  if ((run->rules->rebuild) && (!(last))) {
    return 0;
  }
  batch_io_boxes_lay_out(run, clock);
  turn = 0LL;
  behind = 0;
  while ((turn < last)) {
    job = (&AT(jobs, AT(run->line, turn)));
    turn = (turn + 1LL);
    if (((job->box_start > clock->now)) && (!(every))) {
      continue;
    }
    batch_io_boxes_take_out(run, clock, job);
    int64_t t_1 = batch_io_boxes_first_fit(run, clock, job);
    batch_io_boxes_put(run, clock, job, t_1, job->length);
    if (((job->box_start == clock->now)) && (batch_io_plans_can_start(run, clock, job))) {
      length = job->walltime;
      if ((behind) && (run->rules->rebuild)) {
        length = job->length;
      }
      again = ((batch_io_plans_begin(run, clock, job, length)) || (again));
      last = batch_io_plans_startable(run, clock, last);
    } else {
      behind = 1;
    }
  }
  return again;
}

static void batch_io_plans_drop_boxes(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t turn = 0;
  for (int64_t t_1 = 0, end_t_1 = clock->lined_up; t_1 < end_t_1; t_1 += 1) {
    turn = t_1;
    batch_io_boxes_drop((&AT(run->jobs, AT(run->line, turn))));
  }
}

static int64_t batch_io_plans_missed(batch_io_state_System * run, batch_io_state_Clock * clock) {
  double before = 0;
  int64_t turn = 0;
  double limit = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  double t_1 = clock->now;
  before = (t_1 - batch_io_boxes_tolerance(run, clock->now));
  for (int64_t t_2 = 0, end_t_2 = clock->lined_up; t_2 < end_t_2; t_2 += 1) {
    turn = t_2;
    if ((((-INFINITY) < (&AT(run->jobs, AT(run->line, turn)))->box_start) && ((&AT(run->jobs, AT(run->line, turn)))->box_start < before))) {
      return 1;
    }
  }
  limit = batch_io_boxes_passed(run, clock);
  for (int64_t t_3 = 0, end_t_3 = clock->num_running; t_3 < end_t_3; t_3 += 1) {
    k = t_3;
    job = (&AT(run->jobs, AT(run->agenda->running, k)));
    if (((job->start + job->walltime) <= limit)) {
      return 1;
    }
  }
  return 0;
}

static int64_t batch_io_plans_numbered_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t again = 0;
  int64_t reserved = 0;
  int64_t turn = 0;
  batch_io_state_Job * job = 0;
  batch_io_plans_drop_boxes(run, clock);
  batch_io_boxes_lay_out(run, clock);
  again = 0;
  reserved = 0;
  turn = 0LL;
  while (((turn < clock->lined_up)) && (clock->free)) {
    job = (&AT(run->jobs, AT(run->line, turn)));
    turn = (turn + 1LL);
    if ((reserved) && ((job->units > clock->free))) {
      continue;
    }
    if (((batch_io_boxes_blocked_at(run, clock, job, 0LL) == batch_io_state_NOBODY)) && (batch_io_plans_can_start(run, clock, job))) {
      again = ((batch_io_plans_begin(run, clock, job, job->walltime)) || (again));
    } else if (!(run->rules->easy)) {
      break;
    } else if (!(reserved)) {
      reserved = 1;
      int64_t t_1 = batch_io_boxes_first_fit(run, clock, job);
      batch_io_boxes_put(run, clock, job, t_1, job->length);
      if (run->rules->short_behind) {
        batch_io_waiting_line_up_rest(run, clock, turn);
      }
    }
  }
  return again;
}

static int64_t batch_io_plans_startable(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t last) {
  if (run->rules->rebuild) {
    while (((last > 0LL)) && (((&AT(run->jobs, AT(run->line, (last - 1LL))))->units > clock->free))) {
      last = (last - 1LL);
    }
  }
  return last;
}

EXPORTED void batch_io_set10_set_10(decisions_batch_io_KernelView * view, list_double rates) {
  list_double positions = {0};
  list_double weights = {0};
  list_double ratios = {0};
  list_int64_t order = {0};
  list_double behind = {0};
  int64_t size = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double weight = 0;
  int64_t seen = 0;
  int64_t at = 0;
  double left = 0;
  int64_t q = 0;
  double share = 0;
  positions = view->sizes;
  weights = view->depths;
  ratios = view->keys;
  order = view->order;
  behind = view->finishes;
  size = 0LL;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    weight = request->weight;
    seen = 0LL;
    while (((seen < size)) && ((AT(weights, seen) != weight))) {
      seen = (seen + 1LL);
    }
    if ((seen < size)) {
      continue;
    }
    AT(positions, size) = (double)(k);
    AT(weights, size) = weight;
    AT(ratios, size) = ((double)request->peak / (double)weight);
    at = size;
    while (((at > 0LL)) && ((AT(ratios, AT(order, (at - 1LL))) > AT(ratios, size)))) {
      AT(order, at) = AT(order, (at - 1LL));
      at = (at - 1LL);
    }
    AT(order, at) = size;
    size = (size + 1LL);
  }
  left = view->limits->storage;
  AT(behind, size) = view->limits->zero;
  for (int64_t t_2 = (size - 1LL), end_t_2 = (-1LL); t_2 > end_t_2; t_2 += -1) {
    q = t_2;
    AT(behind, q) = (AT(behind, (q + 1LL)) + AT(weights, AT(order, q)));
  }
  for (int64_t t_3 = 0, end_t_3 = size; t_3 < end_t_3; t_3 += 1) {
    q = t_3;
    k = (int64_t)(AT(positions, AT(order, q)));
    share = ((double)(left * AT(weights, AT(order, q))) / (double)AT(behind, q));
    AT(rates, k) = min_float((&AT(view->jobs, AT(view->out, k)))->peak, share);
    left = (left - AT(rates, k));
  }
}

static int64_t batch_io_storage_all_fit(batch_io_state_System * run, batch_io_state_Clock * clock) {
  double total = 0;
  int64_t k = 0;
  if ((clock->outstanding <= 1LL)) {
    return 1;
  }
  if ((run->limits->interference > 0LL)) {
    return 0;
  }
  if (!(run->limits->own_peaks)) {
    return (clock->load <= run->limits->capacity_units);
  }
  total = run->limits->zero;
  for (int64_t t_1 = 0, end_t_1 = clock->outstanding; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    total = (total + (&AT(run->jobs, AT(run->view->out, k)))->peak);
  }
  return (total <= (run->limits->storage * run->limits->slack));
}

static void batch_io_storage_apply_decision(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide) {
  if (run->rules->shared) {
    batch_io_storage_set_rho(run, clock);
  } else if ((run->rules->ignores_limit) || ((run->rules->full_when_fits) && (batch_io_storage_all_fit(run, clock)))) {
    batch_io_storage_grant_peaks(run, clock);
  } else {
    clock->crowded = 1;
    batch_io_storage_update_progress(run, clock);
    batch_io_storage_ask_and_set(run, clock, decide);
  }
  clock->num_fresh = 0LL;
}

static void batch_io_storage_ask_and_set(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide) {
  list_batch_io_state_Job jobs = {0};
  decisions_batch_io_KernelView * view = 0;
  list_int64_t out = {0};
  list_double rates = {0};
  int64_t count = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  jobs = run->jobs;
  view = run->view;
  out = view->out;
  rates = run->rates;
  count = clock->outstanding;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(rates, k) = run->limits->zero;
  }
  view->size = count;
  view->now = clock->now;
  decide(view, rates);
  if ((run->limits->interference > 0LL)) {
    decisions_batch_io_slow_down(rates, count, run->limits->storage, run->limits->interference);
  }
  for (int64_t t_2 = 0, end_t_2 = count; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    job = (&AT(jobs, AT(out, k)));
    if ((job->rate != AT(rates, k))) {
      batch_io_storage_change(run, clock, job, AT(rates, k));
    }
  }
}

static void batch_io_storage_change(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double rate) {
  batch_io_storage_settle(run, clock, job);
  job->rate = rate;
  if ((rate > 0LL)) {
    job->due = (clock->now + ((double)job->base / (double)rate));
    if (!(job->granted)) {
      job->granted = 1;
      AT(run->grant, job->place) = clock->now;
    }
  } else {
    job->due = INFINITY;
  }
  AT(run->agenda->times, job->slot) = job->due;
}

static void batch_io_storage_enter(batch_io_state_System * run, int64_t count, batch_io_state_Job * job) {
  list_int64_t out = {0};
  double asked = 0;
  int64_t j = 0;
  double requested = 0;
  out = run->view->out;
  asked = (&AT(run->requests, job->number))->requested;
  while ((count > 0LL)) {
    j = AT(out, (count - 1LL));
    requested = (&AT(run->requests, j))->requested;
    if ((requested < asked)) {
      break;
    }
    if (((requested == asked)) && (((&AT(run->jobs, j))->id < job->id))) {
      break;
    }
    AT(out, count) = j;
    count = (count - 1LL);
  }
  AT(out, count) = job->number;
}

static void batch_io_storage_grant_peaks(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_batch_io_state_Job jobs = {0};
  list_int64_t out = {0};
  double now = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  jobs = run->jobs;
  out = run->view->out;
  now = clock->now;
  if (clock->crowded) {
    clock->crowded = 0;
    for (int64_t t_1 = 0, end_t_1 = clock->outstanding; t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      job = (&AT(jobs, AT(out, k)));
      if ((job->rate != job->peak)) {
        batch_io_storage_change(run, clock, job, job->peak);
      }
    }
    return;
  }
  for (int64_t t_2 = 0, end_t_2 = clock->num_fresh; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    job = (&AT(jobs, AT(run->fresh, k)));
    if ((job->status == batch_io_state_TRANSFERRING)) {
      job->rate = job->peak;
      job->granted = 1;
      job->due = (now + ((double)job->base / (double)job->peak));
      AT(run->grant, job->place) = now;
      AT(run->agenda->times, job->slot) = job->due;
    }
  }
}

static void batch_io_storage_issue(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
  double now = 0;
  double volume = 0;
  int64_t nodes = 0;
  decisions_batch_io_Request * request = 0;
  now = clock->now;
  volume = AT(run->volume, place);
  job->status = batch_io_state_TRANSFERRING;
  job->volume = volume;
  job->place = place;
  AT(run->asked, place) = now;
  AT(run->fresh, clock->num_fresh) = job->number;
  clock->num_fresh = (clock->num_fresh + 1LL);
  clock->outstanding = (clock->outstanding + 1LL);
  clock->changed = 1;
  if (run->rules->shared) {
    nodes = job->nodes;
    clock->nodes = (clock->nodes + nodes);
    clock->weight = (clock->weight + ((double)(nodes * nodes) / (double)job->peak));
    AT(run->agenda->targets, job->slot) = (clock->turned + ((double)volume / (double)nodes));
    return;
  }
  job->anchor = now;
  job->base = volume;
  job->rate = (double)(0LL);
  job->granted = 0;
  request = (&AT(run->requests, job->number));
  request->requested = now;
  request->left = volume;
  request->moved = (double)(0LL);
  clock->load = (clock->load + job->units);
  batch_io_storage_enter(run, (clock->outstanding - 1LL), job);
}

static void batch_io_storage_leave(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t nodes = 0;
  clock->changed = 1;
  if (run->rules->shared) {
    clock->outstanding = (clock->outstanding - 1LL);
    nodes = job->nodes;
    clock->nodes = (clock->nodes - nodes);
    clock->weight = (clock->weight - ((double)(nodes * nodes) / (double)job->peak));
    if ((clock->outstanding == 0LL)) {
      clock->turned = run->limits->zero;
      clock->weight = run->limits->zero;
    }
    return;
  }
  batch_io_storage_settle(run, clock, job);
  clock->load = (clock->load - job->units);
  batch_io_storage_remove(run, clock->outstanding, job);
  clock->outstanding = (clock->outstanding - 1LL);
}

static void batch_io_storage_note_span(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, double since, double until, double rate) {
  batch_io_state_Spans * spans = 0;
  int64_t k = 0;
  spans = run->spans;
  k = clock->num_spans;
  AT(spans->place, k) = place;
  AT(spans->since, k) = since;
  AT(spans->until, k) = until;
  AT(spans->rate, k) = rate;
  clock->num_spans = (clock->num_spans + 1LL);
}

static void batch_io_storage_remove(batch_io_state_System * run, int64_t count, batch_io_state_Job * job) {
  list_int64_t out = {0};
  int64_t k = 0;
  int64_t place = 0;
  out = run->view->out;
  k = 0LL;
  while ((AT(out, k) != job->number)) {
    k = (k + 1LL);
  }
  for (int64_t t_1 = k, end_t_1 = (count - 1LL); t_1 < end_t_1; t_1 += 1) {
    place = t_1;
    AT(out, place) = AT(out, (place + 1LL));
  }
}

static void batch_io_storage_set_clock(batch_io_state_System * run, batch_io_state_Clock * clock) {
  double now = 0;
  double since = 0;
  double rho = 0;
  now = clock->now;
  since = clock->since;
  rho = clock->rho;
  if (((rho > 0LL)) && ((now > since))) {
    batch_io_storage_use(run, clock, since, now, (rho * clock->weight));
    clock->turned = (clock->turned + (rho * (now - since)));
  }
  clock->since = now;
}

static void batch_io_storage_set_rho(batch_io_state_System * run, batch_io_state_Clock * clock) {
  double now = 0;
  double before = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  double rho = 0;
  int64_t nodes = 0;
  now = clock->now;
  before = clock->rho;
  for (int64_t t_1 = 0, end_t_1 = clock->num_fresh; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(run->jobs, AT(run->fresh, k)));
    if ((job->status == batch_io_state_TRANSFERRING)) {
      AT(run->grant, job->place) = now;
    }
  }
  rho = run->limits->zero;
  if (clock->outstanding) {
    rho = run->limits->node_rate;
    nodes = clock->nodes;
    if (((rho * nodes) > run->limits->storage)) {
      rho = ((double)run->limits->storage / (double)nodes);
    }
  }
  if ((rho != before)) {
    clock->rho = rho;
    if (run->rules->record) {
      batch_io_storage_note_span(run, clock, batch_io_state_NOBODY, now, now, rho);
    }
  }
}

static void batch_io_storage_settle(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  double rate = 0;
  double since = 0;
  double now = 0;
  double left = 0;
  decisions_batch_io_Request * request = 0;
  rate = job->rate;
  since = job->anchor;
  now = clock->now;
  if (((rate > 0LL)) && ((now > since))) {
    left = (job->base - (rate * (now - since)));
    job->base = ((left > 0LL) ? left : (double)(0LL));
    request = (&AT(run->requests, job->number));
    request->left = job->base;
    request->moved = (job->volume - job->base);
    if (run->rules->record) {
      batch_io_storage_note_span(run, clock, job->place, since, now, rate);
    }
    batch_io_storage_use(run, clock, since, now, (((double)rate / (double)job->peak) * job->nodes));
  }
  job->anchor = now;
}

static void batch_io_storage_update_progress(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_int64_t out = {0};
  double now = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  decisions_batch_io_Request * request = 0;
  double left = 0;
  out = run->view->out;
  now = clock->now;
  for (int64_t t_1 = 0, end_t_1 = clock->outstanding; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(run->jobs, AT(out, k)));
    if ((job->rate > 0LL)) {
      request = (&AT(run->requests, job->number));
      left = (job->base - (job->rate * (now - job->anchor)));
      request->left = ((left > 0LL) ? left : (double)(0LL));
      request->moved = (job->volume - request->left);
    }
  }
}

static void batch_io_storage_use(batch_io_state_System * run, batch_io_state_Clock * clock, double since, double until, double nodes) {
  double first = 0;
  double last = 0;
  double span = 0;
  first = run->rules->window_first;
  last = run->rules->window_last;
  if ((until > last)) {
    until = last;
  }
  if ((since < first)) {
    since = first;
  }
  span = (until - since);
  if ((span > 0LL)) {
    clock->useful = (clock->useful + (span * nodes));
  }
}

static void batch_io_waiting_arrive(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  AT(run->line, clock->waiting) = job->number;
  clock->waiting = (clock->waiting + 1LL);
}

static double batch_io_waiting_block_free_from(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, int64_t units) {
  list_double free_from = {0};
  double time = 0;
  int64_t unit = 0;
  free_from = run->units->free_from;
  time = AT(free_from, place);
  for (int64_t t_1 = (place + 1LL), end_t_1 = (place + units); t_1 < end_t_1; t_1 += 1) {
    unit = t_1;
    time = max_float(time, AT(free_from, unit));
  }
  return time;
}

static void batch_io_waiting_close_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t kept = 0;
  int64_t k = 0;
  int64_t j = 0;
  kept = 0LL;
  for (int64_t t_1 = 0, end_t_1 = clock->waiting; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(run->line, k);
    if (((&AT(run->jobs, j))->status == batch_io_state_WAITING)) {
      AT(run->line, kept) = j;
      kept = (kept + 1LL);
    }
  }
  clock->waiting = kept;
}

static int64_t batch_io_waiting_find_place(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length) {
  list_int64_t busy = {0};
  int64_t block = 0;
  int64_t place = 0;
  int64_t unit = 0;
  if ((units > clock->free)) {
    return (-1LL);
  }
  if (!(run->rules->partition)) {
    return 0LL;
  }
  busy = run->units->busy;
  for (int64_t t_1 = 0, end_t_1 = floor_int(run->rules->total, units); t_1 < end_t_1; t_1 += 1) {
    block = t_1;
    place = (block * units);
    if (((place < (avoid + length))) && ((avoid < (place + units)))) {
      continue;
    }
    unit = place;
    while (((unit < (place + units))) && (!(AT(busy, unit)))) {
      unit = (unit + 1LL);
    }
    if ((unit == (place + units))) {
      return place;
    }
  }
  return (-1LL);
}

static void batch_io_waiting_line_up(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t k = 0;
  clock->lined_up = clock->waiting;
  if (!(run->rules->wfp)) {
    if (run->rules->short_first) {
      batch_io_waiting_line_up_rest(run, clock, 0LL);
    } else if (run->rules->short_behind) {
      for (int64_t t_1 = 0, end_t_1 = clock->waiting; t_1 < end_t_1; t_1 += 1) {
        k = t_1;
        AT(run->keys, AT(run->line, k)) = (double)(AT(run->line, k));
      }
      decisions_ordering_shell_sort(run->keys, run->line, 0LL, clock->waiting);
    }
    return;
  }
  batch_io_waiting_line_up_scores(run, clock);
}

static int64_t batch_io_waiting_line_up_ends(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t count = 0;
  int64_t k = 0;
  count = clock->num_running;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    double t_2 = batch_io_boxes_predicted_end(run, clock, (&AT(run->jobs, AT(run->agenda->running, k))));
    AT(run->keys, k) = t_2;
    AT(run->order, k) = k;
  }
  decisions_ordering_shell_sort(run->keys, run->order, 0LL, count);
  return count;
}

static void batch_io_waiting_line_up_rest(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn) {
  int64_t k = 0;
  for (int64_t t_1 = turn, end_t_1 = clock->lined_up; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(run->keys, AT(run->line, k)) = (&AT(run->jobs, AT(run->line, k)))->walltime;
  }
  decisions_ordering_shell_sort(run->keys, run->line, turn, clock->lined_up);
}

static void batch_io_waiting_line_up_scores(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_int64_t jobs = {0};
  int64_t count = 0;
  list_double keys = {0};
  int64_t near = 0;
  int64_t k = 0;
  int64_t j = 0;
  batch_io_state_Job * job = 0;
  double wait = 0;
  double key = 0;
  int64_t at = 0;
  double before = 0;
  jobs = run->line;
  count = clock->waiting;
  keys = run->keys;
  near = 0;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(jobs, k);
    job = (&AT(run->jobs, j));
    wait = ((double)(clock->now - job->submit) / (double)job->walltime);
    key = (((wait * wait) * wait) * job->asked_nodes);
    at = k;
    while ((at > 0LL)) {
      before = AT(keys, (at - 1LL));
      near = ((near) || (decisions_ordering_close(key, before)));
      if ((key < before)) {
        break;
      }
      if (((key == before)) && ((AT(jobs, (at - 1LL)) < j))) {
        break;
      }
      AT(jobs, at) = AT(jobs, (at - 1LL));
      AT(keys, at) = before;
      at = (at - 1LL);
    }
    AT(jobs, at) = j;
    AT(keys, at) = key;
  }
  if ((near) && (!(run->limits->exact))) {
    batch_io_waiting_mend_close(jobs, keys, count);
  }
}

static void batch_io_waiting_line_up_units(batch_io_state_System * run, batch_io_state_Clock * clock) {
  list_double free_from = {0};
  int64_t unit = 0;
  int64_t k = 0;
  batch_io_state_Job * job = 0;
  double end = 0;
  free_from = run->units->free_from;
  for (int64_t t_1 = 0, end_t_1 = run->rules->total; t_1 < end_t_1; t_1 += 1) {
    unit = t_1;
    AT(free_from, unit) = clock->now;
  }
  for (int64_t t_2 = 0, end_t_2 = clock->num_running; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    job = (&AT(run->jobs, AT(run->agenda->running, k)));
    end = batch_io_boxes_predicted_end(run, clock, job);
    for (int64_t t_3 = job->block, end_t_3 = (job->block + job->units); t_3 < end_t_3; t_3 += 1) {
      unit = t_3;
      AT(free_from, unit) = end;
    }
  }
}

static void batch_io_waiting_mend_close(list_int64_t jobs, list_double keys, int64_t count) {
  int64_t k = 0;
  int64_t j = 0;
  double key = 0;
  int64_t at = 0;
  double before = 0;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(jobs, k);
    key = AT(keys, k);
    at = k;
    while ((at > 0LL)) {
      before = AT(keys, (at - 1LL));
      if ((decisions_ordering_below(key, before)) || (((AT(jobs, (at - 1LL)) < j)) && (!(decisions_ordering_below(before, key))))) {
        break;
      }
      AT(jobs, at) = AT(jobs, (at - 1LL));
      AT(keys, at) = before;
      at = (at - 1LL);
    }
    AT(jobs, at) = j;
    AT(keys, at) = key;
  }
}

static tuple_float_int batch_io_waiting_next_end(batch_io_state_System * run, int64_t turn) {
  int64_t place = 0;
  place = AT(run->order, turn);
  return (tuple_float_int){AT(run->keys, place), AT(run->agenda->running, place)};
}

static void batch_io_waiting_occupy(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
  int64_t unit = 0;
  batch_io_state_Units * units = 0;
  int64_t own = 0;
  int64_t word = 0;
  clock->free = (clock->free - job->units);
  if (run->rules->partition) {
    job->block = place;
    for (int64_t t_1 = place, end_t_1 = (place + job->units); t_1 < end_t_1; t_1 += 1) {
      unit = t_1;
      AT(run->units->busy, unit) = 1LL;
    }
  } else if (run->rules->numbered) {
    units = run->units;
    own = (job->number * units->words);
    for (int64_t t_2 = 0, end_t_2 = units->words; t_2 < end_t_2; t_2 += 1) {
      word = t_2;
      AT(units->in_use, word) = (AT(units->in_use, word) | AT(units->chosen, (own + word)));
    }
  }
}

static int64_t batch_io_waiting_smallest(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t units = 0;
  int64_t k = 0;
  units = (&AT(run->jobs, AT(run->line, 0LL)))->units;
  for (int64_t t_1 = 1LL, end_t_1 = clock->waiting; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    units = min_int(units, (&AT(run->jobs, AT(run->line, k)))->units);
  }
  return units;
}

static void batch_io_waiting_vacate(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t unit = 0;
  batch_io_state_Units * units = 0;
  int64_t own = 0;
  int64_t word = 0;
  clock->free = (clock->free + job->units);
  if (run->rules->partition) {
    for (int64_t t_1 = job->block, end_t_1 = (job->block + job->units); t_1 < end_t_1; t_1 += 1) {
      unit = t_1;
      AT(run->units->busy, unit) = 0LL;
    }
  } else if (run->rules->numbered) {
    units = run->units;
    own = (job->number * units->words);
    for (int64_t t_2 = 0, end_t_2 = units->words; t_2 < end_t_2; t_2 += 1) {
      word = t_2;
      AT(units->in_use, word) = (AT(units->in_use, word) ^ AT(units->chosen, (own + word)));
    }
  }
}

static void decisions_batch_io_as_they_came(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(view->order, k) = k;
  }
}

static void decisions_batch_io_by_key(decisions_batch_io_KernelView * view) {
  decisions_ordering_insert_by_digits(view->keys, view->order, view->size, view->limits->exact);
}

static void decisions_batch_io_first_fit(decisions_batch_io_KernelView * view, list_double rates) {
  double left = 0;
  int64_t q = 0;
  int64_t k = 0;
  double peak = 0;
  left = view->limits->storage;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    peak = (&AT(view->jobs, AT(view->out, k)))->peak;
    if ((peak <= (left * view->limits->slack))) {
      AT(rates, k) = peak;
      left = (left - peak);
    }
  }
  if (view->top) {
    decisions_batch_io_top_up(view, rates, left);
  }
}

static int64_t decisions_batch_io_place_by_level(decisions_batch_io_KernelView * view, int64_t size, int64_t k, double weight) {
  list_double keys = {0};
  list_int64_t order = {0};
  keys = view->keys;
  order = view->order;
  AT(keys, k) = ((double)(&AT(view->jobs, AT(view->out, k)))->peak / (double)weight);
  AT(view->sizes, k) = weight;
  while (((size > 0LL)) && ((AT(keys, AT(order, (size - 1LL))) > AT(keys, k)))) {
    AT(order, size) = AT(order, (size - 1LL));
    size = (size - 1LL);
  }
  AT(order, size) = k;
  return size;
}

EXPORTED void decisions_batch_io_share_by_nodes(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t nodes = 0;
  decisions_batch_io_Limits * limits = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double rho = 0;
  nodes = 0LL;
  limits = view->limits;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    request = (&AT(view->jobs, AT(view->out, k)));
    nodes = (nodes + request->nodes);
    AT(rates, k) = request->peak;
    if (limits->own_peaks) {
      decisions_batch_io_place_by_level(view, k, k, (double)(request->nodes));
    }
  }
  if (limits->own_peaks) {
    decisions_batch_io_share_out(view, rates, view->size, limits->storage);
  } else if (((limits->node_rate * nodes) > limits->storage)) {
    rho = ((double)limits->storage / (double)nodes);
    for (int64_t t_2 = 0, end_t_2 = view->size; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      AT(rates, k) = (rho * (&AT(view->jobs, AT(view->out, k)))->nodes);
    }
  }
}

static void decisions_batch_io_share_out(decisions_batch_io_KernelView * view, list_double rates, int64_t size, double left) {
  double whole = 0;
  int64_t q = 0;
  int64_t k = 0;
  double weight = 0;
  whole = view->limits->zero;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    whole = (whole + AT(view->sizes, AT(view->order, q)));
  }
  for (int64_t t_2 = 0, end_t_2 = size; t_2 < end_t_2; t_2 += 1) {
    q = t_2;
    k = AT(view->order, q);
    weight = AT(view->sizes, k);
    if ((weight > 0LL)) {
      AT(rates, k) = min_float((&AT(view->jobs, AT(view->out, k)))->peak, ((double)(left * weight) / (double)whole));
      left = (left - AT(rates, k));
      whole = (whole - weight);
    }
  }
}

static void decisions_batch_io_slow_down(list_double rates, int64_t count, double storage, double interference) {
  int64_t active = 0;
  double total = 0;
  int64_t k = 0;
  double most = 0;
  double part = 0;
  active = 0LL;
  total = (double)(0LL);
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    if ((AT(rates, k) > 0LL)) {
      active = (active + 1LL);
      total = (total + AT(rates, k));
    }
  }
  most = ((double)storage / (double)(1LL + (interference * max_int((active - 1LL), 0LL))));
  if ((total > most)) {
    part = ((double)most / (double)total);
    for (int64_t t_2 = 0, end_t_2 = count; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      AT(rates, k) = (AT(rates, k) * part);
    }
  }
}

static void decisions_batch_io_top_up(decisions_batch_io_KernelView * view, list_double rates, double left) {
  int64_t q = 0;
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    if ((left <= (view->limits->storage * view->limits->eps))) {
      return;
    }
    k = AT(view->order, q);
    if ((AT(rates, k) == 0LL)) {
      AT(rates, k) = min_float((&AT(view->jobs, AT(view->out, k)))->peak, left);
      left = (left - AT(rates, k));
    }
  }
}

static int64_t decisions_ordering_below(double one, double other) {
  if (((one * decisions_ordering_NEAR) < other)) {
    return 1;
  }
  if ((((other * decisions_ordering_NEAR) < one)) || ((one == other))) {
    return 0;
  }
  double t_1 = decisions_ordering_nine_digits(one);
  return (t_1 < decisions_ordering_nine_digits(other));
}

static int64_t decisions_ordering_close(double one, double other) {
  return (((one != other)) && (!(((one * decisions_ordering_NEAR) < other))) && (!(((other * decisions_ordering_NEAR) < one))));
}

static void decisions_ordering_insert_by_digits(list_double keys, list_int64_t order, int64_t count, int64_t use_exact) {
  int64_t k = 0;
  int64_t at = 0;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    at = k;
    while (((at > 0LL)) && (decisions_ordering_below(AT(keys, k), AT(keys, AT(order, (at - 1LL)))))) {
      AT(order, at) = AT(order, (at - 1LL));
      at = (at - 1LL);
    }
    AT(order, at) = k;
  }
}

static double decisions_ordering_nine_digits(double value) {
  int64_t exponent = 0;
  double scale = 0;
  if (((value == 0.0)) || ((0 != isinf(value)))) {
    return value;
  }
  exponent = ((int64_t)floor((log10(value))));
  if ((((-290LL) < exponent) && (exponent < 290LL))) {
    if ((exponent <= 8LL)) {
      scale = decisions_ordering_power_of_ten((8LL - exponent));
      return ((double)((int64_t)floor(((value * scale) + 0.5))) / (double)scale);
    }
    scale = decisions_ordering_power_of_ten((exponent - 8LL));
    return (((int64_t)floor((((double)value / (double)scale) + 0.5))) * scale);
  }
  return value;
}

static double decisions_ordering_power_of_ten(int64_t exponent) {
  return pow(10.0, exponent);
}

static int64_t decisions_ordering_precedes(list_double keys, int64_t one, int64_t other) {
  if ((AT(keys, one) == AT(keys, other))) {
    return (one < other);
  }
  return (AT(keys, one) < AT(keys, other));
}

static double decisions_ordering_scan(list_double values, int64_t first, int64_t count) {
  int64_t last = 0;
  double one = 0;
  double two = 0;
  double three = 0;
  double four = 0;
  int64_t k = 0;
  last = (first + count);
  one = INFINITY;
  two = INFINITY;
  three = INFINITY;
  four = INFINITY;
  k = first;
  while (((k + 4LL) <= last)) {
    one = min_float(one, AT(values, k));
    two = min_float(two, AT(values, (k + 1LL)));
    three = min_float(three, AT(values, (k + 2LL)));
    four = min_float(four, AT(values, (k + 3LL)));
    k = (k + 4LL);
  }
  while ((k < last)) {
    one = min_float(one, AT(values, k));
    k = (k + 1LL);
  }
  return min_float(min_float(min_float(one, two), three), four);
}

static int64_t decisions_ordering_search(list_double values, double value, int64_t place, int64_t end) {
  int64_t middle = 0;
  while ((place < end)) {
    middle = floor_int((place + end), 2LL);
    if ((value < AT(values, middle))) {
      end = middle;
    } else {
      place = (middle + 1LL);
    }
  }
  return place;
}

static void decisions_ordering_shell_sort(list_double keys, list_int64_t items, int64_t first, int64_t last) {
  int64_t step = 0;
  int64_t place = 0;
  int64_t item = 0;
  int64_t at = 0;
  step = (last - first);
  while ((step > 1LL)) {
    step = max_int(1LL, floor_int((4LL * step), 9LL));
    for (int64_t t_1 = (first + step), end_t_1 = last; t_1 < end_t_1; t_1 += 1) {
      place = t_1;
      item = AT(items, place);
      at = place;
      while ((((at - step) >= first)) && (decisions_ordering_precedes(keys, item, AT(items, (at - step))))) {
        AT(items, at) = AT(items, (at - step));
        at = (at - step);
      }
      AT(items, at) = item;
    }
  }
}

static double decisions_ordering_time_tolerance(double now) {
  return (decisions_ordering_TIME_TOLERANCE_SECONDS + (decisions_ordering_TIME_TOLERANCE_ULPS * (ulp(now))));
}

static int64_t exact_enumeration_kernel_bits(int64_t mask) {
  int64_t count = 0;
  count = 0LL;
  while (mask) {
    mask = (mask & (mask - 1LL));
    count = (count + 1LL);
  }
  return count;
}

static int64_t exact_enumeration_kernel_choose(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit) {
  int64_t files = 0;
  int64_t visited = 0;
  int64_t place = 0;
  int64_t option = 0;
  int64_t group = 0;
  int64_t same = 0;
  files = data->num_files;
  visited = 0LL;
  place = 0LL;
  if ((files == 0LL)) {
    return exact_enumeration_kernel_FOUND;
  }
  AT(state->chosen, 0LL) = (AT(data->opt_ptr, AT(state->group, 0LL)) - 1LL);
  while ((place >= 0LL)) {
    visited = (visited + 1LL);
    AT(state->chosen, place) = (AT(state->chosen, place) + 1LL);
    option = AT(state->chosen, place);
    group = AT(state->group, place);
    if (((option >= AT(data->opt_ptr, (group + 1LL)))) || ((AT(data->opt_excess, option) > AT(state->spare, place)))) {
      place = (place - 1LL);
      continue;
    }
    if ((visited > leaf_limit)) {
      state->visited = (state->visited + visited);
      return exact_enumeration_kernel_STUCK;
    }
    if ((!(exact_enumeration_kernel_take(data, state, place, option))) || (!(exact_enumeration_kernel_may_fit(data, state, (place + 1LL))))) {
      continue;
    }
    place = (place + 1LL);
    if ((place == files)) {
      state->visited = (state->visited + visited);
      return exact_enumeration_kernel_FOUND;
    }
    same = (AT(state->group, place) == group);
    AT(state->chosen, place) = (same ? (option - 1LL) : (AT(data->opt_ptr, AT(state->group, place)) - 1LL));
  }
  state->visited = (state->visited + visited);
  return exact_enumeration_kernel_DONE;
}

static void exact_enumeration_kernel_lay_out(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t spare) {
  int64_t nodes = 0;
  int64_t files = 0;
  int64_t masks = 0;
  int64_t group = 0;
  int64_t file = 0;
  int64_t place = 0;
  int64_t kind = 0;
  int64_t mask = 0;
  int64_t i = 0;
  int64_t at = 0;
  nodes = data->num_nodes;
  files = data->num_files;
  masks = (1LL << nodes);
  for (int64_t t_1 = 0, end_t_1 = (data->num_kinds * masks); t_1 < end_t_1; t_1 += 1) {
    group = t_1;
    AT(state->count, group) = 0LL;
  }
  for (int64_t t_2 = 0, end_t_2 = files; t_2 < end_t_2; t_2 += 1) {
    file = t_2;
    AT(state->count, ((AT(data->kind, file) * masks) + AT(state->mask, ((data->num_tasks * files) + file)))) = (AT(state->count, ((AT(data->kind, file) * masks) + AT(state->mask, ((data->num_tasks * files) + file)))) + 1LL);
  }
  place = 0LL;
  for (int64_t t_3 = 0, end_t_3 = data->num_kinds; t_3 < end_t_3; t_3 += 1) {
    kind = t_3;
    for (int64_t t_4 = (masks - 1LL), end_t_4 = 0LL; t_4 > end_t_4; t_4 += -1) {
      mask = t_4;
      group = ((kind * masks) + mask);
      for (int64_t t_5 = 0, end_t_5 = AT(state->count, group); t_5 < end_t_5; t_5 += 1) {
        AT(state->group, place) = group;
        place = (place + 1LL);
      }
      if ((AT(state->count, group) > 0LL)) {
        exact_enumeration_kernel_unavoidable(data, state, group, spare);
      }
    }
    AT(state->end, kind) = place;
  }
  AT(state->fetch, files) = 0LL;
  for (int64_t t_6 = 0, end_t_6 = nodes; t_6 < end_t_6; t_6 += 1) {
    i = t_6;
    AT(state->must, ((files * nodes) + i)) = 0LL;
    AT(state->total, i) = AT(state->load, ((data->num_tasks * nodes) + i));
    AT(state->stored, i) = 0LL;
  }
  for (int64_t t_7 = (files - 1LL), end_t_7 = (-1LL); t_7 > end_t_7; t_7 += -1) {
    at = t_7;
    group = AT(state->group, at);
    AT(state->fetch, at) = (AT(state->fetch, (at + 1LL)) + AT(data->far, floor_int(group, masks)));
    for (int64_t t_8 = 0, end_t_8 = nodes; t_8 < end_t_8; t_8 += 1) {
      i = t_8;
      AT(state->must, ((at * nodes) + i)) = (AT(state->must, (((at + 1LL) * nodes) + i)) + AT(state->low, ((group * nodes) + i)));
    }
  }
  AT(state->spare, 0LL) = spare;
}

static int64_t exact_enumeration_kernel_may_fit(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place) {
  int64_t nodes = 0;
  int64_t upper = 0;
  int64_t i = 0;
  int64_t first = 0;
  int64_t kind = 0;
  int64_t step = 0;
  int64_t wanted = 0;
  int64_t free = 0;
  nodes = data->num_nodes;
  upper = state->upper;
  for (int64_t t_1 = 0, end_t_1 = nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    if ((upper < (AT(state->total, ((place * nodes) + i)) + AT(state->must, ((place * nodes) + i))))) {
      return 0;
    }
  }
  if ((place == data->num_files)) {
    return 1;
  }
  first = (AT(state->group, place) >> nodes);
  for (int64_t t_2 = first, end_t_2 = data->num_kinds; t_2 < end_t_2; t_2 += 1) {
    kind = t_2;
    step = AT(data->divisor, ((first * data->num_kinds) + kind));
    wanted = (AT(state->fetch, place) - AT(state->fetch, AT(state->end, kind)));
    for (int64_t t_3 = 0, end_t_3 = nodes; t_3 < end_t_3; t_3 += 1) {
      i = t_3;
      free = ((upper - AT(state->total, ((place * nodes) + i))) - AT(state->must, ((place * nodes) + i)));
      wanted = (wanted - (floor_int(free, step) * step));
    }
    if ((wanted > 0LL)) {
      return 0;
    }
  }
  return 1;
}

static int64_t exact_enumeration_kernel_place(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t depth) {
  int64_t nodes = 0;
  int64_t files = 0;
  int64_t node = 0;
  int64_t here = 0;
  int64_t there = 0;
  int64_t file = 0;
  int64_t cost = 0;
  int64_t used = 0;
  int64_t at = 0;
  int64_t before = 0;
  int64_t first = 0;
  int64_t i = 0;
  nodes = data->num_nodes;
  files = data->num_files;
  AT(state->assign, depth) = (AT(state->assign, depth) + 1LL);
  node = AT(state->assign, depth);
  if ((node > min_int(AT(state->top, depth), (nodes - 1LL)))) {
    return 0;
  }
  state->visited = (state->visited + 1LL);
  here = (depth * files);
  there = ((depth + 1LL) * files);
  for (int64_t t_1 = 0, end_t_1 = files; t_1 < end_t_1; t_1 += 1) {
    file = t_1;
    AT(state->mask, (there + file)) = AT(state->mask, (here + file));
  }
  cost = AT(state->cost, depth);
  used = AT(state->used, ((depth * nodes) + node));
  for (int64_t t_2 = AT(data->ptr, depth), end_t_2 = AT(data->ptr, (depth + 1LL)); t_2 < end_t_2; t_2 += 1) {
    at = t_2;
    file = AT(data->files, at);
    before = AT(state->mask, (here + file));
    if (((before >> node) & 1LL)) {
      continue;
    }
    AT(state->mask, (there + file)) = (before | (1LL << node));
    int64_t t_3 = (AT(data->kind, file) * (nodes + 1LL));
    first = (t_3 + exact_enumeration_kernel_bits(before));
    cost = (cost + (AT(data->base, (first + 1LL)) - AT(data->base, first)));
    used = (used + AT(data->size, AT(data->kind, file)));
  }
  if (((cost > (nodes * state->upper))) || (((0LL <= data->room) && (data->room < used)))) {
    return 1;
  }
  for (int64_t t_4 = 0, end_t_4 = nodes; t_4 < end_t_4; t_4 += 1) {
    i = t_4;
    AT(state->load, (((depth + 1LL) * nodes) + i)) = AT(state->load, ((depth * nodes) + i));
    AT(state->used, (((depth + 1LL) * nodes) + i)) = AT(state->used, ((depth * nodes) + i));
  }
  AT(state->load, (((depth + 1LL) * nodes) + node)) = (AT(state->load, (((depth + 1LL) * nodes) + node)) + AT(data->work, depth));
  AT(state->used, (((depth + 1LL) * nodes) + node)) = used;
  AT(state->cost, (depth + 1LL)) = cost;
  AT(state->top, (depth + 1LL)) = max_int(AT(state->top, depth), (node + 1LL));
  state->depth = (depth + 1LL);
  if (((depth + 1LL) < data->num_tasks)) {
    AT(state->assign, (depth + 1LL)) = (AT(data->alike, (depth + 1LL)) ? (node - 1LL) : (-1LL));
  }
  return 1;
}

EXPORTED int64_t exact_enumeration_kernel_search(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t limit, int64_t leaf_limit) {
  int64_t tasks = 0;
  int64_t depth = 0;
  int64_t verdict = 0;
  tasks = data->num_tasks;
  while ((state->depth >= 0LL)) {
    if ((state->visited >= limit)) {
      return exact_enumeration_kernel_LIMIT;
    }
    depth = state->depth;
    if ((depth == tasks)) {
      verdict = exact_enumeration_kernel_settle(data, state, leaf_limit);
      if ((verdict != exact_enumeration_kernel_DONE)) {
        return verdict;
      }
      state->depth = (depth - 1LL);
    } else if (!(exact_enumeration_kernel_place(data, state, depth))) {
      AT(state->assign, depth) = (-1LL);
      state->depth = (depth - 1LL);
    }
  }
  return exact_enumeration_kernel_DONE;
}

static int64_t exact_enumeration_kernel_settle(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit) {
  int64_t spare = 0;
  spare = ((data->num_nodes * state->upper) - AT(state->cost, data->num_tasks));
  if ((spare < 0LL)) {
    return exact_enumeration_kernel_DONE;
  }
  exact_enumeration_kernel_lay_out(data, state, spare);
  if (!(exact_enumeration_kernel_may_fit(data, state, 0LL))) {
    return exact_enumeration_kernel_DONE;
  }
  return exact_enumeration_kernel_choose(data, state, leaf_limit);
}

static int64_t exact_enumeration_kernel_take(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place, int64_t option) {
  int64_t nodes = 0;
  int64_t size = 0;
  int64_t i = 0;
  int64_t here = 0;
  int64_t there = 0;
  nodes = data->num_nodes;
  size = AT(data->size, (AT(state->group, place) >> nodes));
  AT(state->spare, (place + 1LL)) = (AT(state->spare, place) - AT(data->opt_excess, option));
  for (int64_t t_1 = 0, end_t_1 = nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    here = ((place * nodes) + i);
    there = (((place + 1LL) * nodes) + i);
    AT(state->total, there) = (AT(state->total, here) + AT(data->opt_load, ((option * nodes) + i)));
    AT(state->stored, there) = (AT(state->stored, here) + (((AT(data->opt_has, option) >> i) & 1LL) * size));
    if (((0LL <= data->room) && (data->room < AT(state->stored, there)))) {
      return 0;
    }
  }
  return 1;
}

static void exact_enumeration_kernel_unavoidable(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t group, int64_t spare) {
  int64_t nodes = 0;
  int64_t first = 0;
  int64_t i = 0;
  int64_t option = 0;
  int64_t low = 0;
  nodes = data->num_nodes;
  first = AT(data->opt_ptr, group);
  for (int64_t t_1 = 0, end_t_1 = nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    AT(state->low, ((group * nodes) + i)) = AT(data->opt_low, ((first * nodes) + i));
  }
  for (int64_t t_2 = (first + 1LL), end_t_2 = AT(data->opt_ptr, (group + 1LL)); t_2 < end_t_2; t_2 += 1) {
    option = t_2;
    if ((AT(data->opt_excess, option) > spare)) {
      break;
    }
    for (int64_t t_3 = 0, end_t_3 = nodes; t_3 < end_t_3; t_3 += 1) {
      i = t_3;
      low = AT(data->opt_low, ((option * nodes) + i));
      AT(state->low, ((group * nodes) + i)) = min_int(AT(state->low, ((group * nodes) + i)), low);
    }
  }
}

EXPORTED int64_t measure_io_kernel_serve(measure_io_kernel_Server * server) {
  int64_t cycle = 0;
  list_measure_io_kernel_Window windows = {0};
  list_measure_io_kernel_Process processes = {0};
  int64_t per_cycle = 0;
  measure_io_kernel_Window * window = 0;
  int64_t free = 0;
  int64_t count = 0;
  int64_t first = 0;
  int64_t k = 0;
  measure_io_kernel_Process * process = 0;
  int64_t asked = 0;
  int64_t begin = 0;
  int64_t phase = 0;
  int64_t burst = 0;
  int64_t turns = 0;
  int64_t left = 0;
  int64_t finish = 0;
  cycle = server->cycle;
  windows = server->windows;
  processes = server->processes;
  per_cycle = 0LL;
  for (int64_t t_1 = 0; t_1 < windows.length; t_1 += 1) {
    window = &AT(windows, t_1);
    per_cycle = (per_cycle + window->length);
  }
  free = 0LL;
  count = 0LL;
  while (1) {
    first = 0LL;
    for (int64_t t_2 = 1LL, end_t_2 = processes.length; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      if (((&AT(processes, k))->ready < (&AT(processes, first))->ready)) {
        first = k;
      }
    }
    process = (&AT(processes, first));
    asked = process->ready;
    if (((asked >= server->horizon)) || ((process->completed >= server->per_process))) {
      return count;
    }
    begin = (floor_int(asked, cycle) * per_cycle);
    phase = mod_int(asked, cycle);
    for (int64_t t_3 = 0; t_3 < windows.length; t_3 += 1) {
      window = &AT(windows, t_3);
      if ((phase > window->start)) {
        begin = (begin + min_int((phase - window->start), window->length));
      }
    }
    begin = max_int(begin, free);
    burst = AT(server->bursts, ((first * server->per_process) + process->completed));
    free = (begin + burst);
    turns = floor_int((free - 1LL), per_cycle);
    left = (free - (turns * per_cycle));
    finish = (turns * cycle);
    for (int64_t t_4 = 0; t_4 < windows.length; t_4 += 1) {
      window = &AT(windows, t_4);
      if ((left <= window->length)) {
        finish = (finish + (window->start + left));
        break;
      }
      left = (left - window->length);
    }
    AT(server->process, count) = first;
    AT(server->asked, count) = asked;
    AT(server->begin, count) = begin;
    AT(server->burst, count) = burst;
    AT(server->finish, count) = finish;
    count = (count + 1LL);
    process->completed = (process->completed + 1LL);
    process->ready = (finish + process->io);
  }
}

static int64_t measure_perturbation_kernel_advance(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t work) {
  int64_t slot = 0;
  int64_t room = 0;
  if ((now >= table->end)) {
    return (now + work);
  }
  slot = floor_int(now, table->quantum);
  while ((slot < table->num_slots)) {
    if (AT(table->runs, ((slot * table->processors) + p))) {
      room = (((slot + 1LL) * table->quantum) - now);
      if ((work <= room)) {
        return (now + work);
      }
      work = (work - room);
    }
    slot = (slot + 1LL);
    now = (slot * table->quantum);
  }
  return (now + work);
}

EXPORTED int64_t measure_perturbation_kernel_barrier(measure_perturbation_kernel_Table * table, int64_t work, int64_t interval) {
  int64_t processors = 0;
  int64_t now = 0;
  int64_t piece = 0;
  int64_t release = 0;
  int64_t p = 0;
  int64_t arrival = 0;
  int64_t q = 0;
  processors = table->processors;
  now = 0LL;
  while ((work > 0LL)) {
    piece = min_int(interval, work);
    work = (work - piece);
    release = now;
    for (int64_t t_1 = 0, end_t_1 = processors; t_1 < end_t_1; t_1 += 1) {
      p = t_1;
      arrival = measure_perturbation_kernel_advance(table, p, now, piece);
      release = max_int(release, arrival);
      for (int64_t t_2 = 0, end_t_2 = processors; t_2 < end_t_2; t_2 += 1) {
        q = t_2;
        if ((q != p)) {
          measure_perturbation_kernel_note(table, q, (arrival - 1LL));
        }
      }
    }
    now = release;
  }
  return now;
}

static void measure_perturbation_kernel_deliver(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t q, int64_t now) {
  measure_perturbation_kernel_Process * process = 0;
  measure_perturbation_kernel_note(table, q, now);
  if (((program->cost > 0LL)) && ((measure_perturbation_kernel_next_running(table, q, now) > now))) {
    process = (&AT(program->processes, q));
    if ((process->at > now)) {
      int64_t t_1 = measure_perturbation_kernel_advance(table, q, process->at, program->cost);
      process->at = t_1;
    } else {
      process->owed = (process->owed + program->cost);
    }
  }
}

static int64_t measure_perturbation_kernel_exchange(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t phase, int64_t pattern) {
  int64_t replied = 0;
  int64_t k = 0;
  int64_t other = 0;
  int64_t answered = 0;
  replied = now;
  k = 0LL;
  while (1) {
    other = measure_perturbation_kernel_partner(pattern, table->processors, p, phase, k);
    if ((other < 0LL)) {
      return replied;
    }
    measure_perturbation_kernel_note(table, other, now);
    answered = measure_perturbation_kernel_next_running(table, other, now);
    measure_perturbation_kernel_note(table, p, answered);
    replied = max_int(replied, answered);
    k = (k + 1LL);
  }
}

EXPORTED int64_t measure_perturbation_kernel_msg(measure_perturbation_kernel_Table * table, int64_t work, int64_t phase_work, int64_t rounds, int64_t pattern) {
  int64_t processors = 0;
  int64_t now = 0;
  int64_t phase = 0;
  int64_t piece = 0;
  int64_t release = 0;
  int64_t p = 0;
  int64_t at = 0;
  int64_t replied = 0;
  int64_t r = 0;
  int64_t part = 0;
  int64_t told = 0;
  int64_t q = 0;
  processors = table->processors;
  now = 0LL;
  phase = 0LL;
  while ((work > 0LL)) {
    piece = min_int(phase_work, work);
    work = (work - piece);
    release = now;
    for (int64_t t_1 = 0, end_t_1 = processors; t_1 < end_t_1; t_1 += 1) {
      p = t_1;
      at = now;
      replied = now;
      for (int64_t t_2 = 0, end_t_2 = rounds; t_2 < end_t_2; t_2 += 1) {
        r = t_2;
        at = measure_perturbation_kernel_next_running(table, p, at);
        replied = max_int(replied, measure_perturbation_kernel_exchange(table, p, at, phase, pattern));
        part = (floor_int(((r + 1LL) * piece), rounds) - floor_int((r * piece), rounds));
        at = measure_perturbation_kernel_advance(table, p, at, part);
      }
      told = (at - 1LL);
      if ((replied > at)) {
        int64_t t_3 = measure_perturbation_kernel_next_running(table, p, replied);
        at = t_3;
        told = t_3;
      }
      release = max_int(release, at);
      for (int64_t t_4 = 0, end_t_4 = processors; t_4 < end_t_4; t_4 += 1) {
        q = t_4;
        if ((q != p)) {
          measure_perturbation_kernel_note(table, q, told);
        }
      }
    }
    now = release;
    phase = (phase + 1LL);
  }
  return now;
}

static int64_t measure_perturbation_kernel_next_running(measure_perturbation_kernel_Table * table, int64_t p, int64_t now) {
  int64_t slot = 0;
  if ((now >= table->end)) {
    return now;
  }
  slot = floor_int(now, table->quantum);
  while (((slot < table->num_slots)) && (!(AT(table->runs, ((slot * table->processors) + p))))) {
    slot = (slot + 1LL);
    now = (slot * table->quantum);
  }
  return now;
}

static void measure_perturbation_kernel_note(measure_perturbation_kernel_Table * table, int64_t p, int64_t now) {
  if ((now < table->noted_end)) {
    AT(table->received, ((floor_int(now, table->quantum) * table->processors) + p)) = (AT(table->received, ((floor_int(now, table->quantum) * table->processors) + p)) + 1LL);
  }
}

static void measure_perturbation_kernel_note_progress(measure_perturbation_kernel_Table * table, int64_t p, int64_t since, int64_t until) {
  int64_t slot = 0;
  int64_t begin = 0;
  int64_t end = 0;
  slot = floor_int(since, table->quantum);
  while (((slot < table->counted_slots)) && (((slot * table->quantum) < until))) {
    if (AT(table->runs, ((slot * table->processors) + p))) {
      begin = max_int(since, (slot * table->quantum));
      end = min_int(until, ((slot + 1LL) * table->quantum));
      AT(table->progress, ((slot * table->processors) + p)) = (AT(table->progress, ((slot * table->processors) + p)) + (end - begin));
    }
    slot = (slot + 1LL);
  }
}

static int64_t measure_perturbation_kernel_partner(int64_t pattern, int64_t processors, int64_t p, int64_t phase, int64_t k) {
  int64_t other = 0;
  if ((pattern == measure_perturbation_kernel_ALL_TO_ALL)) {
    if ((k < (processors - 1LL))) {
      return mod_int(((p + 1LL) + k), processors);
    }
    return (-1LL);
  }
  if ((k > 0LL)) {
    return (-1LL);
  }
  if ((pattern == measure_perturbation_kernel_RING)) {
    return mod_int((p + 1LL), processors);
  }
  if ((pattern == measure_perturbation_kernel_PAIRS)) {
    other = (p ^ 1LL);
    if ((other < processors)) {
      return other;
    }
    return (p - 1LL);
  }
  return mod_int(((p + 1LL) + mod_int(phase, (processors - 1LL))), processors);
}

static void measure_perturbation_kernel_plan_next(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t interval, int64_t q) {
  measure_perturbation_kernel_Process * process = 0;
  int64_t message = 0;
  int64_t goal = 0;
  int64_t work = 0;
  process = (&AT(program->processes, q));
  message = AT(program->sends, ((q * program->width) + process->sent));
  goal = min_int(message, AT(program->ends, ((interval * table->processors) + q)));
  work = ((goal - process->done) + process->owed);
  int64_t t_1 = measure_perturbation_kernel_advance(table, q, process->since, work);
  process->at = t_1;
  process->done = goal;
  process->owed = 0LL;
}

EXPORTED int64_t measure_perturbation_kernel_run_program(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program) {
  int64_t processors = 0;
  int64_t now = 0;
  int64_t k = 0;
  measure_perturbation_kernel_Process * process = 0;
  int64_t waiting = 0;
  int64_t p = 0;
  int64_t q = 0;
  int64_t works = 0;
  measure_perturbation_kernel_Process * first = 0;
  int64_t other = 0;
  int64_t answered = 0;
  processors = table->processors;
  now = 0LL;
  for (int64_t t_1 = 0, end_t_1 = program->num_intervals; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    for (int64_t t_2 = 0; t_2 < program->processes.length; t_2 += 1) {
      process = &AT(program->processes, t_2);
      process->since = now;
      process->at = (-1LL);
    }
    waiting = 0LL;
    while ((waiting < processors)) {
      p = (-1LL);
      for (int64_t t_3 = 0, end_t_3 = processors; t_3 < end_t_3; t_3 += 1) {
        q = t_3;
        if (((&AT(program->processes, q))->at < 0LL)) {
          measure_perturbation_kernel_plan_next(table, program, k, q);
        }
        works = ((&AT(program->processes, q))->since >= 0LL);
        if ((works) && (((p < 0LL)) || (((&AT(program->processes, q))->at < (&AT(program->processes, p))->at)))) {
          p = q;
        }
      }
      first = (&AT(program->processes, p));
      now = first->at;
      measure_perturbation_kernel_note_progress(table, p, first->since, now);
      if ((first->done < AT(program->sends, ((p * program->width) + first->sent)))) {
        first->since = (-1LL);
        waiting = (waiting + 1LL);
        for (int64_t t_4 = 0, end_t_4 = processors; t_4 < end_t_4; t_4 += 1) {
          q = t_4;
          if ((q != p)) {
            measure_perturbation_kernel_deliver(table, program, q, now);
          }
        }
        continue;
      }
      other = AT(program->targets, ((p * program->width) + first->sent));
      first->sent = (first->sent + 1LL);
      measure_perturbation_kernel_deliver(table, program, other, now);
      if (program->blocking) {
        answered = measure_perturbation_kernel_next_running(table, other, now);
        measure_perturbation_kernel_deliver(table, program, p, answered);
        if ((answered > now)) {
          now = measure_perturbation_kernel_next_running(table, p, answered);
        }
      }
      first->since = now;
      first->at = (-1LL);
    }
  }
  return now;
}

EXPORTED int64_t measure_perturbation_kernel_workpile(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Pile * pile, int64_t total, int64_t unit) {
  int64_t processors = 0;
  int64_t p = 0;
  int64_t last = 0;
  int64_t first = 0;
  int64_t piece = 0;
  int64_t end = 0;
  processors = table->processors;
  for (int64_t t_1 = 0, end_t_1 = processors; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    int64_t t_2 = measure_perturbation_kernel_next_running(table, p, 0LL);
    AT(pile->start, p) = t_2;
  }
  last = 0LL;
  while ((total > 0LL)) {
    first = 0LL;
    for (int64_t t_3 = 1LL, end_t_3 = processors; t_3 < end_t_3; t_3 += 1) {
      p = t_3;
      if ((AT(pile->start, p) < AT(pile->start, first))) {
        first = p;
      }
    }
    piece = min_int(unit, total);
    total = (total - piece);
    end = measure_perturbation_kernel_advance(table, first, AT(pile->start, first), piece);
    last = max_int(last, end);
    int64_t t_4 = measure_perturbation_kernel_next_running(table, first, end);
    AT(pile->start, first) = t_4;
  }
  return last;
}

static int64_t search_anneal_kernel_draw(search_anneal_kernel_State * state, int64_t below) {
  state->seed = mod_int((state->seed * search_anneal_kernel_MULTIPLIER), search_anneal_kernel_MODULUS);
  return mod_int(state->seed, below);
}

static double search_anneal_kernel_energy(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  double total = 0;
  int64_t node = 0;
  double part = 0;
  total = 0.0;
  for (int64_t t_1 = 0, end_t_1 = data->num_nodes; t_1 < end_t_1; t_1 += 1) {
    node = t_1;
    part = ((double)AT(state->load, node) / (double)data->scale);
    part = (part * part);
    part = (part * part);
    part = (part * part);
    total = (total + (part * part));
    if (((AT(data->room, node) >= 0LL)) && ((AT(state->used, node) > AT(data->room, node)))) {
      total = (total + (0.5 + (10.0 * ((double)(AT(state->used, node) - AT(data->room, node)) / (double)data->disk_scale))));
    }
  }
  return total;
}

static void search_anneal_kernel_keep_best(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t most = 0;
  int64_t over = 0;
  int64_t node = 0;
  int64_t k = 0;
  int64_t file = 0;
  most = 0LL;
  over = 0LL;
  for (int64_t t_1 = 0, end_t_1 = data->num_nodes; t_1 < end_t_1; t_1 += 1) {
    node = t_1;
    most = max_int(most, AT(state->load, node));
    if (((AT(data->room, node) >= 0LL)) && ((AT(state->used, node) > AT(data->room, node)))) {
      over = (over + (AT(state->used, node) - AT(data->room, node)));
    }
  }
  if ((over > state->best_over)) {
    return;
  }
  if (((over == state->best_over)) && ((most >= state->best_load))) {
    return;
  }
  state->best_load = most;
  state->best_over = over;
  for (int64_t t_2 = 0, end_t_2 = data->num_tasks; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    AT(state->best_node, k) = AT(state->node, k);
  }
  for (int64_t t_3 = 0, end_t_3 = data->num_files; t_3 < end_t_3; t_3 += 1) {
    file = t_3;
    AT(state->best_root, file) = AT(state->root, file);
  }
}

static int64_t search_anneal_kernel_may_root(search_anneal_kernel_Data * data, int64_t file, int64_t node) {
  return (((AT(data->fixed_root, file) == 0LL)) || ((AT(data->held, ((file * data->num_nodes) + node)) == 1LL)));
}

static void search_anneal_kernel_move(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node) {
  int64_t before = 0;
  int64_t x = 0;
  int64_t file = 0;
  int64_t idle = 0;
  before = AT(state->node, task);
  search_anneal_kernel_shift(data, state, task, node);
  if ((data->copying == 0LL)) {
    return;
  }
  for (int64_t t_1 = AT(data->ptr, task), end_t_1 = AT(data->ptr, (task + 1LL)); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    file = AT(data->files, x);
    idle = (AT(state->readers, ((file * data->num_nodes) + before)) == 0LL);
    if ((idle) && ((AT(state->root, file) == before)) && (!(AT(data->fixed_root, file)))) {
      search_anneal_kernel_note(state, file, before);
      search_anneal_kernel_reroot(data, state, file, node);
    }
  }
}

static void search_anneal_kernel_note(search_anneal_kernel_State * state, int64_t file, int64_t root) {
  AT(state->trail, state->trail_length) = file;
  AT(state->trail, (state->trail_length + 1LL)) = root;
  state->trail_length = (state->trail_length + 2LL);
}

static int64_t search_anneal_kernel_other_node(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t node) {
  int64_t chosen = 0;
  chosen = search_anneal_kernel_draw(state, (data->num_nodes - 1LL));
  return ((chosen >= node) ? (chosen + 1LL) : chosen);
}

static void search_anneal_kernel_read(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node, int64_t step) {
  int64_t x = 0;
  int64_t others = 0;
  int64_t root = 0;
  x = ((file * data->num_nodes) + node);
  AT(state->readers, x) = (AT(state->readers, x) + step);
  others = (AT(state->readers, x) - ((step > 0LL) ? 1LL : 0LL));
  if (((others > 0LL)) || (AT(data->held, x))) {
    return;
  }
  if ((data->copying == 0LL)) {
    AT(state->load, node) = (AT(state->load, node) + (step * AT(data->far, file)));
    AT(state->used, node) = (AT(state->used, node) + (step * AT(data->sizes, file)));
    return;
  }
  root = AT(state->root, file);
  if ((root != node)) {
    AT(state->load, node) = (AT(state->load, node) + (step * AT(data->near, file)));
    AT(state->load, root) = (AT(state->load, root) + (step * AT(data->near, file)));
    AT(state->others, file) = (AT(state->others, file) + step);
    AT(state->used, node) = (AT(state->used, node) + (step * AT(data->sizes, file)));
  }
}

static void search_anneal_kernel_reroot(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node) {
  int64_t root = 0;
  int64_t far = 0;
  int64_t near = 0;
  int64_t fixed = 0;
  int64_t fetch = 0;
  root = AT(state->root, file);
  far = AT(data->far, file);
  near = AT(data->near, file);
  fixed = AT(data->fixed_root, file);
  fetch = (fixed ? 0LL : far);
  AT(state->load, root) = (AT(state->load, root) - (fetch + (near * AT(state->others, file))));
  if (!(fixed)) {
    if ((AT(state->readers, ((file * data->num_nodes) + root)) > 0LL)) {
      AT(state->load, root) = (AT(state->load, root) + near);
      AT(state->others, file) = (AT(state->others, file) + 1LL);
    } else {
      AT(state->used, root) = (AT(state->used, root) - AT(data->sizes, file));
    }
    if ((AT(state->readers, ((file * data->num_nodes) + node)) > 0LL)) {
      AT(state->load, node) = (AT(state->load, node) - near);
      AT(state->others, file) = (AT(state->others, file) - 1LL);
    } else {
      AT(state->used, node) = (AT(state->used, node) + AT(data->sizes, file));
    }
  }
  AT(state->load, node) = (AT(state->load, node) + (fetch + (near * AT(state->others, file))));
  AT(state->root, file) = node;
}

EXPORTED void search_anneal_kernel_run(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t steps, int64_t total) {
  double now = 0;
  int64_t step = 0;
  double heat = 0;
  double limit = 0;
  int64_t kind = 0;
  int64_t first = 0;
  int64_t second = 0;
  int64_t at = 0;
  int64_t back = 0;
  int64_t file = 0;
  int64_t target = 0;
  int64_t other = 0;
  double after = 0;
  now = search_anneal_kernel_energy(data, state);
  for (int64_t t_1 = 0, end_t_1 = steps; t_1 < end_t_1; t_1 += 1) {
    step = state->step;
    state->step = (step + 1LL);
    heat = AT(data->temperatures, min_int(floor_int((step * search_anneal_kernel_TEMPERATURES), total), 511LL));
    double t_2 = (heat * AT(data->logs, search_anneal_kernel_draw(state, search_anneal_kernel_LOG_TABLE)));
    limit = (now * (1.0 + ((double)t_2 / (double)data->num_nodes)));
    kind = search_anneal_kernel_draw(state, 8LL);
    state->trail_length = 0LL;
    first = (-1LL);
    second = (-1LL);
    at = 0LL;
    back = 0LL;
    if (((kind < 3LL)) && ((data->copying == 1LL)) && ((data->num_files > 0LL))) {
      file = search_anneal_kernel_draw(state, data->num_files);
      target = search_anneal_kernel_other_node(data, state, AT(state->root, file));
      if ((kind > 0LL)) {
        other = search_anneal_kernel_draw(state, data->num_files);
        target = AT(state->root, other);
        if ((target == AT(state->root, file))) {
          continue;
        }
        if (!(search_anneal_kernel_may_root(data, other, AT(state->root, file)))) {
          continue;
        }
        search_anneal_kernel_note(state, other, target);
        search_anneal_kernel_reroot(data, state, other, AT(state->root, file));
      }
      if (!(search_anneal_kernel_may_root(data, file, target))) {
        search_anneal_kernel_undo_roots(data, state);
        continue;
      }
      search_anneal_kernel_note(state, file, AT(state->root, file));
      search_anneal_kernel_reroot(data, state, file, target);
    } else {
      first = search_anneal_kernel_draw(state, data->num_tasks);
      at = AT(state->node, first);
      target = search_anneal_kernel_other_node(data, state, at);
      if ((kind < 5LL)) {
        second = search_anneal_kernel_draw(state, data->num_tasks);
        back = AT(state->node, second);
        if ((back == at)) {
          continue;
        }
        target = back;
      }
      search_anneal_kernel_move(data, state, first, target);
      if ((second >= 0LL)) {
        search_anneal_kernel_move(data, state, second, at);
      }
    }
    after = search_anneal_kernel_energy(data, state);
    if ((after <= limit)) {
      if ((after < now)) {
        search_anneal_kernel_keep_best(data, state);
      }
      now = after;
      continue;
    }
    search_anneal_kernel_undo_roots(data, state);
    if ((second >= 0LL)) {
      search_anneal_kernel_shift(data, state, second, back);
    }
    if ((first >= 0LL)) {
      search_anneal_kernel_shift(data, state, first, at);
    }
  }
}

static void search_anneal_kernel_shift(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node) {
  int64_t before = 0;
  int64_t x = 0;
  before = AT(state->node, task);
  for (int64_t t_1 = AT(data->ptr, task), end_t_1 = AT(data->ptr, (task + 1LL)); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    search_anneal_kernel_read(data, state, AT(data->files, x), before, (-1LL));
    search_anneal_kernel_read(data, state, AT(data->files, x), node, 1LL);
  }
  AT(state->load, before) = (AT(state->load, before) - AT(data->work, ((task * data->num_nodes) + before)));
  AT(state->load, node) = (AT(state->load, node) + AT(data->work, ((task * data->num_nodes) + node)));
  AT(state->node, task) = node;
}

static void search_anneal_kernel_undo_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t at = 0;
  while ((state->trail_length > 0LL)) {
    state->trail_length = (state->trail_length - 2LL);
    at = state->trail_length;
    search_anneal_kernel_reroot(data, state, AT(state->trail, at), AT(state->trail, (at + 1LL)));
  }
}

EXPORTED const char *text_digest(void) { return "c3b92d3005ebe5075a1608a4a7e7c011d729db1a643a7cf05a690a7f05dcec78"; }
