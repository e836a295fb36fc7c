/* text 7c34ef801fb9ebf5ff37f4074667683f5ba6e9c73317ca7cf14d8acc759b7cba */
/* Written by scripts/tools/kernels.py from the kernel text; do not edit. */
#include <math.h>
#include <stdint.h>

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
/* The bits that are set in the absolute value, as Python counts them. */
static inline int64_t bit_count(int64_t a) {
  uint64_t x = a < 0 ? -(uint64_t)a : (uint64_t)a;
  x -= x >> 1 & UINT64_C(0x5555555555555555);
  x = (x & UINT64_C(0x3333333333333333)) + (x >> 2 & UINT64_C(0x3333333333333333));
  x = (x + (x >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
  return (int64_t)(x * UINT64_C(0x0101010101010101) >> 56);
}

#define exact_enumeration_kernel_DONE 0LL
#define exact_enumeration_kernel_FOUND 1LL
#define exact_enumeration_kernel_LIMIT 2LL
#define exact_enumeration_kernel_STUCK 3LL
#define gang_clock_NEVER 1152921504606846976LL
#define gang_phases_NO_ROOM (-1LL)
#define gang_phases_REFUSED (-2LL)
#define gang_rules_ADAPTIVE 2LL
#define gang_rules_BEST_FIT 0LL
#define gang_rules_FILE_NODES 1LL
#define gang_rules_HDF 3LL
#define gang_rules_LAS 2LL
#define gang_rules_LEAST_NEED_SECONDS 50LL
#define gang_rules_UNLIMITED 4611686018427387904LL
#define gang_rules_UNWEIGHTED 0LL
#define measure_perturbation_kernel_ALL_TO_ALL 0LL
#define measure_perturbation_kernel_PAIRS 2LL
#define measure_perturbation_kernel_RING 1LL
#define search_anneal_kernel_LOG_TABLE 4096LL
#define search_anneal_kernel_MODULUS 2147483647LL
#define search_anneal_kernel_MULTIPLIER 16807LL
#define search_anneal_kernel_TEMPERATURES 512LL

typedef struct {
  int64_t size;
  double at_files;
  double remote;
  double arrival;
  uint8_t packed;
  uint8_t local;
  int64_t home;
  int64_t span;
  int64_t rows;
  int64_t next_row;
  int64_t rank;
  double worth;
  double need;
  double attained;
  double start;
  double finish;
} gang_matrix_Job;

typedef struct {
  int64_t place;
  uint8_t migrate;
  uint8_t local_first;
  int64_t weight;
  uint8_t free_queue;
  double age;
  int64_t limit;
  double patience;
  double quantum;
  int64_t slots;
} gang_rules_RuleNumbers;

typedef struct {
  int64_t nodes;
  int64_t levels;
  double quantum;
  double migration;
  int64_t budget;
  double tolerance;
  uint8_t at_boundary;
} gang_state_Timing;

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
  double *at;
  int64_t length;
} list_double;

typedef struct {
  gang_matrix_Job *at;
  int64_t length;
} list_gang_matrix_Job;

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

typedef struct exact_enumeration_kernel_Data exact_enumeration_kernel_Data;

typedef struct exact_enumeration_kernel_State exact_enumeration_kernel_State;

typedef struct gang_matrix_Matrix gang_matrix_Matrix;

typedef struct measure_io_kernel_Server measure_io_kernel_Server;

typedef struct measure_perturbation_kernel_Pile measure_perturbation_kernel_Pile;

typedef struct measure_perturbation_kernel_Program measure_perturbation_kernel_Program;

typedef struct measure_perturbation_kernel_Table measure_perturbation_kernel_Table;

typedef struct search_anneal_kernel_Data search_anneal_kernel_Data;

typedef struct search_anneal_kernel_State search_anneal_kernel_State;

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

struct gang_matrix_Matrix {
  int64_t nodes;
  int64_t levels;
  int64_t words;
  list_int64_t every;
  list_gang_matrix_Job jobs;
  list_int64_t files;
  list_int64_t columns;
  list_int64_t homes;
  list_int64_t filled;
  list_int64_t population;
  list_int64_t room;
  list_int64_t running;
  list_int64_t order;
  list_int64_t queue;
  list_int64_t moved;
  list_int64_t gone;
  list_int64_t ascending;
  list_int64_t descending;
  list_int64_t group;
  list_int64_t layers;
  int64_t num_running;
  int64_t num_before;
  int64_t num_started;
  int64_t queue_head;
  int64_t queue_tail;
  int64_t num_moved;
  int64_t num_gone;
  int64_t num_left;
  int64_t num_done;
  double now;
  int64_t slice_number;
  int64_t slots;
  double slot_seconds;
  int64_t budget_slice;
  int64_t tasks_left;
  int64_t tasks_moved;
  int64_t updates;
  int64_t update_due;
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

static inline int64_t exact_enumeration_kernel_bits(int64_t mask);
static inline int64_t exact_enumeration_kernel_choose(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static inline void exact_enumeration_kernel_lay_out(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t spare);
static inline int64_t exact_enumeration_kernel_may_fit(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place);
static inline int64_t exact_enumeration_kernel_place(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t depth);
EXPORTED int64_t exact_enumeration_kernel_search(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t limit, int64_t leaf_limit);
static inline int64_t exact_enumeration_kernel_settle(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static inline int64_t exact_enumeration_kernel_take(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place, int64_t option);
static inline void exact_enumeration_kernel_unavoidable(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t group, int64_t spare);
static inline int64_t gang_clock_advance(gang_matrix_Matrix * matrix, gang_state_Timing * timing, int64_t steps);
static inline void gang_clock_close_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing);
static inline int64_t gang_clock_in_row(gang_matrix_Matrix * matrix, int64_t row);
static inline void gang_clock_open_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules);
static inline double gang_clock_run_row(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double now, int64_t index, double following);
EXPORTED void gang_clock_simulate(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules, int64_t steps);
static inline int64_t gang_clock_skip_cycles(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double gap);
static inline int64_t gang_clock_slice_of(double instant, gang_state_Timing * timing);
static inline void gang_clock_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules);
EXPORTED void gang_compaction_compact(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
static inline int64_t gang_compaction_first_to_fit(gang_matrix_Matrix * matrix, int64_t num, int64_t row);
static inline int64_t gang_compaction_jobs_at_home(gang_matrix_Matrix * matrix, int64_t row);
static inline int64_t gang_compaction_move_one(gang_matrix_Matrix * matrix);
static inline void gang_compaction_sort_rows(list_int64_t rows, list_int64_t population, int64_t sign);
static inline void gang_nodes_add(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words);
static inline void gang_nodes_assign(list_int64_t sets, int64_t j, list_int64_t source, int64_t words);
static inline void gang_nodes_choose_nodes(list_int64_t rows, int64_t row, list_int64_t every, int64_t size, list_int64_t layers, list_int64_t columns, int64_t j);
static inline int64_t gang_nodes_equal(list_int64_t sets, list_int64_t others, int64_t j, int64_t words);
static inline void gang_nodes_find_layers(list_int64_t rows, int64_t row, list_int64_t every, list_int64_t layers);
static inline int64_t gang_nodes_is_free(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words);
static inline int64_t gang_nodes_num_outside(list_int64_t sets, list_int64_t others, int64_t j, int64_t words);
static inline void gang_nodes_remove(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words);
static inline int64_t gang_nodes_take_lowest(list_int64_t layers, int64_t k, list_int64_t sets, int64_t j, int64_t most, int64_t words);
static inline void gang_phases_begin(gang_matrix_Matrix * matrix, int64_t j);
static inline int64_t gang_phases_best_fit_row(gang_matrix_Matrix * matrix, int64_t size);
static inline int64_t gang_phases_file_row(gang_matrix_Matrix * matrix, int64_t j);
EXPORTED void gang_phases_migrate(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
static inline int64_t gang_phases_move_to_files(gang_matrix_Matrix * matrix, int64_t j);
static inline int64_t gang_phases_passes(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, int64_t j, int64_t row);
static inline int64_t gang_phases_place(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, int64_t j);
static inline int64_t gang_phases_refused(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, gang_matrix_Job * job);
static inline int64_t gang_phases_row_to_move_to(gang_matrix_Matrix * matrix, int64_t j);
static inline int64_t gang_phases_rows_free(gang_matrix_Matrix * matrix, list_int64_t sets, int64_t j);
EXPORTED void gang_phases_schedule(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
static inline void gang_placement_drop(list_int64_t keys, int64_t count, int64_t j);
static inline void gang_placement_put(gang_matrix_Matrix * matrix, int64_t j, int64_t row);
static inline void gang_placement_sort_by_worth(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, list_int64_t keys, int64_t num);
static inline void gang_placement_take_out(gang_matrix_Matrix * matrix, int64_t j);
static inline void gang_placement_use_files(gang_matrix_Matrix * matrix, int64_t j);
static inline double gang_placement_worth_of(gang_matrix_Job * job, gang_rules_RuleNumbers * rules);
static inline void gang_replicas_add_in_turns(gang_matrix_Matrix * matrix, list_int64_t keys, int64_t at_once, int64_t local, int64_t remote);
static inline int64_t gang_replicas_add_replica(gang_matrix_Matrix * matrix, int64_t j);
static inline void gang_replicas_add_replicas(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
EXPORTED void gang_replicas_clean(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
EXPORTED void gang_replicas_fill(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules);
static inline int64_t gang_replicas_next_free_row(gang_matrix_Matrix * matrix, int64_t j, gang_matrix_Job * job);
static inline double gang_rules_weight_of(int64_t weight, double local, double attained, double need, double quantum);
EXPORTED int64_t measure_io_kernel_serve(measure_io_kernel_Server * server);
static inline int64_t measure_perturbation_kernel_advance(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t work);
EXPORTED int64_t measure_perturbation_kernel_barrier(measure_perturbation_kernel_Table * table, int64_t work, int64_t interval);
static inline void measure_perturbation_kernel_deliver(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t q, int64_t now);
static inline int64_t measure_perturbation_kernel_exchange(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t phase, int64_t pattern);
EXPORTED int64_t measure_perturbation_kernel_msg(measure_perturbation_kernel_Table * table, int64_t work, int64_t phase_work, int64_t rounds, int64_t pattern);
static inline int64_t measure_perturbation_kernel_next_running(measure_perturbation_kernel_Table * table, int64_t p, int64_t now);
static inline void measure_perturbation_kernel_note(measure_perturbation_kernel_Table * table, int64_t p, int64_t now);
static inline void measure_perturbation_kernel_note_progress(measure_perturbation_kernel_Table * table, int64_t p, int64_t since, int64_t until);
static inline int64_t measure_perturbation_kernel_partner(int64_t pattern, int64_t processors, int64_t p, int64_t phase, int64_t k);
static inline void measure_perturbation_kernel_plan_next(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t interval, int64_t q);
EXPORTED int64_t measure_perturbation_kernel_run_program(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program);
EXPORTED int64_t measure_perturbation_kernel_workpile(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Pile * pile, int64_t total, int64_t unit);
static inline int64_t search_anneal_kernel_draw(search_anneal_kernel_State * state, int64_t below);
static inline double search_anneal_kernel_energy(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline void search_anneal_kernel_keep_best(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline int64_t search_anneal_kernel_may_root(search_anneal_kernel_Data * data, int64_t file, int64_t node);
static inline void search_anneal_kernel_move(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static inline void search_anneal_kernel_note(search_anneal_kernel_State * state, int64_t file, int64_t root);
static inline int64_t search_anneal_kernel_other_node(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t node);
static inline void search_anneal_kernel_read(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node, int64_t step);
static inline void search_anneal_kernel_reroot(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node);
EXPORTED void search_anneal_kernel_run(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t steps, int64_t total);
static inline void search_anneal_kernel_shift(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static inline void search_anneal_kernel_undo_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);

static inline int64_t exact_enumeration_kernel_bits(int64_t mask) {
  int64_t count = 0;
  count = 0LL;
  while (mask) {
    mask = (mask & (mask - 1LL));
    count = (count + 1LL);
  }
  return count;
}

static inline int64_t exact_enumeration_kernel_choose(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit) {
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

static inline void exact_enumeration_kernel_lay_out(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t spare) {
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

static inline int64_t exact_enumeration_kernel_may_fit(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place) {
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

static inline int64_t exact_enumeration_kernel_place(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t depth) {
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

static inline int64_t exact_enumeration_kernel_settle(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit) {
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

static inline int64_t exact_enumeration_kernel_take(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place, int64_t option) {
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

static inline void exact_enumeration_kernel_unavoidable(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t group, int64_t spare) {
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

static inline int64_t gang_clock_advance(gang_matrix_Matrix * matrix, gang_state_Timing * timing, int64_t steps) {
  list_gang_matrix_Job jobs = {0};
  double quantum = 0;
  double tolerance = 0;
  int64_t total = 0;
  double now = 0;
  int64_t index = 0;
  int64_t arrived = 0;
  int64_t due = 0;
  double following = 0;
  int64_t jump = 0;
  double until = 0;
  int64_t fresh = 0;
  int64_t held = 0;
  jobs = matrix->jobs;
  quantum = timing->quantum;
  tolerance = timing->tolerance;
  total = jobs.length;
  now = matrix->now;
  index = matrix->slice_number;
  arrived = matrix->queue_tail;
  due = 0;
  while (((steps > 0LL)) && (!(due)) && ((matrix->num_done < total))) {
    steps = (steps - 1LL);
    following = ((arrived < total) ? (&AT(jobs, arrived))->arrival : INFINITY);
    if ((matrix->num_running > 0LL)) {
      if ((now == (index * quantum))) {
        index = (index + gang_clock_skip_cycles(matrix, timing, (following - now)));
        now = (index * quantum);
      }
    } else if (((matrix->queue_head == arrived)) && (((now + tolerance) < following)) && ((following < INFINITY))) {
      jump = gang_clock_slice_of(following, timing);
      if ((jump > index)) {
        index = jump;
        now = (index * quantum);
      }
    }
    if ((following > (now + tolerance))) {
      until = gang_clock_run_row(matrix, timing, now, index, following);
      matrix->slot_seconds = (matrix->slot_seconds + (matrix->slots * (until - now)));
      now = until;
      if ((until == ((index + 1LL) * quantum))) {
        index = (index + 1LL);
      }
    }
    fresh = arrived;
    while (((arrived < total)) && (((&AT(jobs, arrived))->arrival <= (now + tolerance)))) {
      arrived = (arrived + 1LL);
    }
    held = ((timing->at_boundary) && ((now != (index * quantum))));
    due = ((!(held)) && (((matrix->num_gone > 0LL)) || ((fresh != arrived))));
  }
  matrix->now = now;
  matrix->slice_number = index;
  matrix->queue_tail = arrived;
  matrix->update_due = due;
  return steps;
}

static inline void gang_clock_close_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing) {
  int64_t k = 0;
  gang_matrix_Job * job = 0;
  double left = 0;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_moved; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(matrix->jobs, AT(matrix->moved, k)));
    left = ((double)(job->need * job->at_files) / (double)job->remote);
    job->need = (timing->migration + left);
  }
  for (int64_t t_2 = matrix->num_before, end_t_2 = matrix->num_running; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    job = (&AT(matrix->jobs, AT(matrix->running, k)));
    job->start = max_float(matrix->now, job->arrival);
    if (job->local) {
      job->need = job->at_files;
    } else {
      job->need = job->remote;
    }
  }
  matrix->updates = (matrix->updates + 1LL);
  matrix->update_due = 0;
}

static inline int64_t gang_clock_in_row(gang_matrix_Matrix * matrix, int64_t row) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t running = {0};
  list_int64_t group = {0};
  int64_t num = 0;
  int64_t k = 0;
  int64_t j = 0;
  jobs = matrix->jobs;
  running = matrix->running;
  group = matrix->group;
  num = 0LL;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(running, k);
    if ((((&AT(jobs, j))->span >> row) & 1LL)) {
      AT(group, num) = j;
      num = (num + 1LL);
    }
  }
  return num;
}

static inline void gang_clock_open_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules) {
  int64_t k = 0;
  int64_t j = 0;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_gone; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(matrix->gone, k);
    gang_placement_take_out(matrix, j);
    gang_placement_drop(matrix->running, matrix->num_running, j);
    if ((rules->weight != gang_rules_UNWEIGHTED)) {
      gang_placement_drop(matrix->order, matrix->num_running, j);
    }
    matrix->num_running = (matrix->num_running - 1LL);
  }
  matrix->num_left = matrix->num_gone;
  matrix->num_gone = 0LL;
  matrix->num_moved = 0LL;
  matrix->num_before = matrix->num_running;
  if ((matrix->budget_slice != matrix->slice_number)) {
    matrix->budget_slice = matrix->slice_number;
    matrix->tasks_left = timing->budget;
  }
}

static inline double gang_clock_run_row(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double now, int64_t index, double following) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t group = {0};
  int64_t at_boundary = 0;
  double tolerance = 0;
  double end = 0;
  double until = 0;
  int64_t active = 0;
  double first = 0;
  int64_t k = 0;
  double passed = 0;
  int64_t j = 0;
  gang_matrix_Job * job = 0;
  double remaining = 0;
  jobs = matrix->jobs;
  group = matrix->group;
  at_boundary = timing->at_boundary;
  tolerance = timing->tolerance;
  end = ((index + 1LL) * timing->quantum);
  until = end;
  active = gang_clock_in_row(matrix, mod_int(index, timing->levels));
  if (!(at_boundary)) {
    if ((following < (until - tolerance))) {
      until = following;
    }
    first = INFINITY;
    for (int64_t t_1 = 0, end_t_1 = active; t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      first = min_float(first, (&AT(jobs, AT(group, k)))->need);
    }
    if (((now + first) < (until - tolerance))) {
      until = (now + first);
    }
  }
  passed = (until - now);
  for (int64_t t_2 = 0, end_t_2 = active; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    j = AT(group, k);
    job = (&AT(jobs, j));
    if ((at_boundary) && ((job->need <= 0LL))) {
      continue;
    }
    job->attained = (job->attained + passed);
    remaining = (job->need - passed);
    if ((remaining <= tolerance)) {
      job->finish = until;
      if (at_boundary) {
        job->finish = min_float((now + job->need), end);
      }
      remaining = (double)(0LL);
      AT(matrix->gone, matrix->num_gone) = j;
      matrix->num_gone = (matrix->num_gone + 1LL);
      matrix->num_done = (matrix->num_done + 1LL);
    }
    job->need = remaining;
  }
  return until;
}

EXPORTED void gang_clock_simulate(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules, int64_t steps) {
  int64_t total = 0;
  total = matrix->jobs.length;
  while (((steps > 0LL)) && ((matrix->num_done < total))) {
    steps = gang_clock_advance(matrix, timing, steps);
    if (matrix->update_due) {
      gang_clock_update(matrix, timing, rules);
    }
  }
}

static inline int64_t gang_clock_skip_cycles(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double gap) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t running = {0};
  double quantum = 0;
  double cycle = 0;
  int64_t cycles = 0;
  int64_t k = 0;
  gang_matrix_Job * job = 0;
  double passed = 0;
  jobs = matrix->jobs;
  running = matrix->running;
  quantum = timing->quantum;
  cycle = (timing->levels * quantum);
  cycles = gang_clock_NEVER;
  if ((gap < INFINITY)) {
    if ((gap < (3LL * cycle))) {
      return 0LL;
    }
    cycles = (((int64_t)floor(((double)gap / (double)cycle))) - 1LL);
  }
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(jobs, AT(running, k)));
    cycles = min_int(cycles, (((int64_t)floor(((double)job->need / (double)(job->rows * quantum)))) - 1LL));
    if ((cycles < 1LL)) {
      return 0LL;
    }
  }
  for (int64_t t_2 = 0, end_t_2 = matrix->num_running; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    job = (&AT(jobs, AT(running, k)));
    passed = ((cycles * job->rows) * quantum);
    job->need = (job->need - passed);
    job->attained = (job->attained + passed);
  }
  matrix->slot_seconds = (matrix->slot_seconds + (matrix->slots * (cycles * cycle)));
  return (cycles * timing->levels);
}

static inline int64_t gang_clock_slice_of(double instant, gang_state_Timing * timing) {
  int64_t index = 0;
  index = ((int64_t)floor(((double)instant / (double)timing->quantum)));
  if (((((index + 1LL) * timing->quantum) - instant) <= timing->tolerance)) {
    index = (index + 1LL);
  }
  return index;
}

static inline void gang_clock_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules) {
  gang_clock_open_update(matrix, timing, rules);
  gang_replicas_clean(matrix, rules);
  if (rules->migrate) {
    gang_phases_migrate(matrix, rules);
  }
  gang_compaction_compact(matrix, rules);
  gang_phases_schedule(matrix, rules);
  gang_replicas_fill(matrix, rules);
  gang_clock_close_update(matrix, timing);
}

EXPORTED void gang_compaction_compact(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  while (gang_compaction_move_one(matrix)) {
  }
}

static inline int64_t gang_compaction_first_to_fit(gang_matrix_Matrix * matrix, int64_t num, int64_t row) {
  list_int64_t homes = {0};
  list_int64_t columns = {0};
  list_int64_t group = {0};
  int64_t words = 0;
  int64_t taken = 0;
  int64_t k = 0;
  int64_t j = 0;
  int64_t room = 0;
  homes = matrix->homes;
  columns = matrix->columns;
  group = matrix->group;
  words = matrix->words;
  if ((words == 1LL)) {
    taken = AT(homes, row);
    for (int64_t t_1 = 0, end_t_1 = num; t_1 < end_t_1; t_1 += 1) {
      k = t_1;
      j = AT(group, k);
      if (((taken & AT(columns, j)) == 0LL)) {
        return j;
      }
    }
    return (-1LL);
  }
  room = (matrix->nodes - AT(matrix->population, row));
  for (int64_t t_2 = 0, end_t_2 = num; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    j = AT(group, k);
    if ((((&AT(matrix->jobs, j))->size <= room)) && (gang_nodes_is_free(homes, row, columns, j, words))) {
      return j;
    }
  }
  return (-1LL);
}

static inline int64_t gang_compaction_jobs_at_home(gang_matrix_Matrix * matrix, int64_t row) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t running = {0};
  list_int64_t group = {0};
  int64_t num = 0;
  int64_t k = 0;
  int64_t j = 0;
  jobs = matrix->jobs;
  running = matrix->running;
  group = matrix->group;
  num = 0LL;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(running, k);
    if (((&AT(jobs, j))->home == row)) {
      AT(group, num) = j;
      num = (num + 1LL);
    }
  }
  return num;
}

static inline int64_t gang_compaction_move_one(gang_matrix_Matrix * matrix) {
  list_int64_t population = {0};
  int64_t source = 0;
  int64_t num = 0;
  int64_t target = 0;
  int64_t j = 0;
  population = matrix->population;
  gang_compaction_sort_rows(matrix->ascending, population, 1LL);
  gang_compaction_sort_rows(matrix->descending, population, (-1LL));
  for (int64_t t_1 = 0; t_1 < matrix->ascending.length; t_1 += 1) {
    source = AT(matrix->ascending, t_1);
    if ((AT(population, source) == 0LL)) {
      continue;
    }
    num = (-1LL);
    for (int64_t t_2 = 0; t_2 < matrix->descending.length; t_2 += 1) {
      target = AT(matrix->descending, t_2);
      if ((AT(population, target) < AT(population, source))) {
        break;
      }
      if (((target == source)) || ((AT(population, target) == matrix->nodes))) {
        continue;
      }
      if ((num < 0LL)) {
        num = gang_compaction_jobs_at_home(matrix, source);
      }
      j = gang_compaction_first_to_fit(matrix, num, target);
      if ((j >= 0LL)) {
        gang_placement_take_out(matrix, j);
        gang_placement_put(matrix, j, target);
        return 1;
      }
    }
  }
  return 0;
}

static inline void gang_compaction_sort_rows(list_int64_t rows, list_int64_t population, int64_t sign) {
  int64_t k = 0;
  int64_t row = 0;
  int64_t key = 0;
  int64_t at = 0;
  int64_t other = 0;
  int64_t rank = 0;
  for (int64_t t_1 = 1LL, end_t_1 = rows.length; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    row = AT(rows, k);
    key = (sign * AT(population, row));
    at = k;
    while ((at > 0LL)) {
      other = AT(rows, (at - 1LL));
      rank = (sign * AT(population, other));
      if (((rank < key)) || (((rank == key)) && ((other < row)))) {
        break;
      }
      AT(rows, at) = other;
      at = (at - 1LL);
    }
    AT(rows, at) = row;
  }
}

static inline void gang_nodes_add(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words) {
  int64_t w = 0;
  for (int64_t t_1 = 0, end_t_1 = words; t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    AT(rows, ((row * words) + w)) = (AT(rows, ((row * words) + w)) | AT(sets, ((j * words) + w)));
  }
}

static inline void gang_nodes_assign(list_int64_t sets, int64_t j, list_int64_t source, int64_t words) {
  int64_t w = 0;
  for (int64_t t_1 = (j * words), end_t_1 = ((j + 1LL) * words); t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    AT(sets, w) = AT(source, w);
  }
}

static inline void gang_nodes_choose_nodes(list_int64_t rows, int64_t row, list_int64_t every, int64_t size, list_int64_t layers, list_int64_t columns, int64_t j) {
  int64_t words = 0;
  int64_t w = 0;
  int64_t k = 0;
  words = every.length;
  gang_nodes_find_layers(rows, row, every, layers);
  for (int64_t t_1 = (j * words), end_t_1 = ((j + 1LL) * words); t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    AT(columns, w) = 0LL;
  }
  for (int64_t t_2 = floor_int(rows.length, words), end_t_2 = (-1LL); t_2 > end_t_2; t_2 += -1) {
    k = t_2;
    size = (size - gang_nodes_take_lowest(layers, k, columns, j, size, words));
    if ((size == 0LL)) {
      break;
    }
  }
}

static inline int64_t gang_nodes_equal(list_int64_t sets, list_int64_t others, int64_t j, int64_t words) {
  int64_t differing = 0;
  int64_t w = 0;
  differing = 0LL;
  for (int64_t t_1 = (j * words), end_t_1 = ((j + 1LL) * words); t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    differing = (differing | (AT(sets, w) ^ AT(others, w)));
  }
  return (differing == 0LL);
}

static inline void gang_nodes_find_layers(list_int64_t rows, int64_t row, list_int64_t every, list_int64_t layers) {
  int64_t words = 0;
  int64_t levels = 0;
  int64_t w = 0;
  int64_t k = 0;
  int64_t other = 0;
  int64_t free = 0;
  words = every.length;
  levels = floor_int(rows.length, words);
  for (int64_t t_1 = 0, end_t_1 = words; t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    AT(layers, w) = (AT(every, w) & (~AT(rows, ((row * words) + w))));
    for (int64_t t_2 = 1LL, end_t_2 = (levels + 1LL); t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      AT(layers, ((k * words) + w)) = 0LL;
    }
    if ((AT(layers, w) == 0LL)) {
      continue;
    }
    for (int64_t t_3 = 0, end_t_3 = levels; t_3 < end_t_3; t_3 += 1) {
      other = t_3;
      if ((other == row)) {
        continue;
      }
      free = (~AT(rows, ((other * words) + w)));
      for (int64_t t_4 = other, end_t_4 = (-1LL); t_4 > end_t_4; t_4 += -1) {
        k = t_4;
        AT(layers, (((k + 1LL) * words) + w)) = (AT(layers, (((k + 1LL) * words) + w)) | (AT(layers, ((k * words) + w)) & free));
      }
    }
  }
}

static inline int64_t gang_nodes_is_free(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words) {
  int64_t w = 0;
  if ((words == 1LL)) {
    return ((AT(rows, row) & AT(sets, j)) == 0LL);
  }
  w = 0LL;
  while (((w < words)) && (((AT(rows, ((row * words) + w)) & AT(sets, ((j * words) + w))) == 0LL))) {
    w = (w + 1LL);
  }
  return (w == words);
}

static inline int64_t gang_nodes_num_outside(list_int64_t sets, list_int64_t others, int64_t j, int64_t words) {
  int64_t count = 0;
  int64_t w = 0;
  int64_t outside = 0;
  count = 0LL;
  for (int64_t t_1 = (j * words), end_t_1 = ((j + 1LL) * words); t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    outside = (AT(sets, w) & (~AT(others, w)));
    count = (count + bit_count(outside));
  }
  return count;
}

static inline void gang_nodes_remove(list_int64_t rows, int64_t row, list_int64_t sets, int64_t j, int64_t words) {
  int64_t w = 0;
  for (int64_t t_1 = 0, end_t_1 = words; t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    AT(rows, ((row * words) + w)) = (AT(rows, ((row * words) + w)) & (~AT(sets, ((j * words) + w))));
  }
}

static inline int64_t gang_nodes_take_lowest(list_int64_t layers, int64_t k, list_int64_t sets, int64_t j, int64_t most, int64_t words) {
  int64_t count = 0;
  int64_t w = 0;
  int64_t fresh = 0;
  int64_t here = 0;
  int64_t rest = 0;
  count = 0LL;
  for (int64_t t_1 = 0, end_t_1 = words; t_1 < end_t_1; t_1 += 1) {
    w = t_1;
    fresh = (AT(layers, ((k * words) + w)) & (~AT(sets, ((j * words) + w))));
    here = bit_count(fresh);
    if ((here > (most - count))) {
      here = (most - count);
      rest = fresh;
      for (int64_t t_2 = 0, end_t_2 = here; t_2 < end_t_2; t_2 += 1) {
        rest = (rest & (rest - 1LL));
      }
      fresh = (fresh ^ rest);
    }
    AT(sets, ((j * words) + w)) = (AT(sets, ((j * words) + w)) | fresh);
    count = (count + here);
  }
  return count;
}

static inline void gang_phases_begin(gang_matrix_Matrix * matrix, int64_t j) {
  AT(matrix->running, matrix->num_running) = j;
  AT(matrix->order, matrix->num_running) = j;
  matrix->num_running = (matrix->num_running + 1LL);
  (&AT(matrix->jobs, j))->rank = matrix->num_started;
  matrix->num_started = (matrix->num_started + 1LL);
}

static inline int64_t gang_phases_best_fit_row(gang_matrix_Matrix * matrix, int64_t size) {
  list_int64_t population = {0};
  int64_t room = 0;
  int64_t best = 0;
  int64_t fullest = 0;
  int64_t row = 0;
  int64_t taken = 0;
  population = matrix->population;
  room = (matrix->nodes - size);
  best = (-1LL);
  fullest = (-1LL);
  for (int64_t t_1 = 0, end_t_1 = matrix->levels; t_1 < end_t_1; t_1 += 1) {
    row = t_1;
    taken = AT(population, row);
    if (((fullest < taken) && (taken <= room))) {
      best = row;
      fullest = taken;
    }
  }
  return best;
}

static inline int64_t gang_phases_file_row(gang_matrix_Matrix * matrix, int64_t j) {
  list_int64_t population = {0};
  int64_t room = 0;
  int64_t best = 0;
  int64_t fullest = 0;
  int64_t row = 0;
  int64_t taken = 0;
  population = matrix->population;
  room = (matrix->nodes - (&AT(matrix->jobs, j))->size);
  best = (-1LL);
  fullest = (-1LL);
  for (int64_t t_1 = 0, end_t_1 = matrix->levels; t_1 < end_t_1; t_1 += 1) {
    row = t_1;
    taken = AT(population, row);
    if ((((fullest < taken) && (taken <= room))) && (gang_nodes_is_free(matrix->homes, row, matrix->files, j, matrix->words))) {
      best = row;
      fullest = taken;
    }
  }
  return best;
}

EXPORTED void gang_phases_migrate(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t group = {0};
  list_int64_t keys = {0};
  int64_t num = 0;
  int64_t k = 0;
  int64_t j = 0;
  gang_matrix_Job * job = 0;
  int64_t changed = 0;
  if ((matrix->tasks_left <= 0LL)) {
    return;
  }
  jobs = matrix->jobs;
  group = matrix->group;
  keys = matrix->running;
  if ((rules->weight != gang_rules_UNWEIGHTED)) {
    keys = matrix->order;
  }
  num = 0LL;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(keys, k);
    job = (&AT(jobs, j));
    if ((!(job->local)) && (!(job->packed))) {
      AT(group, num) = j;
      num = (num + 1LL);
    }
  }
  if (((rules->weight != gang_rules_UNWEIGHTED)) && ((num > 1LL))) {
    gang_placement_sort_by_worth(matrix, rules, group, num);
  }
  changed = (num > 0LL);
  while (changed) {
    changed = 0;
    for (int64_t t_2 = 0, end_t_2 = num; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      j = AT(group, k);
      if ((!((&AT(jobs, j))->local)) && (gang_phases_move_to_files(matrix, j))) {
        changed = 1;
      }
    }
  }
}

static inline int64_t gang_phases_move_to_files(gang_matrix_Matrix * matrix, int64_t j) {
  int64_t cost = 0;
  int64_t row = 0;
  cost = gang_nodes_num_outside(matrix->files, matrix->columns, j, matrix->words);
  if ((cost > matrix->tasks_left)) {
    return 0;
  }
  row = gang_phases_row_to_move_to(matrix, j);
  if ((row < 0LL)) {
    return 0;
  }
  gang_placement_take_out(matrix, j);
  gang_placement_use_files(matrix, j);
  gang_placement_put(matrix, j, row);
  matrix->tasks_left = (matrix->tasks_left - cost);
  matrix->tasks_moved = (matrix->tasks_moved + cost);
  AT(matrix->moved, matrix->num_moved) = j;
  matrix->num_moved = (matrix->num_moved + 1LL);
  return 1;
}

static inline int64_t gang_phases_passes(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, int64_t j, int64_t row) {
  if (rules->free_queue) {
    return (((rules->age <= 0LL)) || (((matrix->now - (&AT(matrix->jobs, j))->arrival) <= rules->age)));
  }
  return (((row == gang_phases_REFUSED)) && ((rules->patience < gang_rules_UNLIMITED)));
}

static inline int64_t gang_phases_place(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, int64_t j) {
  gang_matrix_Job * job = 0;
  int64_t row = 0;
  int64_t other = 0;
  int64_t at_files = 0;
  int64_t elsewhere = 0;
  job = (&AT(matrix->jobs, j));
  row = gang_phases_NO_ROOM;
  if ((rules->place != gang_rules_BEST_FIT)) {
    row = gang_phases_file_row(matrix, j);
  }
  if (((rules->place == gang_rules_FILE_NODES)) || (((row >= 0LL)) && (!(job->packed)))) {
    if ((row >= 0LL)) {
      gang_placement_use_files(matrix, j);
    }
    return row;
  }
  other = gang_phases_best_fit_row(matrix, job->size);
  if ((other < 0LL)) {
    return gang_phases_NO_ROOM;
  }
  if (((rules->place == gang_rules_ADAPTIVE)) && (!(job->packed)) && (gang_phases_refused(matrix, rules, job))) {
    return gang_phases_REFUSED;
  }
  gang_nodes_choose_nodes(matrix->homes, other, matrix->every, job->size, matrix->layers, matrix->columns, j);
  int64_t t_1 = gang_nodes_equal(matrix->columns, matrix->files, j, matrix->words);
  job->local = t_1;
  if ((row >= 0LL)) {
    at_files = gang_phases_rows_free(matrix, matrix->files, j);
    elsewhere = gang_phases_rows_free(matrix, matrix->columns, j);
    if (((at_files * job->remote) >= (elsewhere * job->at_files))) {
      gang_placement_use_files(matrix, j);
      return row;
    }
  }
  return other;
}

static inline int64_t gang_phases_refused(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, gang_matrix_Job * job) {
  int64_t occupied = 0;
  int64_t taken = 0;
  double waited = 0;
  occupied = job->size;
  for (int64_t t_1 = 0; t_1 < matrix->population.length; t_1 += 1) {
    taken = AT(matrix->population, t_1);
    occupied = (occupied + taken);
  }
  if ((occupied <= rules->limit)) {
    return 0;
  }
  if (((occupied * job->remote) <= (rules->slots * job->at_files))) {
    return 0;
  }
  waited = (matrix->now - job->arrival);
  return (waited < (rules->patience * (job->remote - job->at_files)));
}

static inline int64_t gang_phases_row_to_move_to(gang_matrix_Matrix * matrix, int64_t j) {
  list_int64_t homes = {0};
  list_int64_t files = {0};
  list_int64_t columns = {0};
  int64_t words = 0;
  gang_matrix_Job * job = 0;
  int64_t home = 0;
  int64_t wanted = 0;
  int64_t row = 0;
  int64_t taken = 0;
  int64_t room = 0;
  int64_t w = 0;
  int64_t others = 0;
  homes = matrix->homes;
  files = matrix->files;
  columns = matrix->columns;
  words = matrix->words;
  job = (&AT(matrix->jobs, j));
  home = job->home;
  if ((words == 1LL)) {
    wanted = AT(files, j);
    for (int64_t t_1 = 0, end_t_1 = homes.length; t_1 < end_t_1; t_1 += 1) {
      row = t_1;
      taken = AT(homes, row);
      if ((row == home)) {
        taken = (taken & (~AT(columns, j)));
      }
      if (((taken & wanted) == 0LL)) {
        return row;
      }
    }
    return (-1LL);
  }
  room = (matrix->nodes - job->size);
  for (int64_t t_2 = 0, end_t_2 = matrix->levels; t_2 < end_t_2; t_2 += 1) {
    row = t_2;
    if ((row == home)) {
      taken = 0LL;
      for (int64_t t_3 = 0, end_t_3 = words; t_3 < end_t_3; t_3 += 1) {
        w = t_3;
        others = (AT(homes, ((row * words) + w)) & (~AT(columns, ((j * words) + w))));
        taken = (taken | (others & AT(files, ((j * words) + w))));
      }
      if ((taken == 0LL)) {
        return row;
      }
    } else if (((AT(matrix->population, row) <= room)) && (gang_nodes_is_free(homes, row, files, j, words))) {
      return row;
    }
  }
  return (-1LL);
}

static inline int64_t gang_phases_rows_free(gang_matrix_Matrix * matrix, list_int64_t sets, int64_t j) {
  int64_t count = 0;
  int64_t row = 0;
  count = 0LL;
  for (int64_t t_1 = 0, end_t_1 = matrix->levels; t_1 < end_t_1; t_1 += 1) {
    row = t_1;
    if (gang_nodes_is_free(matrix->homes, row, sets, j, matrix->words)) {
      count = (count + 1LL);
    }
  }
  return count;
}

EXPORTED void gang_phases_schedule(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  list_int64_t queue = {0};
  int64_t at = 0;
  int64_t kept = 0;
  int64_t j = 0;
  int64_t row = 0;
  queue = matrix->queue;
  at = matrix->queue_head;
  kept = at;
  while ((at < matrix->queue_tail)) {
    j = AT(queue, at);
    row = gang_phases_place(matrix, rules, j);
    if ((row >= 0LL)) {
      gang_placement_put(matrix, j, row);
      gang_phases_begin(matrix, j);
    } else if (gang_phases_passes(matrix, rules, j, row)) {
      AT(queue, kept) = j;
      kept = (kept + 1LL);
    } else {
      break;
    }
    at = (at + 1LL);
  }
  while ((kept > matrix->queue_head)) {
    kept = (kept - 1LL);
    at = (at - 1LL);
    AT(queue, at) = AT(queue, kept);
  }
  matrix->queue_head = at;
}

static inline void gang_placement_drop(list_int64_t keys, int64_t count, int64_t j) {
  int64_t at = 0;
  int64_t k = 0;
  at = 0LL;
  while ((AT(keys, at) != j)) {
    at = (at + 1LL);
  }
  for (int64_t t_1 = at, end_t_1 = (count - 1LL); t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(keys, k) = AT(keys, (k + 1LL));
  }
}

static inline void gang_placement_put(gang_matrix_Matrix * matrix, int64_t j, int64_t row) {
  gang_matrix_Job * job = 0;
  job = (&AT(matrix->jobs, j));
  gang_nodes_add(matrix->homes, row, matrix->columns, j, matrix->words);
  AT(matrix->population, row) = (AT(matrix->population, row) + job->size);
  job->home = row;
  job->span = (1LL << row);
  job->rows = 1LL;
}

static inline void gang_placement_sort_by_worth(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules, list_int64_t keys, int64_t num) {
  list_gang_matrix_Job jobs = {0};
  int64_t k = 0;
  gang_matrix_Job * job = 0;
  int64_t j = 0;
  double worth = 0;
  int64_t at = 0;
  gang_matrix_Job * other = 0;
  jobs = matrix->jobs;
  for (int64_t t_1 = 0, end_t_1 = num; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(jobs, AT(keys, k)));
    double t_2 = gang_placement_worth_of(job, rules);
    job->worth = t_2;
  }
  for (int64_t t_3 = 1LL, end_t_3 = num; t_3 < end_t_3; t_3 += 1) {
    k = t_3;
    j = AT(keys, k);
    job = (&AT(jobs, j));
    worth = job->worth;
    at = k;
    while ((at > 0LL)) {
      other = (&AT(jobs, AT(keys, (at - 1LL))));
      if ((other->worth > worth)) {
        break;
      }
      if (((other->worth == worth)) && ((other->rank < job->rank))) {
        break;
      }
      AT(keys, at) = AT(keys, (at - 1LL));
      at = (at - 1LL);
    }
    AT(keys, at) = j;
  }
}

