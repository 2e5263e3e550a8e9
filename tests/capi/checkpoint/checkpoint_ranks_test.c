/* Checkpoints of the ranks of a group. State dicts of this interface hold whole tensors, so rank 0 writes;
 * trainer.SharedSave tests ranges. */
#include "run_tests.h"
#include "thread_ranks.h"

static char directory[512];

/* A tensor of two numbers, and a checkpoint that holds it. */
typedef struct Part {
  htone_tensor* tensor;
  htone_checkpoint* checkpoint;
} Part;

static Part open_checkpoint(ThreadRank* rank) {
  const int64_t count = 2;
  Part part;
  htone_state_dict* state = NULL;
  REQUIRE_OK(htone_tensor_create(rank->device, HTONE_F32, 1, &count, &part.tensor));
  REQUIRE_OK(htone_state_dict_create(&state));
  REQUIRE_OK(htone_state_dict_add(state, "numbers", part.tensor));
  REQUIRE_OK(htone_checkpoint_create_shared(rank->context, directory, rank->group, &part.checkpoint));
  REQUIRE_OK(htone_checkpoint_add_state_dict(part.checkpoint, "state", state));
  REQUIRE_OK(htone_state_dict_release(state));
  return part;
}

static void close_checkpoint(Part part) {
  REQUIRE_OK(htone_checkpoint_release(part.checkpoint));
  REQUIRE_OK(htone_tensor_release(part.tensor));
}

static void write_numbers(Part part, float first) {
  const float values[] = {first, -first};
  REQUIRE_OK(htone_tensor_write(part.tensor, HTONE_F32, values, sizeof values));
}

/* Loads the newest checkpoint over other numbers. */
static void require_loaded(Part part, int64_t step, float first) {
  float values[2] = {0, 0};
  int64_t loaded = 0;
  write_numbers(part, first + 1);
  REQUIRE_OK(htone_checkpoint_load(part.checkpoint, &loaded));
  REQUIRE_OK(htone_tensor_read(part.tensor, HTONE_F32, values, sizeof values));
  REQUIRE(loaded == step && values[0] == first && values[1] == -first);
}

static void disagree(ThreadRank* rank) {
  const Part part = open_checkpoint(rank);
  write_numbers(part, 3);
  REQUIRE_OK(htone_checkpoint_save(part.checkpoint, 8));
  REQUIRE(htone_checkpoint_save(part.checkpoint, rank->number == 2 ? 10 : 9) == HTONE_ERROR_COMM);
  REQUIRE(last_error_says("rank 0 saves step 9, rank 2 step 10"));
  REQUIRE(htone_checkpoint_save(part.checkpoint, rank->number == 1 ? -1 : 9) == HTONE_ERROR_INVALID_ARGUMENT);
  REQUIRE(last_error_says(rank->number == 1 ? "step=-1" : "rank 1: step=-1"));
  require_loaded(part, 8, 3);
  write_numbers(part, 7);
  REQUIRE_OK(htone_checkpoint_save(part.checkpoint, 9));
  require_loaded(part, 9, 7);
  close_checkpoint(part);
}

static void s9_an_error_of_one_rank_is_told_to_all_and_the_step_can_be_saved_again(void** state) {
  (void)state;
  snprintf(directory, sizeof directory, "%s/run", test_folder());
  run_thread_ranks(3, disagree);
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(s9_an_error_of_one_rank_is_told_to_all_and_the_step_can_be_saved_again),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
