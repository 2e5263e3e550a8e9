/* A loadable extension of SQLite, which links libhalftone.a and exports nothing of it:
 *
 *   SELECT ht_train(label, x1, x2) FROM points;    trains two classes in BF16, returns the last loss
 *   SELECT ht_predict(x1, x2) FROM points;         the class, 0 or 1, by the model of this connection
 *
 * An error of the library becomes an error of the statement, with the library's message. */
#include <halftone/halftone.h>
#include <sqlite3ext.h>
#include <stdlib.h>
SQLITE_EXTENSION_INIT1

/* The rows of one aggregate. */
typedef struct rows {
  float* points;
  int64_t* labels;
  int64_t count, capacity;
} rows;

/* The state of a connection. */
typedef struct state {
  htone_context* context;
  htone_device* cpu;
  htone_module* model; /* NULL before ht_train */
} state;

static void fail(sqlite3_context* sql) {
  htone_error_info info = HTONE_ERROR_INFO_INIT;
  htone_error_last(&info);
  sqlite3_result_error(sql, info.message, -1);
}

static void release_state(void* user) {
  state* const self = user;
  htone_module_release(self->model);
  htone_device_release(self->cpu);
  htone_context_release(self->context);
  free(self);
}

static int grow(rows* all) {
  const int64_t capacity = all->capacity ? 2 * all->capacity : 64;
  float* const points = realloc(all->points, (size_t)capacity * 2 * sizeof *points);
  int64_t* labels;
  if (!points) return 0;
  all->points = points;
  labels = realloc(all->labels, (size_t)capacity * sizeof *labels);
  if (!labels) return 0;
  all->labels = labels;
  all->capacity = capacity;
  return 1;
}

static void train_step(sqlite3_context* sql, int count, sqlite3_value** values) {
  rows* const all = sqlite3_aggregate_context(sql, sizeof *all);
  (void)count;
  if (!all || (all->count == all->capacity && !grow(all))) {
    sqlite3_result_error_nomem(sql);
    return;
  }
  all->labels[all->count] = sqlite3_value_int64(values[0]);
  all->points[2 * all->count] = (float)sqlite3_value_double(values[1]);
  all->points[2 * all->count + 1] = (float)sqlite3_value_double(values[2]);
  ++all->count;
}

static htone_status make_model(htone_device* cpu, htone_module** out) {
  htone_module* layers[3];
  htone_status status = htone_module_create_linear(cpu, 2, 16, NULL, &layers[0]);
  if (!status) status = htone_module_create_gelu(HTONE_GELU_TANH, &layers[1]);
  if (!status) status = htone_module_create_linear(cpu, 16, 2, NULL, &layers[2]);
  if (!status) status = htone_module_create_sequential(3, layers, out);
  return status;
}

static htone_status train_once(htone_module* model, htone_optimizer* optimizer, htone_tensor* input,
                               htone_tensor* target, htone_autocast_policy* bf16, double* loss_value) {
  htone_scope* temporaries;
  htone_tensor *logits, *loss;
  htone_status status = htone_handles_begin(&temporaries);
  if (status) return status;
  status = htone_optimizer_zero_grad(optimizer);
  if (!status) status = htone_module_forward(model, input, bf16, &logits);
  if (!status) status = htone_cross_entropy(logits, target, NULL, &loss);
  if (!status) status = htone_tensor_backward(loss, NULL, 0);
  if (!status) status = htone_optimizer_step(optimizer);
  if (!status) status = htone_tensor_item(loss, loss_value);
  htone_scope_end(temporaries);
  return status;
}

static htone_status train(state* self, const rows* all, double* loss) {
  htone_tensor *input, *target;
  htone_module* model;
  htone_optimizer* optimizer;
  htone_autocast_policy* bf16;
  htone_optimizer_options options = HTONE_ADAMW_OPTIONS_INIT;
  const int64_t shape[2] = {all->count, 2};
  int step;
  htone_status status = htone_tensor_create_copy(self->cpu, HTONE_F32, 2, shape, all->points, &input);
  options.lr = 0.02;
  options.compute_dtype = HTONE_BF16;
  if (!status) status = htone_tensor_create_copy(self->cpu, HTONE_I64, 1, shape, all->labels, &target);
  if (!status) status = make_model(self->cpu, &model);
  if (!status) status = htone_autocast_policy_create(HTONE_BF16, &bf16);
  if (!status) status = htone_optimizer_create(model, &options, &optimizer);
  for (step = 0; !status && step < 200; ++step) status = train_once(model, optimizer, input, target, bf16, loss);
  if (!status) status = htone_keep(model);
  if (status) return status;
  htone_module_release(self->model);
  self->model = model;
  return HTONE_OK;
}

static void train_final(sqlite3_context* sql) {
  rows* const all = sqlite3_aggregate_context(sql, 0); /* NULL without a row */
  htone_scope* scope;
  double loss = 0;
  if (!all) return;
  if (htone_handles_begin(&scope)) {
    fail(sql);
  } else {
    if (train(sqlite3_user_data(sql), all, &loss)) {
      fail(sql);
    } else {
      sqlite3_result_double(sql, loss);
    }
    htone_scope_end(scope);
  }
  free(all->points);
  free(all->labels);
}

static htone_status predict_class(state* self, const float point[2], int64_t* out) {
  const int64_t shape[2] = {1, 2};
  htone_tensor *input, *logits, *index;
  htone_status status = htone_tensor_create_copy(self->cpu, HTONE_F32, 2, shape, point, &input);
  if (!status) status = htone_module_forward(self->model, input, NULL, &logits);
  if (!status) status = htone_argmax(logits, 1, 0, &index);
  if (!status) status = htone_tensor_read(index, HTONE_I64, out, sizeof *out);
  return status;
}

static void predict(sqlite3_context* sql, int count, sqlite3_value** values) {
  state* const self = sqlite3_user_data(sql);
  const float point[2] = {(float)sqlite3_value_double(values[0]), (float)sqlite3_value_double(values[1])};
  int64_t index;
  htone_scope* scope;
  (void)count;
  if (!self->model) {
    sqlite3_result_error(sql, "ht_predict: this connection has no model; call ht_train first", -1);
  } else if (htone_handles_begin(&scope)) {
    fail(sql);
  } else {
    if (predict_class(self, point, &index)) {
      fail(sql);
    } else {
      sqlite3_result_int64(sql, index);
    }
    htone_scope_end(scope);
  }
}

#ifdef __GNUC__
__attribute__((visibility("default")))
#endif
int sqlite3_sqliteextension_init(sqlite3* database, char** message, const sqlite3_api_routines* api) {
  state* self;
  int result;
  SQLITE_EXTENSION_INIT2(api);
  self = calloc(1, sizeof *self);
  if (!self) return SQLITE_NOMEM;
  if (htone_context_create(NULL, &self->context) || htone_device_create(self->context, "cpu", &self->cpu)) {
    htone_error_info info = HTONE_ERROR_INFO_INIT;
    htone_error_last(&info);
    *message = sqlite3_mprintf("%s", info.message);
    release_state(self);
    return SQLITE_ERROR;
  }
  /* SQLite calls release_state when the connection closes, and also if this call fails. */
  result = sqlite3_create_function_v2(database, "ht_train", 3, SQLITE_UTF8, self, NULL, train_step, train_final,
                                      release_state);
  if (result == SQLITE_OK) {
    result = sqlite3_create_function_v2(database, "ht_predict", 2, SQLITE_UTF8, self, predict, NULL, NULL, NULL);
  }
  return result;
}