static inline void gang_placement_take_out(gang_matrix_Matrix * matrix, int64_t j) {
  gang_matrix_Job * job = 0;
  job = (&AT(matrix->jobs, j));
  gang_nodes_remove(matrix->homes, job->home, matrix->columns, j, matrix->words);
  AT(matrix->population, job->home) = (AT(matrix->population, job->home) - job->size);
}

static inline void gang_placement_use_files(gang_matrix_Matrix * matrix, int64_t j) {
  gang_nodes_assign(matrix->columns, j, matrix->files, matrix->words);
  (&AT(matrix->jobs, j))->local = 1;
}

static inline double gang_placement_worth_of(gang_matrix_Job * job, gang_rules_RuleNumbers * rules) {
  double weight = 0;
  weight = gang_rules_weight_of(rules->weight, job->at_files, job->attained, job->need, rules->quantum);
  if (job->local) {
    return weight;
  }
  return ((double)(weight * job->at_files) / (double)job->remote);
}

static inline void gang_replicas_add_in_turns(gang_matrix_Matrix * matrix, list_int64_t keys, int64_t at_once, int64_t local, int64_t remote) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t group = {0};
  int64_t num = 0;
  int64_t k = 0;
  int64_t j = 0;
  gang_matrix_Job * job = 0;
  int64_t found = 0;
  int64_t added = 0;
  jobs = matrix->jobs;
  group = matrix->group;
  num = 0LL;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    j = AT(keys, k);
    job = (&AT(jobs, j));
    if (((job->local) && (local)) || ((!(job->local)) && (remote))) {
      job->next_row = 0LL;
      AT(group, num) = j;
      num = (num + 1LL);
    }
  }
  while ((num > 0LL)) {
    found = 0LL;
    for (int64_t t_2 = 0, end_t_2 = num; t_2 < end_t_2; t_2 += 1) {
      k = t_2;
      j = AT(group, k);
      added = gang_replicas_add_replica(matrix, j);
      while ((added) && (at_once)) {
        added = gang_replicas_add_replica(matrix, j);
      }
      if (added) {
        AT(group, found) = j;
        found = (found + 1LL);
      }
    }
    num = found;
  }
}

