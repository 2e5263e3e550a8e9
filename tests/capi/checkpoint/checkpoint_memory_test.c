/* The memory that a save and a load need beside the live state, by the counters of the devices' allocators: that of one
 * tensor, whatever form the weights are stored in. */
#include <stdio.h>

#include "test_run.h"

static const RunKind kKinds[] = {
    {"f32", HTONE_F32, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"bf16 beside masters", HTONE_BF16, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdamw},
    {"split bf16, short moments", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_BF16, HTONE_F32, kRunAdamw},
    {"split bf16, 8-bit moments", HTONE_BF16, HTONE_MASTER_SPLIT, HTONE_I8, HTONE_U8, kRunAdamw},
    {"8-bit moments", HTONE_BF16, HTONE_MASTER_FULL, HTONE_I8, HTONE_U8, kRunAdamw},
    {"f16 without masters", HTONE_F16, HTONE_MASTER_NONE, HTONE_F32, HTONE_F32, kRunAdamw},
    {"f32, by Adafactor", HTONE_F32, HTONE_MASTER_FULL, HTONE_F32, HTONE_F32, kRunAdafactor},
};

static const struct {
  const char* plugin;
  const char* name;
} kDevices[] = {{NULL, "cpu"}, {DEFERRED_PLUGIN, "deferred"}};

/* Bytes in FP32 of the run's largest tensor, which is a weight of 300 x 5 elements. All of its weights together have
 * 2703 elements. */
enum { kLargest = 4 * 1500 };

/* The device of the run, and the CPU, which a load of another device's state goes through. */
typedef struct Devices {
  htone_device* devices[2];
  int64_t before[2];
} Devices;

static htone_memory_stats stats_of(htone_device* device) {
  htone_memory_stats stats = {.struct_size = sizeof stats};
  assert_ok(htone_device_memory_stats(device, &stats));
  return stats;
}

static void begin_measure(Devices* measured) {
  for (size_t i = 0; i < COUNT_OF(measured->devices); ++i) {
    assert_ok(htone_device_reset_peak_memory(measured->devices[i]));
    measured->before[i] = stats_of(measured->devices[i]).current;
  }
}

/* Asserts that no device had more than one tensor beyond what was in use, and has nothing of it left. */
static void end_measure(const Devices* measured, const char* kind, const char* call) {
  for (size_t i = 0; i < COUNT_OF(measured->devices); ++i) {
    const htone_memory_stats stats = stats_of(measured->devices[i]);
    const int64_t extra = stats.peak - measured->before[i];
    if (extra > kLargest) print_error("%s of %s needs %lld bytes\n", call, kind, (long long)extra);
    assert_true(extra <= kLargest);
    assert_true(stats.current == measured->before[i]);
  }
}

static void save_and_load(const RunKind* kind, const char* plugin, const char* device, int number) {
  char path[512];
  Run run;
  Devices measured;
  int64_t step = 0;
  htone_checkpoint* checkpoint = NULL;
  assert_ok(begin_run_on(&run, kind, NULL, plugin, device));
  for (int i = 0; i < 3; ++i) assert_ok(train_step(&run));
  assert_ok(htone_optimizer_zero_grad(run.optimizer));
  snprintf(path, sizeof path, "%s/run-%d", test_folder(), number);
  assert_ok(htone_checkpoint_create(run.context, path, &checkpoint));
  assert_ok(add_parts(checkpoint, &run));
  measured.devices[0] = run.device;
  assert_ok(htone_device_create(run.context, "cpu", &measured.devices[1]));

  begin_measure(&measured);
  assert_ok(htone_checkpoint_save(checkpoint, 3));
  end_measure(&measured, kind->name, "a save");
  const uint64_t saved = fingerprint(&run);
  for (int i = 0; i < 2; ++i) assert_ok(train_step(&run));
  assert_ok(htone_optimizer_zero_grad(run.optimizer));
  assert_true(fingerprint(&run) != saved);
  begin_measure(&measured);
  assert_ok(htone_checkpoint_load(checkpoint, &step));
  end_measure(&measured, kind->name, "a load");
  assert_true(step == 3);
  assert_true(fingerprint(&run) == saved);

  assert_ok(htone_device_release(measured.devices[1]));
  assert_ok(htone_checkpoint_release(checkpoint));
  end_run(&run);
}

static void a_save_and_a_load_need_memory_for_one_tensor(void** state) {
  (void)state;
  int number = 0;
  for (size_t device = 0; device < COUNT_OF(kDevices); ++device) {
    for (size_t kind = 0; kind < COUNT_OF(kKinds); ++kind) {
      save_and_load(&kKinds[kind], kDevices[device].plugin, kDevices[device].name, number++);
    }
  }
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(a_save_and_a_load_need_memory_for_one_tensor),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
