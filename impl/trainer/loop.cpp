#include "trainer/loop.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "autograd/engine.h"
#include "autograd/scope.h"
#include "core/error.h"
#include "ops/elementwise/scalar.h"
#include "tensor/factory.h"

namespace halftone::trainer {

namespace {

void require_scalar(const Tensor& loss) {
  if (loss.numel() == 1) return;
  fail(Code::kShapeMismatch, "loss", "loss has %lld elements, expected 1: its mean over the batch",
       static_cast<long long>(loss.numel()));
}

// The samples of a batch: rows of its first tensor.
int64_t items_in(const data::Batches& batches) {
  const Tensor& first = batches.get(0);
  return first.rank() == 0 ? 1 : first.size(0);
}

bool is_due(int64_t every, int64_t step) { return every > 0 && step % every == 0; }

}  // namespace

Loop::Loop(const Settings& settings, Objects objects) : settings_(settings), objects_(std::move(objects)) {}

void Loop::set_evaluation(const Ref<data::Batches>& batches) {
  if (batches->sampler().get() == objects_.batches->sampler().get()) {
    fail(Code::kInvalidArgument, "batches", "batches have the sampler of the training, expected another one");
  }
  changeable().evaluation = batches;
}

Objects& Loop::changeable() {
  if (has_begun_) fail(Code::kState, "trainer", "trainer has fetched a batch: its parts can be replaced before that");
  return objects_;
}

const Ref<optim::Optimizer>& Loop::optimizer() {
  if (!objects_.optimizer) objects_.optimizer = objects_.make_optimizer();
  return objects_.optimizer;
}

RunEnd Loop::ended() const {
  if (steps_done_ >= settings_.steps) return RunEnd::kSteps;
  return settings_.patience > 0 && evaluation().worse >= settings_.patience ? RunEnd::kPatience : RunEnd::kNone;
}

// ---- The beginning of the run

void Loop::begin() {
  if (has_begun_) return;
  context_ = Ref<Context>::share(optimizer()->device().context);
  if (!has_parts_) make_parts();
  has_parts_ = true;
  load_or_refuse();
  open_record();
  scaler_ = objects_.scaler->state();
  before_.emplace(objects_.model, objects_.batches->sampler(), context_);
  has_begun_ = true;
}

void Loop::make_parts() {
  ContextDevice& device = objects_.optimizer->device();
  if (objects_.evaluation && !evaluations_) {
    saved_evaluations_.emplace(*progress_, "evaluations", device, Evaluations::kNumbers);
    evaluations_.emplace(*objects_.evaluation);
  }
  if (settings_.fallback_after > 0 && objects_.levels.size() > 1 && !fallback_) {
    fallback_.emplace(*objects_.model, objects_.policy, objects_.levels, settings_.fallback_after);
    saved_fallback_.emplace(*progress_, "fallback", device, fallback_->numbers().size());
  }
  open_checkpoint();
  if (objects_.checkpoint) add_objects(*objects_.checkpoint);
}

void Loop::open_checkpoint() {
  if (!objects_.checkpoint && !settings_.directory.empty()) {
    objects_.checkpoint = objects_.group ? make_ref<resume::Checkpoint>(context_, settings_.directory, objects_.group)
                                         : make_ref<resume::Checkpoint>(context_, settings_.directory);
  }
}

// A part without entries is none in a checkpoint, so that the calls by hand can read it, too.
void Loop::add_objects(resume::Checkpoint& checkpoint) {
  checkpoint.add("model", objects_.model);
  checkpoint.add("optimizer", objects_.optimizer);
  checkpoint.add("scaler", objects_.scaler);
  checkpoint.add("sampler", objects_.batches->sampler());
  checkpoint.add("trainer", progress_);
}

void Loop::load_or_refuse() {
  if (!objects_.checkpoint) return;
  const int64_t step = settings_.resumes ? objects_.checkpoint->load() : objects_.checkpoint->latest();
  if (step < 0) return;
  if (!settings_.resumes) {
    fail(Code::kState, "trainer",
         "the directory of checkpoints holds a run of %lld steps: resume it by options.resume, or name another one",
         static_cast<long long>(step));
  }
  steps_done_ = saved_step_ = step;
  if (evaluations_) evaluations_->set_numbers(saved_evaluations_->read());
  if (fallback_) fallback_->set_numbers(saved_fallback_->read());
}

// The first rank writes the file.
void Loop::open_record() {
  const bool is_first = !objects_.group || (*objects_.group)->rank() == 0;
  if (!objects_.statistics && !settings_.log.empty() && is_first) {
    objects_.statistics = make_ref<analysis::Statistics>(objects_.optimizer->device(),
                                                         analysis::StatisticsSettings{.label = settings_.label});
  }
  if (!objects_.statistics) return;
  analysis::Statistics& statistics = *objects_.statistics;
  statistics.set_optimizer(objects_.optimizer, objects_.scaler);
  // One of the caller's may write a file already.
  if (statistics.history().steps() != steps_done_) statistics.set_step_count(steps_done_);
  if (!settings_.log.empty()) statistics.write_to(settings_.log);
}

void Loop::begin_part(analysis::StepPart part) {
  if (objects_.statistics) objects_.statistics->begin_part(part);
}

// ---- From one step to the next

Phase Loop::next() {
  begin();
  if (must_restart_) restart_step();
  if (awaits_loss_) {
    fail(Code::kState, "trainer",
         "the loss of the last batch is missing: call htone_trainer_take_loss, or after a failure "
         "htone_trainer_restart_step");
  }
  if (batches_taken_ == 0 && !is_evaluating()) {
    if (evaluation_is_due()) {
      begin_evaluation();
    } else if (!begin_step()) {
      return Phase::kDone;
    }
  }
  return fetch();
}

bool Loop::evaluation_is_due() const {
  if (!evaluations_ || steps_done_ == 0 || evaluations_->record().step == steps_done_) return false;
  return is_due(settings_.evaluate_every, steps_done_) || steps_done_ == settings_.steps;
}

bool Loop::checkpoint_is_due() const {
  if (!objects_.checkpoint || steps_done_ == 0 || saved_step_ == steps_done_) return false;
  return is_due(settings_.checkpoint_every, steps_done_) || ended() != RunEnd::kNone;
}

void Loop::begin_evaluation() {
  before_->keep();
  modes_.begin_evaluation(*objects_.model);
  evaluations_->begin();
}

// Returns false if there is no further one.
bool Loop::begin_step() {
  if (checkpoint_is_due()) save_now();
  if (ended() != RunEnd::kNone) {
    if (objects_.statistics) objects_.statistics->flush();
    return false;
  }
  before_->keep();
  objects_.optimizer->zero_grad();
  losses_.clear();
  if (fallback_) fallback_->begin_step();
  coming_ = {.step = steps_done_ + 1, .loss_scale = objects_.scaler->enabled() ? scaler_.scale : 1.0};
  step_begin_ = now();
  if (objects_.statistics) {
    objects_.statistics->cancel_step();  // whose first batch could not be fetched
    objects_.statistics->begin_step();
  }
  return true;
}

Phase Loop::fetch() {
  if (is_evaluating()) {
    evaluations_->next();
  } else {
    begin_part(analysis::StepPart::kData);
    objects_.batches->next();
    ++batches_taken_;
    begin_part(analysis::StepPart::kForward);
  }
  awaits_loss_ = true;
  return is_evaluating() ? Phase::kEvaluate : Phase::kTrain;
}

Tensor Loop::tensor(size_t index) const {
  const data::Batches& batches = is_evaluating() ? *objects_.evaluation : *objects_.batches;
  if (index >= batches.count()) {
    fail(Code::kInvalidArgument, "index", "index=%zu is outside [0, %zu)", index, batches.count());
  }
  if (!batches.get(index).defined()) fail(Code::kState, "trainer", "trainer has no batch yet; call htone_trainer_next");
  return batches.get(index).detach();
}

void Loop::save() {
  restart_step();
  begin();
  if (!objects_.checkpoint) fail(Code::kState, "trainer", "trainer has no checkpoint: options.checkpoint is NULL");
  if (saved_step_ != steps_done_) save_now();
}

void Loop::save_now() {
  if (evaluations_) saved_evaluations_->write(evaluations_->numbers());
  if (fallback_) saved_fallback_->write(fallback_->numbers());
  objects_.checkpoint->save(steps_done_);
  saved_step_ = steps_done_;
  if (!objects_.statistics) return;
  objects_.statistics->add_event(analysis::checkpoint_event());
  objects_.statistics->sync();  // a flush would end the samples that wait for another step
}

// Gradients of the step go first: the scaler accepts no state while an optimizer waits for its step.
void Loop::restart_step() {
  if (is_evaluating()) {
    evaluations_->stop();
    modes_.end_evaluation();
  } else if (batches_taken_ > 0) {
    objects_.optimizer->zero_grad();
    if (objects_.scaler->awaits_update()) objects_.scaler->update();
    if (objects_.scaler->enabled()) objects_.scaler->set_state(scaler_);
    losses_.clear();
    if (objects_.statistics) objects_.statistics->cancel_step();
  } else {
    return;
  }
  before_->restore();
  batches_taken_ = 0;
  awaits_loss_ = must_restart_ = false;
}

// ---- The loss of a batch

void Loop::take_loss(const Tensor& loss) {
  if (!awaits_loss_ || must_restart_) {
    fail(Code::kState, "trainer", "no batch waits for its loss: call htone_trainer_next first");
  }
  require_scalar(loss);
  const bool is_last = batches_taken_ == settings_.accumulate;
  try {
    if (is_evaluating()) {
      take_evaluation_loss(loss);
    } else {
      backward(loss);
      if (is_last) update();
    }
  } catch (...) {
    must_restart_ = true;
    throw;
  }
  awaits_loss_ = false;
  if (is_last) finish_step();
}

void Loop::take_evaluation_loss(const Tensor& loss) {
  if (!evaluations_->take_loss(loss)) return;
  evaluations_->end(steps_done_, objects_.group.get());
  modes_.end_evaluation();
  before_->restore();
  if (objects_.statistics) objects_.statistics->add_event(analysis::evaluation_event(evaluation().loss));
}

// Without the modes of the caller, whose policy is for its own operations.
void Loop::backward(const Tensor& loss) {
  begin_part(analysis::StepPart::kBackward);
  const ScopeGuard modes_return;
  scope().autocast = nullptr;
  scope().grad_enabled = true;
  const bool is_whole = settings_.accumulate == 1;
  const Tensor share = is_whole ? loss : ops::mul_scalar(loss, 1.0 / static_cast<double>(settings_.accumulate));
  run_backward(objects_.scaler->scale(share), {}, false);
  losses_.add(loss, items_in(*objects_.batches));
}

void Loop::update() {
  begin_part(analysis::StepPart::kOptimizer);
  optim::Optimizer& optimizer = *objects_.optimizer;
  optim::GradScaler& scaler = *objects_.scaler;
  coming_.lr = optimizer.lr(0);
  if (settings_.max_grad_norm > 0) {
    scaler.unscale(optimizer);
    optimizer.gradients().clip_norm(settings_.max_grad_norm);
  }
  scaler.step(optimizer);
  scaler.update();
}

// The weights have changed: from here on the step counts, whatever fails.
void Loop::finish_step() {
  batches_taken_ = 0;
  ++steps_done_;
  scaler_ = objects_.scaler->state();
  complete_record();
  if (fallback_) raise_module();
  if (objects_.statistics) objects_.statistics->end_step(record_.loss, record_.items);
  if (objects_.progress) objects_.progress(steps_done_);
}

void Loop::raise_module() {
  const auto raised = fallback_->end_step(record_.skipped, std::isfinite(record_.loss), objects_.group.get());
  if (!raised || !objects_.statistics) return;
  objects_.statistics->add_event(analysis::fallback_event(raised->module, raised->from, raised->to));
}

void Loop::complete_record() {
  const optim::Optimizer::Outcome outcome = objects_.optimizer->outcome();
  coming_.skipped = outcome.skipped;
  if (outcome.offending != nullptr) coming_.offending = outcome.offending;
  if (outcome.norm > 0) coming_.grad_norm = outcome.norm;
  coming_.loss = losses_.sum(1.0 / static_cast<double>(settings_.accumulate));
  coming_.items = losses_.items();
  if (objects_.group) {
    const int32_t ranks = (*objects_.group)->size();
    coming_.loss = reduced_over_ranks(objects_.group.get(), ReduceOp::kSum, coming_.loss) / ranks;
    coming_.items *= ranks;
  }
  coming_.nanoseconds = now() - step_begin_;
  record_ = std::move(coming_);
}

}  // namespace halftone::trainer