static inline int64_t gang_replicas_add_replica(gang_matrix_Matrix * matrix, int64_t j) {
  gang_matrix_Job * job = 0;
  int64_t row = 0;
  job = (&AT(matrix->jobs, j));
  row = gang_replicas_next_free_row(matrix, j, job);
  if ((row < 0LL)) {
    return 0;
  }
  job->span = (job->span | (1LL << row));
  job->rows = (job->rows + 1LL);
  job->next_row = (row + 1LL);
  matrix->slots = (matrix->slots + job->size);
  return 1;
}

static inline void gang_replicas_add_replicas(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  int64_t weighted = 0;
  list_int64_t keys = {0};
  weighted = (rules->weight != gang_rules_UNWEIGHTED);
  keys = matrix->running;
  if (weighted) {
    keys = matrix->order;
    gang_placement_sort_by_worth(matrix, rules, keys, matrix->num_running);
  }
  if (!(rules->local_first)) {
    gang_replicas_add_in_turns(matrix, keys, weighted, 1, 1);
    return;
  }
  gang_replicas_add_in_turns(matrix, keys, weighted, 1, 0);
  gang_replicas_add_in_turns(matrix, keys, weighted, 0, 1);
}

EXPORTED void gang_replicas_clean(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  list_gang_matrix_Job jobs = {0};
  list_int64_t running = {0};
  int64_t k = 0;
  gang_matrix_Job * job = 0;
  jobs = matrix->jobs;
  running = matrix->running;
  for (int64_t t_1 = 0, end_t_1 = matrix->num_running; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    job = (&AT(jobs, AT(running, k)));
    job->span = (1LL << job->home);
    job->rows = 1LL;
  }
}

