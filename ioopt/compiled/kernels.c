/* text d3fdfcce204f28665f3d86ecd2f3445c9711d60ffe2fb9ba805b28b49b40f8c3 */
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

#define batch_io_adaptive_PAYS 0.999999999
#define batch_io_boxes_OVERDUE_SECONDS 300LL
#define batch_io_max_util_WIDER 4LL
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
#define exact_queue_bound_ENDED_TASK 3LL
#define exact_queue_bound_LOOSE 0LL
#define exact_queue_bound_QUEUED 1LL
#define exact_queue_bound_RUNNING 2LL
#define exact_queue_kernel_ASKS 1LL
#define exact_queue_kernel_BEFORE 0LL
#define exact_queue_kernel_CLOSE (-1LL)
#define exact_queue_kernel_DONE 0LL
#define exact_queue_kernel_ENDS 0LL
#define exact_queue_kernel_FAILS 2LL
#define exact_queue_kernel_LIMIT 1LL
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
#define models_fluid_bound_HALF_ULP 1.1102230246251565e-16
#define problems_replication_JUST_AFTER 1e-11
#define problems_replication_RELATIVE_AFTER 2e-14
#define replication_disk_CLASS_STEP 1000000000000.0
#define replication_disk_DEAD 1099511627776LL
#define replication_disk_NO_PLACE (-1LL)
#define replication_disk_UNASSIGNED 549755813888LL
#define replication_kernel_ASKING 5LL
#define replication_kernel_BEGIN (-2LL)
#define replication_kernel_BEYOND 3LL
#define replication_kernel_FINISHED 0LL
#define replication_kernel_LOG_FULL 2LL
#define replication_kernel_NOBODY (-1LL)
#define replication_kernel_PAUSED 4LL
#define replication_kernel_REPLAY (-3LL)
#define replication_kernel_STUCK 1LL
#define replication_world_CLOSED (-2LL)
#define replication_world_DISK_USE (-2LL)
#define replication_world_FARTHEST_NEXT_USE 0LL
#define replication_world_IDLE (-1LL)
#define replication_world_LRU 2LL
#define replication_world_OPEN (-1LL)
#define replication_world_POPULARITY 1LL
#define search_anneal_kernel_LOG_TABLE 4096LL
#define search_anneal_kernel_MODULUS 2147483647LL
#define search_anneal_kernel_MULTIPLIER 16807LL
#define search_anneal_kernel_TEMPERATURES 512LL
#define search_line_moves_BARRIER_MOVES 15LL
#define search_line_moves_BARRIER_SHIFT 4LL
#define search_line_moves_EXCHANGES 20LL
#define search_line_moves_LONGEST_BLOCK 8LL
#define search_line_moves_MODULUS 2147483647LL
#define sim_fluid_BY_DRAW 4801LL
#define sim_fluid_BY_FILE 7919LL
#define sim_fluid_BY_RECEIVER 1543LL
#define sim_fluid_CLOSED (-1.0)
#define sim_fluid_CROSSED 3LL
#define sim_fluid_WEIGHTS 8191LL

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
  double free;
  double power;
} exact_queue_bound_PathCore;

typedef struct {
  double far;
  double after;
  double owed;
  int32_t producer;
} exact_queue_bound_PathFile;

typedef struct {
  double quick;
  double tail;
  double start;
  double end;
  int32_t state;
  int32_t on;
} exact_queue_bound_PathTask;

typedef struct {
  int64_t children;
  int64_t at;
} exact_queue_kernel_Branching;

typedef struct {
  double bound;
  int64_t row;
} exact_queue_kernel_Child;

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
  double relative;
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
  double last_use;
  int32_t pin;
  int32_t next_place;
  int32_t resident;
  int32_t seat;
  int8_t has;
} replication_world_Cell;

typedef struct {
  double end;
  double idle_since;
  int32_t node;
  int32_t entry;
  int32_t step;
  int32_t step_ended;
  int32_t started;
} replication_world_Core;

typedef struct {
  int32_t node;
  int32_t file;
} replication_world_Drop;

typedef struct {
  double compute;
  double overhead;
  double release;
  int64_t memory;
  int64_t out_bytes;
  int64_t disk_bytes;
  int64_t missing;
  double start;
  double end;
  int32_t first_input;
  int32_t end_input;
  int32_t first_output;
  int32_t end_output;
  int32_t cores;
  int32_t turn;
} replication_world_Entry;

typedef struct {
  double at;
  int64_t moves;
  int32_t file;
  int32_t node;
  int32_t begun;
} replication_world_Eviction;

typedef struct {
  int64_t size;
  double made;
  int32_t storage;
  int32_t need;
  int32_t unassigned;
  int32_t freq;
  int32_t copies;
  int32_t flying;
  int8_t product;
  int8_t keep;
  int8_t saved;
} replication_world_File;

typedef struct {
  int32_t node;
  int32_t file;
} replication_world_Held;

typedef struct {
  int32_t file;
  int32_t source;
  int32_t round;
} replication_world_Move;

typedef struct {
  int64_t disk;
  int64_t memory;
  double speed;
  int64_t used;
  int64_t free_memory;
  int32_t cores;
  int32_t staging;
  int32_t first_core;
  int32_t end_core;
  int32_t first_slot;
  int32_t end_slot;
  int32_t first_place;
  int32_t end_place;
  int32_t first_move;
  int32_t end_move;
  int32_t num_residents;
  int32_t head;
  int32_t staged;
  int32_t idle;
  int32_t waiting;
  int32_t running;
} replication_world_Node;

typedef struct {
  int64_t clear;
  int32_t entry;
  int32_t round;
} replication_world_Place;

typedef struct {
  int32_t file;
  int32_t follow;
} replication_world_Read;

typedef struct {
  int32_t first_drop;
  int32_t end_drop;
  int32_t left;
} replication_world_Round;

typedef struct {
  double now;
  double last_end;
  double instant;
  int64_t owed;
  int64_t remote_bytes;
  int64_t replica_bytes;
  int64_t saved_bytes;
  int64_t cached_bytes;
  int64_t transfers;
  int64_t evictions;
  int64_t fetches;
  int64_t refetched;
  int64_t saves;
  int64_t spills;
  int64_t opened;
  int64_t ended;
  int64_t arrived;
  int64_t saving;
  int64_t request;
  int64_t wanted;
  int64_t passed;
  int64_t changed;
  int64_t begun;
  int64_t starts;
} replication_world_Run;

typedef struct {
  double start;
  double end;
  int32_t file;
  int32_t source;
  int32_t destination;
  int32_t begun;
} replication_world_Transfer;

typedef struct {
  double key;
  int32_t file;
} replication_world_Victim;

typedef struct {
  int64_t task;
  int64_t node;
} search_anneal_kernel_Moved;

typedef struct {
  int64_t seed;
} search_line_moves_Chance;

typedef struct {
  int32_t resident;
  int8_t on;
} search_line_moves_LineCell;

typedef struct {
  int32_t next_place;
  int32_t wanted;
  int32_t copies;
} search_line_moves_LineFile;

typedef struct {
  double rate;
  int32_t flow;
} sim_fluid_Busy;

typedef struct {
  double left;
  double rate;
  double since;
  double due;
  double weight;
  int64_t row;
  int32_t file;
  int32_t source;
  int32_t target;
} sim_fluid_Flow;

typedef struct {
  double capacity;
  double left;
  double crossing;
} sim_fluid_Resource;

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
  exact_queue_bound_PathCore *at;
  int64_t length;
} list_exact_queue_bound_PathCore;

typedef struct {
  exact_queue_bound_PathFile *at;
  int64_t length;
} list_exact_queue_bound_PathFile;

typedef struct {
  exact_queue_bound_PathTask *at;
  int64_t length;
} list_exact_queue_bound_PathTask;

typedef struct {
  exact_queue_kernel_Branching *at;
  int64_t length;
} list_exact_queue_kernel_Branching;

typedef struct {
  exact_queue_kernel_Child *at;
  int64_t length;
} list_exact_queue_kernel_Child;

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
  replication_world_Cell *at;
  int64_t length;
} list_replication_world_Cell;

typedef struct {
  replication_world_Core *at;
  int64_t length;
} list_replication_world_Core;

typedef struct {
  replication_world_Drop *at;
  int64_t length;
} list_replication_world_Drop;

typedef struct {
  replication_world_Entry *at;
  int64_t length;
} list_replication_world_Entry;

typedef struct {
  replication_world_Eviction *at;
  int64_t length;
} list_replication_world_Eviction;

typedef struct {
  replication_world_File *at;
  int64_t length;
} list_replication_world_File;

typedef struct {
  replication_world_Held *at;
  int64_t length;
} list_replication_world_Held;

typedef struct {
  replication_world_Move *at;
  int64_t length;
} list_replication_world_Move;

typedef struct {
  replication_world_Node *at;
  int64_t length;
} list_replication_world_Node;

typedef struct {
  replication_world_Place *at;
  int64_t length;
} list_replication_world_Place;

typedef struct {
  replication_world_Read *at;
  int64_t length;
} list_replication_world_Read;

typedef struct {
  replication_world_Round *at;
  int64_t length;
} list_replication_world_Round;

typedef struct {
  replication_world_Run *at;
  int64_t length;
} list_replication_world_Run;

typedef struct {
  replication_world_Transfer *at;
  int64_t length;
} list_replication_world_Transfer;

typedef struct {
  replication_world_Victim *at;
  int64_t length;
} list_replication_world_Victim;

typedef struct {
  search_anneal_kernel_Moved *at;
  int64_t length;
} list_search_anneal_kernel_Moved;

typedef struct {
  search_line_moves_LineCell *at;
  int64_t length;
} list_search_line_moves_LineCell;

typedef struct {
  search_line_moves_LineFile *at;
  int64_t length;
} list_search_line_moves_LineFile;

typedef struct {
  sim_fluid_Busy *at;
  int64_t length;
} list_sim_fluid_Busy;

typedef struct {
  sim_fluid_Flow *at;
  int64_t length;
} list_sim_fluid_Flow;

typedef struct {
  sim_fluid_Resource *at;
  int64_t length;
} list_sim_fluid_Resource;

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

typedef struct exact_queue_bound_Path exact_queue_bound_Path;

typedef struct exact_queue_kernel_States exact_queue_kernel_States;

typedef struct exact_queue_kernel_Tree exact_queue_kernel_Tree;

typedef struct gang_matrix_Matrix gang_matrix_Matrix;

typedef struct measure_io_kernel_Server measure_io_kernel_Server;

typedef struct measure_perturbation_kernel_Pile measure_perturbation_kernel_Pile;

typedef struct measure_perturbation_kernel_Program measure_perturbation_kernel_Program;

typedef struct measure_perturbation_kernel_Table measure_perturbation_kernel_Table;

typedef struct models_fluid_bound_Stream models_fluid_bound_Stream;

typedef struct replication_world_World replication_world_World;

typedef struct search_anneal_kernel_Data search_anneal_kernel_Data;

typedef struct search_anneal_kernel_State search_anneal_kernel_State;

typedef struct search_line_moves_Line search_line_moves_Line;

typedef struct sim_fluid_Fluid sim_fluid_Fluid;

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
  double least;
  list_double keys;
  list_int64_t order;
  list_double depths;
  list_double sizes;
  list_double finishes;
  list_int64_t bits;
  int64_t width;
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

struct exact_queue_bound_Path {
  double near;
  double remote_rate;
  list_exact_queue_bound_PathTask tasks;
  list_exact_queue_bound_PathFile files;
  list_exact_queue_bound_PathCore cores;
  list_int64_t order;
  list_int64_t urgent;
  list_int64_t fits;
};

struct exact_queue_kernel_States {
  list_replication_world_Run runs;
  list_replication_world_File files;
  list_replication_world_Node nodes;
  list_replication_world_Cell cells;
  list_replication_world_Read reads;
  list_replication_world_Core cores;
  list_sim_fluid_Flow flows;
  list_replication_world_Place places;
  list_int64_t finished;
};

