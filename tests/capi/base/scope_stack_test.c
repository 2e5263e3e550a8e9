/* Scopes that go on in another thread. Each step of a line of execution runs on a new thread. */
#include <pthread.h>

#include "test_scopes.h"

typedef struct Line {
  htone_scope_stack* stack;
  htone_scope *handles, *no_grad;
  htone_tensor *x, *temporary;
  int records[2]; /* while the step runs, and after it on its thread */
} Line;

static void begin(Line* line) {
  assert_ok(htone_handles_begin(&line->handles));
  assert_ok(htone_no_grad_begin(&line->no_grad));
  line->temporary = new_tensor();
}

static void end(Line* line) {
  assert_ok(htone_scope_end(line->no_grad));
  assert_ok(htone_scope_end(line->handles));
}

typedef struct Step {
  void (*run)(Line* line);
  Line* line;
} Step;

static void* run_step(void* argument) {
  const Step* step = argument;
  Line* line = step->line;
  assert_ok(htone_scope_stack_enter(line->stack));
  step->run(line);
  line->records[0] = records(line->x);
  assert_ok(htone_scope_stack_leave(line->stack));
  line->records[1] = records(line->x);
  return NULL;
}

static void on_new_thread(void* (*function)(void*), void* argument) {
  pthread_t thread;
  assert_int_equal(pthread_create(&thread, NULL, function, argument), 0);
  assert_int_equal(pthread_join(thread, NULL), 0);
}

static void step(Line* line, void (*run)(Line*)) { on_new_thread(run_step, &(Step){run, line}); }

static void nothing(Line* line) { (void)line; }

static Line new_line(void) {
  Line line = {.x = keep_tensor(new_tensor())};
  assert_ok(htone_tensor_set_requires_grad(line.x, 1));
  assert_ok(htone_scope_stack_create(&line.stack));
  return line;
}

static void scopes_go_on_in_another_thread(void** state) {
  (void)state;
  Line line = new_line();
  const int64_t before = live_handles();
  step(&line, begin);
  assert_false(line.records[0]);
  assert_true(line.records[1]);
  step(&line, nothing);
  assert_false(line.records[0]);
  assert_true(line.records[1]);
  assert_true(is_alive(line.temporary));
  step(&line, end);
  assert_true(line.records[0]);
  assert_false(is_alive(line.temporary));
  assert_int_equal(live_handles(), before);
  assert_ok(htone_scope_stack_release(line.stack));
}

static void the_scopes_of_the_thread_wait_while_it_is_in_a_stack(void** state) {
  (void)state;
  Line line = new_line();
  htone_scope *own = NULL, *inner = NULL;
  assert_ok(htone_no_grad_begin(&own));
  assert_ok(htone_scope_stack_enter(line.stack));
  assert_true(records(line.x));
  assert_fails(htone_scope_end(own), HTONE_ERROR_STATE, "outside of the stack of scopes in use");
  assert_ok(htone_handles_begin(&inner));
  htone_tensor* temporary = new_tensor();
  assert_ok(htone_scope_stack_leave(line.stack));
  assert_false(records(line.x));
  assert_fails(htone_scope_end(inner), HTONE_ERROR_STATE, "belongs to a stack");
  assert_ok(htone_scope_end(own));
  assert_ok(htone_scope_end_later(inner)); /* the stack does so when it is entered */
  assert_true(is_alive(temporary));
  assert_ok(htone_scope_stack_enter(line.stack));
  assert_true(records(line.x));
  assert_false(is_alive(temporary));
  assert_ok(htone_scope_stack_leave(line.stack));
  assert_ok(htone_scope_stack_release(line.stack));
}

static void* enter_a_stack_in_use(void* stack) {
  assert_fails(htone_scope_stack_enter(stack), HTONE_ERROR_STATE, "in use");
  assert_fails(htone_scope_stack_leave(stack), HTONE_ERROR_STATE, "entered last");
  return NULL;
}