EXPORTED void gang_replicas_fill(gang_matrix_Matrix * matrix, gang_rules_RuleNumbers * rules) {
  int64_t k = 0;
  int64_t row = 0;
  for (int64_t t_1 = 0, end_t_1 = matrix->homes.length; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(matrix->filled, k) = AT(matrix->homes, k);
  }
  matrix->slots = 0LL;
  for (int64_t t_2 = 0, end_t_2 = matrix->levels; t_2 < end_t_2; t_2 += 1) {
    row = t_2;
    matrix->slots = (matrix->slots + AT(matrix->population, row));
    AT(matrix->room, row) = (matrix->nodes - AT(matrix->population, row));
  }
  gang_replicas_add_replicas(matrix, rules);
}

static inline int64_t gang_replicas_next_free_row(gang_matrix_Matrix * matrix, int64_t j, gang_matrix_Job * job) {
  list_int64_t filled = {0};
  list_int64_t columns = {0};
  int64_t words = 0;
  int64_t wanted = 0;
  int64_t row = 0;
  int64_t size = 0;
  filled = matrix->filled;
  columns = matrix->columns;
  words = matrix->words;
  if ((words == 1LL)) {
    wanted = AT(columns, j);
    for (int64_t t_1 = job->next_row, end_t_1 = filled.length; t_1 < end_t_1; t_1 += 1) {
      row = t_1;
      if (((AT(filled, row) & wanted) == 0LL)) {
        AT(filled, row) = (AT(filled, row) | wanted);
        return row;
      }
    }
    return (-1LL);
  }
  size = job->size;
  for (int64_t t_2 = job->next_row, end_t_2 = matrix->levels; t_2 < end_t_2; t_2 += 1) {
    row = t_2;
    if (((size <= AT(matrix->room, row))) && (gang_nodes_is_free(filled, row, columns, j, words))) {
      gang_nodes_add(filled, row, columns, j, words);
      AT(matrix->room, row) = (AT(matrix->room, row) - size);
      return row;
    }
  }
  return (-1LL);
}

