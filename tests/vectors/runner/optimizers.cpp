// Traces of optimizers, once for each way of storing their state. The public interface cannot read moments; they show
// in the weights of later steps.
#include <cmath>

#include "runner/topics.h"

namespace vectors {
namespace {

htone_master_storage master_of(const Json& storage) {
  return storage["master"] == "split" ? HTONE_MASTER_SPLIT : HTONE_MASTER_FULL;
}

// The options that all optimizers but Adafactor share.
void apply_storage(const Json& storage, htone_optimizer_options& options) {
  options.compute_dtype = dtype_of(storage["compute_dtype"]);
  options.grad_dtype = dtype_of(storage["grad_dtype"]);
  options.moment1_dtype = dtype_of(storage["moment1_dtype"]);
  options.min_8bit_size = storage["min_8bit_size"];
  options.master_storage = master_of(storage);
}

Optimizer make_sgd(htone_module* module, const Json& given, const Json& storage) {
  htone_optimizer_options options;
  ok(htone_optimizer_options_init(HTONE_OPTIMIZER_SGD, &options));
  apply_storage(storage, options);
  options.lr = given["lr"];
  options.momentum = given["momentum"];
  options.dampening = given["dampening"];
  options.weight_decay = given["weight_decay"];
  options.nesterov = given["nesterov"].get<bool>() ? 1 : 0;
  return make<Optimizer>(htone_optimizer_create, module, &options);
}

Optimizer make_adam(htone_optimizer_kind kind, htone_module* module, const Json& given, const Json& storage) {
  htone_optimizer_options options;
  ok(htone_optimizer_options_init(kind, &options));
  apply_storage(storage, options);
  options.moment2_dtype = dtype_of(storage["moment2_dtype"]);
  options.lr = given["lr"];
  options.beta1 = given["beta1"];
  options.beta2 = given["beta2"];
  options.epsilon = given["epsilon"];
  options.weight_decay = given["weight_decay"];
  return make<Optimizer>(htone_optimizer_create, module, &options);
}

Optimizer make_lion(htone_module* module, const Json& given, const Json& storage) {
  htone_optimizer_options options;
  ok(htone_optimizer_options_init(HTONE_OPTIMIZER_LION, &options));
  apply_storage(storage, options);
  options.lr = given["lr"];
  options.beta1 = given["beta1"];
  options.beta2 = given["beta2"];
  options.weight_decay = given["weight_decay"];
  return make<Optimizer>(htone_optimizer_create, module, &options);
}

Optimizer make_rmsprop(htone_module* module, const Json& given, const Json& storage) {
  htone_optimizer_options options;
  ok(htone_optimizer_options_init(HTONE_OPTIMIZER_RMSPROP, &options));
  apply_storage(storage, options);
  options.moment2_dtype = dtype_of(storage["moment2_dtype"]);
  options.lr = given["lr"];
  options.alpha = given["alpha"];
  options.epsilon = given["epsilon"];
  options.weight_decay = given["weight_decay"];
  options.momentum = given["momentum"];
  options.centered = given["centered"].get<bool>() ? 1 : 0;
  return make<Optimizer>(htone_optimizer_create, module, &options);
}

Optimizer make_adafactor(htone_module* module, const Json& given, const Json& storage) {
  htone_optimizer_options options;
  ok(htone_optimizer_options_init(HTONE_OPTIMIZER_ADAFACTOR, &options));
  options.compute_dtype = dtype_of(storage["compute_dtype"]);
  options.grad_dtype = dtype_of(storage["grad_dtype"]);
  options.master_storage = master_of(storage);
  options.lr = given["lr"];
  options.beta2_decay = given["beta2_decay"];
  options.epsilon1 = given["epsilon1"];
  options.epsilon2 = given["epsilon2"];
  options.clip_threshold = given["clip_threshold"];
  options.weight_decay = given["weight_decay"];
  return make<Optimizer>(htone_optimizer_create, module, &options);
}

Optimizer make_optimizer(htone_module* module, const Json& vector, const Json& storage) {
  const std::string kind = vector["optimizer"];
  const Json& options = vector["options"];
  if (kind == "sgd") return make_sgd(module, options, storage);
  if (kind == "adafactor") return make_adafactor(module, options, storage);
  if (kind == "rmsprop") return make_rmsprop(module, options, storage);
  if (kind == "lion") return make_lion(module, options, storage);
  if (kind == "adam") return make_adam(HTONE_OPTIMIZER_ADAM, module, options, storage);
  if (kind == "adamw") return make_adam(HTONE_OPTIMIZER_ADAMW, module, options, storage);
  throw Mismatch("unknown optimizer " + kind);
}

Schedule make_schedule(const Json& given) {
  Schedule after =
      given["kind"] == "cosine"
          ? make<Schedule>(htone_schedule_create_cosine, given["total_steps"].get<int64_t>(),
                           given["final_factor"].get<double>())
          : make<Schedule>(htone_schedule_create_step, given["step_size"].get<int64_t>(), given["gamma"].get<double>());
  if (!given.contains("warmup_steps")) return after;
  return make<Schedule>(htone_schedule_create_warmup, given["warmup_steps"].get<int64_t>(),
                        given["start_factor"].get<double>(), after.get());
}

Scaler make_scaler(htone_device* device, const Json& initial_scale) {
  if (initial_scale.is_null()) return nullptr;
  htone_grad_scaler_options options;
  ok(htone_grad_scaler_options_init(&options));
  options.initial_scale = initial_scale;
  return make<Scaler>(htone_grad_scaler_create, device, &options);
}

// Runs one optimizer through a trace.
class Run {
 public:
  Run(htone_device* device, const Json& vector, const Json& storage)
      : vector_(vector),
        weights_(device, numbers_of(vector["weights"]), vector.value("rows", int64_t{1})),
        optimizer_(make_optimizer(weights_.module(), vector, storage)),
        scaler_(make_scaler(device, vector["initial_scale"])) {
    if (vector["schedule"].is_null()) return;
    ok(htone_optimizer_set_schedule(optimizer_.get(), make_schedule(vector["schedule"]).get()));
  }