static void stacks_nest_and_one_thread_uses_each(void** state) {
  (void)state;
  Line outer = new_line(), inner = new_line();
  assert_ok(htone_scope_stack_enter(outer.stack));
  assert_fails(htone_scope_stack_enter(outer.stack), HTONE_ERROR_STATE, "in use");
  on_new_thread(enter_a_stack_in_use, outer.stack);
  begin(&outer);
  assert_ok(htone_scope_stack_enter(inner.stack));
  assert_true(records(inner.x));
  assert_fails(htone_scope_stack_leave(outer.stack), HTONE_ERROR_STATE, "entered last");
  assert_ok(htone_scope_stack_leave(inner.stack));
  assert_false(records(inner.x));
  end(&outer);
  assert_ok(htone_scope_stack_leave(outer.stack));
  assert_ok(htone_scope_stack_release(outer.stack));
  assert_ok(htone_scope_stack_release(inner.stack));
}

static void* end_inside(void* argument) {
  Line* line = argument;
  assert_ok(htone_scope_stack_enter(line->stack));
  begin(line);
  return NULL;
}

static void a_thread_that_ends_leaves_its_stack(void** state) {
  (void)state;
  Line line = new_line();
  on_new_thread(end_inside, &line);
  assert_true(is_alive(line.temporary));
  step(&line, end);
  assert_false(is_alive(line.temporary));
  assert_ok(htone_scope_stack_release(line.stack));
}

static void scopes_of_a_released_stack_can_be_ended_anywhere(void** state) {
  (void)state;
  Line line = new_line();
  const int64_t before = live_handles();
  on_new_thread(end_inside, &line);
  assert_ok(htone_scope_stack_release(line.stack));
  assert_true(records(line.x));
  end(&line);
  assert_false(is_alive(line.temporary));
  assert_int_equal(live_handles(), before - 1);
}

static htone_status use_stacks(htone_module* module, const htone_forward_call* call, void* user) {
  Line* lines = user; /* the first is entered already */
  (void)module;
  assert_fails(htone_scope_stack_leave(lines[0].stack), HTONE_ERROR_STATE, "before the callback");
  assert_ok(htone_scope_stack_enter(lines[1].stack));
  begin(&lines[1]);
  lines[1].records[0] = records(lines[1].x);
  return htone_relu(call->inputs[0], call->out_tensors);
}

static void a_callback_leaves_the_stacks_that_it_entered(void** state) {
  (void)state;
  Line lines[2] = {new_line(), new_line()};
  htone_module* module = NULL;
  htone_tensor* out = NULL;
  assert_ok(htone_module_create_custom(use_stacks, lines, NULL, NULL, &module));
  keep_module(module);
  assert_ok(htone_scope_stack_enter(lines[0].stack));
  const htone_status status = htone_module_forward(module, lines[0].x, NULL, &out);
  lines[1].records[1] = records(lines[1].x);
  assert_ok(htone_scope_stack_leave(lines[0].stack));
  assert_ok(status);
  assert_ok(htone_tensor_release(out));
  assert_false(lines[1].records[0]);
  assert_true(lines[1].records[1]);
  step(&lines[1], end);
  for (int i = 0; i < 2; ++i) assert_ok(htone_scope_stack_release(lines[i].stack));
}

int main(int argc, char** argv) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(scopes_go_on_in_another_thread),
      cmocka_unit_test(the_scopes_of_the_thread_wait_while_it_is_in_a_stack),
      cmocka_unit_test(stacks_nest_and_one_thread_uses_each),
      cmocka_unit_test(a_thread_that_ends_leaves_its_stack),
      cmocka_unit_test(scopes_of_a_released_stack_can_be_ended_anywhere),
      cmocka_unit_test(a_callback_leaves_the_stacks_that_it_entered),
  };
  return run_program(argc, argv, tests, COUNT_OF(tests));
}