static inline double gang_rules_weight_of(int64_t weight, double local, double attained, double need, double quantum) {
  double since = 0;
  if ((weight == gang_rules_LAS)) {
    since = (attained + quantum);
    return ((double)1LL / (double)(since * since));
  }
  if ((weight == gang_rules_HDF)) {
    return ((double)1LL / (double)(max_float(local, quantum) * max_float(need, gang_rules_LEAST_NEED_SECONDS)));
  }
  return (double)(1LL);
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

static inline int64_t measure_perturbation_kernel_advance(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t work) {
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

static inline void measure_perturbation_kernel_deliver(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t q, int64_t now) {
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

static inline int64_t measure_perturbation_kernel_exchange(measure_perturbation_kernel_Table * table, int64_t p, int64_t now, int64_t phase, int64_t pattern) {
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

static inline int64_t measure_perturbation_kernel_next_running(measure_perturbation_kernel_Table * table, int64_t p, int64_t now) {
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

static inline void measure_perturbation_kernel_note(measure_perturbation_kernel_Table * table, int64_t p, int64_t now) {
  if ((now < table->noted_end)) {
    AT(table->received, ((floor_int(now, table->quantum) * table->processors) + p)) = (AT(table->received, ((floor_int(now, table->quantum) * table->processors) + p)) + 1LL);
  }
}

static inline void measure_perturbation_kernel_note_progress(measure_perturbation_kernel_Table * table, int64_t p, int64_t since, int64_t until) {
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

static inline int64_t measure_perturbation_kernel_partner(int64_t pattern, int64_t processors, int64_t p, int64_t phase, int64_t k) {
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

static inline void measure_perturbation_kernel_plan_next(measure_perturbation_kernel_Table * table, measure_perturbation_kernel_Program * program, int64_t interval, int64_t q) {
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

static inline int64_t search_anneal_kernel_draw(search_anneal_kernel_State * state, int64_t below) {
  state->seed = mod_int((state->seed * search_anneal_kernel_MULTIPLIER), search_anneal_kernel_MODULUS);
  return mod_int(state->seed, below);
}

static inline double search_anneal_kernel_energy(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
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

static inline void search_anneal_kernel_keep_best(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
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

static inline int64_t search_anneal_kernel_may_root(search_anneal_kernel_Data * data, int64_t file, int64_t node) {
  return (((AT(data->fixed_root, file) == 0LL)) || ((AT(data->held, ((file * data->num_nodes) + node)) == 1LL)));
}

static inline void search_anneal_kernel_move(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node) {
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

static inline void search_anneal_kernel_note(search_anneal_kernel_State * state, int64_t file, int64_t root) {
  AT(state->trail, state->trail_length) = file;
  AT(state->trail, (state->trail_length + 1LL)) = root;
  state->trail_length = (state->trail_length + 2LL);
}

static inline int64_t search_anneal_kernel_other_node(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t node) {
  int64_t chosen = 0;
  chosen = search_anneal_kernel_draw(state, (data->num_nodes - 1LL));
  return ((chosen >= node) ? (chosen + 1LL) : chosen);
}

static inline void search_anneal_kernel_read(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node, int64_t step) {
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

static inline void search_anneal_kernel_reroot(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node) {
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

static inline void search_anneal_kernel_shift(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node) {
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

static inline void search_anneal_kernel_undo_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t at = 0;
  while ((state->trail_length > 0LL)) {
    state->trail_length = (state->trail_length - 2LL);
    at = state->trail_length;
    search_anneal_kernel_reroot(data, state, AT(state->trail, at), AT(state->trail, (at + 1LL)));
  }
}

EXPORTED const char *text_digest(void) { return "7c34ef801fb9ebf5ff37f4074667683f5ba6e9c73317ca7cf14d8acc759b7cba"; }