  void step(const std::vector<double>& gradient) const {
    ok(htone_optimizer_zero_grad(optimizer_.get()));
    weights_.backward(scaler_.get(), gradient);
    if (scaler_) ok(htone_grad_scaler_unscale(scaler_.get(), optimizer_.get()));
    if (!vector_["clip_norm"].is_null()) ok(htone_optimizer_clip_grad_norm(optimizer_.get(), vector_["clip_norm"], 0));
    if (!scaler_) return ok(htone_optimizer_step(optimizer_.get()));
    ok(htone_grad_scaler_step(scaler_.get(), optimizer_.get()));
    ok(htone_grad_scaler_update(scaler_.get()));
  }

  void compare(const Json& expected, double tolerance) const {
    int64_t taken = -1;
    ok(htone_optimizer_step_count(optimizer_.get(), &taken));
    if (taken != expected["steps_taken"]) throw Mismatch(std::to_string(taken) + " steps were taken");
    const std::vector<double> actual = weights_.read(), wanted = numbers_of(expected["weights"]);
    for (size_t i = 0; i < wanted.size(); ++i) {
      if (std::fabs(actual[i] - wanted[i]) <= tolerance) continue;
      char text[128];
      std::snprintf(text, sizeof text, "weight %zu is %.9g, expected %.9g +- %.2g", i, actual[i], wanted[i], tolerance);
      throw Mismatch(text);
    }
  }

 private:
  const Json& vector_;
  Weights weights_;
  Optimizer optimizer_;
  Scaler scaler_;
};

void run_storage(htone_device* device, const Json& vector, const Json& storage) {
  const Run run(device, vector, storage);
  for (size_t i = 0; i < vector["gradients"].size(); ++i) {
    run.step(numbers_of(vector["gradients"][i]));
    try {
      run.compare(vector["expected"][i], storage["tolerance"][i]);
    } catch (const Mismatch& mismatch) {
      throw Mismatch("stored as " + storage["name"].get<std::string>() + ", step " + std::to_string(i + 1) + ": " +
                     mismatch.what());
    }
  }
}

}  // namespace

std::string run_optimizer(htone_device* device, const Json& vector) {
  for (const Json& storage : vector["storages"]) run_storage(device, vector, storage);
  return "";
}

}  // namespace vectors