struct exact_queue_kernel_Tree {
  double upper;
  int64_t depth;
  int64_t visited;
  int64_t found;
  int64_t pressed;
  int64_t begun;
  exact_queue_kernel_States * kept;
  list_exact_queue_kernel_Branching branchings;
  list_exact_queue_kernel_Child children;
  list_int64_t below;
  list_int64_t fits;
  list_int64_t best;
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

struct models_fluid_bound_Stream {
  list_double release;
  list_double amount;
  list_double weight;
  list_double left;
  list_int64_t rank;
  list_int64_t at_rank;
  list_int64_t heap;
};

struct replication_world_World {
  int64_t num_nodes;
  int64_t num_files;
  int64_t num_tasks;
  int64_t num_storages;
  int64_t shared;
  int64_t plain;
  int64_t policy;
  int64_t num_entries;
  int64_t num_rounds;
  int64_t barriers;
  int64_t growing;
  int64_t least_loaded;
  int64_t clearing;
  int64_t carried;
  int64_t logging;
  int64_t task_disk;
  int64_t task_flows;
  int64_t products_shared;
  int64_t caches_made;
  replication_world_Run * run;
  sim_fluid_Fluid * fluid;
  list_replication_world_File files;
  list_replication_world_Node nodes;
  list_replication_world_Cell cells;
  list_replication_world_Entry entries;
  list_replication_world_Read reads;
  list_int64_t outputs;
  list_replication_world_Held held;
  list_replication_world_Core cores;
  list_int64_t by_release;
  list_int64_t finished;
  list_replication_world_Place places;
  list_replication_world_Round rounds;
  list_replication_world_Drop drops;
  list_replication_world_Move moves;
  list_replication_world_Transfer transfers;
  list_replication_world_Eviction evictions;
  list_replication_world_Victim victims;
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
  list_search_anneal_kernel_Moved moved;
  int64_t seed;
  int64_t step;
  int64_t best_load;
  int64_t best_over;
  int64_t trail_length;
  int64_t num_moved;
};

struct search_line_moves_Line {
  double now;
  double best;
  double most_exact;
  int64_t draws;
  int64_t first_draw;
  int64_t evaluations;
  int64_t policy;
  int64_t barriers;
  int64_t by_bytes;
  double fetch_cost;
  double copy_cost;
  int64_t fetched;
  int64_t copied;
  int64_t owed;
  search_line_moves_Chance * chance;
  list_int64_t order;
  list_int64_t place;
  list_int64_t node;
  list_int64_t cut;
  list_int64_t kept_order;
  list_int64_t kept_node;
  list_int64_t kept_cut;
  list_int64_t best_order;
  list_int64_t best_node;
  list_int64_t best_cut;
  list_int64_t before_ptr;
  list_int64_t before;
  list_int64_t after_ptr;
  list_int64_t after;
  list_int64_t reader_ptr;
  list_int64_t readers;
  list_int64_t fits;
  list_int64_t flag;
  list_int64_t scratch;
  list_int64_t queued;
  list_search_line_moves_LineCell cells;
  list_search_line_moves_LineFile files;
  list_int64_t follow;
  list_int64_t used;
  list_int64_t num_residents;
};

struct sim_fluid_Fluid {
  int64_t crossed;
  int64_t draw;
  double latency;
  list_sim_fluid_Flow flows;
  list_sim_fluid_Resource resources;
  list_sim_fluid_Busy busy;
  list_int64_t use;
  list_double weights;
};

typedef struct { double v0; double v1; } tuple_float_float;

typedef struct { double v0; int64_t v1; } tuple_float_int;

typedef struct { int64_t v0; int64_t v1; } tuple_int_int;

typedef void (*function_decisions_batch_io_KernelView_list_float_None)(decisions_batch_io_KernelView *, list_double);

EXPORTED void batch_io_adaptive_adaptive(decisions_batch_io_KernelView * view, list_double rates);
static inline void batch_io_adaptive_insert_at(list_double values, int64_t place, int64_t size, double value);
static inline int64_t batch_io_adaptive_members_to_wait_for(list_double sizes, int64_t size, double nodes, double room);
static inline tuple_float_float batch_io_adaptive_play(decisions_batch_io_KernelView * view, int64_t size, int64_t without, double peak, double slack);
static inline double batch_io_adaptive_play_step(decisions_batch_io_KernelView * view, int64_t size, double step, double slack, double now, double total);
static inline double batch_io_adaptive_rate_of_unfinished(decisions_batch_io_KernelView * view, int64_t size);
static inline double batch_io_adaptive_seconds_to_next_end(decisions_batch_io_KernelView * view, int64_t size);
EXPORTED void batch_io_adaptive_share_chosen(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_adaptive_share_played(decisions_batch_io_KernelView * view, list_double rates);
static inline double batch_io_adaptive_sum_of_finishes(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full);
static inline double batch_io_adaptive_sum_with(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full, int64_t own, double joining, int64_t place, double most);
static inline int64_t batch_io_agenda_collect(batch_io_state_System * run, batch_io_state_Clock * clock, double slack);
static inline int64_t batch_io_agenda_comes_before(batch_io_state_Job * one, batch_io_state_Job * other);
static inline void batch_io_agenda_leave_slot(batch_io_state_System * run, batch_io_state_Job * job, int64_t last);
static inline double batch_io_agenda_next_time(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_agenda_overdue(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_agenda_put_due(batch_io_state_System * run, int64_t count, int64_t j);
static inline void batch_io_agenda_take_slot(batch_io_state_System * run, int64_t slot, batch_io_state_Job * job);
EXPORTED void batch_io_base_line_even_split(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_base_line_per_application(decisions_batch_io_KernelView * view, list_double rates);
static inline int64_t batch_io_boxes_blocked_at(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at);
static inline int64_t batch_io_boxes_choose_units(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double start, double stop);
static inline void batch_io_boxes_drop(batch_io_state_Job * job);
static inline int64_t batch_io_boxes_first_fit(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_boxes_lay_out(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_boxes_lowest_block(batch_io_state_System * run, int64_t units);
static inline void batch_io_boxes_mark(batch_io_state_System * run, int64_t k, int64_t code, double time);
static inline void batch_io_boxes_note_taken(batch_io_state_System * run, batch_io_state_Job * job, double start, double stop);
static inline void batch_io_boxes_open_step(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t at, double time);
static inline double batch_io_boxes_passed(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline double batch_io_boxes_predicted_end(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_boxes_put(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at, double length);
static inline void batch_io_boxes_shift(batch_io_state_System * run, batch_io_state_Job * job, int64_t first, int64_t last, int64_t sign);
static inline int64_t batch_io_boxes_step_from(batch_io_state_System * run, batch_io_state_Clock * clock, double time);
static inline void batch_io_boxes_take_out(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline double batch_io_boxes_tolerance(batch_io_state_System * run, double time);
static inline int64_t batch_io_boxes_units_free(batch_io_state_System * run, batch_io_state_Job * job);
static inline void batch_io_conservative_aggregate_slowdowns(decisions_batch_io_KernelView * view);
static inline void batch_io_conservative_begun_first(decisions_batch_io_KernelView * view);
static inline void batch_io_conservative_by_key_down(decisions_batch_io_KernelView * view);
EXPORTED void batch_io_conservative_cons_fcfs(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_cons_min_aggr_sld(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_cons_min_inst_sld(decisions_batch_io_KernelView * view, list_double rates);
static inline void batch_io_conservative_instant_slowdowns(decisions_batch_io_KernelView * view);
EXPORTED void batch_io_conservative_kept_fcfs(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_most_aggr_sld(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED void batch_io_conservative_most_inst_sld(decisions_batch_io_KernelView * view, list_double rates);
static inline double batch_io_conservative_of_nothing(decisions_batch_io_KernelView * view, double waited);
EXPORTED void batch_io_conservative_turns_of_large(decisions_batch_io_KernelView * view, list_double rates);
EXPORTED int64_t batch_io_engine_advance(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide, int64_t instants);
static inline int64_t batch_io_engine_backfill(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn, int64_t least);
static inline int64_t batch_io_engine_batch_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_engine_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static inline void batch_io_engine_end_due(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_engine_find_place_beside(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length, int64_t extra);
static inline void batch_io_engine_kill_overdue(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_engine_look(batch_io_state_System * run, batch_io_state_Clock * clock);
EXPORTED void batch_io_engine_never_asked(decisions_batch_io_KernelView * view, list_double rates);
static inline void batch_io_engine_open_instant(batch_io_state_System * run, batch_io_state_Clock * clock, double instant);
static inline tuple_float_int batch_io_engine_reserve_block(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units);
static inline tuple_float_int batch_io_engine_reserve_flat(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units);
static inline void batch_io_engine_run_queue(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_engine_take_arrivals(batch_io_state_System * run, batch_io_state_Clock * clock);
EXPORTED void batch_io_fill_fill(decisions_batch_io_KernelView * view, list_double rates);
static inline void batch_io_jobs_begin_phase(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static inline void batch_io_jobs_end_job(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_jobs_finish(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_jobs_go_on(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_jobs_kill(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_jobs_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_max_util_add_states(decisions_batch_io_KernelView * view, int64_t j, double peak, int64_t units, double room);
EXPORTED void batch_io_max_util_cons_max_util(decisions_batch_io_KernelView * view, list_double rates);
static inline int64_t batch_io_max_util_is_sum(decisions_batch_io_KernelView * view, int64_t words, int64_t row, int64_t units);
EXPORTED void batch_io_max_util_mark_by_sums(decisions_batch_io_KernelView * view, list_double rates);
static inline void batch_io_max_util_mark_by_value(decisions_batch_io_KernelView * view, list_double rates, double room);
static inline void batch_io_max_util_mark_sum(decisions_batch_io_KernelView * view, list_double rates, int64_t k, int64_t words, int64_t rows, int64_t rest);
static inline int64_t batch_io_max_util_units_at(decisions_batch_io_KernelView * view, int64_t k);
static inline int64_t batch_io_max_util_write_sums(decisions_batch_io_KernelView * view, int64_t first, int64_t most);
static inline int64_t batch_io_plans_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double length);
static inline int64_t batch_io_plans_boxed_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_plans_can_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline int64_t batch_io_plans_conservative_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_plans_drop_boxes(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_plans_missed(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_plans_numbered_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_plans_startable(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t last);
EXPORTED void batch_io_set10_set_10(decisions_batch_io_KernelView * view, list_double rates);
static inline int64_t batch_io_storage_all_fit(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_storage_apply_decision(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide);
static inline void batch_io_storage_ask_and_set(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide);
static inline void batch_io_storage_change(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double rate);
static inline void batch_io_storage_enter(batch_io_state_System * run, int64_t count, batch_io_state_Job * job);
static inline void batch_io_storage_grant_peaks(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_storage_issue(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static inline void batch_io_storage_leave(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_storage_note_span(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, double since, double until, double rate);
static inline void batch_io_storage_remove(batch_io_state_System * run, int64_t count, batch_io_state_Job * job);
static inline void batch_io_storage_set_clock(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_storage_set_rho(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_storage_settle(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void batch_io_storage_update_progress(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_storage_use(batch_io_state_System * run, batch_io_state_Clock * clock, double since, double until, double nodes);
static inline void batch_io_waiting_arrive(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline double batch_io_waiting_block_free_from(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, int64_t units);
static inline void batch_io_waiting_close_pass(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_waiting_find_place(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length);
static inline void batch_io_waiting_line_up(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline int64_t batch_io_waiting_line_up_ends(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_waiting_line_up_rest(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn);
static inline void batch_io_waiting_line_up_scores(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_waiting_line_up_units(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_waiting_mend_close(list_int64_t jobs, list_double keys, int64_t count);
static inline tuple_float_int batch_io_waiting_next_end(batch_io_state_System * run, int64_t turn);
static inline void batch_io_waiting_occupy(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place);
static inline int64_t batch_io_waiting_smallest(batch_io_state_System * run, batch_io_state_Clock * clock);
static inline void batch_io_waiting_vacate(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job);
static inline void decisions_batch_io_as_they_came(decisions_batch_io_KernelView * view);
static inline void decisions_batch_io_by_key(decisions_batch_io_KernelView * view);
static inline void decisions_batch_io_first_fit(decisions_batch_io_KernelView * view, list_double rates);
static inline int64_t decisions_batch_io_place_by_level(decisions_batch_io_KernelView * view, int64_t size, int64_t k, double weight);
EXPORTED void decisions_batch_io_share_by_nodes(decisions_batch_io_KernelView * view, list_double rates);
static inline void decisions_batch_io_share_out(decisions_batch_io_KernelView * view, list_double rates, int64_t size, double left);
static inline void decisions_batch_io_slow_down(list_double rates, int64_t count, double storage, double interference);
static inline void decisions_batch_io_top_up(decisions_batch_io_KernelView * view, list_double rates, double left);
static inline int64_t decisions_ordering_below(double one, double other);
static inline int64_t decisions_ordering_close(double one, double other);
static inline void decisions_ordering_insert_by_digits(list_double keys, list_int64_t order, int64_t count, int64_t use_exact);
static inline double decisions_ordering_nine_digits(double value);
static inline double decisions_ordering_power_of_ten(int64_t exponent);
static inline int64_t decisions_ordering_precedes(list_double keys, int64_t one, int64_t other);
static inline double decisions_ordering_scan(list_double values, int64_t first, int64_t count);
static inline int64_t decisions_ordering_search(list_double values, double value, int64_t place, int64_t end);
static inline void decisions_ordering_shell_sort(list_double keys, list_int64_t items, int64_t first, int64_t last);
static inline double decisions_ordering_time_tolerance(double now);
static inline int64_t exact_enumeration_kernel_bits(int64_t mask);
static inline int64_t exact_enumeration_kernel_choose(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static inline void exact_enumeration_kernel_lay_out(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t spare);
static inline int64_t exact_enumeration_kernel_may_fit(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place);
static inline int64_t exact_enumeration_kernel_place(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t depth);
EXPORTED int64_t exact_enumeration_kernel_search(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t limit, int64_t leaf_limit);
static inline int64_t exact_enumeration_kernel_settle(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t leaf_limit);
static inline int64_t exact_enumeration_kernel_take(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t place, int64_t option);
static inline void exact_enumeration_kernel_unavoidable(exact_enumeration_kernel_Data * data, exact_enumeration_kernel_State * state, int64_t group, int64_t spare);
static inline int64_t exact_queue_bound_add_cores(replication_world_World * w, exact_queue_bound_Path * path, int64_t i, int64_t used);
static inline double exact_queue_bound_arrival(replication_world_World * w, exact_queue_bound_Path * path, int64_t f, int64_t i);
static inline double exact_queue_bound_bytes_left(replication_world_World * w, exact_queue_bound_Path * path);
static inline double exact_queue_bound_cores_free(replication_world_World * w, int64_t k, int64_t i);
static inline double exact_queue_bound_earliest(replication_world_World * w, exact_queue_bound_Path * path, int64_t k, int64_t i);
static inline double exact_queue_bound_filled(exact_queue_bound_Path * path, int64_t used, double first, double work);
static inline int64_t exact_queue_bound_in_use(replication_world_World * w, int64_t i);
static inline int64_t exact_queue_bound_is_made_on(exact_queue_bound_Path * path, int64_t k, int64_t i);
static inline double exact_queue_bound_longest_path(replication_world_World * w, exact_queue_bound_Path * path);
static inline double exact_queue_bound_node_opens(replication_world_World * w, exact_queue_bound_Path * path, int64_t i);
static inline int64_t exact_queue_bound_nowhere(replication_world_World * w, int64_t f);
static inline double exact_queue_bound_owe_bytes(replication_world_World * w, exact_queue_bound_Path * path);
static inline double exact_queue_bound_seconds_at_least(replication_world_World * w, exact_queue_bound_Path * path);
static inline void exact_queue_bound_survey(replication_world_World * w, exact_queue_bound_Path * path);
static inline double exact_queue_bound_work_left(replication_world_World * w, exact_queue_bound_Path * path);
static inline void exact_queue_kernel_add_child(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t depth, double bound);
static inline void exact_queue_kernel_begin(replication_world_World * w);
static inline void exact_queue_kernel_branch(replication_world_World * w, exact_queue_kernel_Tree * tree, exact_queue_bound_Path * path, int64_t depth, double least);
static inline int64_t exact_queue_kernel_go_on(replication_world_World * w, exact_queue_kernel_Tree * tree);
static inline int64_t exact_queue_kernel_held_up(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t task);
static inline void exact_queue_kernel_leaf(replication_world_World * w, exact_queue_kernel_Tree * tree);
static inline int64_t exact_queue_kernel_may_stand(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t i, int64_t task);
static inline void exact_queue_kernel_put(replication_world_World * w, int64_t i, int64_t task);
static inline void exact_queue_kernel_restore(replication_world_World * w, exact_queue_kernel_States * kept, int64_t row);
static inline int64_t exact_queue_kernel_runs_on(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t loose);
static inline void exact_queue_kernel_save(replication_world_World * w, exact_queue_kernel_States * kept, int64_t row);
EXPORTED int64_t exact_queue_kernel_search(replication_world_World * w, exact_queue_kernel_Tree * tree, exact_queue_bound_Path * path, int64_t limit);
static inline int64_t exact_queue_kernel_unassigned(replication_world_World * w);
static inline int64_t exact_queue_kernel_worth(exact_queue_kernel_Tree * tree, double bound);
static inline int64_t gang_clock_advance(gang_matrix_Matrix * matrix, gang_state_Timing * timing, int64_t steps);
static inline void gang_clock_close_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing);
static inline int64_t gang_clock_in_row(gang_matrix_Matrix * matrix, int64_t row);
static inline void gang_clock_open_update(gang_matrix_Matrix * matrix, gang_state_Timing * timing, gang_rules_RuleNumbers * rules);
static inline int64_t gang_clock_quiet_until(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double now, int64_t index, double following);
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
static inline double gang_state_tolerance_at(gang_state_Timing * timing, double now);
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
static inline void models_fluid_bound_pop(list_int64_t heap, int64_t count);
static inline void models_fluid_bound_push(list_int64_t heap, int64_t count, int64_t item);
EXPORTED double models_fluid_bound_response(models_fluid_bound_Stream * stream, double total);
static inline double models_fluid_bound_rounding(int64_t steps, double length, double weight);
static inline int64_t replication_disk_at_risk(replication_world_World * w, int64_t f);
static inline double replication_disk_cache_key(replication_world_World * w, int64_t i, int64_t f, double now);
static inline int64_t replication_disk_clear_room(replication_world_World * w, int64_t i, int64_t p, double now);
static inline int64_t replication_disk_distance_in_cache(replication_world_World * w, int64_t i, int64_t f);
static inline int64_t replication_disk_distance_to_use(replication_world_World * w, int64_t i, int64_t f);
static inline void replication_disk_enter_cache(replication_world_World * w, int64_t i, int64_t f, double now);
static inline void replication_disk_evict(replication_world_World * w, int64_t i, int64_t f, double now);
static inline void replication_disk_evict_some(replication_world_World * w, int64_t i, int64_t count, int64_t short_, double now);
static inline int64_t replication_disk_first_victim(replication_world_World * w, int64_t start, int64_t end);
static inline int64_t replication_disk_has_loose_reader(replication_world_World * w, int64_t f);
static inline int64_t replication_disk_is_open(replication_world_World * w, int64_t i);
static inline int64_t replication_disk_lacking(replication_world_World * w, int64_t i, int64_t first, int64_t last);
static inline tuple_int_int replication_disk_list_victims(replication_world_World * w, int64_t i, int64_t limited, int64_t risky);
static inline int64_t replication_disk_make_room(replication_world_World * w, int64_t i, int64_t size, double now, int64_t aside);
static inline int64_t replication_disk_open_question(replication_world_World * w, int64_t i, int64_t limited);
static inline int64_t replication_disk_queue_end(replication_world_World * w, int64_t i);
static inline void replication_disk_request_save(replication_world_World * w, int64_t i, int64_t limited, int64_t short_);
static inline void replication_disk_settle_in(replication_world_World * w, int64_t i, int64_t f);
static inline void replication_disk_swap_victims(replication_world_World * w, int64_t a, int64_t b);
static inline double replication_disk_victim_key(replication_world_World * w, int64_t i, int64_t f);
static inline tuple_float_int replication_kernel_advance(replication_world_World * w, double horizon, int64_t most, int64_t task);
static inline void replication_kernel_begin_next_step(replication_world_World * w, int64_t c, double now);
EXPORTED tuple_float_int replication_kernel_begin_or_advance(replication_world_World * w, int64_t most, int64_t task, int64_t i);
static inline void replication_kernel_complete(replication_world_World * w, double now);
static inline void replication_kernel_count_readers(replication_world_World * w, int64_t i);
static inline void replication_kernel_end_disk_use(replication_world_World * w, int64_t y, double now);
static inline void replication_kernel_end_flow(replication_world_World * w, int64_t c, double now);
static inline void replication_kernel_end_steps(replication_world_World * w, double now);
static inline void replication_kernel_finish_on_shared(replication_world_World * w, int64_t c, double now);
static inline void replication_kernel_finish_task(replication_world_World * w, int64_t c, double now);
static inline void replication_kernel_forget_finished(replication_world_World * w, int64_t i);
static inline void replication_kernel_free_cores(replication_world_World * w, int64_t i, int64_t e, double now);
static inline int64_t replication_kernel_hopeless(replication_world_World * w, double now, double horizon);
static inline int64_t replication_kernel_last_step(replication_world_World * w, int64_t c);
static inline void replication_kernel_leave_unassigned(replication_world_World * w);
static inline double replication_kernel_next_event(replication_world_World * w);
static inline void replication_kernel_note_arrivals(replication_world_World * w);
static inline void replication_kernel_open_rounds(replication_world_World * w, double now);
static inline int64_t replication_kernel_over(replication_world_World * w, int64_t total);
static inline void replication_kernel_passes(replication_world_World * w, double now);
EXPORTED tuple_float_int replication_kernel_replay(replication_world_World * w, double horizon);
static inline void replication_kernel_reset(replication_world_World * w);
static inline void replication_kernel_reset_nodes(replication_world_World * w);
static inline void replication_kernel_reset_numbers(replication_world_World * w);
static inline void replication_kernel_start_entries(replication_world_World * w, double now);
static inline int64_t replication_kernel_start_on_shared(replication_world_World * w, int64_t i, double now);
static inline int64_t replication_kernel_start_task(replication_world_World * w, int64_t i, double now);
static inline int64_t replication_kernel_take_cores(replication_world_World * w, int64_t i, int64_t e, double end);
static inline void replication_moves_arrive(replication_world_World * w, int64_t y, double now);
static inline int64_t replication_moves_bring(replication_world_World * w, int64_t i, int64_t y, int64_t e, int64_t kept, double now, int64_t ahead);
static inline int64_t replication_moves_carry(replication_world_World * w, int64_t i, double now);
static inline void replication_moves_cross(replication_world_World * w, int64_t f, int64_t source, int64_t target, int64_t x);
static inline int64_t replication_moves_disk_of(replication_world_World * w, int64_t i);
static inline void replication_moves_free_flow(replication_world_World * w, int64_t y);
static inline int64_t replication_moves_free_slot(replication_world_World * w, int64_t i);
static inline int64_t replication_moves_least_loaded(replication_world_World * w, int64_t i, int64_t f);
static inline int64_t replication_moves_oldest_to_keep(replication_world_World * w, int64_t i);
static inline void replication_moves_open_flow(replication_world_World * w, int64_t y, double now);
static inline void replication_moves_send(replication_world_World * w, int64_t y, int64_t f, int64_t source, int64_t i, double now);
static inline void replication_moves_set_off(replication_world_World * w, int64_t y, int64_t f, int64_t source, int64_t target, double now);
static inline void replication_moves_share_out(replication_world_World * w, double now);
static inline int64_t replication_moves_stage(replication_world_World * w, int64_t i, double now);
static inline void replication_moves_start_save(replication_world_World * w, int64_t i, double now);
static inline int64_t replication_moves_start_transfer(replication_world_World * w, int64_t i, double now);
static inline void replication_moves_use_disk(replication_world_World * w, int64_t i, int64_t c, double now);
static inline int64_t search_anneal_kernel_change(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline void search_anneal_kernel_change_root(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node);
static inline int64_t search_anneal_kernel_draw(search_anneal_kernel_State * state, int64_t below);
static inline double search_anneal_kernel_energy(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline int64_t search_anneal_kernel_exchange_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline int64_t search_anneal_kernel_exchange_tasks(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline void search_anneal_kernel_keep_best(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline int64_t search_anneal_kernel_may_root(search_anneal_kernel_Data * data, int64_t file, int64_t node);
static inline void search_anneal_kernel_move(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static inline int64_t search_anneal_kernel_move_root(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline int64_t search_anneal_kernel_other_node(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t node);
static inline void search_anneal_kernel_read(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node, int64_t step);
static inline void search_anneal_kernel_reroot(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node);
EXPORTED void search_anneal_kernel_run(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t steps, int64_t total);
static inline int64_t search_anneal_kernel_send_task(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
static inline void search_anneal_kernel_shift(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t task, int64_t node);
static inline void search_anneal_kernel_skip_draw(search_anneal_kernel_State * state);
static inline void search_anneal_kernel_undo(search_anneal_kernel_Data * data, search_anneal_kernel_State * state);
EXPORTED void search_line_kernel_anneal(replication_world_World * w, search_line_moves_Line * line, int64_t steps, int64_t first, int64_t total, double hot, double cold, double target);
static inline double search_line_kernel_batch_time(replication_world_World * w, double fetch_cost, double copy_cost);
static inline void search_line_kernel_begin(replication_world_World * w, search_line_moves_Line * line);
static inline void search_line_kernel_make_room(replication_world_World * w, search_line_moves_Line * line, int64_t i, int64_t size, int64_t p);
EXPORTED double search_line_kernel_noisy_mean(replication_world_World * w, double fetch_cost, double copy_cost, int64_t first, int64_t count, double most);
static inline double search_line_kernel_replayed(replication_world_World * w, search_line_moves_Line * line, double limit);
EXPORTED double search_line_kernel_score(replication_world_World * w, double fetch_cost, double copy_cost, double limit);
EXPORTED double search_line_kernel_score_line(replication_world_World * w, search_line_moves_Line * line, double limit);
static inline void search_line_kernel_serve(replication_world_World * w, search_line_moves_Line * line, int64_t p);
static inline void search_line_kernel_settle(replication_world_World * w, search_line_moves_Line * line, int64_t i, int64_t f);
static inline void search_line_kernel_take_rules(replication_world_World * w, search_line_moves_Line * line);
static inline double search_line_kernel_transfer_seconds(replication_world_World * w, search_line_moves_Line * line, double limit);
static inline tuple_int_int search_line_moves_aim(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline void search_line_moves_change(replication_world_World * w, search_line_moves_Line * line);
static inline void search_line_moves_change_barrier(replication_world_World * w, search_line_moves_Line * line);
static inline int64_t search_line_moves_draw(search_line_moves_Chance * chance, int64_t below);
static inline void search_line_moves_exchange_nodes(replication_world_World * w, search_line_moves_Line * line);
static inline void search_line_moves_exchange_tasks(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline int64_t search_line_moves_gather(search_line_moves_Line * line, int64_t k, int64_t to, int64_t step, list_int64_t ptr, list_int64_t listed);
static inline void search_line_moves_keep(search_line_moves_Line * line, list_int64_t order, list_int64_t node, list_int64_t cut);
static inline void search_line_moves_keep_best(search_line_moves_Line * line);
static inline void search_line_moves_part(search_line_moves_Line * line, int64_t first, int64_t end, int64_t flagged, int64_t others);
static inline int64_t search_line_moves_pick(search_line_moves_Chance * chance, list_int64_t ptr, list_int64_t listed, int64_t k);
static inline void search_line_moves_put_back(search_line_moves_Line * line);
static inline int64_t search_line_moves_relative(replication_world_World * w, search_line_moves_Line * line, int64_t k);
static inline void search_line_moves_send(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t i);
static inline void search_line_moves_send_block(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline void search_line_moves_send_family(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline void search_line_moves_shift_block(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline void search_line_moves_shift_task(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other);
static inline double search_line_moves_uniform(search_line_moves_Chance * chance);
static inline int64_t search_line_moves_write_queues(replication_world_World * w, search_line_moves_Line * line);
static inline double sim_clock_instant_of(double now);
static inline int64_t sim_fluid_begin_flow(sim_fluid_Fluid * fluid, sim_fluid_Flow * flow, int64_t size, double now);
static inline void sim_fluid_fill(sim_fluid_Fluid * fluid, int64_t num_busy);
static inline void sim_fluid_keep_rate(sim_fluid_Fluid * fluid, int64_t j, double rate);
static inline double sim_fluid_left_on(sim_fluid_Flow * flow, double now);
static inline void sim_fluid_open_resources(sim_fluid_Fluid * fluid, int64_t num_busy);
static inline void sim_fluid_share_rates(sim_fluid_Fluid * fluid, int64_t num_busy, double now);
static inline int64_t sim_fluid_tightest(sim_fluid_Fluid * fluid, int64_t num_busy);
static inline double sim_fluid_weight_of(sim_fluid_Fluid * fluid, int64_t f, int64_t receiver);

EXPORTED void batch_io_adaptive_adaptive(decisions_batch_io_KernelView * view, list_double rates) {
  if (view->limits->own_peaks) {
    batch_io_adaptive_share_played(view, rates);
  } else {
    batch_io_adaptive_share_chosen(view, rates);
  }
}

static inline void batch_io_adaptive_insert_at(list_double values, int64_t place, int64_t size, double value) {
  int64_t k = 0;
  for (int64_t t_1 = size, end_t_1 = place; t_1 > end_t_1; t_1 += -1) {
    k = t_1;
    AT(values, k) = AT(values, (k - 1LL));
  }
  AT(values, place) = value;
}

static inline int64_t batch_io_adaptive_members_to_wait_for(list_double sizes, int64_t size, double nodes, double room) {
  int64_t k = 0;
  k = 0LL;
  while (((k < size)) && ((nodes > room))) {
    nodes = (nodes - AT(sizes, k));
    k = (k + 1LL);
  }
  return k;
}

static inline tuple_float_float batch_io_adaptive_play(decisions_batch_io_KernelView * view, int64_t size, int64_t without, double peak, double slack) {
  double storage = 0;
  double now = 0;
  double total = 0;
  double start = 0;
  int64_t known = 0;
  int64_t q = 0;
  int64_t k = 0;
  double busy = 0;
  double step = 0;
  storage = view->limits->storage;
  now = view->limits->zero;
  total = view->limits->zero;
  start = view->limits->zero;
  known = 0;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    AT(view->depths, k) = (&AT(view->jobs, AT(view->out, k)))->left;
    if ((k == without)) {
      AT(view->depths, k) = view->limits->zero;
    }
  }
  while (1) {
    busy = batch_io_adaptive_rate_of_unfinished(view, size);
    if ((!(known)) && (((busy + peak) <= (storage * slack)))) {
      start = now;
      known = 1;
    }
    if ((busy == 0LL)) {
      break;
    }
    decisions_batch_io_share_out(view, view->finishes, size, storage);
    step = batch_io_adaptive_seconds_to_next_end(view, size);
    now = (now + step);
    total = batch_io_adaptive_play_step(view, size, step, slack, now, total);
  }
  for (int64_t t_2 = 0, end_t_2 = size; t_2 < end_t_2; t_2 += 1) {
    q = t_2;
    AT(view->sizes, AT(view->order, q)) = (double)((&AT(view->jobs, AT(view->out, AT(view->order, q))))->nodes);
  }
  return (tuple_float_float){total, start};
}

static inline double batch_io_adaptive_play_step(decisions_batch_io_KernelView * view, int64_t size, double step, double slack, double now, double total) {
  list_double left = {0};
  int64_t q = 0;
  int64_t k = 0;
  int64_t ends = 0;
  left = view->depths;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    if ((AT(left, k) > 0LL)) {
      ends = (((double)AT(left, k) / (double)AT(view->finishes, k)) <= step);
      AT(left, k) = (AT(left, k) - (AT(view->finishes, k) * step));
      if ((ends) || ((AT(left, k) <= ((&AT(view->jobs, AT(view->out, k)))->left * (slack - 1LL))))) {
        AT(left, k) = view->limits->zero;
        total = (total + now);
      }
    }
  }
  return total;
}

static inline double batch_io_adaptive_rate_of_unfinished(decisions_batch_io_KernelView * view, int64_t size) {
  double busy = 0;
  int64_t q = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  busy = view->limits->zero;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    request = (&AT(view->jobs, AT(view->out, k)));
    AT(view->sizes, k) = (double)(0LL);
    if ((AT(view->depths, k) > 0LL)) {
      AT(view->sizes, k) = (double)(request->nodes);
      busy = (busy + request->peak);
    }
  }
  return busy;
}

static inline double batch_io_adaptive_seconds_to_next_end(decisions_batch_io_KernelView * view, int64_t size) {
  double step = 0;
  int64_t q = 0;
  int64_t k = 0;
  double seconds = 0;
  step = view->limits->zero;
  for (int64_t t_1 = 0, end_t_1 = size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    if ((AT(view->depths, k) > 0LL)) {
      seconds = ((double)AT(view->depths, k) / (double)AT(view->finishes, k));
      if (((step == 0LL)) || ((seconds < step))) {
        step = seconds;
      }
    }
  }
  return step;
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

static inline double batch_io_adaptive_sum_of_finishes(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full) {
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

static inline double batch_io_adaptive_sum_with(decisions_batch_io_KernelView * view, int64_t size, double nodes, double full, int64_t own, double joining, int64_t place, double most) {
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

static inline int64_t batch_io_agenda_collect(batch_io_state_System * run, batch_io_state_Clock * clock, double slack) {
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

static inline int64_t batch_io_agenda_comes_before(batch_io_state_Job * one, batch_io_state_Job * other) {
  if ((one->status != other->status)) {
    return (one->status > other->status);
  }
  if (((one->status == batch_io_state_COMPUTING)) && ((one->due != other->due))) {
    return (one->due < other->due);
  }
  return (one->id < other->id);
}

static inline void batch_io_agenda_leave_slot(batch_io_state_System * run, batch_io_state_Job * job, int64_t last) {
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

static inline double batch_io_agenda_next_time(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_agenda_overdue(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_agenda_put_due(batch_io_state_System * run, int64_t count, int64_t j) {
  list_int64_t due = {0};
  due = run->agenda->due;
  while (((count > 0LL)) && (batch_io_agenda_comes_before((&AT(run->jobs, j)), (&AT(run->jobs, AT(due, (count - 1LL))))))) {
    AT(due, count) = AT(due, (count - 1LL));
    count = (count - 1LL);
  }
  AT(due, count) = j;
}

static inline void batch_io_agenda_take_slot(batch_io_state_System * run, int64_t slot, batch_io_state_Job * job) {
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

static inline int64_t batch_io_boxes_blocked_at(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at) {
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

static inline int64_t batch_io_boxes_choose_units(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double start, double stop) {
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

static inline void batch_io_boxes_drop(batch_io_state_Job * job) {
  job->box_start = (-INFINITY);
  job->box_end = (-INFINITY);
}

static inline int64_t batch_io_boxes_first_fit(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
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

static inline void batch_io_boxes_lay_out(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_boxes_lowest_block(batch_io_state_System * run, int64_t units) {
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

static inline void batch_io_boxes_mark(batch_io_state_System * run, int64_t k, int64_t code, double time) {
  AT(run->profile->marks, k) = code;
  AT(run->profile->mark_times, code) = time;
}

static inline void batch_io_boxes_note_taken(batch_io_state_System * run, batch_io_state_Job * job, double start, double stop) {
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

static inline void batch_io_boxes_open_step(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t at, double time) {
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

static inline double batch_io_boxes_passed(batch_io_state_System * run, batch_io_state_Clock * clock) {
  if (run->rules->event) {
    double t_1 = clock->now;
    return (t_1 - decisions_ordering_time_tolerance(clock->now));
  }
  double t_2 = clock->now;
  return (t_2 + batch_io_boxes_tolerance(run, clock->now));
}

static inline double batch_io_boxes_predicted_end(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  double end = 0;
  end = (job->start + job->walltime);
  if ((end > batch_io_boxes_passed(run, clock))) {
    return end;
  }
  return (clock->now + batch_io_boxes_OVERDUE_SECONDS);
}

static inline void batch_io_boxes_put(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t at, double length) {
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

static inline void batch_io_boxes_shift(batch_io_state_System * run, batch_io_state_Job * job, int64_t first, int64_t last, int64_t sign) {
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

static inline int64_t batch_io_boxes_step_from(batch_io_state_System * run, batch_io_state_Clock * clock, double time) {
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

static inline void batch_io_boxes_take_out(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t first = 0;
  int64_t last = 0;
  if ((job->box_start < job->box_end)) {
    first = batch_io_boxes_step_from(run, clock, job->box_start);
    last = batch_io_boxes_step_from(run, clock, job->box_end);
    batch_io_boxes_shift(run, job, first, last, 1LL);
  }
  batch_io_boxes_drop(job);
}

static inline double batch_io_boxes_tolerance(batch_io_state_System * run, double time) {
  return (run->limits->exact ? (double)(0LL) : decisions_ordering_time_tolerance(time));
}

static inline int64_t batch_io_boxes_units_free(batch_io_state_System * run, batch_io_state_Job * job) {
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

static inline void batch_io_conservative_aggregate_slowdowns(decisions_batch_io_KernelView * view) {
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

static inline void batch_io_conservative_begun_first(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(view->keys, k) = 1.0;
    if (((&AT(view->jobs, AT(view->out, k)))->moved > 0LL)) {
      AT(view->keys, k) = 0.0;
    }
  }
  decisions_batch_io_by_key(view);
}

static inline void batch_io_conservative_by_key_down(decisions_batch_io_KernelView * view) {
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

static inline void batch_io_conservative_instant_slowdowns(decisions_batch_io_KernelView * view) {
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
  batch_io_conservative_begun_first(view);
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

static inline double batch_io_conservative_of_nothing(decisions_batch_io_KernelView * view, double waited) {
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

EXPORTED void batch_io_conservative_turns_of_large(decisions_batch_io_KernelView * view, list_double rates) {
  double left = 0;
  int64_t q = 0;
  int64_t k = 0;
  decisions_batch_io_Request * request = 0;
  double whole = 0;
  int64_t active = 0;
  batch_io_conservative_begun_first(view);
  left = view->limits->storage;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    q = t_1;
    k = AT(view->order, q);
    request = (&AT(view->jobs, AT(view->out, k)));
    whole = (request->left + request->moved);
    if (((whole * view->limits->slack) < view->least)) {
      AT(rates, k) = request->peak;
    } else if ((request->peak <= (left * view->limits->slack))) {
      AT(rates, k) = request->peak;
      left = (left - request->peak);
    }
  }
  active = 0LL;
  for (int64_t t_2 = 0, end_t_2 = view->size; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    if ((AT(rates, k) > 0LL)) {
      decisions_batch_io_place_by_level(view, active, k, (double)((&AT(view->jobs, AT(view->out, k)))->nodes));
      active = (active + 1LL);
    }
  }
  decisions_batch_io_share_out(view, rates, active, view->limits->storage);
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

static inline int64_t batch_io_engine_backfill(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn, int64_t least) {
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
    } else {
      place = batch_io_engine_find_place_beside(run, clock, units, avoid, length, extra);
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

static inline int64_t batch_io_engine_batch_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_engine_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
  batch_io_waiting_occupy(run, clock, job, place);
  batch_io_jobs_start(run, clock, job);
  return (job->status == batch_io_state_ENDED);
}

static inline void batch_io_engine_end_due(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_engine_find_place_beside(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length, int64_t extra) {
  if (run->rules->partition) {
    return batch_io_waiting_find_place(run, clock, units, avoid, length);
  }
  return ((units <= extra) ? 0LL : (-1LL));
}

static inline void batch_io_engine_kill_overdue(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_engine_look(batch_io_state_System * run, batch_io_state_Clock * clock) {
  if (run->rules->closed) {
    batch_io_engine_run_queue(run, clock);
  }
  clock->queue_changed = 0;
}

EXPORTED void batch_io_engine_never_asked(decisions_batch_io_KernelView * view, list_double rates) {

}

static inline void batch_io_engine_open_instant(batch_io_state_System * run, batch_io_state_Clock * clock, double instant) {
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

static inline tuple_float_int batch_io_engine_reserve_block(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units) {
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

static inline tuple_float_int batch_io_engine_reserve_flat(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units) {
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

static inline void batch_io_engine_run_queue(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_engine_take_arrivals(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_jobs_begin_phase(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
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

static inline void batch_io_jobs_end_job(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
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

static inline void batch_io_jobs_finish(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  batch_io_storage_leave(run, clock, job);
  AT(run->finish, job->place) = clock->now;
  (&AT(run->requests, job->number))->ideal_so_far = ((&AT(run->requests, job->number))->ideal_so_far + ((double)job->volume / (double)job->peak));
  batch_io_jobs_begin_phase(run, clock, job, (job->place + 1LL));
}

static inline void batch_io_jobs_go_on(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  int64_t place = 0;
  place = job->place;
  batch_io_storage_use(run, clock, job->began, clock->now, (double)(job->nodes));
  if ((AT(run->volume, place) > 0LL)) {
    batch_io_storage_issue(run, clock, job, place);
  } else {
    batch_io_jobs_begin_phase(run, clock, job, (place + 1LL));
  }
}

static inline void batch_io_jobs_kill(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  if ((job->status == batch_io_state_TRANSFERRING)) {
    batch_io_storage_leave(run, clock, job);
  } else {
    batch_io_storage_use(run, clock, job->began, clock->now, (double)(job->nodes));
  }
  job->killed = 1;
  batch_io_jobs_end_job(run, clock, job);
}

static inline void batch_io_jobs_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  job->start = clock->now;
  (&AT(run->requests, job->number))->start = clock->now;
  batch_io_agenda_take_slot(run, clock->num_running, job);
  clock->num_running = (clock->num_running + 1LL);
  batch_io_jobs_begin_phase(run, clock, job, job->place);
}

static inline void batch_io_max_util_add_states(decisions_batch_io_KernelView * view, int64_t j, double peak, int64_t units, double room) {
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
    batch_io_max_util_mark_by_sums(view, rates);
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

static inline int64_t batch_io_max_util_is_sum(decisions_batch_io_KernelView * view, int64_t words, int64_t row, int64_t units) {
  int64_t word = 0;
  word = AT(view->bits, ((row * words) + floor_int(units, view->width)));
  return (((word >> mod_int(units, view->width)) & 1LL) == 1LL);
}

EXPORTED void batch_io_max_util_mark_by_sums(decisions_batch_io_KernelView * view, list_double rates) {
  int64_t room = 0;
  int64_t largest = 0;
  int64_t total = 0;
  int64_t k = 0;
  int64_t units = 0;
  int64_t rest = 0;
  int64_t words = 0;
  int64_t rows = 0;
  int64_t wide = 0;
  int64_t taken = 0;
  room = view->limits->capacity_units;
  largest = 0LL;
  total = 0LL;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    units = batch_io_max_util_units_at(view, k);
    largest = max_int(largest, units);
    total = (total + units);
  }
  k = 0LL;
  if ((largest > room)) {
    while ((batch_io_max_util_units_at(view, k) < largest)) {
      k = (k + 1LL);
    }
    AT(rates, k) = (&AT(view->jobs, AT(view->out, k)))->peak;
    return;
  }
  rest = min_int(room, total);
  while (((rest > 0LL)) && ((batch_io_max_util_units_at(view, k) <= rest))) {
    rest = (rest - batch_io_max_util_units_at(view, k));
    k = (k + 1LL);
  }
  words = (floor_int(rest, view->width) + 1LL);
  rows = 0LL;
  while ((rest > 0LL)) {
    rows = batch_io_max_util_write_sums(view, k, rest);
    words = (floor_int(rest, view->width) + 1LL);
    if ((k == 0LL)) {
      while (!(batch_io_max_util_is_sum(view, words, rows, rest))) {
        rest = (rest - 1LL);
      }
    }
    if (batch_io_max_util_is_sum(view, words, rows, rest)) {
      break;
    }
    wide = (batch_io_max_util_WIDER * rest);
    while (((k > 0LL)) && ((rest < wide))) {
      k = (k - 1LL);
      rest = (rest + batch_io_max_util_units_at(view, k));
    }
  }
  for (int64_t t_2 = 0, end_t_2 = k; t_2 < end_t_2; t_2 += 1) {
    taken = t_2;
    AT(rates, taken) = (&AT(view->jobs, AT(view->out, taken)))->peak;
  }
  batch_io_max_util_mark_sum(view, rates, k, words, rows, rest);
}

static inline void batch_io_max_util_mark_by_value(decisions_batch_io_KernelView * view, list_double rates, double room) {
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

static inline void batch_io_max_util_mark_sum(decisions_batch_io_KernelView * view, list_double rates, int64_t k, int64_t words, int64_t rows, int64_t rest) {
  int64_t left = 0;
  int64_t later = 0;
  while ((rest > 0LL)) {
    left = (rest - batch_io_max_util_units_at(view, k));
    later = min_int(rows, ((view->size - k) - 1LL));
    if (((left >= 0LL)) && (batch_io_max_util_is_sum(view, words, later, left))) {
      AT(rates, k) = (&AT(view->jobs, AT(view->out, k)))->peak;
      rest = left;
    }
    k = (k + 1LL);
  }
}

static inline int64_t batch_io_max_util_units_at(decisions_batch_io_KernelView * view, int64_t k) {
  return (&AT(view->jobs, AT(view->out, k)))->units;
}

static inline int64_t batch_io_max_util_write_sums(decisions_batch_io_KernelView * view, int64_t first, int64_t most) {
  list_int64_t bits = {0};
  int64_t width = 0;
  int64_t words = 0;
  int64_t whole = 0;
  int64_t last = 0;
  int64_t word = 0;
  int64_t j = 0;
  int64_t units = 0;
  int64_t jump = 0;
  int64_t shift = 0;
  int64_t missing = 0;
  int64_t old = 0;
  int64_t sums = 0;
  bits = view->bits;
  width = view->width;
  words = (floor_int(most, width) + 1LL);
  whole = ((1LL << width) - 1LL);
  last = ((2LL << mod_int(most, width)) - 1LL);
  for (int64_t t_1 = 0, end_t_1 = words; t_1 < end_t_1; t_1 += 1) {
    word = t_1;
    AT(bits, word) = 0LL;
  }
  AT(bits, 0LL) = 1LL;
  for (int64_t t_2 = 0, end_t_2 = (view->size - first); t_2 < end_t_2; t_2 += 1) {
    j = t_2;
    units = batch_io_max_util_units_at(view, ((view->size - 1LL) - j));
    jump = floor_int(units, width);
    shift = mod_int(units, width);
    missing = 0LL;
    for (int64_t t_3 = 0, end_t_3 = words; t_3 < end_t_3; t_3 += 1) {
      word = t_3;
      old = ((words * j) + word);
      sums = AT(bits, old);
      if ((word >= jump)) {
        sums = (sums | ((AT(bits, (old - jump)) << shift) & whole));
      }
      if (((word > jump)) && ((shift > 0LL))) {
        sums = (sums | (AT(bits, ((old - jump) - 1LL)) >> (width - shift)));
      }
      if ((word == (words - 1LL))) {
        sums = (sums & last);
        missing = (missing + (sums != last));
      } else {
        missing = (missing + (sums != whole));
      }
      AT(bits, (old + words)) = sums;
    }
    if ((missing == 0LL)) {
      return (j + 1LL);
    }
  }
  return (view->size - first);
}

static inline int64_t batch_io_plans_begin(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double length) {
  batch_io_boxes_take_out(run, clock, job);
  batch_io_waiting_occupy(run, clock, job, job->block);
  batch_io_jobs_start(run, clock, job);
  if ((job->status == batch_io_state_ENDED)) {
    return 1;
  }
  batch_io_boxes_put(run, clock, job, 0LL, length);
  return 0;
}

static inline int64_t batch_io_plans_boxed_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_plans_can_start(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  if ((job->units > clock->free)) {
    return 0;
  }
  return ((!(run->rules->numbered)) || (batch_io_boxes_units_free(run, job)));
}

static inline int64_t batch_io_plans_conservative_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_plans_drop_boxes(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t turn = 0;
  for (int64_t t_1 = 0, end_t_1 = clock->lined_up; t_1 < end_t_1; t_1 += 1) {
    turn = t_1;
    batch_io_boxes_drop((&AT(run->jobs, AT(run->line, turn))));
  }
}

static inline int64_t batch_io_plans_missed(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_plans_numbered_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_plans_startable(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t last) {
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

static inline int64_t batch_io_storage_all_fit(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_storage_apply_decision(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide) {
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

static inline void batch_io_storage_ask_and_set(batch_io_state_System * run, batch_io_state_Clock * clock, function_decisions_batch_io_KernelView_list_float_None decide) {
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

static inline void batch_io_storage_change(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, double rate) {
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

static inline void batch_io_storage_enter(batch_io_state_System * run, int64_t count, batch_io_state_Job * job) {
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

static inline void batch_io_storage_grant_peaks(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_storage_issue(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
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

static inline void batch_io_storage_leave(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
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

static inline void batch_io_storage_note_span(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, double since, double until, double rate) {
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

static inline void batch_io_storage_remove(batch_io_state_System * run, int64_t count, batch_io_state_Job * job) {
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

static inline void batch_io_storage_set_clock(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_storage_set_rho(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_storage_settle(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
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

static inline void batch_io_storage_update_progress(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_storage_use(batch_io_state_System * run, batch_io_state_Clock * clock, double since, double until, double nodes) {
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

static inline void batch_io_waiting_arrive(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
  AT(run->line, clock->waiting) = job->number;
  clock->waiting = (clock->waiting + 1LL);
}

static inline double batch_io_waiting_block_free_from(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t place, int64_t units) {
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

static inline void batch_io_waiting_close_pass(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_waiting_find_place(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t units, int64_t avoid, int64_t length) {
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

static inline void batch_io_waiting_line_up(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline int64_t batch_io_waiting_line_up_ends(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_waiting_line_up_rest(batch_io_state_System * run, batch_io_state_Clock * clock, int64_t turn) {
  int64_t k = 0;
  for (int64_t t_1 = turn, end_t_1 = clock->lined_up; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(run->keys, AT(run->line, k)) = (&AT(run->jobs, AT(run->line, k)))->walltime;
  }
  decisions_ordering_shell_sort(run->keys, run->line, turn, clock->lined_up);
}

static inline void batch_io_waiting_line_up_scores(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_waiting_line_up_units(batch_io_state_System * run, batch_io_state_Clock * clock) {
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

static inline void batch_io_waiting_mend_close(list_int64_t jobs, list_double keys, int64_t count) {
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

static inline tuple_float_int batch_io_waiting_next_end(batch_io_state_System * run, int64_t turn) {
  int64_t place = 0;
  place = AT(run->order, turn);
  return (tuple_float_int){AT(run->keys, place), AT(run->agenda->running, place)};
}

static inline void batch_io_waiting_occupy(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job, int64_t place) {
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

static inline int64_t batch_io_waiting_smallest(batch_io_state_System * run, batch_io_state_Clock * clock) {
  int64_t units = 0;
  int64_t k = 0;
  units = (&AT(run->jobs, AT(run->line, 0LL)))->units;
  for (int64_t t_1 = 1LL, end_t_1 = clock->waiting; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    units = min_int(units, (&AT(run->jobs, AT(run->line, k)))->units);
  }
  return units;
}

static inline void batch_io_waiting_vacate(batch_io_state_System * run, batch_io_state_Clock * clock, batch_io_state_Job * job) {
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

static inline void decisions_batch_io_as_they_came(decisions_batch_io_KernelView * view) {
  int64_t k = 0;
  for (int64_t t_1 = 0, end_t_1 = view->size; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    AT(view->order, k) = k;
  }
}

static inline void decisions_batch_io_by_key(decisions_batch_io_KernelView * view) {
  decisions_ordering_insert_by_digits(view->keys, view->order, view->size, view->limits->exact);
}

static inline void decisions_batch_io_first_fit(decisions_batch_io_KernelView * view, list_double rates) {
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

static inline int64_t decisions_batch_io_place_by_level(decisions_batch_io_KernelView * view, int64_t size, int64_t k, double weight) {
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

static inline void decisions_batch_io_share_out(decisions_batch_io_KernelView * view, list_double rates, int64_t size, double left) {
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

static inline void decisions_batch_io_slow_down(list_double rates, int64_t count, double storage, double interference) {
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

static inline void decisions_batch_io_top_up(decisions_batch_io_KernelView * view, list_double rates, double left) {
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

static inline int64_t decisions_ordering_below(double one, double other) {
  if (((one * decisions_ordering_NEAR) < other)) {
    return 1;
  }
  if ((((other * decisions_ordering_NEAR) < one)) || ((one == other))) {
    return 0;
  }
  double t_1 = decisions_ordering_nine_digits(one);
  return (t_1 < decisions_ordering_nine_digits(other));
}

static inline int64_t decisions_ordering_close(double one, double other) {
  return (((one != other)) && (!(((one * decisions_ordering_NEAR) < other))) && (!(((other * decisions_ordering_NEAR) < one))));
}

static inline void decisions_ordering_insert_by_digits(list_double keys, list_int64_t order, int64_t count, int64_t use_exact) {
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

static inline double decisions_ordering_nine_digits(double value) {
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

static inline double decisions_ordering_power_of_ten(int64_t exponent) {
  return pow(10.0, exponent);
}

static inline int64_t decisions_ordering_precedes(list_double keys, int64_t one, int64_t other) {
  if ((AT(keys, one) == AT(keys, other))) {
    return (one < other);
  }
  return (AT(keys, one) < AT(keys, other));
}

static inline double decisions_ordering_scan(list_double values, int64_t first, int64_t count) {
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

static inline int64_t decisions_ordering_search(list_double values, double value, int64_t place, int64_t end) {
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

static inline void decisions_ordering_shell_sort(list_double keys, list_int64_t items, int64_t first, int64_t last) {
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

static inline double decisions_ordering_time_tolerance(double now) {
  return (decisions_ordering_TIME_TOLERANCE_SECONDS + (decisions_ordering_TIME_TOLERANCE_ULPS * (ulp(now))));
}

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

static inline int64_t exact_queue_bound_add_cores(replication_world_World * w, exact_queue_bound_Path * path, int64_t i, int64_t used) {
  replication_world_Node * node = 0;
  double opens = 0;
  int64_t c = 0;
  double free = 0;
  int64_t running = 0;
  int64_t place = 0;
  node = (&AT(w->nodes, i));
  opens = exact_queue_bound_node_opens(w, path, i);
  for (int64_t t_1 = node->first_core, end_t_1 = node->end_core; t_1 < end_t_1; t_1 += 1) {
    c = t_1;
    free = opens;
    running = (&AT(w->cores, c))->entry;
    if ((running >= 0LL)) {
      free = max_float(free, (&AT(path->tasks, running))->end);
    }
    place = used;
    while (((place > 0LL)) && (((&AT(path->cores, (place - 1LL)))->free > free))) {
      (&AT(path->cores, place))->free = (&AT(path->cores, (place - 1LL)))->free;
      (&AT(path->cores, place))->power = (&AT(path->cores, (place - 1LL)))->power;
      place = (place - 1LL);
    }
    (&AT(path->cores, place))->free = free;
    (&AT(path->cores, place))->power = node->speed;
    used = (used + 1LL);
  }
  return used;
}

static inline double exact_queue_bound_arrival(replication_world_World * w, exact_queue_bound_Path * path, int64_t f, int64_t i) {
  double now = 0;
  replication_world_File * file = 0;
  int64_t maker = 0;
  double hop = 0;
  double left = 0;
  double flight = 0;
  int64_t j = 0;
  now = w->run->now;
  file = (&AT(w->files, f));
  maker = (&AT(path->files, f))->producer;
  if (((maker >= 0LL)) && (((&AT(path->tasks, maker))->state != exact_queue_bound_ENDED_TASK))) {
    hop = 0.0;
    if (!(exact_queue_bound_is_made_on(path, maker, i))) {
      hop = (file->size * path->near);
    }
    return ((&AT(path->tasks, maker))->end + hop);
  }
  if (((&AT(w->cells, ((i * w->num_files) + f)))->has == 2LL)) {
    left = sim_fluid_left_on((&AT(w->fluid->flows, i)), now);
    return (now + (left * path->near));
  }
  if ((file->copies > 0LL)) {
    return (now + (file->size * path->near));
  }
  if ((file->flying > 0LL)) {
    flight = INFINITY;
    for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
      j = t_1;
      if (((&AT(w->fluid->flows, j))->file == f)) {
        flight = min_float(flight, sim_fluid_left_on((&AT(w->fluid->flows, j)), now));
      }
    }
    return (now + ((flight + file->size) * path->near));
  }
  if ((file->saved == 2LL)) {
    return (now + (&AT(path->files, f))->far);
  }
  return now;
}

static inline double exact_queue_bound_bytes_left(replication_world_World * w, exact_queue_bound_Path * path) {
  double now = 0;
  double whole = 0;
  int64_t k = 0;
  exact_queue_bound_PathTask * task = 0;
  double tail = 0;
  int64_t x = 0;
  exact_queue_bound_PathFile * file = 0;
  double best = 0;
  double total = 0;
  exact_queue_bound_PathFile * other = 0;
  now = w->run->now;
  whole = exact_queue_bound_owe_bytes(w, path);
  for (int64_t t_1 = 0, end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    task = (&AT(path->tasks, k));
    if ((task->state <= exact_queue_bound_QUEUED)) {
      tail = (task->quick + task->tail);
      for (int64_t t_2 = (&AT(w->entries, k))->first_input, end_t_2 = (&AT(w->entries, k))->end_input; t_2 < end_t_2; t_2 += 1) {
        x = t_2;
        file = (&AT(path->files, (&AT(w->reads, x))->file));
        file->after = max_float(file->after, tail);
      }
    }
  }
  best = 0.0;
  for (int64_t t_3 = 0; t_3 < path->files.length; t_3 += 1) {
    file = &AT(path->files, t_3);
    whole = (whole + file->owed);
    if ((file->owed > 0.0)) {
      total = 0.0;
      for (int64_t t_4 = 0; t_4 < path->files.length; t_4 += 1) {
        other = &AT(path->files, t_4);
        if ((other->after >= file->after)) {
          total = (total + other->owed);
        }
      }
      best = max_float(best, ((now + ((double)total / (double)path->remote_rate)) + file->after));
    }
  }
  if ((whole > 0.0)) {
    best = max_float(best, (now + ((double)whole / (double)path->remote_rate)));
  }
  return best;
}

static inline double exact_queue_bound_cores_free(replication_world_World * w, int64_t k, int64_t i) {
  replication_world_Node * node = 0;
  int64_t idle = 0;
  double time = 0;
  double soonest = 0;
  int64_t c = 0;
  replication_world_Core * core = 0;
  node = (&AT(w->nodes, i));
  idle = node->idle;
  time = w->run->now;
  if (w->task_disk) {
    return time;
  }
  while ((idle < (&AT(w->entries, k))->cores)) {
    soonest = INFINITY;
    for (int64_t t_1 = node->first_core, end_t_1 = node->end_core; t_1 < end_t_1; t_1 += 1) {
      c = t_1;
      if (((time < (&AT(w->cores, c))->end) && ((&AT(w->cores, c))->end < soonest))) {
        soonest = (&AT(w->cores, c))->end;
      }
    }
    if ((soonest == INFINITY)) {
      return time;
    }
    time = soonest;
    idle = node->idle;
    for (int64_t t_2 = node->first_core, end_t_2 = node->end_core; t_2 < end_t_2; t_2 += 1) {
      c = t_2;
      core = (&AT(w->cores, c));
      if (((core->entry >= 0LL)) && ((core->end <= time))) {
        idle = (idle + (&AT(w->entries, core->entry))->cores);
      }
    }
  }
  return time;
}

static inline double exact_queue_bound_earliest(replication_world_World * w, exact_queue_bound_Path * path, int64_t k, int64_t i) {
  double now = 0;
  replication_world_Node * node = 0;
  replication_world_Entry * entry = 0;
  double start = 0;
  double begun = 0;
  int64_t first = 0;
  int64_t p = 0;
  double missing = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  int64_t coming = 0;
  int64_t here = 0;
  int64_t reader = 0;
  now = w->run->now;
  node = (&AT(w->nodes, i));
  entry = (&AT(w->entries, k));
  start = max_float(now, entry->release);
  begun = now;
  if (((&AT(path->tasks, k))->state == exact_queue_bound_QUEUED)) {
    begun = start;
  }
  first = 1;
  p = node->head;
  while (((p < node->end_place)) && (((&AT(w->places, p))->entry >= 0LL)) && (((&AT(w->places, p))->entry != k))) {
    begun = max_float(begun, (&AT(path->tasks, (&AT(w->places, p))->entry))->start);
    first = 0;
    p = (p + 1LL);
  }
  start = max_float(start, begun);
  missing = 0.0;
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->reads, x))->file;
    cell = (&AT(w->cells, ((i * w->num_files) + f)));
    if ((cell->has == 1LL)) {
      continue;
    }
    start = max_float(start, exact_queue_bound_arrival(w, path, f, i));
    coming = (cell->has == 2LL);
    here = exact_queue_bound_is_made_on(path, (&AT(path->files, f))->producer, i);
    reader = cell->next_place;
    if (!((coming) || (here) || (((replication_disk_NO_PLACE < reader) && (reader < p))))) {
      missing = (missing + (&AT(w->files, f))->size);
    }
  }
  if (((missing > 0LL)) && (first) && (((&AT(w->fluid->flows, i))->file >= 0LL))) {
    missing = (missing + sim_fluid_left_on((&AT(w->fluid->flows, i)), now));
  }
  start = max_float(start, (begun + (missing * path->near)));
  return max_float(start, exact_queue_bound_cores_free(w, k, i));
}

static inline double exact_queue_bound_filled(exact_queue_bound_Path * path, int64_t used, double first, double work) {
  double power = 0;
  double lost = 0;
  int64_t c = 0;
  exact_queue_bound_PathCore * core = 0;
  double begun = 0;
  power = 0.0;
  lost = 0.0;
  for (int64_t t_1 = 0, end_t_1 = used; t_1 < end_t_1; t_1 += 1) {
    c = t_1;
    core = (&AT(path->cores, c));
    begun = max_float(first, core->free);
    if (((begun == INFINITY)) || (((power > 0.0)) && ((((begun * power) - lost) >= work)))) {
      break;
    }
    power = (power + core->power);
    lost = (lost + (begun * core->power));
  }
  if ((power > 0.0)) {
    return ((double)(work + lost) / (double)power);
  }
  return 0.0;
}

static inline int64_t exact_queue_bound_in_use(replication_world_World * w, int64_t i) {
  int64_t end = 0;
  end = replication_disk_queue_end(w, i);
  return (((end > (&AT(w->nodes, i))->head)) || (replication_disk_is_open(w, i)));
}

static inline int64_t exact_queue_bound_is_made_on(exact_queue_bound_Path * path, int64_t k, int64_t i) {
  exact_queue_bound_PathTask * task = 0;
  if ((k < 0LL)) {
    return 0;
  }
  task = (&AT(path->tasks, k));
  return (((task->state != exact_queue_bound_ENDED_TASK)) && (((task->on == (-1LL))) || ((task->on == i))));
}

static inline double exact_queue_bound_longest_path(replication_world_World * w, exact_queue_bound_Path * path) {
  double best = 0;
  int64_t k = 0;
  exact_queue_bound_PathTask * task = 0;
  double compute = 0;
  double overhead = 0;
  int64_t i = 0;
  double start = 0;
  double busy = 0;
  best = 0.0;
  for (int64_t t_1 = 0; t_1 < path->order.length; t_1 += 1) {
    k = AT(path->order, t_1);
    task = (&AT(path->tasks, k));
    compute = (&AT(w->entries, k))->compute;
    overhead = (&AT(w->entries, k))->overhead;
    if ((task->state == exact_queue_bound_QUEUED)) {
      double t_2 = exact_queue_bound_earliest(w, path, k, task->on);
      task->start = t_2;
      task->end = (task->start + (overhead + ((double)compute / (double)(&AT(w->nodes, task->on))->speed)));
    } else if ((task->state == exact_queue_bound_LOOSE)) {
      task->start = INFINITY;
      task->end = INFINITY;
      for (int64_t t_3 = 0, end_t_3 = w->num_nodes; t_3 < end_t_3; t_3 += 1) {
        i = t_3;
        if ((AT(path->fits, ((k * w->num_nodes) + i))) && (replication_disk_is_open(w, i))) {
          start = exact_queue_bound_earliest(w, path, k, i);
          task->start = min_float(task->start, start);
          busy = (overhead + ((double)compute / (double)(&AT(w->nodes, i))->speed));
          task->end = min_float(task->end, (start + busy));
        }
      }
    }
    if ((task->state != exact_queue_bound_ENDED_TASK)) {
      best = max_float(best, (task->end + task->tail));
    }
  }
  return best;
}

static inline double exact_queue_bound_node_opens(replication_world_World * w, exact_queue_bound_Path * path, int64_t i) {
  replication_world_Node * node = 0;
  double opens = 0;
  int64_t k = 0;
  node = (&AT(w->nodes, i));
  if (((node->head < node->end_place)) && (((&AT(w->places, node->head))->entry >= 0LL))) {
    return (&AT(path->tasks, (&AT(w->places, node->head))->entry))->start;
  }
  opens = INFINITY;
  for (int64_t t_1 = 0, end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    if ((((&AT(path->tasks, k))->state == exact_queue_bound_LOOSE)) && (AT(path->fits, ((k * w->num_nodes) + i)))) {
      opens = min_float(opens, exact_queue_bound_earliest(w, path, k, i));
    }
  }
  return opens;
}

static inline int64_t exact_queue_bound_nowhere(replication_world_World * w, int64_t f) {
  replication_world_File * file = 0;
  file = (&AT(w->files, f));
  return (((file->copies == 0LL)) && ((file->flying == 0LL)) && ((file->saved == 2LL)));
}

static inline double exact_queue_bound_owe_bytes(replication_world_World * w, exact_queue_bound_Path * path) {
  double now = 0;
  double saves = 0;
  int64_t f = 0;
  replication_world_File * file = 0;
  int64_t y = 0;
  sim_fluid_Flow * flow = 0;
  now = w->run->now;
  saves = 0.0;
  for (int64_t t_1 = 0, end_t_1 = w->num_files; t_1 < end_t_1; t_1 += 1) {
    f = t_1;
    file = (&AT(w->files, f));
    (&AT(path->files, f))->owed = 0.0;
    (&AT(path->files, f))->after = 0.0;
    if ((file->keep) && ((file->saved == 0LL))) {
      saves = (saves + file->size);
    } else if (((file->need > 0LL)) && (exact_queue_bound_nowhere(w, f))) {
      (&AT(path->files, f))->owed = (double)(file->size);
    }
  }
  for (int64_t t_2 = 0, end_t_2 = w->fluid->flows.length; t_2 < end_t_2; t_2 += 1) {
    y = t_2;
    flow = (&AT(w->fluid->flows, y));
    if ((flow->file < 0LL)) {
      continue;
    }
    if (((y < w->num_nodes)) && ((flow->source < 0LL))) {
      double t_3 = (&AT(path->files, flow->file))->owed;
      double t_4 = (t_3 + sim_fluid_left_on((&AT(w->fluid->flows, y)), now));
      (&AT(path->files, flow->file))->owed = t_4;
    } else if (((y >= w->num_nodes)) && ((&AT(w->files, flow->file))->keep)) {
      saves = (saves + sim_fluid_left_on((&AT(w->fluid->flows, y)), now));
    }
  }
  return saves;
}

static inline double exact_queue_bound_seconds_at_least(replication_world_World * w, exact_queue_bound_Path * path) {
  double best = 0;
  exact_queue_bound_survey(w, path);
  double t_1 = w->run->last_end;
  best = max_float(t_1, exact_queue_bound_longest_path(w, path));
  best = max_float(best, exact_queue_bound_work_left(w, path));
  return max_float(best, exact_queue_bound_bytes_left(w, path));
}

static inline void exact_queue_bound_survey(replication_world_World * w, exact_queue_bound_Path * path) {
  double now = 0;
  exact_queue_bound_PathTask * task = 0;
  int64_t i = 0;
  int64_t p = 0;
  replication_world_Core * core = 0;
  int64_t x = 0;
  now = w->run->now;
  for (int64_t t_1 = 0; t_1 < path->tasks.length; t_1 += 1) {
    task = &AT(path->tasks, t_1);
    task->state = FIT32(exact_queue_bound_LOOSE);
    task->on = FIT32((-1LL));
    task->start = now;
    task->end = now;
  }
  for (int64_t t_2 = 0, end_t_2 = w->num_nodes; t_2 < end_t_2; t_2 += 1) {
    i = t_2;
    int64_t t_4 = (&AT(w->nodes, i))->head;
    for (int64_t t_3 = t_4, end_t_3 = replication_disk_queue_end(w, i); t_3 < end_t_3; t_3 += 1) {
      p = t_3;
      task = (&AT(path->tasks, (&AT(w->places, p))->entry));
      task->state = FIT32(exact_queue_bound_QUEUED);
      task->on = FIT32(i);
    }
  }
  for (int64_t t_5 = 0; t_5 < w->cores.length; t_5 += 1) {
    core = &AT(w->cores, t_5);
    if ((core->entry >= 0LL)) {
      task = (&AT(path->tasks, core->entry));
      task->state = FIT32(exact_queue_bound_RUNNING);
      task->on = FIT32(core->node);
      if ((core->end < INFINITY)) {
        task->end = core->end;
      }
    }
  }
  for (int64_t t_6 = 0, end_t_6 = w->run->ended; t_6 < end_t_6; t_6 += 1) {
    x = t_6;
    (&AT(path->tasks, AT(w->finished, x)))->state = FIT32(exact_queue_bound_ENDED_TASK);
  }
}

static inline double exact_queue_bound_work_left(replication_world_World * w, exact_queue_bound_Path * path) {
  int64_t used = 0;
  int64_t i = 0;
  double best = 0;
  double fresh = 0;
  double first = 0;
  int64_t turn = 0;
  int64_t k = 0;
  exact_queue_bound_PathTask * task = 0;
  used = 0LL;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    if (exact_queue_bound_in_use(w, i)) {
      used = exact_queue_bound_add_cores(w, path, i, used);
    }
  }
  best = 0.0;
  fresh = 0.0;
  first = INFINITY;
  for (int64_t t_2 = 0, end_t_2 = w->num_tasks; t_2 < end_t_2; t_2 += 1) {
    turn = t_2;
    k = AT(path->urgent, turn);
    task = (&AT(path->tasks, k));
    if ((task->state <= exact_queue_bound_QUEUED)) {
      fresh = (fresh + ((&AT(w->entries, k))->compute * (&AT(w->entries, k))->cores));
      first = min_float(first, task->start);
      double t_3 = exact_queue_bound_filled(path, used, first, fresh);
      best = max_float(best, (t_3 + task->tail));
    }
  }
  return best;
}

static inline void exact_queue_kernel_add_child(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t depth, double bound) {
  exact_queue_kernel_Branching * branching = 0;
  int64_t row = 0;
  int64_t first = 0;
  int64_t place = 0;
  branching = (&AT(tree->branchings, depth));
  row = ((2LL + (depth * (w->num_tasks + 2LL))) + branching->children);
  exact_queue_kernel_save(w, tree->kept, row);
  first = (depth * (w->num_tasks + 2LL));
  place = (first + branching->children);
  while (((place > first)) && (((&AT(tree->children, (place - 1LL)))->bound > bound))) {
    *(&AT(tree->children, place)) = *(&AT(tree->children, (place - 1LL)));
    place = (place - 1LL);
  }
  (&AT(tree->children, place))->bound = bound;
  (&AT(tree->children, place))->row = row;
  branching->children = (branching->children + 1LL);
}

static inline void exact_queue_kernel_begin(replication_world_World * w) {
  replication_world_Node * node = 0;
  replication_kernel_reset(w);
  replication_kernel_leave_unassigned(w);
  for (int64_t t_1 = 0; t_1 < w->nodes.length; t_1 += 1) {
    node = &AT(w->nodes, t_1);
    (&AT(w->places, node->first_place))->entry = FIT32(replication_world_OPEN);
    node->head = FIT32(node->first_place);
  }
}

static inline void exact_queue_kernel_branch(replication_world_World * w, exact_queue_kernel_Tree * tree, exact_queue_bound_Path * path, int64_t depth, double least) {
  int64_t base = 0;
  int64_t i = 0;
  int64_t loose = 0;
  int64_t turn = 0;
  int64_t task = 0;
  int64_t rest = 0;
  int64_t j = 0;
  double bound = 0;
  int64_t verdict = 0;
  base = (1LL + (depth * (w->num_tasks + 2LL)));
  exact_queue_kernel_save(w, tree->kept, base);
  i = (w->run->wanted - 1LL);
  (&AT(tree->branchings, depth))->children = 0LL;
  (&AT(tree->branchings, depth))->at = 0LL;
  loose = exact_queue_kernel_unassigned(w);
  for (int64_t t_1 = 0, end_t_1 = (w->num_tasks + 1LL); t_1 < end_t_1; t_1 += 1) {
    turn = t_1;
    task = AT(path->urgent, turn);
    exact_queue_kernel_restore(w, tree->kept, base);
    w->run->wanted = 0LL;
    rest = loose;
    if ((task != exact_queue_kernel_CLOSE)) {
      if ((!(((loose >> task) & 1LL))) || (!(exact_queue_kernel_may_stand(w, tree, i, task)))) {
        continue;
      }
      rest = (loose & (~(1LL << task)));
    }
    exact_queue_kernel_put(w, i, task);
    if ((rest == 0LL)) {
      for (int64_t t_2 = 0, end_t_2 = w->num_nodes; t_2 < end_t_2; t_2 += 1) {
        j = t_2;
        if (replication_disk_is_open(w, j)) {
          exact_queue_kernel_put(w, j, exact_queue_kernel_CLOSE);
        }
      }
    }
    if (!(exact_queue_kernel_runs_on(w, tree, rest))) {
      continue;
    }
    tree->visited = (tree->visited + 1LL);
    bound = max_float(least, exact_queue_bound_seconds_at_least(w, path));
    if (!(exact_queue_kernel_worth(tree, bound))) {
      continue;
    }
    verdict = exact_queue_kernel_go_on(w, tree);
    if ((verdict == exact_queue_kernel_ENDS)) {
      exact_queue_kernel_leaf(w, tree);
    }
    if ((verdict != exact_queue_kernel_ASKS)) {
      continue;
    }
    bound = max_float(bound, exact_queue_bound_seconds_at_least(w, path));
    if (exact_queue_kernel_worth(tree, bound)) {
      exact_queue_kernel_add_child(w, tree, depth, bound);
    }
  }
}

static inline int64_t exact_queue_kernel_go_on(replication_world_World * w, exact_queue_kernel_Tree * tree) {
  replication_world_Run * run = 0;
  int64_t wanted = 0;
  double now = 0;
  run = w->run;
  while (1) {
    exact_queue_kernel_save(w, tree->kept, exact_queue_kernel_BEFORE);
    replication_kernel_passes(w, run->now);
    if (run->wanted) {
      wanted = run->wanted;
      exact_queue_kernel_restore(w, tree->kept, exact_queue_kernel_BEFORE);
      run->wanted = wanted;
      return exact_queue_kernel_ASKS;
    }
    if ((run->evictions) || (run->spills)) {
      tree->pressed = 1LL;
    }
    if (((run->ended == w->num_tasks)) && ((run->saving == 0LL))) {
      return exact_queue_kernel_ENDS;
    }
    replication_moves_share_out(w, run->now);
    now = replication_kernel_next_event(w);
    if (!(exact_queue_kernel_worth(tree, now))) {
      return exact_queue_kernel_FAILS;
    }
    replication_kernel_complete(w, now);
  }
}

static inline int64_t exact_queue_kernel_held_up(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t task) {
  int64_t late = 0;
  int64_t grown = 0;
  int64_t i = 0;
  int64_t waits = 0;
  int64_t p = 0;
  int64_t e = 0;
  int64_t more = 0;
  late = AT(tree->below, task);
  grown = 1;
  while (grown) {
    grown = 0;
    for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
      i = t_1;
      waits = 0;
      int64_t t_3 = (&AT(w->nodes, i))->head;
      for (int64_t t_2 = t_3, end_t_2 = replication_disk_queue_end(w, i); t_2 < end_t_2; t_2 += 1) {
        p = t_2;
        e = (&AT(w->places, p))->entry;
        waits = ((waits) || ((((late >> e) & 1LL) != 0LL)));
        more = ((late | (1LL << e)) | AT(tree->below, e));
        if ((waits) && ((more != late))) {
          late = more;
          grown = 1;
        }
      }
    }
  }
  return late;
}

static inline void exact_queue_kernel_leaf(replication_world_World * w, exact_queue_kernel_Tree * tree) {
  int64_t x = 0;
  if (exact_queue_kernel_worth(tree, w->run->last_end)) {
    tree->upper = w->run->last_end;
    tree->found = (tree->found + 1LL);
    for (int64_t t_1 = 0, end_t_1 = w->places.length; t_1 < end_t_1; t_1 += 1) {
      x = t_1;
      AT(tree->best, x) = (&AT(w->places, x))->entry;
    }
  }
}

static inline int64_t exact_queue_kernel_may_stand(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t i, int64_t task) {
  int64_t late = 0;
  int64_t p = 0;
  if (!(AT(tree->fits, ((task * w->num_nodes) + i)))) {
    return 0;
  }
  late = exact_queue_kernel_held_up(w, tree, task);
  int64_t t_2 = (&AT(w->nodes, i))->head;
  for (int64_t t_1 = t_2, end_t_1 = replication_disk_queue_end(w, i); t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    if (((late >> (&AT(w->places, p))->entry) & 1LL)) {
      return 0;
    }
  }
  return 1;
}

static inline void exact_queue_kernel_put(replication_world_World * w, int64_t i, int64_t task) {
  int64_t p = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  int64_t place = 0;
  int64_t y = 0;
  p = replication_disk_queue_end(w, i);
  if ((task == exact_queue_kernel_CLOSE)) {
    (&AT(w->places, p))->entry = FIT32(replication_world_CLOSED);
    return;
  }
  (&AT(w->places, p))->entry = FIT32(task);
  if (((p + 1LL) < (&AT(w->nodes, i))->end_place)) {
    (&AT(w->places, (p + 1LL)))->entry = FIT32(replication_world_OPEN);
  }
  entry = (&AT(w->entries, task));
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->reads, x))->file;
    cell = (&AT(w->cells, ((i * w->num_files) + f)));
    (&AT(w->reads, x))->follow = FIT32(replication_disk_NO_PLACE);
    place = cell->next_place;
    if ((place == replication_disk_NO_PLACE)) {
      cell->next_place = FIT32(p);
    }
    while ((place != replication_disk_NO_PLACE)) {
      y = (&AT(w->entries, (&AT(w->places, place))->entry))->first_input;
      while (((&AT(w->reads, y))->file != f)) {
        y = (y + 1LL);
      }
      place = (&AT(w->reads, y))->follow;
      if ((place == replication_disk_NO_PLACE)) {
        (&AT(w->reads, y))->follow = FIT32(p);
      }
    }
  }
}

static inline void exact_queue_kernel_restore(replication_world_World * w, exact_queue_kernel_States * kept, int64_t row) {
  int64_t x = 0;
  *w->run = *(&AT(kept->runs, row));
  for (int64_t t_1 = 0, end_t_1 = w->files.length; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    *(&AT(w->files, x)) = *(&AT(kept->files, ((row * w->files.length) + x)));
  }
  for (int64_t t_2 = 0, end_t_2 = w->nodes.length; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    *(&AT(w->nodes, x)) = *(&AT(kept->nodes, ((row * w->nodes.length) + x)));
  }
  for (int64_t t_3 = 0, end_t_3 = w->cells.length; t_3 < end_t_3; t_3 += 1) {
    x = t_3;
    *(&AT(w->cells, x)) = *(&AT(kept->cells, ((row * w->cells.length) + x)));
  }
  for (int64_t t_4 = 0, end_t_4 = w->reads.length; t_4 < end_t_4; t_4 += 1) {
    x = t_4;
    *(&AT(w->reads, x)) = *(&AT(kept->reads, ((row * w->reads.length) + x)));
  }
  for (int64_t t_5 = 0, end_t_5 = w->cores.length; t_5 < end_t_5; t_5 += 1) {
    x = t_5;
    *(&AT(w->cores, x)) = *(&AT(kept->cores, ((row * w->cores.length) + x)));
  }
  for (int64_t t_6 = 0, end_t_6 = w->fluid->flows.length; t_6 < end_t_6; t_6 += 1) {
    x = t_6;
    *(&AT(w->fluid->flows, x)) = *(&AT(kept->flows, ((row * w->fluid->flows.length) + x)));
  }
  for (int64_t t_7 = 0, end_t_7 = w->places.length; t_7 < end_t_7; t_7 += 1) {
    x = t_7;
    *(&AT(w->places, x)) = *(&AT(kept->places, ((row * w->places.length) + x)));
  }
  for (int64_t t_8 = 0, end_t_8 = w->run->ended; t_8 < end_t_8; t_8 += 1) {
    x = t_8;
    AT(w->finished, x) = AT(kept->finished, ((row * w->finished.length) + x));
  }
}

static inline int64_t exact_queue_kernel_runs_on(replication_world_World * w, exact_queue_kernel_Tree * tree, int64_t loose) {
  int64_t task = 0;
  int64_t found = 0;
  int64_t i = 0;
  for (int64_t t_1 = 0, end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    task = t_1;
    found = (!(((loose >> task) & 1LL)));
    for (int64_t t_2 = 0, end_t_2 = w->num_nodes; t_2 < end_t_2; t_2 += 1) {
      i = t_2;
      if ((!(found)) && (replication_disk_is_open(w, i))) {
        found = exact_queue_kernel_may_stand(w, tree, i, task);
      }
    }
    if (!(found)) {
      return 0;
    }
  }
  return 1;
}

static inline void exact_queue_kernel_save(replication_world_World * w, exact_queue_kernel_States * kept, int64_t row) {
  int64_t x = 0;
  *(&AT(kept->runs, row)) = *w->run;
  for (int64_t t_1 = 0, end_t_1 = w->files.length; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    *(&AT(kept->files, ((row * w->files.length) + x))) = *(&AT(w->files, x));
  }
  for (int64_t t_2 = 0, end_t_2 = w->nodes.length; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    *(&AT(kept->nodes, ((row * w->nodes.length) + x))) = *(&AT(w->nodes, x));
  }
  for (int64_t t_3 = 0, end_t_3 = w->cells.length; t_3 < end_t_3; t_3 += 1) {
    x = t_3;
    *(&AT(kept->cells, ((row * w->cells.length) + x))) = *(&AT(w->cells, x));
  }
  for (int64_t t_4 = 0, end_t_4 = w->reads.length; t_4 < end_t_4; t_4 += 1) {
    x = t_4;
    *(&AT(kept->reads, ((row * w->reads.length) + x))) = *(&AT(w->reads, x));
  }
  for (int64_t t_5 = 0, end_t_5 = w->cores.length; t_5 < end_t_5; t_5 += 1) {
    x = t_5;
    *(&AT(kept->cores, ((row * w->cores.length) + x))) = *(&AT(w->cores, x));
  }
  for (int64_t t_6 = 0, end_t_6 = w->fluid->flows.length; t_6 < end_t_6; t_6 += 1) {
    x = t_6;
    *(&AT(kept->flows, ((row * w->fluid->flows.length) + x))) = *(&AT(w->fluid->flows, x));
  }
  for (int64_t t_7 = 0, end_t_7 = w->places.length; t_7 < end_t_7; t_7 += 1) {
    x = t_7;
    *(&AT(kept->places, ((row * w->places.length) + x))) = *(&AT(w->places, x));
  }
  for (int64_t t_8 = 0, end_t_8 = w->run->ended; t_8 < end_t_8; t_8 += 1) {
    x = t_8;
    AT(kept->finished, ((row * w->finished.length) + x)) = AT(w->finished, x);
  }
}

EXPORTED int64_t exact_queue_kernel_search(replication_world_World * w, exact_queue_kernel_Tree * tree, exact_queue_bound_Path * path, int64_t limit) {
  int64_t width = 0;
  int64_t verdict = 0;
  int64_t depth = 0;
  exact_queue_kernel_Branching * branching = 0;
  exact_queue_kernel_Child * child = 0;
  width = (w->num_tasks + 2LL);
  if (!(tree->begun)) {
    exact_queue_kernel_begin(w);
    tree->begun = 1LL;
    tree->depth = (-1LL);
    verdict = exact_queue_kernel_go_on(w, tree);
    if ((verdict == exact_queue_kernel_ASKS)) {
      tree->depth = 0LL;
      exact_queue_kernel_branch(w, tree, path, 0LL, 0.0);
    } else if ((verdict == exact_queue_kernel_ENDS)) {
      exact_queue_kernel_leaf(w, tree);
    }
  }
  while ((tree->depth >= 0LL)) {
    if ((tree->visited >= limit)) {
      return exact_queue_kernel_LIMIT;
    }
    depth = tree->depth;
    branching = (&AT(tree->branchings, depth));
    child = (&AT(tree->children, ((depth * width) + branching->at)));
    if (((branching->at >= branching->children)) || (!(exact_queue_kernel_worth(tree, child->bound)))) {
      branching->children = 0LL;
      branching->at = 0LL;
      tree->depth = (depth - 1LL);
      continue;
    }
    branching->at = (branching->at + 1LL);
    exact_queue_kernel_restore(w, tree->kept, child->row);
    tree->depth = (depth + 1LL);
    exact_queue_kernel_branch(w, tree, path, (depth + 1LL), child->bound);
  }
  return exact_queue_kernel_DONE;
}

static inline int64_t exact_queue_kernel_unassigned(replication_world_World * w) {
  int64_t loose = 0;
  replication_world_Node * node = 0;
  int64_t p = 0;
  loose = ((1LL << w->num_tasks) - 1LL);
  for (int64_t t_1 = 0; t_1 < w->nodes.length; t_1 += 1) {
    node = &AT(w->nodes, t_1);
    p = node->first_place;
    while (((p < node->end_place)) && (((&AT(w->places, p))->entry >= 0LL))) {
      loose = (loose & (~(1LL << (&AT(w->places, p))->entry)));
      p = (p + 1LL);
    }
  }
  return loose;
}

static inline int64_t exact_queue_kernel_worth(exact_queue_kernel_Tree * tree, double bound) {
  return (bound < (tree->upper * 0.999999999));
}

static inline int64_t gang_clock_advance(gang_matrix_Matrix * matrix, gang_state_Timing * timing, int64_t steps) {
  list_gang_matrix_Job jobs = {0};
  double quantum = 0;
  int64_t total = 0;
  double now = 0;
  int64_t index = 0;
  int64_t due = 0;
  int64_t arrived = 0;
  double following = 0;
  double tolerance = 0;
  int64_t later = 0;
  double until = 0;
  int64_t held = 0;
  jobs = matrix->jobs;
  quantum = timing->quantum;
  total = jobs.length;
  now = matrix->now;
  index = matrix->slice_number;
  due = 0;
  while (((steps > 0LL)) && (!(due)) && ((matrix->num_done < total))) {
    steps = (steps - 1LL);
    arrived = matrix->queue_tail;
    following = ((arrived < total) ? (&AT(jobs, arrived))->arrival : INFINITY);
    tolerance = gang_state_tolerance_at(timing, now);
    later = gang_clock_quiet_until(matrix, timing, now, index, following);
    if ((later > index)) {
      index = later;
      now = (index * quantum);
    }
    if ((following > (now + tolerance))) {
      until = gang_clock_run_row(matrix, timing, now, index, following);
      matrix->slot_seconds = (matrix->slot_seconds + (matrix->slots * (until - now)));
      now = until;
      if ((until == ((index + 1LL) * quantum))) {
        index = (index + 1LL);
      }
    }
    tolerance = gang_state_tolerance_at(timing, now);
    while (((arrived < total)) && (((&AT(jobs, arrived))->arrival <= (now + tolerance)))) {
      arrived = (arrived + 1LL);
    }
    held = ((timing->at_boundary) && ((now != (index * quantum))));
    due = ((!(held)) && (((matrix->num_gone > 0LL)) || ((arrived != matrix->queue_tail))));
    matrix->queue_tail = arrived;
  }
  matrix->now = now;
  matrix->slice_number = index;
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

static inline int64_t gang_clock_quiet_until(gang_matrix_Matrix * matrix, gang_state_Timing * timing, double now, int64_t index, double following) {
  if ((matrix->num_running > 0LL)) {
    if ((now == (index * timing->quantum))) {
      return (index + gang_clock_skip_cycles(matrix, timing, (following - now)));
    }
    return index;
  }
  if (((matrix->queue_head != matrix->queue_tail)) || ((following == INFINITY))) {
    return index;
  }
  if (((now + gang_state_tolerance_at(timing, now)) < following)) {
    return gang_clock_slice_of(following, timing);
  }
  return index;
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
  tolerance = gang_state_tolerance_at(timing, now);
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
  double t_1 = (((index + 1LL) * timing->quantum) - instant);
  if ((t_1 <= gang_state_tolerance_at(timing, instant))) {
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

static inline double gang_state_tolerance_at(gang_state_Timing * timing, double now) {
  return max_float(timing->tolerance, (timing->relative * now));
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

static inline void models_fluid_bound_pop(list_int64_t heap, int64_t count) {
  int64_t item = 0;
  int64_t at = 0;
  int64_t child = 0;
  item = AT(heap, count);
  at = 0LL;
  child = 1LL;
  while ((child < count)) {
    if ((((child + 1LL) < count)) && ((AT(heap, (child + 1LL)) < AT(heap, child)))) {
      child = (child + 1LL);
    }
    if ((item <= AT(heap, child))) {
      break;
    }
    AT(heap, at) = AT(heap, child);
    at = child;
    child = ((2LL * at) + 1LL);
  }
  AT(heap, at) = item;
}

static inline void models_fluid_bound_push(list_int64_t heap, int64_t count, int64_t item) {
  int64_t at = 0;
  at = count;
  while (((at > 0LL)) && ((item < AT(heap, floor_int((at - 1LL), 2LL))))) {
    AT(heap, at) = AT(heap, floor_int((at - 1LL), 2LL));
    at = floor_int((at - 1LL), 2LL);
  }
  AT(heap, at) = item;
}

EXPORTED double models_fluid_bound_response(models_fluid_bound_Stream * stream, double total) {
  list_double release = {0};
  list_double amount = {0};
  list_double left = {0};
  list_int64_t heap = {0};
  int64_t jobs = 0;
  int64_t ready = 0;
  int64_t coming = 0;
  double start = 0;
  double now = 0;
  double weight = 0;
  int64_t steps = 0;
  int64_t k = 0;
  double until = 0;
  int64_t stops = 0;
  double part = 0;
  double since = 0;
  release = stream->release;
  amount = stream->amount;
  left = stream->left;
  heap = stream->heap;
  jobs = release.length;
  ready = 0LL;
  coming = 0LL;
  start = 0.0;
  now = 0.0;
  weight = 0.0;
  steps = 0LL;
  while (((ready > 0LL)) || ((coming < jobs))) {
    if ((ready == 0LL)) {
      total = (total - models_fluid_bound_rounding(steps, now, weight));
      start = AT(release, coming);
      now = 0.0;
      weight = 0.0;
      steps = 0LL;
    }
    while (((coming < jobs)) && (((AT(release, coming) - start) <= now))) {
      models_fluid_bound_push(heap, ready, AT(stream->rank, coming));
      ready = (ready + 1LL);
      weight = (weight + AT(stream->weight, coming));
      coming = (coming + 1LL);
    }
    k = AT(stream->at_rank, AT(heap, 0LL));
    until = INFINITY;
    if ((coming < jobs)) {
      until = (AT(release, coming) - start);
    }
    stops = ((now + AT(left, k)) > until);
    part = AT(left, k);
    if (stops) {
      part = (until - now);
    }
    since = (now - (AT(release, k) - start));
    total = (total + ((AT(stream->weight, k) * ((double)part / (double)AT(amount, k))) * (since + ((double)part / (double)2LL))));
    if (stops) {
      AT(left, k) = (AT(left, k) - part);
      now = until;
    } else {
      now = (now + part);
      ready = (ready - 1LL);
      models_fluid_bound_pop(heap, ready);
    }
    steps = (steps + 1LL);
  }
  return (total - models_fluid_bound_rounding(steps, now, weight));
}

static inline double models_fluid_bound_rounding(int64_t steps, double length, double weight) {
  return ((((4LL * (steps + 1LL)) * models_fluid_bound_HALF_ULP) * length) * weight);
}

static inline int64_t replication_disk_at_risk(replication_world_World * w, int64_t f) {
  replication_world_File * file = 0;
  file = (&AT(w->files, f));
  if (((file->saved == 2LL)) || ((file->copies > 1LL))) {
    return 0;
  }
  return (((file->need > 0LL)) || ((file->keep > 0LL)));
}

static inline double replication_disk_cache_key(replication_world_World * w, int64_t i, int64_t f, double now) {
  replication_world_Cell * cell = 0;
  int64_t enters = 0;
  int64_t copies = 0;
  cell = (&AT(w->cells, ((i * w->num_files) + f)));
  enters = (cell->has == 0LL);
  if ((w->policy == replication_world_POPULARITY)) {
    copies = (&AT(w->files, f))->copies;
    if (enters) {
      copies = (copies + 1LL);
    }
    return ((double)((&AT(w->files, f))->freq * (double)((&AT(w->files, f))->size)) / (double)copies);
  }
  if ((w->policy == replication_world_LRU)) {
    return (enters ? now : cell->last_use);
  }
  return (-(double)(replication_disk_distance_in_cache(w, i, f)));
}

static inline int64_t replication_disk_clear_room(replication_world_World * w, int64_t i, int64_t p, double now) {
  int64_t wanted = 0;
  replication_world_Node * node = 0;
  int64_t count = 0;
  int64_t _ = 0;
  wanted = (&AT(w->places, p))->clear;
  if ((wanted == 0LL)) {
    return 1;
  }
  node = (&AT(w->nodes, i));
  if ((node->idle < node->cores)) {
    return 0;
  }
  tuple_int_int t_1 = replication_disk_list_victims(w, i, 0, 0);
  count = t_1.v0;
  _ = t_1.v1;
  replication_disk_evict_some(w, i, count, ((node->used + wanted) - node->disk), now);
  return 1;
}

static inline int64_t replication_disk_distance_in_cache(replication_world_World * w, int64_t i, int64_t f) {
  replication_world_Node * node = 0;
  int64_t x = 0;
  replication_world_Core * core = 0;
  replication_world_Entry * entry = 0;
  int64_t n = 0;
  int64_t place = 0;
  node = (&AT(w->nodes, i));
  for (int64_t t_1 = node->first_core, end_t_1 = (node->first_core + node->running); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    core = (&AT(w->cores, (&AT(w->cores, x))->started));
    if ((core->entry < 0LL)) {
      continue;
    }
    entry = (&AT(w->entries, core->entry));
    for (int64_t t_2 = ((entry->first_input + core->step) + 1LL), end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
      n = t_2;
      if (((&AT(w->reads, n))->file == f)) {
        return 0LL;
      }
    }
  }
  place = (&AT(w->cells, ((i * w->num_files) + f)))->next_place;
  if ((place != replication_disk_NO_PLACE)) {
    return ((place - node->head) + 1LL);
  }
  return (((&AT(w->files, f))->unassigned > 0LL) ? replication_disk_UNASSIGNED : replication_disk_DEAD);
}

static inline int64_t replication_disk_distance_to_use(replication_world_World * w, int64_t i, int64_t f) {
  int64_t place = 0;
  int64_t distance = 0;
  int64_t j = 0;
  if (((&AT(w->files, f))->need == 0LL)) {
    return replication_disk_DEAD;
  }
  place = (&AT(w->cells, ((i * w->num_files) + f)))->next_place;
  if ((place != replication_disk_NO_PLACE)) {
    return (place - (&AT(w->nodes, i))->head);
  }
  distance = replication_disk_UNASSIGNED;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    j = t_1;
    place = (&AT(w->cells, ((j * w->num_files) + f)))->next_place;
    if (((place != replication_disk_NO_PLACE)) && (((place - (&AT(w->nodes, j))->head) < distance))) {
      distance = (place - (&AT(w->nodes, j))->head);
    }
  }
  return distance;
}

static inline void replication_disk_enter_cache(replication_world_World * w, int64_t i, int64_t f, double now) {
  int64_t first = 0;
  replication_world_Cell * cell = 0;
  replication_world_Node * node = 0;
  int64_t x = 0;
  int64_t short_ = 0;
  int64_t leaving = 0;
  int64_t best = 0;
  int64_t v = 0;
  first = (i * w->num_files);
  cell = (&AT(w->cells, (first + f)));
  if ((cell->has == 1LL)) {
    cell->last_use = now;
    return;
  }
  node = (&AT(w->nodes, i));
  (&AT(w->victims, 0LL))->file = FIT32(f);
  double t_1 = replication_disk_cache_key(w, i, f, now);
  (&AT(w->victims, 0LL))->key = t_1;
  for (int64_t t_2 = 0, end_t_2 = node->num_residents; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    (&AT(w->victims, (x + 1LL)))->file = FIT32((&AT(w->cells, (first + x)))->resident);
    double t_3 = replication_disk_cache_key(w, i, (&AT(w->victims, (x + 1LL)))->file, now);
    (&AT(w->victims, (x + 1LL)))->key = t_3;
  }
  short_ = ((node->used + (&AT(w->files, f))->size) - node->disk);
  leaving = 0LL;
  while ((short_ > 0LL)) {
    best = replication_disk_first_victim(w, leaving, (node->num_residents + 1LL));
    if (((&AT(w->victims, best))->file == f)) {
      return;
    }
    replication_disk_swap_victims(w, leaving, best);
    short_ = (short_ - (&AT(w->files, (&AT(w->victims, leaving))->file))->size);
    leaving = (leaving + 1LL);
  }
  for (int64_t t_4 = 0, end_t_4 = leaving; t_4 < end_t_4; t_4 += 1) {
    v = t_4;
    replication_disk_evict(w, i, (&AT(w->victims, v))->file, now);
  }
  replication_disk_settle_in(w, i, f);
  cell->has = FIT8(1LL);
  cell->last_use = now;
  (&AT(w->files, f))->copies = FIT32(((&AT(w->files, f))->copies + 1LL));
}

static inline void replication_disk_evict(replication_world_World * w, int64_t i, int64_t f, double now) {
  replication_world_Run * run = 0;
  replication_world_Node * node = 0;
  replication_world_File * file = 0;
  int64_t first = 0;
  replication_world_Cell * cell = 0;
  int64_t last = 0;
  int64_t lost = 0;
  int64_t n = 0;
  replication_world_Eviction * eviction = 0;
  run = w->run;
  node = (&AT(w->nodes, i));
  file = (&AT(w->files, f));
  first = (i * w->num_files);
  cell = (&AT(w->cells, (first + f)));
  last = (&AT(w->cells, ((first + node->num_residents) - 1LL)))->resident;
  (&AT(w->cells, (first + cell->seat)))->resident = FIT32(last);
  (&AT(w->cells, (first + last)))->seat = FIT32(cell->seat);
  node->num_residents = FIT32((node->num_residents - 1LL));
  node->used = (node->used - file->size);
  cell->has = FIT8(0LL);
  file->copies = FIT32((file->copies - 1LL));
  lost = (((file->copies == 0LL)) && ((file->flying == 0LL)) && ((file->need > 0LL)));
  if ((lost) && (!(w->products_shared))) {
    run->owed = (run->owed + file->size);
  }
  if ((file->keep) && ((file->saved == 0LL))) {
    node->waiting = FIT32((node->waiting - 1LL));
  }
  n = run->evictions;
  if ((w->logging) && ((n < w->evictions.length))) {
    eviction = (&AT(w->evictions, n));
    eviction->file = FIT32(f);
    eviction->node = FIT32(i);
    eviction->at = now;
    eviction->moves = run->transfers;
    eviction->begun = FIT32(run->starts);
  }
  run->evictions = (n + 1LL);
}

static inline void replication_disk_evict_some(replication_world_World * w, int64_t i, int64_t count, int64_t short_, double now) {
  int64_t v = 0;
  replication_world_Victim * victim = 0;
  replication_world_Victim * best = 0;
  for (int64_t t_1 = 0, end_t_1 = count; t_1 < end_t_1; t_1 += 1) {
    v = t_1;
    victim = (&AT(w->victims, v));
    double t_2 = replication_disk_victim_key(w, i, victim->file);
    victim->key = t_2;
  }
  while (((short_ > 0LL)) && ((count > 0LL))) {
    best = (&AT(w->victims, replication_disk_first_victim(w, 0LL, count)));
    replication_disk_evict(w, i, best->file, now);
    short_ = (short_ - (&AT(w->files, best->file))->size);
    count = (count - 1LL);
    best->file = FIT32((&AT(w->victims, count))->file);
    best->key = (&AT(w->victims, count))->key;
  }
}

static inline int64_t replication_disk_first_victim(replication_world_World * w, int64_t start, int64_t end) {
  int64_t best = 0;
  int64_t v = 0;
  replication_world_Victim * victim = 0;
  replication_world_Victim * least = 0;
  best = start;
  for (int64_t t_1 = (start + 1LL), end_t_1 = end; t_1 < end_t_1; t_1 += 1) {
    v = t_1;
    victim = (&AT(w->victims, v));
    least = (&AT(w->victims, best));
    if (((victim->key < least->key)) || (((victim->key == least->key)) && ((victim->file < least->file)))) {
      best = v;
    }
  }
  return best;
}

static inline int64_t replication_disk_has_loose_reader(replication_world_World * w, int64_t f) {
  int64_t loose = 0;
  int64_t j = 0;
  int64_t p = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  loose = (&AT(w->files, f))->need;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    j = t_1;
    int64_t t_3 = (&AT(w->nodes, j))->head;
    for (int64_t t_2 = t_3, end_t_2 = replication_disk_queue_end(w, j); t_2 < end_t_2; t_2 += 1) {
      p = t_2;
      entry = (&AT(w->entries, (&AT(w->places, p))->entry));
      for (int64_t t_4 = entry->first_input, end_t_4 = entry->end_input; t_4 < end_t_4; t_4 += 1) {
        x = t_4;
        if (((&AT(w->reads, x))->file == f)) {
          loose = (loose - 1LL);
        }
      }
    }
  }
  return (loose > 0LL);
}

static inline int64_t replication_disk_is_open(replication_world_World * w, int64_t i) {
  int64_t p = 0;
  p = replication_disk_queue_end(w, i);
  return (((p < (&AT(w->nodes, i))->end_place)) && (((&AT(w->places, p))->entry == replication_world_OPEN)));
}

static inline int64_t replication_disk_lacking(replication_world_World * w, int64_t i, int64_t first, int64_t last) {
  int64_t size = 0;
  int64_t p = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  int64_t f = 0;
  size = 0LL;
  for (int64_t t_1 = first, end_t_1 = last; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    entry = (&AT(w->entries, (&AT(w->places, p))->entry));
    size = (size + entry->out_bytes);
    for (int64_t t_2 = entry->first_input, end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
      x = t_2;
      f = (&AT(w->reads, x))->file;
      if (((&AT(w->cells, ((i * w->num_files) + f)))->has == 0LL)) {
        size = (size + (&AT(w->files, f))->size);
      }
    }
  }
  return size;
}

static inline tuple_int_int replication_disk_list_victims(replication_world_World * w, int64_t i, int64_t limited, int64_t risky) {
  list_replication_world_Cell cells = {0};
  int64_t first = 0;
  int64_t count = 0;
  int64_t freeable = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  int64_t needed_here = 0;
  cells = w->cells;
  first = (i * w->num_files);
  count = 0LL;
  freeable = 0LL;
  for (int64_t t_1 = first, end_t_1 = (first + (&AT(w->nodes, i))->num_residents); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(cells, x))->resident;
    cell = (&AT(cells, (first + f)));
    if (((cell->has != 1LL)) || ((cell->pin > 0LL))) {
      continue;
    }
    file = (&AT(w->files, f));
    needed_here = (((file->copies == 1LL)) || ((cell->next_place != replication_disk_NO_PLACE)));
    if ((limited) && ((file->need > 0LL)) && (needed_here)) {
      continue;
    }
    if (((((file->saved != 2LL)) && (replication_disk_at_risk(w, f))) != risky)) {
      continue;
    }
    (&AT(w->victims, count))->file = FIT32(f);
    count = (count + 1LL);
    freeable = (freeable + file->size);
  }
  return (tuple_int_int){count, freeable};
}

static inline int64_t replication_disk_make_room(replication_world_World * w, int64_t i, int64_t size, double now, int64_t aside) {
  replication_world_Node * node = 0;
  int64_t short_ = 0;
  replication_world_Entry * head = 0;
  int64_t waits = 0;
  int64_t limited = 0;
  int64_t count = 0;
  int64_t freeable = 0;
  node = (&AT(w->nodes, i));
  short_ = ((node->used + size) - node->disk);
  head = (&AT(w->entries, (&AT(w->places, node->head))->entry));
  waits = (((node->idle < head->cores)) || ((node->free_memory < head->memory)));
  limited = ((aside) || (waits));
  if ((w->growing) && (replication_disk_open_question(w, i, limited))) {
    return 0;
  }
  tuple_int_int t_1 = replication_disk_list_victims(w, i, limited, 0);
  count = t_1.v0;
  freeable = t_1.v1;
  if ((freeable < short_)) {
    if ((!(w->plain)) && (!(aside)) && ((w->run->request < 0LL))) {
      replication_disk_request_save(w, i, limited, (short_ - freeable));
    }
    return 0;
  }
  replication_disk_evict_some(w, i, count, short_, now);
  return 1;
}

static inline int64_t replication_disk_open_question(replication_world_World * w, int64_t i, int64_t limited) {
  int64_t first = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  int64_t j = 0;
  if (((w->policy != replication_world_FARTHEST_NEXT_USE)) && (!(limited))) {
    return 0;
  }
  first = (i * w->num_files);
  for (int64_t t_1 = first, end_t_1 = (first + (&AT(w->nodes, i))->num_residents); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->cells, x))->resident;
    cell = (&AT(w->cells, (first + f)));
    if (((cell->has != 1LL)) || ((cell->pin > 0LL)) || (((&AT(w->files, f))->need == 0LL))) {
      continue;
    }
    if (replication_disk_has_loose_reader(w, f)) {
      if ((w->run->wanted == 0LL)) {
        j = i;
        if (!(replication_disk_is_open(w, i))) {
          j = 0LL;
          while (!(replication_disk_is_open(w, j))) {
            j = (j + 1LL);
          }
        }
        w->run->wanted = (j + 1LL);
      }
      return 1;
    }
  }
  return 0;
}

static inline int64_t replication_disk_queue_end(replication_world_World * w, int64_t i) {
  replication_world_Node * node = 0;
  int64_t p = 0;
  node = (&AT(w->nodes, i));
  p = node->head;
  while (((p < node->end_place)) && (((&AT(w->places, p))->entry >= 0LL))) {
    p = (p + 1LL);
  }
  return p;
}

static inline void replication_disk_request_save(replication_world_World * w, int64_t i, int64_t limited, int64_t short_) {
  int64_t count = 0;
  int64_t freeable = 0;
  int64_t v = 0;
  replication_world_Victim * victim = 0;
  tuple_int_int t_1 = replication_disk_list_victims(w, i, limited, 1);
  count = t_1.v0;
  freeable = t_1.v1;
  if ((freeable < short_)) {
    return;
  }
  for (int64_t t_2 = 0, end_t_2 = count; t_2 < end_t_2; t_2 += 1) {
    v = t_2;
    victim = (&AT(w->victims, v));
    if ((w->policy == replication_world_FARTHEST_NEXT_USE)) {
      double t_3 = (-(double)(replication_disk_distance_to_use(w, i, victim->file)));
      victim->key = t_3;
    } else {
      double t_4 = replication_disk_victim_key(w, i, victim->file);
      victim->key = t_4;
    }
  }
  int64_t t_5 = (&AT(w->victims, replication_disk_first_victim(w, 0LL, count)))->file;
  w->run->request = t_5;
}

static inline void replication_disk_settle_in(replication_world_World * w, int64_t i, int64_t f) {
  int64_t first = 0;
  replication_world_Node * node = 0;
  first = (i * w->num_files);
  node = (&AT(w->nodes, i));
  (&AT(w->cells, (first + node->num_residents)))->resident = FIT32(f);
  (&AT(w->cells, (first + f)))->seat = FIT32(node->num_residents);
  node->num_residents = FIT32((node->num_residents + 1LL));
  node->used = (node->used + (&AT(w->files, f))->size);
}

static inline void replication_disk_swap_victims(replication_world_World * w, int64_t a, int64_t b) {
  replication_world_Victim * one = 0;
  replication_world_Victim * other = 0;
  double key = 0;
  int64_t file = 0;
  one = (&AT(w->victims, a));
  other = (&AT(w->victims, b));
  key = one->key;
  file = one->file;
  one->key = other->key;
  one->file = FIT32(other->file);
  other->key = key;
  other->file = FIT32(file);
}

static inline double replication_disk_victim_key(replication_world_World * w, int64_t i, int64_t f) {
  replication_world_File * file = 0;
  replication_world_Cell * cell = 0;
  int64_t distance = 0;
  file = (&AT(w->files, f));
  cell = (&AT(w->cells, ((i * w->num_files) + f)));
  if ((w->policy == replication_world_POPULARITY)) {
    return ((double)(file->freq * (double)(file->size)) / (double)file->copies);
  }
  if ((w->policy == replication_world_LRU)) {
    return cell->last_use;
  }
  if ((file->need == 0LL)) {
    return 0.0;
  }
  distance = replication_disk_distance_to_use(w, i, f);
  if ((file->copies > 1LL)) {
    return ((((cell->next_place != replication_disk_NO_PLACE) ? 2.0 : 1.0) * replication_disk_CLASS_STEP) - distance);
  }
  return (3000000000000.0 - distance);
}

static inline tuple_float_int replication_kernel_advance(replication_world_World * w, double horizon, int64_t most, int64_t task) {
  replication_world_Run * run = 0;
  int64_t total = 0;
  double now = 0;
  int64_t settled = 0;
  int64_t code = 0;
  run = w->run;
  total = ((task != replication_kernel_REPLAY) ? w->num_tasks : w->num_entries);
  now = run->now;
  settled = (task == replication_kernel_NOBODY);
  for (int64_t t_1 = 0, end_t_1 = most; t_1 < end_t_1; t_1 += 1) {
    if (!(settled)) {
      if (w->barriers) {
        replication_kernel_open_rounds(w, now);
      }
      replication_kernel_passes(w, now);
      code = replication_kernel_over(w, total);
      if (((code == replication_kernel_PAUSED)) && ((task != replication_kernel_REPLAY))) {
        code = replication_kernel_ASKING;
      }
      if ((code != replication_kernel_PAUSED)) {
        return (tuple_float_int){run->last_end, code};
      }
    }
    settled = 0;
    if (run->changed) {
      replication_moves_share_out(w, now);
    }
    now = replication_kernel_next_event(w);
    if ((now == INFINITY)) {
      return (tuple_float_int){run->last_end, replication_kernel_STUCK};
    }
    if (((now > horizon)) || (((horizon < INFINITY)) && (replication_kernel_hopeless(w, now, horizon)))) {
      return (tuple_float_int){now, replication_kernel_BEYOND};
    }
    replication_kernel_complete(w, now);
  }
  return (tuple_float_int){run->last_end, replication_kernel_PAUSED};
}

static inline void replication_kernel_begin_next_step(replication_world_World * w, int64_t c, double now) {
  replication_world_Run * run = 0;
  replication_world_Core * core = 0;
  int64_t i = 0;
  replication_world_Entry * entry = 0;
  int64_t inputs = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  run = w->run;
  core = (&AT(w->cores, c));
  i = core->node;
  entry = (&AT(w->entries, core->entry));
  inputs = (entry->end_input - entry->first_input);
  core->end = INFINITY;
  core->step = FIT32((core->step + 1LL));
  while ((core->step < inputs)) {
    f = (&AT(w->reads, (entry->first_input + core->step)))->file;
    cell = (&AT(w->cells, ((i * w->num_files) + f)));
    file = (&AT(w->files, f));
    if ((cell->has == 0LL)) {
      if (((file->flying == 0LL)) && ((file->copies == 0LL)) && ((file->product == 0LL))) {
        run->owed = (run->owed - file->size);
      }
      file->flying = FIT32(1LL);
      run->remote_bytes = (run->remote_bytes + file->size);
      run->fetches = (run->fetches + 1LL);
      run->refetched = (run->refetched + file->product);
      replication_moves_set_off(w, c, f, (-1LL), i, now);
      return;
    }
    cell->last_use = now;
    run->cached_bytes = (run->cached_bytes + file->size);
    core->step = FIT32((core->step + 1LL));
  }
  if ((core->step == inputs)) {
    core->end = (now + ((double)entry->compute / (double)(&AT(w->nodes, i))->speed));
    return;
  }
  f = AT(w->outputs, (((entry->first_output + core->step) - inputs) - 1LL));
  run->owed = (run->owed - (&AT(w->files, f))->size);
  run->saved_bytes = (run->saved_bytes + (&AT(w->files, f))->size);
  run->saves = (run->saves + 1LL);
  replication_moves_set_off(w, c, f, i, (-1LL), now);
}

EXPORTED tuple_float_int replication_kernel_begin_or_advance(replication_world_World * w, int64_t most, int64_t task, int64_t i) {
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  if (((task == replication_kernel_BEGIN)) || (((task == replication_kernel_REPLAY)) && (!(w->run->begun)))) {
    replication_kernel_reset(w);
    w->run->begun = 1LL;
  }
  if ((task == replication_kernel_BEGIN)) {
    replication_kernel_leave_unassigned(w);
  } else if ((task >= 0LL)) {
    (&AT(w->places, i))->entry = FIT32(task);
    (&AT(w->nodes, i))->head = FIT32(i);
    entry = (&AT(w->entries, task));
    for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
      x = t_1;
      (&AT(w->reads, x))->follow = FIT32(replication_disk_NO_PLACE);
      (&AT(w->cells, ((i * w->num_files) + (&AT(w->reads, x))->file)))->next_place = FIT32(i);
      (&AT(w->files, (&AT(w->reads, x))->file))->unassigned = FIT32(((&AT(w->files, (&AT(w->reads, x))->file))->unassigned - 1LL));
    }
  }
  return replication_kernel_advance(w, INFINITY, most, task);
}

static inline void replication_kernel_complete(replication_world_World * w, double now) {
  replication_world_Run * run = 0;
  double instant = 0;
  int64_t c = 0;
  list_sim_fluid_Flow flows = {0};
  int64_t y = 0;
  run = w->run;
  if ((now > run->instant)) {
    run->passed = (-1LL);
  }
  run->passed = (run->passed + 1LL);
  instant = sim_clock_instant_of(now);
  run->now = now;
  run->instant = instant;
  if (w->products_shared) {
    replication_kernel_end_steps(w, now);
    replication_kernel_note_arrivals(w);
    return;
  }
  for (int64_t t_1 = 0, end_t_1 = w->cores.length; t_1 < end_t_1; t_1 += 1) {
    c = t_1;
    if (((&AT(w->cores, c))->end <= instant)) {
      if ((w->task_disk) && (((&AT(w->fluid->flows, (w->task_flows + c)))->file == replication_world_DISK_USE))) {
        (&AT(w->cores, c))->end = INFINITY;
      } else {
        replication_kernel_finish_task(w, c, now);
      }
    }
  }
  flows = w->fluid->flows;
  for (int64_t t_2 = 0, end_t_2 = flows.length; t_2 < end_t_2; t_2 += 1) {
    y = t_2;
    if (((&AT(flows, y))->due <= instant)) {
      if (((&AT(flows, y))->file == replication_world_DISK_USE)) {
        replication_kernel_end_disk_use(w, y, now);
      } else {
        replication_moves_arrive(w, y, now);
      }
    }
  }
  if (!(w->plain)) {
    replication_kernel_note_arrivals(w);
  }
}

static inline void replication_kernel_count_readers(replication_world_World * w, int64_t i) {
  int64_t first = 0;
  replication_world_Node * node = 0;
  int64_t p = 0;
  int64_t e = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  replication_world_Read * read = 0;
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  first = (i * w->num_files);
  node = (&AT(w->nodes, i));
  for (int64_t t_1 = (node->end_place - 1LL), end_t_1 = (node->first_place - 1LL); t_1 > end_t_1; t_1 += -1) {
    p = t_1;
    e = (&AT(w->places, p))->entry;
    entry = (&AT(w->entries, e));
    if (w->barriers) {
      (&AT(w->rounds, (&AT(w->places, p))->round))->left = FIT32(((&AT(w->rounds, (&AT(w->places, p))->round))->left + 1LL));
    }
    for (int64_t t_2 = entry->first_input, end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
      x = t_2;
      read = (&AT(w->reads, x));
      cell = (&AT(w->cells, (first + read->file)));
      file = (&AT(w->files, read->file));
      read->follow = FIT32(cell->next_place);
      cell->next_place = FIT32(p);
      file->need = FIT32((file->need + 1LL));
      if ((e < w->num_tasks)) {
        file->freq = FIT32((file->freq + 1LL));
      }
    }
  }
}

static inline void replication_kernel_end_disk_use(replication_world_World * w, int64_t y, double now) {
  int64_t c = 0;
  if (((&AT(w->fluid->flows, y))->rate < 0.0)) {
    replication_moves_open_flow(w, y, now);
    return;
  }
  replication_moves_free_flow(w, y);
  c = (y - w->task_flows);
  if (((&AT(w->cores, c))->end == INFINITY)) {
    replication_kernel_finish_task(w, c, now);
  }
}

static inline void replication_kernel_end_flow(replication_world_World * w, int64_t c, double now) {
  sim_fluid_Flow * flow = 0;
  int64_t f = 0;
  int64_t reading = 0;
  flow = (&AT(w->fluid->flows, c));
  f = flow->file;
  if ((w->logging) && ((flow->row < w->transfers.length))) {
    (&AT(w->transfers, flow->row))->end = now;
  }
  reading = (flow->source < 0LL);
  replication_moves_free_flow(w, c);
  if ((reading) || (w->caches_made)) {
    replication_disk_enter_cache(w, (&AT(w->cores, c))->node, f, now);
  }
}

static inline void replication_kernel_end_steps(replication_world_World * w, double now) {
  double instant = 0;
  int64_t i = 0;
  replication_world_Node * node = 0;
  int64_t x = 0;
  int64_t c = 0;
  sim_fluid_Flow * flow = 0;
  int64_t last = 0;
  instant = w->run->instant;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    node = (&AT(w->nodes, i));
    for (int64_t t_2 = node->first_core, end_t_2 = (node->first_core + node->running); t_2 < end_t_2; t_2 += 1) {
      x = t_2;
      c = (&AT(w->cores, x))->started;
      (&AT(w->cores, c))->step_ended = FIT32(0LL);
      flow = (&AT(w->fluid->flows, c));
      if (((&AT(w->cores, c))->end <= instant)) {
        (&AT(w->cores, c))->step_ended = FIT32(1LL);
      } else if ((flow->due <= instant)) {
        if (((flow->rate < 0.0)) && (((&AT(w->files, flow->file))->size > 0LL))) {
          replication_moves_open_flow(w, c, now);
        } else {
          replication_kernel_end_flow(w, c, now);
          (&AT(w->cores, c))->step_ended = FIT32(1LL);
        }
      }
      last = replication_kernel_last_step(w, c);
      if (((&AT(w->cores, c))->step_ended) && (((&AT(w->cores, c))->step == last))) {
        replication_kernel_finish_on_shared(w, c, now);
      }
    }
    replication_kernel_forget_finished(w, i);
  }
  for (int64_t t_3 = 0; t_3 < w->nodes.length; t_3 += 1) {
    node = &AT(w->nodes, t_3);
    for (int64_t t_4 = node->first_core, end_t_4 = (node->first_core + node->running); t_4 < end_t_4; t_4 += 1) {
      x = t_4;
      if ((&AT(w->cores, (&AT(w->cores, x))->started))->step_ended) {
        replication_kernel_begin_next_step(w, (&AT(w->cores, x))->started, now);
      }
    }
  }
}

static inline void replication_kernel_finish_on_shared(replication_world_World * w, int64_t c, double now) {
  int64_t e = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  e = (&AT(w->cores, c))->entry;
  entry = (&AT(w->entries, e));
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    if ((e < w->num_tasks)) {
      (&AT(w->files, (&AT(w->reads, x))->file))->freq = FIT32(((&AT(w->files, (&AT(w->reads, x))->file))->freq - 1LL));
    }
  }
  for (int64_t t_2 = entry->first_output, end_t_2 = entry->end_output; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    (&AT(w->files, AT(w->outputs, x)))->saved = FIT8(2LL);
  }
  replication_kernel_free_cores(w, (&AT(w->cores, c))->node, e, now);
}

static inline void replication_kernel_finish_task(replication_world_World * w, int64_t c, double now) {
  int64_t e = 0;
  int64_t i = 0;
  replication_world_Entry * entry = 0;
  replication_world_Node * node = 0;
  int64_t first = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  e = (&AT(w->cores, c))->entry;
  i = (&AT(w->cores, c))->node;
  entry = (&AT(w->entries, e));
  node = (&AT(w->nodes, i));
  first = (i * w->num_files);
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->reads, x))->file;
    cell = (&AT(w->cells, (first + f)));
    cell->pin = FIT32((cell->pin - 1LL));
    cell->last_use = now;
    if ((e < w->num_tasks)) {
      (&AT(w->files, f))->freq = FIT32(((&AT(w->files, f))->freq - 1LL));
    }
  }
  for (int64_t t_2 = entry->first_output, end_t_2 = entry->end_output; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    f = AT(w->outputs, x);
    cell = (&AT(w->cells, (first + f)));
    cell->has = FIT8(1LL);
    cell->last_use = now;
    file = (&AT(w->files, f));
    file->copies = FIT32(1LL);
    if (file->keep) {
      file->made = now;
      node->waiting = FIT32((node->waiting + 1LL));
    }
  }
  if (w->barriers) {
    (&AT(w->rounds, (&AT(w->places, (node->head - 1LL)))->round))->left = FIT32(((&AT(w->rounds, (&AT(w->places, (node->head - 1LL)))->round))->left - 1LL));
  }
  replication_kernel_free_cores(w, i, e, now);
}

static inline void replication_kernel_forget_finished(replication_world_World * w, int64_t i) {
  replication_world_Node * node = 0;
  int64_t kept = 0;
  int64_t x = 0;
  int64_t c = 0;
  node = (&AT(w->nodes, i));
  kept = 0LL;
  for (int64_t t_1 = node->first_core, end_t_1 = (node->first_core + node->running); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    c = (&AT(w->cores, x))->started;
    if (((&AT(w->cores, c))->entry >= 0LL)) {
      (&AT(w->cores, (node->first_core + kept)))->started = FIT32(c);
      kept = (kept + 1LL);
    }
  }
  node->running = FIT32(kept);
}

static inline void replication_kernel_free_cores(replication_world_World * w, int64_t i, int64_t e, double now) {
  replication_world_Run * run = 0;
  replication_world_Node * node = 0;
  replication_world_Entry * entry = 0;
  int64_t other = 0;
  replication_world_Core * core = 0;
  run = w->run;
  node = (&AT(w->nodes, i));
  entry = (&AT(w->entries, e));
  for (int64_t t_1 = node->first_core, end_t_1 = node->end_core; t_1 < end_t_1; t_1 += 1) {
    other = t_1;
    core = (&AT(w->cores, other));
    if ((core->entry == e)) {
      core->entry = FIT32((-1LL));
      core->end = INFINITY;
      core->idle_since = now;
    }
  }
  node->idle = FIT32((node->idle + entry->cores));
  node->free_memory = (node->free_memory + entry->memory);
  AT(w->finished, run->ended) = e;
  run->ended = (run->ended + 1LL);
  run->last_end = now;
  if (w->logging) {
    entry->end = now;
  }
}

static inline int64_t replication_kernel_hopeless(replication_world_World * w, double now, double horizon) {
  double owed = 0;
  int64_t y = 0;
  sim_fluid_Flow * flow = 0;
  int64_t f = 0;
  int64_t owes = 0;
  sim_fluid_Resource * link = 0;
  if (!(w->shared)) {
    return 0;
  }
  owed = (double)(w->run->owed);
  for (int64_t t_1 = 0, end_t_1 = w->fluid->flows.length; t_1 < end_t_1; t_1 += 1) {
    y = t_1;
    flow = (&AT(w->fluid->flows, y));
    f = flow->file;
    if ((f < 0LL)) {
      continue;
    }
    owes = (((flow->target < 0LL)) && ((((&AT(w->files, f))->keep > 0LL)) || ((w->products_shared > 0LL))));
    if (((flow->source < 0LL)) || (owes)) {
      owed = (owed + sim_fluid_left_on((&AT(w->fluid->flows, y)), now));
    }
  }
  link = (&AT(w->fluid->resources, (w->num_nodes + w->num_storages)));
  return ((now + ((double)owed / (double)link->capacity)) > horizon);
}

static inline int64_t replication_kernel_last_step(replication_world_World * w, int64_t c) {
  replication_world_Entry * entry = 0;
  int64_t inputs = 0;
  entry = (&AT(w->entries, (&AT(w->cores, c))->entry));
  inputs = (entry->end_input - entry->first_input);
  return ((inputs + entry->end_output) - entry->first_output);
}

static inline void replication_kernel_leave_unassigned(replication_world_World * w) {
  int64_t i = 0;
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  int64_t k = 0;
  int64_t x = 0;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    (&AT(w->nodes, i))->head = FIT32((i + 1LL));
  }
  for (int64_t t_2 = 0; t_2 < w->cells.length; t_2 += 1) {
    cell = &AT(w->cells, t_2);
    cell->next_place = FIT32(replication_disk_NO_PLACE);
  }
  for (int64_t t_3 = 0; t_3 < w->files.length; t_3 += 1) {
    file = &AT(w->files, t_3);
    file->need = FIT32(0LL);
    file->unassigned = FIT32(0LL);
    file->freq = FIT32(0LL);
  }
  for (int64_t t_4 = 0, end_t_4 = w->num_tasks; t_4 < end_t_4; t_4 += 1) {
    k = t_4;
    for (int64_t t_5 = (&AT(w->entries, k))->first_input, end_t_5 = (&AT(w->entries, k))->end_input; t_5 < end_t_5; t_5 += 1) {
      x = t_5;
      file = (&AT(w->files, (&AT(w->reads, x))->file));
      file->need = FIT32((file->need + 1LL));
      file->unassigned = FIT32((file->unassigned + 1LL));
      file->freq = FIT32((file->freq + 1LL));
    }
  }
}

static inline double replication_kernel_next_event(replication_world_World * w) {
  double soonest = 0;
  replication_world_Core * core = 0;
  sim_fluid_Flow * flow = 0;
  soonest = INFINITY;
  for (int64_t t_1 = 0; t_1 < w->cores.length; t_1 += 1) {
    core = &AT(w->cores, t_1);
    if ((core->end < soonest)) {
      soonest = core->end;
    }
  }
  for (int64_t t_2 = 0; t_2 < w->fluid->flows.length; t_2 += 1) {
    flow = &AT(w->fluid->flows, t_2);
    if ((flow->due < soonest)) {
      soonest = flow->due;
    }
  }
  if ((!(w->plain)) && ((w->run->arrived < w->num_tasks))) {
    soonest = min_float(soonest, (&AT(w->entries, AT(w->by_release, w->run->arrived)))->release);
  }
  return soonest;
}

static inline void replication_kernel_note_arrivals(replication_world_World * w) {
  replication_world_Run * run = 0;
  int64_t n = 0;
  run = w->run;
  n = run->arrived;
  while (((n < w->num_tasks)) && (((&AT(w->entries, AT(w->by_release, n)))->release <= run->instant))) {
    n = (n + 1LL);
  }
  run->arrived = n;
}

static inline void replication_kernel_open_rounds(replication_world_World * w, double now) {
  replication_world_Run * run = 0;
  replication_world_Round * opened = 0;
  int64_t x = 0;
  replication_world_Drop * drop = 0;
  run = w->run;
  while (((run->opened < w->num_rounds)) && (((run->opened == 0LL)) || (((&AT(w->rounds, (run->opened - 1LL)))->left == 0LL)))) {
    opened = (&AT(w->rounds, run->opened));
    for (int64_t t_1 = opened->first_drop, end_t_1 = opened->end_drop; t_1 < end_t_1; t_1 += 1) {
      x = t_1;
      drop = (&AT(w->drops, x));
      if (((&AT(w->cells, ((drop->node * w->num_files) + drop->file)))->has == 1LL)) {
        replication_disk_evict(w, drop->node, drop->file, now);
      }
    }
    run->opened = (run->opened + 1LL);
  }
}

static inline int64_t replication_kernel_over(replication_world_World * w, int64_t total) {
  replication_world_Run * run = 0;
  run = w->run;
  if (((run->ended < total)) || ((run->saving > 0LL))) {
    return replication_kernel_PAUSED;
  }
  if ((w->logging) && (((run->transfers > w->transfers.length)) || ((run->evictions > w->evictions.length)))) {
    return replication_kernel_LOG_FULL;
  }
  return replication_kernel_FINISHED;
}

static inline void replication_kernel_passes(replication_world_World * w, double now) {
  replication_world_Run * run = 0;
  list_replication_world_Node nodes = {0};
  list_sim_fluid_Flow flows = {0};
  int64_t workflow = 0;
  int64_t moved = 0;
  int64_t i = 0;
  replication_world_Node * node = 0;
  int64_t receives = 0;
  if (w->products_shared) {
    replication_kernel_start_entries(w, now);
    return;
  }
  run = w->run;
  nodes = w->nodes;
  flows = w->fluid->flows;
  workflow = (!(w->plain));
  moved = 1;
  while (moved) {
    moved = 0;
    for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
      i = t_1;
      node = (&AT(nodes, i));
      if (workflow) {
        run->request = (-1LL);
      }
      if (((node->idle > 0LL)) && (replication_kernel_start_task(w, i, now))) {
        moved = 1;
      }
      receives = ((((&AT(flows, i))->file >= 0LL)) && ((node->staging == 1LL)));
      if ((!(receives)) && (replication_moves_start_transfer(w, i, now))) {
        moved = 1;
      }
      if ((!(workflow)) || (((&AT(flows, (w->num_nodes + i)))->file >= 0LL))) {
        continue;
      }
      if (((run->request >= 0LL)) || ((node->waiting > 0LL))) {
        replication_moves_start_save(w, i, now);
        moved = 1;
      }
    }
  }
}

EXPORTED tuple_float_int replication_kernel_replay(replication_world_World * w, double horizon) {
  replication_kernel_reset(w);
  return replication_kernel_advance(w, horizon, 1152921504606846976LL, replication_kernel_REPLAY);
}

static inline void replication_kernel_reset(replication_world_World * w) {
  replication_world_Cell * cell = 0;
  replication_world_File * file = 0;
  int64_t r = 0;
  replication_world_Held * held = 0;
  int64_t i = 0;
  int64_t to_fetch = 0;
  replication_kernel_reset_numbers(w);
  for (int64_t t_1 = 0; t_1 < w->cells.length; t_1 += 1) {
    cell = &AT(w->cells, t_1);
    cell->has = FIT8(0LL);
    cell->pin = FIT32(0LL);
    cell->next_place = FIT32(replication_disk_NO_PLACE);
    cell->last_use = (-1.0);
  }
  for (int64_t t_2 = 0; t_2 < w->files.length; t_2 += 1) {
    file = &AT(w->files, t_2);
    file->need = FIT32(0LL);
    file->unassigned = FIT32(0LL);
    file->freq = FIT32(0LL);
    file->copies = FIT32(0LL);
    file->flying = FIT32(0LL);
    file->saved = FIT8((file->product ? 0LL : 2LL));
  }
  replication_kernel_note_arrivals(w);
  for (int64_t t_3 = 0, end_t_3 = w->num_rounds; t_3 < end_t_3; t_3 += 1) {
    r = t_3;
    (&AT(w->rounds, r))->left = FIT32(0LL);
  }
  replication_kernel_reset_nodes(w);
  for (int64_t t_4 = 0; t_4 < w->held.length; t_4 += 1) {
    held = &AT(w->held, t_4);
    replication_disk_settle_in(w, held->node, held->file);
    (&AT(w->cells, ((held->node * w->num_files) + held->file)))->has = FIT8(1LL);
    (&AT(w->files, held->file))->copies = FIT32(((&AT(w->files, held->file))->copies + 1LL));
    if (w->products_shared) {
      (&AT(w->files, held->file))->flying = FIT32(1LL);
    }
  }
  for (int64_t t_5 = 0, end_t_5 = w->num_nodes; t_5 < end_t_5; t_5 += 1) {
    i = t_5;
    replication_kernel_count_readers(w, i);
  }
  for (int64_t t_6 = 0; t_6 < w->files.length; t_6 += 1) {
    file = &AT(w->files, t_6);
    to_fetch = (((file->need > 0LL)) && ((file->copies == 0LL)) && ((file->saved == 2LL)));
    if ((to_fetch) || (file->keep) || ((w->products_shared) && (file->product))) {
      w->run->owed = (w->run->owed + file->size);
    }
  }
}

static inline void replication_kernel_reset_nodes(replication_world_World * w) {
  replication_world_Node * node = 0;
  replication_world_Core * core = 0;
  sim_fluid_Flow * flow = 0;
  for (int64_t t_1 = 0; t_1 < w->nodes.length; t_1 += 1) {
    node = &AT(w->nodes, t_1);
    node->used = 0LL;
    node->num_residents = FIT32(0LL);
    node->head = FIT32(node->first_place);
    node->staged = FIT32(0LL);
    node->idle = FIT32(node->cores);
    node->free_memory = node->memory;
    node->waiting = FIT32(0LL);
    node->running = FIT32(0LL);
  }
  for (int64_t t_2 = 0; t_2 < w->cores.length; t_2 += 1) {
    core = &AT(w->cores, t_2);
    core->entry = FIT32((-1LL));
    core->end = INFINITY;
    core->idle_since = 0.0;
  }
  for (int64_t t_3 = 0; t_3 < w->fluid->flows.length; t_3 += 1) {
    flow = &AT(w->fluid->flows, t_3);
    flow->file = FIT32((-1LL));
    flow->target = FIT32((-1LL));
    flow->rate = 0.0;
    flow->due = INFINITY;
  }
}

static inline void replication_kernel_reset_numbers(replication_world_World * w) {
  replication_world_Run * run = 0;
  run = w->run;
  run->now = 0.0;
  run->last_end = 0.0;
  double t_1 = sim_clock_instant_of(0.0);
  run->instant = t_1;
  run->owed = 0LL;
  run->remote_bytes = 0LL;
  run->replica_bytes = 0LL;
  run->saved_bytes = 0LL;
  run->cached_bytes = 0LL;
  run->transfers = 0LL;
  run->evictions = 0LL;
  run->fetches = 0LL;
  run->refetched = 0LL;
  run->saves = 0LL;
  run->spills = 0LL;
  run->opened = 0LL;
  run->ended = 0LL;
  run->arrived = 0LL;
  run->saving = 0LL;
  run->request = 0LL;
  run->wanted = 0LL;
  run->passed = 0LL;
  run->changed = 0LL;
  run->begun = 0LL;
  run->starts = 0LL;
}

static inline void replication_kernel_start_entries(replication_world_World * w, double now) {
  int64_t moved = 0;
  int64_t i = 0;
  moved = 1;
  while (moved) {
    moved = 0;
    for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
      i = t_1;
      if ((((&AT(w->nodes, i))->idle > 0LL)) && (replication_kernel_start_on_shared(w, i, now))) {
        moved = 1;
      }
    }
  }
}

static inline int64_t replication_kernel_start_on_shared(replication_world_World * w, int64_t i, double now) {
  replication_world_Node * node = 0;
  int64_t e = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  replication_world_Read * read = 0;
  replication_world_Cell * cell = 0;
  int64_t c = 0;
  node = (&AT(w->nodes, i));
  if ((node->head >= node->end_place)) {
    return 0;
  }
  e = (&AT(w->places, node->head))->entry;
  entry = (&AT(w->entries, e));
  if ((entry->release > w->run->instant)) {
    return 0;
  }
  if (((node->idle < entry->cores)) || ((node->free_memory < entry->memory))) {
    return 0;
  }
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    if (((&AT(w->files, (&AT(w->reads, x))->file))->saved != 2LL)) {
      return 0;
    }
  }
  node->head = FIT32((node->head + 1LL));
  entry->missing = 0LL;
  for (int64_t t_2 = entry->first_input, end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    read = (&AT(w->reads, x));
    cell = (&AT(w->cells, ((i * w->num_files) + read->file)));
    cell->next_place = FIT32(read->follow);
    (&AT(w->files, read->file))->need = FIT32(((&AT(w->files, read->file))->need - 1LL));
    if ((cell->has == 0LL)) {
      entry->missing = (entry->missing + (&AT(w->files, read->file))->size);
    }
  }
  c = replication_kernel_take_cores(w, i, e, INFINITY);
  (&AT(w->cores, (node->first_core + node->running)))->started = FIT32(c);
  node->running = FIT32((node->running + 1LL));
  if (w->logging) {
    entry->start = now;
    entry->turn = FIT32(w->run->starts);
    w->run->starts = (w->run->starts + 1LL);
  }
  (&AT(w->cores, c))->step = FIT32((-1LL));
  (&AT(w->cores, c))->end = (now + entry->overhead);
  if ((entry->overhead == 0.0)) {
    replication_kernel_begin_next_step(w, c, now);
  }
  return 1;
}

static inline int64_t replication_kernel_start_task(replication_world_World * w, int64_t i, double now) {
  int64_t first = 0;
  list_replication_world_Cell cells = {0};
  list_replication_world_Read reads = {0};
  replication_world_Node * node = 0;
  int64_t e = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  int64_t full = 0;
  replication_world_Read * read = 0;
  int64_t c = 0;
  if (!(replication_moves_stage(w, i, now))) {
    return 0;
  }
  first = (i * w->num_files);
  cells = w->cells;
  reads = w->reads;
  node = (&AT(w->nodes, i));
  e = (&AT(w->places, node->head))->entry;
  entry = (&AT(w->entries, e));
  if (((node->idle < entry->cores)) || ((node->free_memory < entry->memory))) {
    return 0;
  }
  x = ((entry->first_input + node->staged) - 1LL);
  while (((x < entry->end_input)) && (((&AT(cells, (first + (&AT(reads, x))->file)))->has == 1LL))) {
    x = (x + 1LL);
  }
  node->staged = FIT32(((x - entry->first_input) + 1LL));
  if ((x < entry->end_input)) {
    return 0;
  }
  full = ((node->used + entry->out_bytes) > node->disk);
  if ((full) && (!(replication_disk_make_room(w, i, entry->out_bytes, now, 0)))) {
    return 0;
  }
  node->head = FIT32((node->head + 1LL));
  node->staged = FIT32(0LL);
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    read = (&AT(reads, x));
    (&AT(cells, (first + read->file)))->next_place = FIT32(read->follow);
  }
  c = replication_kernel_take_cores(w, i, e, (now + (entry->overhead + ((double)entry->compute / (double)node->speed))));
  if (w->task_disk) {
    replication_moves_use_disk(w, i, c, now);
  }
  for (int64_t t_2 = entry->first_input, end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    (&AT(w->files, (&AT(reads, x))->file))->need = FIT32(((&AT(w->files, (&AT(reads, x))->file))->need - 1LL));
  }
  for (int64_t t_3 = entry->first_output, end_t_3 = entry->end_output; t_3 < end_t_3; t_3 += 1) {
    x = t_3;
    replication_disk_settle_in(w, i, AT(w->outputs, x));
    (&AT(cells, (first + AT(w->outputs, x))))->has = FIT8(2LL);
  }
  if (w->logging) {
    entry->start = now;
    entry->turn = FIT32(w->run->starts);
    w->run->starts = (w->run->starts + 1LL);
  }
  return 1;
}

static inline int64_t replication_kernel_take_cores(replication_world_World * w, int64_t i, int64_t e, double end) {
  int64_t first = 0;
  replication_world_Node * node = 0;
  int64_t wanted = 0;
  int64_t n = 0;
  int64_t best = 0;
  int64_t c = 0;
  replication_world_Core * core = 0;
  first = (-1LL);
  node = (&AT(w->nodes, i));
  wanted = (&AT(w->entries, e))->cores;
  node->idle = FIT32((node->idle - wanted));
  node->free_memory = (node->free_memory - (&AT(w->entries, e))->memory);
  for (int64_t t_1 = 0, end_t_1 = wanted; t_1 < end_t_1; t_1 += 1) {
    n = t_1;
    best = (-1LL);
    for (int64_t t_2 = node->first_core, end_t_2 = node->end_core; t_2 < end_t_2; t_2 += 1) {
      c = t_2;
      core = (&AT(w->cores, c));
      if ((core->entry >= 0LL)) {
        continue;
      }
      if (((best < 0LL)) || ((core->idle_since < (&AT(w->cores, best))->idle_since))) {
        best = c;
      }
    }
    (&AT(w->cores, best))->entry = FIT32(e);
    if ((n == 0LL)) {
      (&AT(w->cores, best))->end = end;
      first = best;
    }
  }
  return first;
}

static inline void replication_moves_arrive(replication_world_World * w, int64_t y, double now) {
  replication_world_Run * run = 0;
  sim_fluid_Flow * flow = 0;
  int64_t f = 0;
  int64_t i = 0;
  replication_world_File * file = 0;
  replication_world_Cell * cell = 0;
  run = w->run;
  flow = (&AT(w->fluid->flows, y));
  f = flow->file;
  if (((flow->rate < 0.0)) && (((&AT(w->files, f))->size > 0LL))) {
    replication_moves_open_flow(w, y, now);
    return;
  }
  i = flow->target;
  file = (&AT(w->files, f));
  if ((flow->source >= 0LL)) {
    (&AT(w->cells, ((flow->source * w->num_files) + f)))->pin = FIT32(((&AT(w->cells, ((flow->source * w->num_files) + f)))->pin - 1LL));
  }
  if ((i >= 0LL)) {
    cell = (&AT(w->cells, ((i * w->num_files) + f)));
    cell->has = FIT8(1LL);
    cell->last_use = now;
    file->copies = FIT32((file->copies + 1LL));
    file->flying = FIT32((file->flying - 1LL));
    if ((file->keep) && ((file->saved == 0LL))) {
      (&AT(w->nodes, i))->waiting = FIT32(((&AT(w->nodes, i))->waiting + 1LL));
    }
  } else {
    file->saved = FIT8(2LL);
    run->saving = (run->saving - 1LL);
    if (file->keep) {
      run->last_end = now;
    }
  }
  replication_moves_free_flow(w, y);
  if ((w->logging) && ((flow->row < w->transfers.length))) {
    (&AT(w->transfers, flow->row))->end = now;
  }
}

static inline int64_t replication_moves_bring(replication_world_World * w, int64_t i, int64_t y, int64_t e, int64_t kept, double now, int64_t ahead) {
  int64_t files = 0;
  list_replication_world_Cell cells = {0};
  replication_world_Node * node = 0;
  replication_world_Entry * entry = 0;
  int64_t first = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_File * file = 0;
  int64_t wanted = 0;
  int64_t source = 0;
  files = w->num_files;
  cells = w->cells;
  node = (&AT(w->nodes, i));
  entry = (&AT(w->entries, e));
  first = entry->first_input;
  if (!(ahead)) {
    first = (first + (node->staged - 1LL));
  }
  for (int64_t t_1 = first, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->reads, x))->file;
    if (((&AT(cells, ((i * files) + f)))->has != 0LL)) {
      continue;
    }
    file = (&AT(w->files, f));
    if (((file->copies == 0LL)) && (((file->flying > 0LL)) || ((file->saved != 2LL)))) {
      continue;
    }
    wanted = (file->size + kept);
    if ((((node->used + wanted) > node->disk)) && (!(replication_disk_make_room(w, i, wanted, now, ahead)))) {
      continue;
    }
    source = (-1LL);
    if ((file->copies > 0LL)) {
      source = 0LL;
      while (((&AT(cells, ((source * files) + f)))->has != 1LL)) {
        source = (source + 1LL);
      }
      if (w->least_loaded) {
        source = replication_moves_least_loaded(w, i, f);
      }
    }
    replication_moves_send(w, y, f, source, i, now);
    return 1;
  }
  return 0;
}

static inline int64_t replication_moves_carry(replication_world_World * w, int64_t i, double now) {
  replication_world_Node * node = 0;
  int64_t number = 0;
  int64_t m = 0;
  replication_world_Move * move = 0;
  int64_t f = 0;
  int64_t source = 0;
  if (((&AT(w->fluid->flows, i))->file >= 0LL)) {
    return 0;
  }
  node = (&AT(w->nodes, i));
  number = max_int(0LL, (w->run->opened - 1LL));
  for (int64_t t_1 = node->first_move, end_t_1 = node->end_move; t_1 < end_t_1; t_1 += 1) {
    m = t_1;
    move = (&AT(w->moves, m));
    f = move->file;
    source = move->source;
    if (((move->round != number)) || (((&AT(w->cells, ((i * w->num_files) + f)))->has != 0LL))) {
      continue;
    }
    if (((source >= 0LL)) && (((&AT(w->cells, ((source * w->num_files) + f)))->has != 1LL))) {
      continue;
    }
    if (((node->used + (&AT(w->files, f))->size) <= node->disk)) {
      replication_moves_send(w, i, f, source, i, now);
      return 1;
    }
  }
  return 0;
}

static inline void replication_moves_cross(replication_world_World * w, int64_t f, int64_t source, int64_t target, int64_t x) {
  list_int64_t use = {0};
  int64_t i = 0;
  int64_t link = 0;
  int64_t storage = 0;
  use = w->fluid->use;
  if (((source >= 0LL)) && ((target >= 0LL))) {
    AT(use, x) = target;
    AT(use, (x + 1LL)) = source;
    AT(use, (x + 2LL)) = (-1LL);
    if (w->task_disk) {
      int64_t t_1 = replication_moves_disk_of(w, target);
      AT(use, (x + 2LL)) = t_1;
      int64_t t_2 = replication_moves_disk_of(w, source);
      AT(use, (x + 3LL)) = t_2;
    }
    return;
  }
  i = max_int(source, target);
  if (w->task_disk) {
    int64_t t_3 = replication_moves_disk_of(w, i);
    AT(use, (x + 3LL)) = t_3;
  }
  link = (w->num_nodes + w->num_storages);
  storage = (&AT(w->files, f))->storage;
  AT(use, x) = i;
  AT(use, (x + 1LL)) = (w->shared ? link : ((link + 1LL) + i));
  AT(use, (x + 2LL)) = ((storage >= 0LL) ? (w->num_nodes + storage) : (-1LL));
}

static inline int64_t replication_moves_disk_of(replication_world_World * w, int64_t i) {
  return ((((w->num_nodes + w->num_storages) + 1LL) + w->num_nodes) + i);
}

static inline void replication_moves_free_flow(replication_world_World * w, int64_t y) {
  (&AT(w->fluid->flows, y))->file = FIT32(replication_world_IDLE);
  (&AT(w->fluid->flows, y))->due = INFINITY;
  w->run->changed = 1LL;
}

static inline int64_t replication_moves_free_slot(replication_world_World * w, int64_t i) {
  int64_t y = 0;
  if (((&AT(w->fluid->flows, i))->file < 0LL)) {
    return i;
  }
  for (int64_t t_1 = (&AT(w->nodes, i))->first_slot, end_t_1 = (&AT(w->nodes, i))->end_slot; t_1 < end_t_1; t_1 += 1) {
    y = t_1;
    if (((&AT(w->fluid->flows, y))->file < 0LL)) {
      return y;
    }
  }
  return (-1LL);
}

static inline int64_t replication_moves_least_loaded(replication_world_World * w, int64_t i, int64_t f) {
  list_sim_fluid_Resource resources = {0};
  list_int64_t use = {0};
  sim_fluid_Resource * resource = 0;
  sim_fluid_Flow * flow = 0;
  int64_t x = 0;
  int64_t best = 0;
  double near = 0;
  int64_t j = 0;
  double door = 0;
  double share = 0;
  double far = 0;
  resources = w->fluid->resources;
  use = w->fluid->use;
  for (int64_t t_1 = 0; t_1 < resources.length; t_1 += 1) {
    resource = &AT(resources, t_1);
    resource->crossing = 0.0;
  }
  for (int64_t t_2 = 0; t_2 < w->fluid->flows.length; t_2 += 1) {
    flow = &AT(w->fluid->flows, t_2);
    if (((flow->file >= 0LL)) && (((&AT(w->files, flow->file))->size > 0LL))) {
      replication_moves_cross(w, flow->file, flow->source, flow->target, 0LL);
      for (int64_t t_3 = 0, end_t_3 = w->fluid->crossed; t_3 < end_t_3; t_3 += 1) {
        x = t_3;
        if ((AT(use, x) >= 0LL)) {
          (&AT(resources, AT(use, x)))->crossing = ((&AT(resources, AT(use, x)))->crossing + 1LL);
        }
      }
    }
  }
  best = (-1LL);
  near = 0.0;
  for (int64_t t_4 = 0, end_t_4 = w->num_nodes; t_4 < end_t_4; t_4 += 1) {
    j = t_4;
    door = (&AT(resources, j))->capacity;
    if (w->task_disk) {
      door = min_float(door, (&AT(resources, replication_moves_disk_of(w, j)))->capacity);
    }
    share = ((double)door / (double)((&AT(resources, j))->crossing + 1LL));
    if ((((&AT(w->cells, ((j * w->num_files) + f)))->has == 1LL)) && ((share > near))) {
      best = j;
      near = share;
    }
  }
  if (((&AT(w->files, f))->saved == 2LL)) {
    far = INFINITY;
    replication_moves_cross(w, f, (-1LL), i, 0LL);
    for (int64_t t_5 = 1LL, end_t_5 = sim_fluid_CROSSED; t_5 < end_t_5; t_5 += 1) {
      x = t_5;
      if ((AT(use, x) >= 0LL)) {
        resource = (&AT(resources, AT(use, x)));
        far = min_float(far, ((double)resource->capacity / (double)(resource->crossing + 1LL)));
      }
    }
    if ((far > (near * 1.000000001))) {
      return (-1LL);
    }
  }
  return best;
}

static inline int64_t replication_moves_oldest_to_keep(replication_world_World * w, int64_t i) {
  int64_t first = 0;
  int64_t best = 0;
  int64_t x = 0;
  int64_t f = 0;
  replication_world_File * file = 0;
  int64_t earlier = 0;
  first = (i * w->num_files);
  best = (-1LL);
  for (int64_t t_1 = first, end_t_1 = (first + (&AT(w->nodes, i))->num_residents); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    f = (&AT(w->cells, x))->resident;
    file = (&AT(w->files, f));
    if ((file->keep) && ((file->saved == 0LL)) && (((&AT(w->cells, (first + f)))->has == 1LL))) {
      earlier = (((best < 0LL)) || ((file->made < (&AT(w->files, best))->made)));
      if ((earlier) || (((file->made == (&AT(w->files, best))->made)) && ((f < best)))) {
        best = f;
      }
    }
  }
  return best;
}

static inline void replication_moves_open_flow(replication_world_World * w, int64_t y, double now) {
  sim_fluid_Flow * flow = 0;
  flow = (&AT(w->fluid->flows, y));
  flow->rate = 0.0;
  flow->since = now;
  flow->due = INFINITY;
  w->run->changed = 1LL;
}

static inline void replication_moves_send(replication_world_World * w, int64_t y, int64_t f, int64_t source, int64_t i, double now) {
  replication_world_Run * run = 0;
  replication_world_File * file = 0;
  run = w->run;
  file = (&AT(w->files, f));
  if ((source >= 0LL)) {
    (&AT(w->cells, ((source * w->num_files) + f)))->pin = FIT32(((&AT(w->cells, ((source * w->num_files) + f)))->pin + 1LL));
    run->replica_bytes = (run->replica_bytes + file->size);
  } else {
    if ((file->copies == 0LL)) {
      run->owed = (run->owed - file->size);
    }
    run->remote_bytes = (run->remote_bytes + file->size);
    run->fetches = (run->fetches + 1LL);
    run->refetched = (run->refetched + file->product);
  }
  replication_disk_settle_in(w, i, f);
  (&AT(w->cells, ((i * w->num_files) + f)))->has = FIT8(2LL);
  file->flying = FIT32((file->flying + 1LL));
  replication_moves_set_off(w, y, f, source, i, now);
}

static inline void replication_moves_set_off(replication_world_World * w, int64_t y, int64_t f, int64_t source, int64_t target, double now) {
  replication_world_Run * run = 0;
  sim_fluid_Flow * flow = 0;
  int64_t receiver = 0;
  int64_t n = 0;
  replication_world_Transfer * transfer = 0;
  run = w->run;
  flow = (&AT(w->fluid->flows, y));
  flow->file = FIT32(f);
  flow->source = FIT32(source);
  flow->target = FIT32(target);
  receiver = ((target < 0LL) ? w->num_nodes : target);
  double t_1 = sim_fluid_weight_of(w->fluid, f, receiver);
  flow->weight = t_1;
  if (sim_fluid_begin_flow(w->fluid, flow, (&AT(w->files, f))->size, now)) {
    run->changed = 1LL;
  }
  n = run->transfers;
  if ((w->logging) && ((n < w->transfers.length))) {
    transfer = (&AT(w->transfers, n));
    transfer->file = FIT32(f);
    transfer->source = FIT32(source);
    transfer->destination = FIT32(target);
    transfer->start = now;
    transfer->begun = FIT32(run->starts);
  }
  flow->row = n;
  run->transfers = (n + 1LL);
}

static inline void replication_moves_share_out(replication_world_World * w, double now) {
  sim_fluid_Fluid * fluid = 0;
  list_sim_fluid_Flow flows = {0};
  int64_t crossed = 0;
  int64_t count = 0;
  int64_t y = 0;
  sim_fluid_Flow * flow = 0;
  int64_t x = 0;
  fluid = w->fluid;
  flows = fluid->flows;
  crossed = fluid->crossed;
  count = 0LL;
  for (int64_t t_1 = 0, end_t_1 = flows.length; t_1 < end_t_1; t_1 += 1) {
    y = t_1;
    flow = (&AT(flows, y));
    if (((flow->file == replication_world_IDLE)) || ((flow->rate < 0.0))) {
      continue;
    }
    if ((flow->file == replication_world_DISK_USE)) {
      for (int64_t t_2 = (crossed * count), end_t_2 = (crossed * (count + 1LL)); t_2 < end_t_2; t_2 += 1) {
        x = t_2;
        AT(fluid->use, x) = (-1LL);
      }
      int64_t t_3 = replication_moves_disk_of(w, flow->target);
      AT(fluid->use, (crossed * count)) = t_3;
    } else if (((&AT(w->files, flow->file))->size == 0LL)) {
      continue;
    } else {
      replication_moves_cross(w, flow->file, flow->source, flow->target, (crossed * count));
    }
    (&AT(fluid->busy, count))->flow = FIT32(y);
    count = (count + 1LL);
  }
  sim_fluid_share_rates(fluid, count, now);
  w->run->changed = 0LL;
}

static inline int64_t replication_moves_stage(replication_world_World * w, int64_t i, double now) {
  replication_world_Node * node = 0;
  replication_world_Run * run = 0;
  int64_t p = 0;
  replication_world_Place * place = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  node = (&AT(w->nodes, i));
  if (node->staged) {
    return 1;
  }
  run = w->run;
  p = node->head;
  if ((p >= node->end_place)) {
    return 0;
  }
  place = (&AT(w->places, p));
  if ((w->barriers) && ((place->round >= run->opened))) {
    return 0;
  }
  if ((w->growing) && ((place->entry < 0LL))) {
    if (((place->entry == replication_world_OPEN)) && ((run->wanted == 0LL))) {
      run->wanted = (i + 1LL);
    }
    return 0;
  }
  entry = (&AT(w->entries, place->entry));
  if ((entry->release > run->instant)) {
    return 0;
  }
  if ((w->clearing) && (!(replication_disk_clear_room(w, i, p, now)))) {
    return 0;
  }
  node->staged = FIT32(1LL);
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    (&AT(w->cells, ((i * w->num_files) + (&AT(w->reads, x))->file)))->pin = FIT32(((&AT(w->cells, ((i * w->num_files) + (&AT(w->reads, x))->file)))->pin + 1LL));
  }
  return 1;
}

static inline void replication_moves_start_save(replication_world_World * w, int64_t i, double now) {
  replication_world_Run * run = 0;
  int64_t f = 0;
  replication_world_File * file = 0;
  int64_t j = 0;
  run = w->run;
  f = run->request;
  if ((f < 0LL)) {
    f = replication_moves_oldest_to_keep(w, i);
  }
  file = (&AT(w->files, f));
  if (file->keep) {
    run->owed = (run->owed - file->size);
    for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
      j = t_1;
      if (((&AT(w->cells, ((j * w->num_files) + f)))->has == 1LL)) {
        (&AT(w->nodes, j))->waiting = FIT32(((&AT(w->nodes, j))->waiting - 1LL));
      }
    }
  } else {
    run->spills = (run->spills + 1LL);
  }
  (&AT(w->cells, ((i * w->num_files) + f)))->pin = FIT32(((&AT(w->cells, ((i * w->num_files) + f)))->pin + 1LL));
  file->saved = FIT8(1LL);
  run->saving = (run->saving + 1LL);
  run->saves = (run->saves + 1LL);
  run->saved_bytes = (run->saved_bytes + file->size);
  replication_moves_set_off(w, (w->num_nodes + i), f, i, (-1LL), now);
}

static inline int64_t replication_moves_start_transfer(replication_world_World * w, int64_t i, double now) {
  replication_world_Node * node = 0;
  int64_t head = 0;
  int64_t y = 0;
  int64_t p = 0;
  replication_world_Place * place = 0;
  int64_t kept = 0;
  if (w->carried) {
    return replication_moves_carry(w, i, now);
  }
  if (!(replication_moves_stage(w, i, now))) {
    return 0;
  }
  node = (&AT(w->nodes, i));
  head = node->head;
  if ((node->staging == 1LL)) {
    return replication_moves_bring(w, i, i, (&AT(w->places, head))->entry, 0LL, now, 0);
  }
  y = replication_moves_free_slot(w, i);
  if ((y < 0LL)) {
    return 0;
  }
  for (int64_t t_1 = head, end_t_1 = min_int((head + node->staging), node->end_place); t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    place = (&AT(w->places, p));
    if ((w->barriers) && ((place->round >= w->run->opened))) {
      return 0;
    }
    kept = replication_disk_lacking(w, i, head, p);
    if (((&AT(w->entries, place->entry))->release > w->run->instant)) {
      continue;
    }
    if (replication_moves_bring(w, i, y, place->entry, kept, now, (p > head))) {
      return 1;
    }
  }
  return 0;
}

static inline void replication_moves_use_disk(replication_world_World * w, int64_t i, int64_t c, double now) {
  replication_world_Entry * entry = 0;
  int64_t limited = 0;
  sim_fluid_Flow * flow = 0;
  entry = (&AT(w->entries, (&AT(w->cores, c))->entry));
  limited = ((&AT(w->fluid->resources, replication_moves_disk_of(w, i)))->capacity < INFINITY);
  if (((entry->disk_bytes == 0LL)) || (!(limited))) {
    return;
  }
  flow = (&AT(w->fluid->flows, (w->task_flows + c)));
  flow->file = FIT32(replication_world_DISK_USE);
  flow->source = FIT32(i);
  flow->target = FIT32(i);
  flow->left = (double)(entry->disk_bytes);
  flow->since = now;
  flow->weight = 1.0;
  flow->rate = sim_fluid_CLOSED;
  flow->due = (now + entry->overhead);
  if ((entry->overhead == 0.0)) {
    replication_moves_open_flow(w, (w->task_flows + c), now);
  }
}

static inline int64_t search_anneal_kernel_change(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t roots = 0;
  int64_t kind = 0;
  roots = (((data->copying == 1LL)) && ((data->num_files > 0LL)));
  kind = search_anneal_kernel_draw(state, 8LL);
  kind = (kind - (roots ? 1LL : 0LL));
  if ((kind < 0LL)) {
    return search_anneal_kernel_move_root(data, state);
  }
  kind = (kind - (roots ? 2LL : 0LL));
  if ((kind < 0LL)) {
    return search_anneal_kernel_exchange_roots(data, state);
  }
  kind = (kind - (roots ? 2LL : 5LL));
  if ((kind < 0LL)) {
    return search_anneal_kernel_exchange_tasks(data, state);
  }
  kind = (kind - (roots ? 3LL : 3LL));
  if ((kind < 0LL)) {
    return search_anneal_kernel_send_task(data, state);
  }
  return 0;
}

static inline void search_anneal_kernel_change_root(search_anneal_kernel_Data * data, search_anneal_kernel_State * state, int64_t file, int64_t node) {
  AT(state->trail, state->trail_length) = file;
  AT(state->trail, (state->trail_length + 1LL)) = AT(state->root, file);
  state->trail_length = (state->trail_length + 2LL);
  search_anneal_kernel_reroot(data, state, file, node);
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

static inline int64_t search_anneal_kernel_exchange_roots(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t file = 0;
  int64_t other = 0;
  int64_t node = 0;
  int64_t before = 0;
  file = search_anneal_kernel_draw(state, data->num_files);
  search_anneal_kernel_skip_draw(state);
  other = search_anneal_kernel_draw(state, data->num_files);
  node = AT(state->root, other);
  before = AT(state->root, file);
  if ((node == before)) {
    return 0;
  }
  if ((!(search_anneal_kernel_may_root(data, other, before))) || (!(search_anneal_kernel_may_root(data, file, node)))) {
    return 0;
  }
  search_anneal_kernel_change_root(data, state, other, before);
  search_anneal_kernel_change_root(data, state, file, node);
  return 1;
}

static inline int64_t search_anneal_kernel_exchange_tasks(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t first = 0;
  int64_t second = 0;
  int64_t node = 0;
  first = search_anneal_kernel_draw(state, data->num_tasks);
  search_anneal_kernel_skip_draw(state);
  second = search_anneal_kernel_draw(state, data->num_tasks);
  node = AT(state->node, first);
  if ((AT(state->node, second) == node)) {
    return 0;
  }
  search_anneal_kernel_move(data, state, first, AT(state->node, second));
  search_anneal_kernel_move(data, state, second, node);
  return 1;
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
  search_anneal_kernel_Moved * moved = 0;
  int64_t x = 0;
  int64_t file = 0;
  int64_t idle = 0;
  before = AT(state->node, task);
  moved = (&AT(state->moved, state->num_moved));
  moved->task = task;
  moved->node = before;
  state->num_moved = (state->num_moved + 1LL);
  search_anneal_kernel_shift(data, state, task, node);
  if ((data->copying == 0LL)) {
    return;
  }
  for (int64_t t_1 = AT(data->ptr, task), end_t_1 = AT(data->ptr, (task + 1LL)); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    file = AT(data->files, x);
    idle = (AT(state->readers, ((file * data->num_nodes) + before)) == 0LL);
    if ((idle) && ((AT(state->root, file) == before)) && (!(AT(data->fixed_root, file)))) {
      search_anneal_kernel_change_root(data, state, file, node);
    }
  }
}

static inline int64_t search_anneal_kernel_move_root(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t file = 0;
  int64_t node = 0;
  file = search_anneal_kernel_draw(state, data->num_files);
  node = search_anneal_kernel_other_node(data, state, AT(state->root, file));
  if (!(search_anneal_kernel_may_root(data, file, node))) {
    return 0;
  }
  search_anneal_kernel_change_root(data, state, file, node);
  return 1;
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
  double after = 0;
  now = search_anneal_kernel_energy(data, state);
  for (int64_t t_1 = 0, end_t_1 = steps; t_1 < end_t_1; t_1 += 1) {
    step = state->step;
    state->step = (step + 1LL);
    heat = AT(data->temperatures, min_int(floor_int((step * search_anneal_kernel_TEMPERATURES), total), 511LL));
    double t_2 = (heat * AT(data->logs, search_anneal_kernel_draw(state, search_anneal_kernel_LOG_TABLE)));
    limit = (now * (1.0 + ((double)t_2 / (double)data->num_nodes)));
    state->trail_length = 0LL;
    state->num_moved = 0LL;
    if (!(search_anneal_kernel_change(data, state))) {
      continue;
    }
    after = search_anneal_kernel_energy(data, state);
    if ((after > limit)) {
      search_anneal_kernel_undo(data, state);
      continue;
    }
    if ((after < now)) {
      search_anneal_kernel_keep_best(data, state);
    }
    now = after;
  }
}

static inline int64_t search_anneal_kernel_send_task(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t task = 0;
  task = search_anneal_kernel_draw(state, data->num_tasks);
  search_anneal_kernel_move(data, state, task, search_anneal_kernel_other_node(data, state, AT(state->node, task)));
  return 1;
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

static inline void search_anneal_kernel_skip_draw(search_anneal_kernel_State * state) {
  search_anneal_kernel_draw(state, 1LL);
}

static inline void search_anneal_kernel_undo(search_anneal_kernel_Data * data, search_anneal_kernel_State * state) {
  int64_t at = 0;
  search_anneal_kernel_Moved * moved = 0;
  while ((state->trail_length > 0LL)) {
    state->trail_length = (state->trail_length - 2LL);
    at = state->trail_length;
    search_anneal_kernel_reroot(data, state, AT(state->trail, at), AT(state->trail, (at + 1LL)));
  }
  while ((state->num_moved > 0LL)) {
    state->num_moved = (state->num_moved - 1LL);
    moved = (&AT(state->moved, state->num_moved));
    search_anneal_kernel_shift(data, state, moved->task, moved->node);
  }
}

EXPORTED void search_line_kernel_anneal(replication_world_World * w, search_line_moves_Line * line, int64_t steps, int64_t first, int64_t total, double hot, double cold, double target) {
  int64_t step = 0;
  double heat = 0;
  double limit = 0;
  double value = 0;
  if (!(line->by_bytes)) {
    search_line_kernel_take_rules(w, line);
    search_line_moves_write_queues(w, line);
  }
  for (int64_t t_1 = first, end_t_1 = (first + steps); t_1 < end_t_1; t_1 += 1) {
    step = t_1;
    if ((line->best <= target)) {
      return;
    }
    heat = (hot * pow(((double)cold / (double)hot), ((double)step / (double)total)));
    search_line_moves_keep(line, line->kept_order, line->kept_node, line->kept_cut);
    search_line_moves_change(w, line);
    double t_2 = line->now;
    limit = (t_2 - (heat * (log(search_line_moves_uniform(line->chance)))));
    value = line->now;
    if (line->by_bytes) {
      value = search_line_kernel_transfer_seconds(w, line, limit);
    } else if (search_line_moves_write_queues(w, line)) {
      value = search_line_kernel_replayed(w, line, limit);
    }
    line->evaluations = (line->evaluations + 1LL);
    if ((value > limit)) {
      search_line_moves_put_back(line);
      if (!(line->by_bytes)) {
        search_line_moves_write_queues(w, line);
      }
      continue;
    }
    line->now = value;
    if ((value < line->best)) {
      line->best = value;
      search_line_moves_keep_best(line);
    }
  }
}

static inline double search_line_kernel_batch_time(replication_world_World * w, double fetch_cost, double copy_cost) {
  int64_t i = 0;
  replication_world_Node * node = 0;
  double busy = 0;
  int64_t p = 0;
  int64_t n = 0;
  replication_world_Transfer * transfer = 0;
  int64_t size = 0;
  double cost = 0;
  double most = 0;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    node = (&AT(w->nodes, i));
    busy = 0.0;
    for (int64_t t_2 = node->first_place, end_t_2 = node->end_place; t_2 < end_t_2; t_2 += 1) {
      p = t_2;
      busy = (busy + ((double)(&AT(w->entries, (&AT(w->places, p))->entry))->compute / (double)node->speed));
    }
    (&AT(w->fluid->resources, i))->left = busy;
  }
  for (int64_t t_3 = 0, end_t_3 = w->run->transfers; t_3 < end_t_3; t_3 += 1) {
    n = t_3;
    transfer = (&AT(w->transfers, n));
    size = (&AT(w->files, transfer->file))->size;
    cost = fetch_cost;
    if ((transfer->source >= 0LL)) {
      cost = copy_cost;
      (&AT(w->fluid->resources, transfer->source))->left = ((&AT(w->fluid->resources, transfer->source))->left + (size * cost));
    }
    (&AT(w->fluid->resources, transfer->destination))->left = ((&AT(w->fluid->resources, transfer->destination))->left + (size * cost));
  }
  most = (&AT(w->fluid->resources, 0LL))->left;
  for (int64_t t_4 = 1LL, end_t_4 = w->num_nodes; t_4 < end_t_4; t_4 += 1) {
    i = t_4;
    most = max_float(most, (&AT(w->fluid->resources, i))->left);
  }
  return most;
}

static inline void search_line_kernel_begin(replication_world_World * w, search_line_moves_Line * line) {
  int64_t tasks = 0;
  search_line_moves_LineFile * file = 0;
  int64_t p = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  int64_t i = 0;
  int64_t first = 0;
  replication_world_Held * held = 0;
  int64_t f = 0;
  tasks = w->num_tasks;
  for (int64_t t_1 = 0; t_1 < line->files.length; t_1 += 1) {
    file = &AT(line->files, t_1);
    file->next_place = FIT32(tasks);
    file->wanted = FIT32((-1LL));
    file->copies = FIT32(0LL);
  }
  for (int64_t t_2 = (tasks - 1LL), end_t_2 = (-1LL); t_2 > end_t_2; t_2 += -1) {
    p = t_2;
    entry = (&AT(w->entries, AT(line->order, p)));
    for (int64_t t_3 = entry->first_input, end_t_3 = entry->end_input; t_3 < end_t_3; t_3 += 1) {
      x = t_3;
      file = (&AT(line->files, (&AT(w->reads, x))->file));
      AT(line->follow, x) = file->next_place;
      file->next_place = FIT32(p);
    }
  }
  for (int64_t t_4 = 0, end_t_4 = w->num_nodes; t_4 < end_t_4; t_4 += 1) {
    i = t_4;
    first = (i * w->num_files);
    for (int64_t t_5 = first, end_t_5 = (first + AT(line->num_residents, i)); t_5 < end_t_5; t_5 += 1) {
      x = t_5;
      (&AT(line->cells, (first + (&AT(line->cells, x))->resident)))->on = FIT8(0LL);
    }
    AT(line->num_residents, i) = 0LL;
    AT(line->used, i) = 0LL;
  }
  for (int64_t t_6 = 0; t_6 < w->held.length; t_6 += 1) {
    held = &AT(w->held, t_6);
    search_line_kernel_settle(w, line, held->node, held->file);
  }
  line->fetched = 0LL;
  line->copied = 0LL;
  line->owed = 0LL;
  for (int64_t t_7 = 0, end_t_7 = w->num_files; t_7 < end_t_7; t_7 += 1) {
    f = t_7;
    file = (&AT(line->files, f));
    if (((file->copies == 0LL)) && ((file->next_place < tasks))) {
      line->owed = (line->owed + (&AT(w->files, f))->size);
    }
  }
}

static inline void search_line_kernel_make_room(replication_world_World * w, search_line_moves_Line * line, int64_t i, int64_t size, int64_t p) {
  int64_t first = 0;
  int64_t tasks = 0;
  int64_t best = 0;
  int64_t worth = 0;
  int64_t victim = 0;
  int64_t x = 0;
  int64_t g = 0;
  search_line_moves_LineFile * file = 0;
  int64_t value = 0;
  search_line_moves_LineCell * last = 0;
  search_line_moves_LineFile * gone = 0;
  first = (i * w->num_files);
  tasks = w->num_tasks;
  while (((AT(line->used, i) + size) > (&AT(w->nodes, i))->disk)) {
    best = (-1LL);
    worth = (-1LL);
    victim = (-1LL);
    for (int64_t t_1 = first, end_t_1 = (first + AT(line->num_residents, i)); t_1 < end_t_1; t_1 += 1) {
      x = t_1;
      g = (&AT(line->cells, x))->resident;
      file = (&AT(line->files, g));
      if ((file->wanted == p)) {
        continue;
      }
      value = file->next_place;
      if ((value == tasks)) {
        value = (3LL * tasks);
      } else if ((file->copies > 1LL)) {
        value = (value + tasks);
      }
      if (((value > worth)) || (((value == worth)) && ((g < victim)))) {
        best = x;
        worth = value;
        victim = g;
      }
    }
    AT(line->num_residents, i) = (AT(line->num_residents, i) - 1LL);
    last = (&AT(line->cells, (first + AT(line->num_residents, i))));
    (&AT(line->cells, best))->resident = FIT32(last->resident);
    (&AT(line->cells, (first + victim)))->on = FIT8(0LL);
    AT(line->used, i) = (AT(line->used, i) - (&AT(w->files, victim))->size);
    gone = (&AT(line->files, victim));
    gone->copies = FIT32((gone->copies - 1LL));
    if (((gone->next_place < tasks)) && ((gone->copies == 0LL))) {
      line->owed = (line->owed + (&AT(w->files, victim))->size);
    }
  }
}

EXPORTED double search_line_kernel_noisy_mean(replication_world_World * w, double fetch_cost, double copy_cost, int64_t first, int64_t count, double most) {
  double limit = 0;
  double total = 0;
  int64_t draw = 0;
  limit = (most * count);
  total = 0.0;
  for (int64_t t_1 = first, end_t_1 = (first + count); t_1 < end_t_1; t_1 += 1) {
    draw = t_1;
    w->fluid->draw = draw;
    total = (total + search_line_kernel_score(w, fetch_cost, copy_cost, (limit - total)));
    if ((total > limit)) {
      w->fluid->draw = 0LL;
      return INFINITY;
    }
  }
  w->fluid->draw = 0LL;
  return ((double)total / (double)count);
}

static inline double search_line_kernel_replayed(replication_world_World * w, search_line_moves_Line * line, double limit) {
  double fetch_cost = 0;
  double copy_cost = 0;
  fetch_cost = line->fetch_cost;
  copy_cost = line->copy_cost;
  if ((line->draws == 0LL)) {
    return search_line_kernel_score(w, fetch_cost, copy_cost, limit);
  }
  double t_1 = search_line_kernel_score(w, fetch_cost, copy_cost, line->most_exact);
  if ((t_1 > line->most_exact)) {
    return INFINITY;
  }
  return search_line_kernel_noisy_mean(w, fetch_cost, copy_cost, line->first_draw, line->draws, limit);
}

EXPORTED double search_line_kernel_score(replication_world_World * w, double fetch_cost, double copy_cost, double limit) {
  double seconds = 0;
  int64_t code = 0;
  tuple_float_int t_1 = replication_kernel_replay(w, (w->logging ? INFINITY : limit));
  seconds = t_1.v0;
  code = t_1.v1;
  if ((code != replication_kernel_FINISHED)) {
    return INFINITY;
  }
  if (w->logging) {
    return search_line_kernel_batch_time(w, fetch_cost, copy_cost);
  }
  return seconds;
}

EXPORTED double search_line_kernel_score_line(replication_world_World * w, search_line_moves_Line * line, double limit) {
  if (line->by_bytes) {
    return search_line_kernel_transfer_seconds(w, line, limit);
  }
  search_line_kernel_take_rules(w, line);
  search_line_moves_write_queues(w, line);
  return search_line_kernel_replayed(w, line, limit);
}

static inline void search_line_kernel_serve(replication_world_World * w, search_line_moves_Line * line, int64_t p) {
  int64_t k = 0;
  int64_t i = 0;
  replication_world_Entry * entry = 0;
  int64_t x = 0;
  search_line_moves_LineFile * file = 0;
  int64_t f = 0;
  int64_t size = 0;
  k = AT(line->order, p);
  i = AT(line->node, k);
  entry = (&AT(w->entries, k));
  for (int64_t t_1 = entry->first_input, end_t_1 = entry->end_input; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    file = (&AT(line->files, (&AT(w->reads, x))->file));
    file->wanted = FIT32(p);
    file->next_place = FIT32(AT(line->follow, x));
  }
  for (int64_t t_2 = entry->first_input, end_t_2 = entry->end_input; t_2 < end_t_2; t_2 += 1) {
    x = t_2;
    f = (&AT(w->reads, x))->file;
    if ((&AT(line->cells, ((i * w->num_files) + f)))->on) {
      continue;
    }
    size = (&AT(w->files, f))->size;
    if (((&AT(line->files, f))->copies > 0LL)) {
      line->copied = (line->copied + size);
    } else {
      line->fetched = (line->fetched + size);
      line->owed = (line->owed - size);
    }
    if (((AT(line->used, i) + size) > (&AT(w->nodes, i))->disk)) {
      search_line_kernel_make_room(w, line, i, size, p);
    }
    search_line_kernel_settle(w, line, i, f);
  }
}

static inline void search_line_kernel_settle(replication_world_World * w, search_line_moves_Line * line, int64_t i, int64_t f) {
  int64_t first = 0;
  first = (i * w->num_files);
  (&AT(line->cells, (first + AT(line->num_residents, i))))->resident = FIT32(f);
  (&AT(line->cells, (first + f)))->on = FIT8(1LL);
  AT(line->num_residents, i) = (AT(line->num_residents, i) + 1LL);
  (&AT(line->files, f))->copies = FIT32(((&AT(line->files, f))->copies + 1LL));
  AT(line->used, i) = (AT(line->used, i) + (&AT(w->files, f))->size);
}

static inline void search_line_kernel_take_rules(replication_world_World * w, search_line_moves_Line * line) {
  w->policy = line->policy;
  w->barriers = line->barriers;
  w->num_rounds = (line->barriers ? w->num_tasks : 0LL);
  w->num_entries = w->num_tasks;
}

static inline double search_line_kernel_transfer_seconds(replication_world_World * w, search_line_moves_Line * line, double limit) {
  int64_t p = 0;
  double fetched = 0;
  search_line_kernel_begin(w, line);
  for (int64_t t_1 = 0, end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    search_line_kernel_serve(w, line, p);
    fetched = ((line->fetched + line->owed) * line->fetch_cost);
    if (((fetched + (line->copied * line->copy_cost)) > limit)) {
      return INFINITY;
    }
  }
  return ((line->fetched * line->fetch_cost) + (line->copied * line->copy_cost));
}

static inline tuple_int_int search_line_moves_aim(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  search_line_moves_Chance * chance = 0;
  int64_t node = 0;
  chance = line->chance;
  if (search_line_moves_draw(chance, 2LL)) {
    other = search_line_moves_relative(w, line, k);
  }
  node = AT(line->node, other);
  if ((search_line_moves_draw(chance, 3LL) == 0LL)) {
    node = AT(line->node, k);
  }
  return (tuple_int_int){AT(line->place, other), node};
}

static inline void search_line_moves_change(replication_world_World * w, search_line_moves_Line * line) {
  search_line_moves_Chance * chance = 0;
  int64_t kind = 0;
  int64_t k = 0;
  int64_t other = 0;
  chance = line->chance;
  if ((line->barriers) && ((search_line_moves_draw(chance, 100LL) < search_line_moves_BARRIER_MOVES))) {
    search_line_moves_change_barrier(w, line);
    return;
  }
  if ((w->products_shared) && ((search_line_moves_draw(chance, search_line_moves_EXCHANGES) == 0LL))) {
    search_line_moves_exchange_nodes(w, line);
    return;
  }
  kind = search_line_moves_draw(chance, 100LL);
  k = search_line_moves_draw(chance, w->num_tasks);
  other = search_line_moves_draw(chance, w->num_tasks);
  kind = (kind - (w->plain ? 10LL : 10LL));
  if ((kind < 0LL)) {
    search_line_moves_exchange_tasks(w, line, k, other);
    return;
  }
  kind = (kind - (w->plain ? 15LL : 15LL));
  if ((kind < 0LL)) {
    search_line_moves_send_block(w, line, k, other);
    return;
  }
  kind = (kind - (w->plain ? 15LL : 15LL));
  if ((kind < 0LL)) {
    search_line_moves_send_family(w, line, k, other);
    return;
  }
  kind = (kind - (w->plain ? 45LL : 60LL));
  if ((kind < 0LL)) {
    search_line_moves_shift_task(w, line, k, other);
    return;
  }
  kind = (kind - (w->plain ? 15LL : 0LL));
  if ((kind < 0LL)) {
    search_line_moves_shift_block(w, line, k, other);
    return;
  }
}

static inline void search_line_moves_change_barrier(replication_world_World * w, search_line_moves_Line * line) {
  int64_t tasks = 0;
  search_line_moves_Chance * chance = 0;
  int64_t p = 0;
  int64_t kind = 0;
  tasks = w->num_tasks;
  chance = line->chance;
  p = search_line_moves_draw(chance, tasks);
  kind = search_line_moves_draw(chance, 3LL);
  if ((kind == 0LL)) {
    AT(line->cut, p) = (1LL - AT(line->cut, p));
    return;
  }
  while (((p < tasks)) && (!(AT(line->cut, p)))) {
    p = (p + 1LL);
  }
  if ((p == tasks)) {
    return;
  }
  AT(line->cut, p) = 0LL;
  if ((kind == 1LL)) {
    p = (p + (search_line_moves_draw(chance, 9LL) - search_line_moves_BARRIER_SHIFT));
    AT(line->cut, min_int((tasks - 1LL), max_int(0LL, p))) = 1LL;
  }
}

static inline int64_t search_line_moves_draw(search_line_moves_Chance * chance, int64_t below) {
  chance->seed = mod_int((chance->seed * 48271LL), search_line_moves_MODULUS);
  return mod_int(chance->seed, below);
}

static inline void search_line_moves_exchange_nodes(replication_world_World * w, search_line_moves_Line * line) {
  int64_t one = 0;
  int64_t other = 0;
  int64_t k = 0;
  one = search_line_moves_draw(line->chance, w->num_nodes);
  other = search_line_moves_draw(line->chance, w->num_nodes);
  for (int64_t t_1 = 0, end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    k = t_1;
    if ((AT(line->node, k) == one)) {
      search_line_moves_send(w, line, k, other);
    } else if ((AT(line->node, k) == other)) {
      search_line_moves_send(w, line, k, one);
    }
  }
}

static inline void search_line_moves_exchange_tasks(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  int64_t node = 0;
  node = AT(line->node, k);
  search_line_moves_send(w, line, k, AT(line->node, other));
  search_line_moves_send(w, line, other, node);
}

static inline int64_t search_line_moves_gather(search_line_moves_Line * line, int64_t k, int64_t to, int64_t step, list_int64_t ptr, list_int64_t listed) {
  int64_t first = 0;
  int64_t distance = 0;
  int64_t n = 0;
  int64_t count = 0;
  int64_t j = 0;
  int64_t x = 0;
  first = AT(line->place, k);
  distance = ((to - first) * step);
  for (int64_t t_1 = 0, end_t_1 = (distance + 1LL); t_1 < end_t_1; t_1 += 1) {
    n = t_1;
    AT(line->flag, AT(line->order, (first + (n * step)))) = 0LL;
  }
  AT(line->flag, k) = 1LL;
  count = 0LL;
  for (int64_t t_2 = 0, end_t_2 = (distance + 1LL); t_2 < end_t_2; t_2 += 1) {
    n = t_2;
    j = AT(line->order, (first + (n * step)));
    if (AT(line->flag, j)) {
      count = (count + 1LL);
      for (int64_t t_3 = AT(ptr, j), end_t_3 = AT(ptr, (j + 1LL)); t_3 < end_t_3; t_3 += 1) {
        x = t_3;
        AT(line->flag, AT(listed, x)) = 1LL;
      }
    }
  }
  return count;
}

static inline void search_line_moves_keep(search_line_moves_Line * line, list_int64_t order, list_int64_t node, list_int64_t cut) {
  int64_t x = 0;
  for (int64_t t_1 = 0, end_t_1 = line->order.length; t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    AT(order, x) = AT(line->order, x);
    AT(node, x) = AT(line->node, x);
    AT(cut, x) = AT(line->cut, x);
  }
}

static inline void search_line_moves_keep_best(search_line_moves_Line * line) {
  search_line_moves_keep(line, line->best_order, line->best_node, line->best_cut);
}

static inline void search_line_moves_part(search_line_moves_Line * line, int64_t first, int64_t end, int64_t flagged, int64_t others) {
  int64_t p = 0;
  int64_t j = 0;
  for (int64_t t_1 = first, end_t_1 = end; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    AT(line->scratch, p) = AT(line->order, p);
  }
  for (int64_t t_2 = first, end_t_2 = end; t_2 < end_t_2; t_2 += 1) {
    p = t_2;
    j = AT(line->scratch, p);
    if (AT(line->flag, j)) {
      AT(line->order, flagged) = j;
      AT(line->place, j) = flagged;
      flagged = (flagged + 1LL);
    } else {
      AT(line->order, others) = j;
      AT(line->place, j) = others;
      others = (others + 1LL);
    }
  }
}

static inline int64_t search_line_moves_pick(search_line_moves_Chance * chance, list_int64_t ptr, list_int64_t listed, int64_t k) {
  int64_t width = 0;
  width = (AT(ptr, (k + 1LL)) - AT(ptr, k));
  if ((width == 0LL)) {
    return (-1LL);
  }
  int64_t t_1 = AT(ptr, k);
  return AT(listed, (t_1 + search_line_moves_draw(chance, width)));
}

static inline void search_line_moves_put_back(search_line_moves_Line * line) {
  int64_t p = 0;
  for (int64_t t_1 = 0, end_t_1 = line->order.length; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    AT(line->order, p) = AT(line->kept_order, p);
    AT(line->place, AT(line->order, p)) = p;
    AT(line->node, p) = AT(line->kept_node, p);
    AT(line->cut, p) = AT(line->kept_cut, p);
  }
}

static inline int64_t search_line_moves_relative(replication_world_World * w, search_line_moves_Line * line, int64_t k) {
  search_line_moves_Chance * chance = 0;
  int64_t j = 0;
  int64_t kind = 0;
  replication_world_Entry * entry = 0;
  int64_t width = 0;
  replication_world_Read * read = 0;
  chance = line->chance;
  j = (-1LL);
  kind = 2LL;
  if (!(w->plain)) {
    kind = search_line_moves_draw(chance, 4LL);
  }
  if ((kind == 0LL)) {
    j = search_line_moves_pick(chance, line->before_ptr, line->before, k);
  } else if ((kind == 1LL)) {
    j = search_line_moves_pick(chance, line->after_ptr, line->after, k);
  } else {
    entry = (&AT(w->entries, k));
    width = (entry->end_input - entry->first_input);
    if ((width > 0LL)) {
      int64_t t_1 = entry->first_input;
      read = (&AT(w->reads, (t_1 + search_line_moves_draw(chance, width))));
      j = search_line_moves_pick(chance, line->reader_ptr, line->readers, read->file);
    }
  }
  return ((j >= 0LL) ? j : k);
}

static inline void search_line_moves_send(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t i) {
  if (AT(line->fits, ((k * w->num_nodes) + i))) {
    AT(line->node, k) = i;
  }
}

static inline void search_line_moves_send_block(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  int64_t i = 0;
  int64_t left = 0;
  int64_t a = 0;
  int64_t p = 0;
  i = search_line_moves_draw(line->chance, w->num_nodes);
  left = (1LL + search_line_moves_draw(line->chance, search_line_moves_LONGEST_BLOCK));
  a = AT(line->node, k);
  for (int64_t t_1 = AT(line->place, k), end_t_1 = w->num_tasks; t_1 < end_t_1; t_1 += 1) {
    p = t_1;
    if (((left > 0LL)) && ((AT(line->node, AT(line->order, p)) == a))) {
      search_line_moves_send(w, line, AT(line->order, p), i);
      left = (left - 1LL);
    }
  }
}

static inline void search_line_moves_send_family(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  search_line_moves_Chance * chance = 0;
  int64_t node = 0;
  int64_t x = 0;
  chance = line->chance;
  node = search_line_moves_draw(chance, w->num_nodes);
  if (search_line_moves_draw(chance, 2LL)) {
    node = AT(line->node, search_line_moves_relative(w, line, k));
  }
  search_line_moves_send(w, line, k, node);
  if (search_line_moves_draw(chance, 2LL)) {
    for (int64_t t_1 = AT(line->before_ptr, k), end_t_1 = AT(line->before_ptr, (k + 1LL)); t_1 < end_t_1; t_1 += 1) {
      x = t_1;
      search_line_moves_send(w, line, AT(line->before, x), node);
    }
  } else {
    for (int64_t t_2 = AT(line->after_ptr, k), end_t_2 = AT(line->after_ptr, (k + 1LL)); t_2 < end_t_2; t_2 += 1) {
      x = t_2;
      search_line_moves_send(w, line, AT(line->after, x), node);
    }
  }
}

static inline void search_line_moves_shift_block(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  int64_t to = 0;
  int64_t i = 0;
  int64_t p = 0;
  int64_t stay = 0;
  int64_t length = 0;
  int64_t first = 0;
  int64_t end = 0;
  int64_t q = 0;
  int64_t x = 0;
  tuple_int_int t_1 = search_line_moves_aim(w, line, k, other);
  to = t_1.v0;
  i = t_1.v1;
  p = AT(line->place, k);
  stay = search_line_moves_draw(line->chance, 2LL);
  int64_t t_2 = (1LL + search_line_moves_draw(line->chance, search_line_moves_LONGEST_BLOCK));
  length = min_int(t_2, (w->num_tasks - p));
  to = min_int(to, (w->num_tasks - length));
  first = min_int(p, to);
  end = (max_int(p, to) + length);
  for (int64_t t_3 = first, end_t_3 = end; t_3 < end_t_3; t_3 += 1) {
    q = t_3;
    AT(line->flag, AT(line->order, q)) = 0LL;
  }
  for (int64_t t_4 = p, end_t_4 = (p + length); t_4 < end_t_4; t_4 += 1) {
    x = t_4;
    AT(line->flag, AT(line->order, x)) = 1LL;
    if (!(stay)) {
      search_line_moves_send(w, line, AT(line->order, x), i);
    }
  }
  if ((to < p)) {
    search_line_moves_part(line, first, end, to, (to + length));
  } else {
    search_line_moves_part(line, first, end, to, p);
  }
}

static inline void search_line_moves_shift_task(replication_world_World * w, search_line_moves_Line * line, int64_t k, int64_t other) {
  search_line_moves_Chance * chance = 0;
  int64_t to = 0;
  int64_t i = 0;
  int64_t alone = 0;
  int64_t p = 0;
  int64_t x = 0;
  int64_t count = 0;
  int64_t first = 0;
  chance = line->chance;
  tuple_int_int t_1 = search_line_moves_aim(w, line, k, other);
  to = t_1.v0;
  i = t_1.v1;
  alone = search_line_moves_draw(chance, 2LL);
  p = AT(line->place, k);
  if ((p > to)) {
    if (alone) {
      for (int64_t t_2 = AT(line->before_ptr, k), end_t_2 = AT(line->before_ptr, (k + 1LL)); t_2 < end_t_2; t_2 += 1) {
        x = t_2;
        to = max_int(to, (AT(line->place, AT(line->before, x)) + 1LL));
      }
    }
    count = search_line_moves_gather(line, k, to, (-1LL), line->before_ptr, line->before);
    first = to;
    search_line_moves_part(line, to, (p + 1LL), to, (to + count));
  } else {
    if (alone) {
      for (int64_t t_3 = AT(line->after_ptr, k), end_t_3 = AT(line->after_ptr, (k + 1LL)); t_3 < end_t_3; t_3 += 1) {
        x = t_3;
        to = min_int(to, (AT(line->place, AT(line->after, x)) - 1LL));
      }
    }
    count = search_line_moves_gather(line, k, to, 1LL, line->after_ptr, line->after);
    first = ((to + 1LL) - count);
    search_line_moves_part(line, p, (to + 1LL), first, p);
  }
  if ((!(alone)) && (search_line_moves_draw(chance, 2LL))) {
    for (int64_t t_4 = first, end_t_4 = (first + count); t_4 < end_t_4; t_4 += 1) {
      p = t_4;
      search_line_moves_send(w, line, AT(line->order, p), i);
    }
  } else {
    search_line_moves_send(w, line, k, i);
  }
}

static inline double search_line_moves_uniform(search_line_moves_Chance * chance) {
  return ((double)search_line_moves_draw(chance, search_line_moves_MODULUS) / (double)search_line_moves_MODULUS);
}

static inline int64_t search_line_moves_write_queues(replication_world_World * w, search_line_moves_Line * line) {
  int64_t changed = 0;
  int64_t i = 0;
  int64_t k = 0;
  int64_t first = 0;
  replication_world_Node * node = 0;
  int64_t end = 0;
  int64_t r = 0;
  int64_t p = 0;
  replication_world_Place * place = 0;
  changed = 0;
  for (int64_t t_1 = 0, end_t_1 = w->num_nodes; t_1 < end_t_1; t_1 += 1) {
    i = t_1;
    AT(line->queued, i) = 0LL;
  }
  for (int64_t t_2 = 0, end_t_2 = w->num_tasks; t_2 < end_t_2; t_2 += 1) {
    k = t_2;
    AT(line->queued, AT(line->node, k)) = (AT(line->queued, AT(line->node, k)) + 1LL);
  }
  first = 0LL;
  for (int64_t t_3 = 0, end_t_3 = w->num_nodes; t_3 < end_t_3; t_3 += 1) {
    i = t_3;
    node = (&AT(w->nodes, i));
    end = (first + AT(line->queued, i));
    if (((node->first_place != first)) || ((node->end_place != end))) {
      node->first_place = FIT32(first);
      node->end_place = FIT32(end);
      changed = 1;
    }
    AT(line->queued, i) = first;
    first = end;
  }
  r = 0LL;
  for (int64_t t_4 = 0, end_t_4 = w->num_tasks; t_4 < end_t_4; t_4 += 1) {
    p = t_4;
    k = AT(line->order, p);
    if ((p > 0LL)) {
      r = (r + AT(line->cut, p));
    }
    place = (&AT(w->places, AT(line->queued, AT(line->node, k))));
    AT(line->queued, AT(line->node, k)) = (AT(line->queued, AT(line->node, k)) + 1LL);
    if ((place->entry != k)) {
      place->entry = FIT32(k);
      changed = 1;
    }
    if ((w->barriers) && ((place->round != r))) {
      place->round = FIT32(r);
      changed = 1;
    }
  }
  return changed;
}

static inline double sim_clock_instant_of(double now) {
  return ((now + problems_replication_JUST_AFTER) + (problems_replication_RELATIVE_AFTER * now));
}

static inline int64_t sim_fluid_begin_flow(sim_fluid_Fluid * fluid, sim_fluid_Flow * flow, int64_t size, double now) {
  flow->left = (double)(size);
  flow->since = now;
  if (((fluid->draw > 0LL)) && ((fluid->latency > 0.0))) {
    flow->rate = sim_fluid_CLOSED;
    flow->due = (now + fluid->latency);
    return 0;
  }
  flow->rate = 0.0;
  flow->due = ((size == 0LL) ? now : INFINITY);
  return 1;
}

static inline void sim_fluid_fill(sim_fluid_Fluid * fluid, int64_t num_busy) {
  list_int64_t use = {0};
  int64_t crossed = 0;
  int64_t waiting = 0;
  int64_t tight = 0;
  double share = 0;
  int64_t j = 0;
  int64_t x = 0;
  int64_t crosses = 0;
  use = fluid->use;
  crossed = fluid->crossed;
  sim_fluid_open_resources(fluid, num_busy);
  waiting = num_busy;
  while ((waiting > 0LL)) {
    tight = sim_fluid_tightest(fluid, num_busy);
    share = INFINITY;
    if ((tight >= 0LL)) {
      share = ((double)(&AT(fluid->resources, tight))->left / (double)(&AT(fluid->resources, tight))->crossing);
    }
    for (int64_t t_1 = 0, end_t_1 = num_busy; t_1 < end_t_1; t_1 += 1) {
      j = t_1;
      if (((&AT(fluid->busy, j))->rate >= 0.0)) {
        continue;
      }
      x = (j * crossed);
      crosses = (((AT(use, x) == tight)) || ((AT(use, (x + 1LL)) == tight)) || ((AT(use, (x + 2LL)) == tight)));
      if ((crossed > sim_fluid_CROSSED)) {
        crosses = ((crosses) || ((AT(use, (x + 3LL)) == tight)));
      }
      if ((crosses) || ((tight < 0LL))) {
        sim_fluid_keep_rate(fluid, j, (share * (&AT(fluid->flows, (&AT(fluid->busy, j))->flow))->weight));
        waiting = (waiting - 1LL);
      }
    }
  }
}

static inline void sim_fluid_keep_rate(sim_fluid_Fluid * fluid, int64_t j, double rate) {
  double weight = 0;
  int64_t x = 0;
  sim_fluid_Resource * resource = 0;
  (&AT(fluid->busy, j))->rate = rate;
  weight = (&AT(fluid->flows, (&AT(fluid->busy, j))->flow))->weight;
  for (int64_t t_1 = (j * fluid->crossed), end_t_1 = ((j + 1LL) * fluid->crossed); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    if ((AT(fluid->use, x) >= 0LL)) {
      resource = (&AT(fluid->resources, AT(fluid->use, x)));
      resource->crossing = (resource->crossing - weight);
      resource->left = max_float(0.0, (resource->left - rate));
    }
  }
}

static inline double sim_fluid_left_on(sim_fluid_Flow * flow, double now) {
  if ((flow->rate < 0.0)) {
    return flow->left;
  }
  return max_float(0.0, (flow->left - (flow->rate * (now - flow->since))));
}

static inline void sim_fluid_open_resources(sim_fluid_Fluid * fluid, int64_t num_busy) {
  list_int64_t use = {0};
  int64_t crossed = 0;
  int64_t x = 0;
  sim_fluid_Resource * resource = 0;
  int64_t j = 0;
  sim_fluid_Busy * busy = 0;
  double weight = 0;
  use = fluid->use;
  crossed = fluid->crossed;
  for (int64_t t_1 = 0, end_t_1 = (num_busy * crossed); t_1 < end_t_1; t_1 += 1) {
    x = t_1;
    if ((AT(use, x) >= 0LL)) {
      resource = (&AT(fluid->resources, AT(use, x)));
      resource->left = resource->capacity;
      resource->crossing = 0.0;
    }
  }
  for (int64_t t_2 = 0, end_t_2 = num_busy; t_2 < end_t_2; t_2 += 1) {
    j = t_2;
    busy = (&AT(fluid->busy, j));
    busy->rate = (-1.0);
    weight = (&AT(fluid->flows, busy->flow))->weight;
    for (int64_t t_3 = (j * crossed), end_t_3 = ((j + 1LL) * crossed); t_3 < end_t_3; t_3 += 1) {
      x = t_3;
      if ((AT(use, x) >= 0LL)) {
        (&AT(fluid->resources, AT(use, x)))->crossing = ((&AT(fluid->resources, AT(use, x)))->crossing + weight);
      }
    }
  }
}

static inline void sim_fluid_share_rates(sim_fluid_Fluid * fluid, int64_t num_busy, double now) {
  list_sim_fluid_Flow flows = {0};
  int64_t j = 0;
  sim_fluid_Busy * busy = 0;
  double rate = 0;
  sim_fluid_Flow * flow = 0;
  sim_fluid_fill(fluid, num_busy);
  flows = fluid->flows;
  for (int64_t t_1 = 0, end_t_1 = num_busy; t_1 < end_t_1; t_1 += 1) {
    j = t_1;
    busy = (&AT(fluid->busy, j));
    rate = busy->rate;
    flow = (&AT(flows, busy->flow));
    if ((rate != flow->rate)) {
      double t_2 = sim_fluid_left_on(flow, now);
      flow->left = t_2;
      flow->since = now;
      flow->rate = rate;
      flow->due = (now + ((double)flow->left / (double)rate));
    }
  }
}

static inline int64_t sim_fluid_tightest(sim_fluid_Fluid * fluid, int64_t num_busy) {
  list_int64_t use = {0};
  list_sim_fluid_Resource resources = {0};
  int64_t crossed = 0;
  double share = 0;
  int64_t tight = 0;
  int64_t j = 0;
  int64_t x = 0;
  sim_fluid_Resource * resource = 0;
  use = fluid->use;
  resources = fluid->resources;
  crossed = fluid->crossed;
  share = INFINITY;
  tight = (-1LL);
  for (int64_t t_1 = 0, end_t_1 = num_busy; t_1 < end_t_1; t_1 += 1) {
    j = t_1;
    if (((&AT(fluid->busy, j))->rate >= 0.0)) {
      continue;
    }
    for (int64_t t_2 = (j * crossed), end_t_2 = ((j + 1LL) * crossed); t_2 < end_t_2; t_2 += 1) {
      x = t_2;
      if ((AT(use, x) >= 0LL)) {
        resource = (&AT(resources, AT(use, x)));
        if ((resource->left < (share * resource->crossing))) {
          share = ((double)resource->left / (double)resource->crossing);
          tight = AT(use, x);
        }
      }
    }
  }
  return tight;
}

static inline double sim_fluid_weight_of(sim_fluid_Fluid * fluid, int64_t f, int64_t receiver) {
  int64_t selected = 0;
  if ((fluid->draw == 0LL)) {
    return 1.0;
  }
  selected = (((sim_fluid_BY_FILE * f) + (sim_fluid_BY_RECEIVER * receiver)) + (sim_fluid_BY_DRAW * fluid->draw));
  return AT(fluid->weights, mod_int(selected, sim_fluid_WEIGHTS));
}

EXPORTED const char *text_digest(void) { return "d3fdfcce204f28665f3d86ecd2f3445c9711d60ffe2fb9ba805b28b49b40f8c3"; }
